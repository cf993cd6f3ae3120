"""Interface of what takes many steps of a phase at once; see `gaussopt.compiled.contact_phases`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector


@dataclass(frozen=True)
class PhaseSegment:
    """Steps taken, N of them.

    Attributes
    ----------
    columns : arrays of N rows
        What is recorded of every step, in the order and by the names of `gaussopt.integration.trajectory.Recorder`.
    undecided : (N,), whether uniqueness of the contact forces is still to be confirmed
    """

    columns: Mapping[str, NDArray[np.float64]]
    undecided: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.undecided)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> PhaseSegment:
        """Some of the steps."""
        return PhaseSegment({name: column[part] for name, column in self.columns.items()}, self.undecided[part])

    def state(self, i: int) -> tuple[float, Vector, Vector]:
        """T, q and v behind step i."""
        return float(self.columns["t"][i]), self.columns["q"][i].copy(), self.columns["v"][i].copy()


class FastForward(Protocol):
    """Takes the steps in which nothing happens."""

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, origin: float) -> PhaseSegment | None:
        """Steps from a state of the present phase; None where not a single one is sure."""

    def shortened(self, steps: int) -> None:
        """Take note that no more than the first steps of the latest segment were of use."""

    def record(self, segment: PhaseSegment) -> None:
        """Write down every step."""
