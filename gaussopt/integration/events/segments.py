"""Segments of many steps without events, which a phase of a motion takes at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.stepper import Control


@dataclass(frozen=True)
class PhaseSegment:
    """N consecutive steps of a phase.

    Attributes
    ----------
    columns : arrays of N rows
        Recorded values after each step, by name, in the order of `gaussopt.integration.trajectory.Recorder`.
    undecided : (N,), True where the uniqueness of the contact forces still has to be confirmed
    """

    columns: Mapping[str, NDArray[np.float64]]
    undecided: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.undecided)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> PhaseSegment:
        """Return a segment of the selected steps."""
        return PhaseSegment({name: column[part] for name, column in self.columns.items()}, self.undecided[part])

    def state(self, i: int) -> tuple[float, Vector, Vector]:
        """Return t, q and v after step i."""
        return float(self.columns["t"][i]), self.columns["q"][i].copy(), self.columns["v"][i].copy()


class FastForward(Protocol):
    """Takes many steps in which no event occurs; see `gaussopt.compiled.advances.contact_phases`."""

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, control: Control) -> PhaseSegment | None:
        """Take steps in the present phase; return None if an event may occur in the first step."""

    def memory(self) -> dict[str, Any]:
        """Return the data on which later segments depend."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned, for the present phase."""

    def shortened(self, steps: int) -> None:
        """Limit later segments, since only the first `steps` steps of the latest segment were used."""

    def record(self, segment: PhaseSegment) -> None:
        """Record every step of a segment."""
