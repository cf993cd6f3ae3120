"""Segments of many steps without events, which a phase of a motion takes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.stepper import Control
from gaussopt.integration.events.functions import EventFunction, Sample
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS


@dataclass(frozen=True)
class PhaseSegment:
    """N consecutive steps of a phase.

    Attributes
    ----------
    t, rows : (N,), (N, width), instants after each step, and what the code that took the steps found there
    n : number of coordinates; a row begins with q and v
    parts : the places of the recorded values in `rows`, in the order of `gaussopt.integration.trajectory.Recorder`
    undecided : (N,), True where the uniqueness of the contact forces still has to be confirmed
    looked_at : (N,), True where, for this reason or because friction feeds in power, a state is handled singly
    """

    t: Vector
    rows: Matrix
    n: int
    parts: Sequence[Any]
    undecided: NDArray[np.bool_]
    looked_at: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> PhaseSegment:
        """Return a segment of the selected steps."""
        return replace(
            self, t=self.t[part], rows=self.rows[part], undecided=self.undecided[part], looked_at=self.looked_at[part]
        )

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """The recorded values after each step, by name, in the order of `parts`."""
        columns = (self.t, *(self.rows[part] for part in self.parts))
        return dict(zip(("t", *COLUMNS, *CONTACT_COLUMNS), columns, strict=True))

    def state(self, i: int) -> tuple[float, Vector, Vector]:
        """Return t, q and v after step i."""
        return float(self.t[i]), self.rows[i, : self.n].copy(), self.rows[i, self.n : 2 * self.n].copy()


class FastForward(Protocol):
    """Takes many steps in which no event occurs; see `gaussopt.compiled.advances.contact_phases`."""

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, control: Control) -> PhaseSegment | None:
        """Take steps in the present phase; return None if an event may occur in the first step."""

    def locate(
        self, begin: Sample, watch: EventFunction, bracket: tuple[float, float, float, float], level: float,
        accuracy: float,
    ) -> tuple[float, Vector, Vector] | None:  # fmt: skip
        """Return the length of the step at whose end a function falls through `level`, with q and v there, or None."""

    def known(self, t: float, q: Vector, v: Vector) -> PhaseSegment | None:
        """Return the state as a segment if the latest step ended at it; None otherwise."""

    def projected(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return the state projected onto the constraints of the present phase; None if it is not computed."""

    def memory(self) -> dict[str, Any]:
        """Return the data on which later segments depend."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned, for the present phase."""

    def shortened(self, steps: int) -> None:
        """Limit later segments, since only the first `steps` steps of the latest segment were used."""

    def record(self, segment: PhaseSegment) -> None:
        """Record every step of a segment."""
