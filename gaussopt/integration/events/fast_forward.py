"""Interface of what takes many steps of a phase at once; see `gaussopt.compiled.contact_phases`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector


@dataclass(frozen=True)
class PhaseSegment:
    """Steps taken, N of them, with what is recorded of each; see `gaussopt.integration.trajectory.Trajectory`.

    Attributes
    ----------
    undecided : (N,)
        Whether uniqueness of the contact forces is still to be confirmed.
    forces_unique : (N,)
        Whether it is known.
    """

    t: Vector
    q: Matrix
    v: Matrix
    a: Matrix
    lam: Matrix
    error_bound: Vector
    relative_error: Vector
    position_drift: Vector
    velocity_drift: Vector
    energies: Matrix
    lam_N: Matrix
    lam_T: NDArray[np.float64]
    gap: Matrix
    slip: NDArray[np.float64]
    undecided: NDArray[np.bool_]
    forces_unique: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> PhaseSegment:
        """Some of the steps."""
        return PhaseSegment(*(getattr(self, name)[part] for name in self.__dataclass_fields__))

    def state(self, i: int) -> tuple[float, Vector, Vector]:
        """T, q and v behind step i."""
        return float(self.t[i]), self.q[i].copy(), self.v[i].copy()


class FastForward(Protocol):
    """Takes the steps in which nothing happens."""

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, origin: float) -> PhaseSegment | None:
        """Steps from a state of the present phase; None where not a single one is sure."""

    def shortened(self, steps: int) -> None:
        """Take note that no more than the first steps of the latest segment were of use."""

    def record(self, segment: PhaseSegment) -> None:
        """Write down every step."""
