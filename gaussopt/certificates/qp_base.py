"""What the judge of quadratic programs asks of a point: a dense one in its own units, or a sparse one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status

CANCELLED = 1e-4
"""How much more a loss may be of the least value than of its terms, which may cancel; never more than the value."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes that residuals are measured by.

    Attributes
    ----------
    x, y : (n,), (m,), point and duals without what has no effect
    force, reach : (n,), sum of the absolute terms of stationarity, and how far they could move the coordinate
    blur : what rounding of the point makes of its norm in P^+ of P x
    share : of `reach`, below which a row has no size: at the tolerance this is rounding of what could move it
    """

    absolute_A: Matrix
    x: Vector
    y: Vector
    force: Vector
    reach: Vector
    blur: float
    share: float

    def row(self, bound: Vector) -> Vector:
        """Return the size of each row for a bound, (m,); a bound below the rounding of `reach` counts as zero."""
        size, wide = np.abs(bound), self.absolute_A @ self.reach
        return np.where(size > 0, np.maximum(size + self.absolute_A @ np.abs(self.x), self.share * wide), wide)

    def rounding(self, row: int) -> float:
        """Size of a row below which its terms are rounding of what could move its coordinates."""
        return self.share * float(self.absolute_A[row] @ self.reach)

    @property
    def pull(self) -> Vector:
        """The dual of each row that one of its coordinates would feel, (m,)."""
        felt = np.where(self.absolute_A > 0, self.force / np.where(self.absolute_A > 0, self.absolute_A, 1.0), np.inf)
        least = felt.min(axis=1, initial=np.inf)
        return np.where(np.isfinite(least), least, 0.0)


class JudgedPoint(ABC):
    """A point of a program, and what its residuals are measured by.

    Attributes
    ----------
    qp, x, z : the program, the point, (n,), and A x, (m,)
    noise_z : rounding of z, (m,)
    d, row : units of the coordinates, (n,), and of the rows, (m,)
    assumed : verdict on the program where residuals are so large that it does not matter
    definite : whether P is positive definite, as far as is known
    """

    qp: QP
    x: Vector
    z: Vector
    noise_z: Vector
    d: Vector | float = 1.0
    row: Vector | float = 1.0
    assumed: Status = Status.SOLVED
    definite: bool = True

    @property
    def norm(self) -> float:
        """||x||_P."""
        return math.sqrt(max(float(self.x @ (self.qp.P @ self.x)), 0.0))

    def admitted(self, y: Vector) -> Vector:
        """Duals that are forces, (m,): those that pull towards a bound that does not exist are a residual."""
        return towards_bounds(self.qp, y)

    @abstractmethod
    def sizes(self, y: Vector, force: Vector) -> Sizes:
        """Sizes that the residuals of the point are measured by, for duals and their forces A^T y."""

    def noise(self, y: Vector) -> Vector:
        """Rounding of P x + q - A^T y, (n,), where the sizes do not hold it."""
        return np.zeros(self.qp.n)

    def row_sizes(self, y: Vector, sizes: Sizes, nearest: Vector, possible: Vector) -> Vector:
        """What violations of the nearest bounds are judged by, (m,)."""
        return sizes.row(nearest)

    @abstractmethod
    def lengths(self, r: Vector, noise: Vector, sizes: Sizes) -> tuple[float, float]:
        """What is left of stationarity, in the norm of P^+, and what it may gain along flat directions."""

    @abstractmethod
    def losses(self, gap: float, sloped: float, y: Vector, slack: Vector, sizes: Sizes) -> tuple[float, ...] | None:
        """What the gap says that the objective loses, in the units of its terms and of its value.

        None where squares beyond the range of numbers measure nothing.
        """

    @abstractmethod
    def distance(self, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
        """A bound on ||x - x*||_P and what it is judged by; slack is relative to the rows."""

    @abstractmethod
    def verdict(self, y: Vector, sizes: Sizes, violation: Vector, nearest: Vector) -> Status:
        """Whether the program has a minimiser, which residuals below the tolerance may hide."""


def towards_bounds(qp: QP, y: Vector) -> Vector:
    """Duals without those that pull towards a bound that does not exist, (m,)."""
    return np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
