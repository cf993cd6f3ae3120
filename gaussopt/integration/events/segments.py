"""Segments of many steps without events, which a phase of a motion takes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.stepper import Control
from gaussopt.integration.events.functions import EventFunction, Sample
from gaussopt.integration.events.modes import ContactModes


@dataclass(frozen=True)
class PhaseSegment:
    """N consecutive steps of a phase.

    Attributes
    ----------
    t, rows : (N,), (N, width), instants after each step, and what the code that took the steps found there
    n, first : number of coordinates, with q and v of which a row begins; number of the first step, counted from 1
    looked_at : (N,), True where a state is handled singly: the uniqueness of its contact forces still has to be
        confirmed, or friction feeds in power
    """

    t: Vector
    rows: Matrix
    n: int
    first: int
    looked_at: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice) -> PhaseSegment:
        """Return a segment of the selected steps."""
        return PhaseSegment(self.t[part], self.rows[part], self.n, self.first, self.looked_at[part])

    def state(self, i: int) -> tuple[float, Vector, Vector]:
        """Return t, q and v after step i."""
        return float(self.t[i]), self.rows[i, : self.n].copy(), self.rows[i, self.n : 2 * self.n].copy()


class RegularEvent(NamedTuple):
    """An event that machine code has found and recorded.

    Attributes
    ----------
    watch : the function that falls through zero
    t, q, v : the state at the event
    loose : direction of friction of the contact, by number, if it begins to slip
    changed : if machine code has also changed the modes, those before, the state that begins the next phase, and
        whether the slip of the contact reverses; otherwise None
    """

    watch: EventFunction
    t: float
    q: Vector
    v: Vector
    loose: Mapping[int, Vector]
    changed: tuple[ContactModes, Vector, Vector, bool] | None = None


class FastForward(Protocol):
    """Takes many steps in which no event occurs; see `gaussopt.compiled.advances.contact_phases`."""

    @property
    def stopped(self) -> bool:
        """Whether the latest segment ended before a step in which an event may occur."""

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, control: Control) -> PhaseSegment | None:
        """Take steps in the present phase; return None if an event may occur in the first step."""

    def locate(
        self, begin: Sample, watch: EventFunction, bracket: tuple[float, float, float, float], level: float,
        accuracy: float,
    ) -> tuple[float, Vector, Vector] | None:  # fmt: skip
        """Return the length of the step at whose end a function falls through `level`, with q and v there, or None."""

    def pass_event(
        self, t: float, q: Vector, v: Vector, control: Control, quiet: Callable[[float, Vector, Vector], bool] | None
    ) -> RegularEvent | None:
        """Take a step to the event within and record the event; None if it is not regular.

        Also set the phase after it, and record the state that begins it, if the contact laws confirm what is expected.
        `quiet` returns whether no user's event lies between (t, q, v) and a later state.
        """

    def known(self, t: float, q: Vector, v: Vector) -> PhaseSegment | None:
        """Return the state as a segment if the latest step ended at it; None otherwise."""

    def projected(
        self, t: float, q: Vector, v: Vector, closed: Sequence[int], sticking: Sequence[int], rates: bool
    ) -> tuple[Vector, Vector] | None:  # fmt: skip
        """Return the state projected onto joints and contacts, its velocity only if `rates`, or None."""

    def memory(self) -> dict[str, Any]:
        """Return the data on which later segments depend."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned, for the present phase."""

    def shortened(self, steps: int) -> None:
        """Limit later segments, since only the first `steps` steps of the latest segment were used."""

    def record(self, segment: PhaseSegment) -> None:
        """Record every step of a segment."""
