"""The interface by which the module `qp` judges a point of a dense (scaled) or of a sparse quadratic program."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status

CANCELLED = 1e-4
"""Factor of the loss relative to the objective's value, where terms cancel; relative to the terms the factor is 1."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Scales relative to which residuals are measured.

    Attributes
    ----------
    x, y : (n,), (m,), point and duals without components that have no effect
    force, reach : (n,), sums of the absolute terms of stationarity, and the moves that forces of this size cause
    blur : rounding error of P x, in the norm of P^+
    share : relative rounding error / default tolerance; the size of a row is at least `share` times |A| `reach`
    """

    absolute_A: Matrix
    x: Vector
    y: Vector
    force: Vector
    reach: Vector
    blur: float
    share: float

    def row(self, bound: Vector) -> Vector:
        """Return scales of rows, (m,): |bound| + |A| |x|, at least share |A| reach; |A| reach if the bound is zero."""
        size, wide = np.abs(bound), self.absolute_A @ self.reach
        return np.where(size > 0, np.maximum(size + self.absolute_A @ np.abs(self.x), self.share * wide), wide)

    def rounding(self, row: int) -> float:
        """Return the least scale for violations of a row: `share` times |A| `reach`."""
        return self.share * float(self.absolute_A[row] @ self.reach)

    @property
    def pull(self) -> Vector:
        """For each row, (m,), the least dual whose force on some coordinate is as large as `force` there."""
        felt = np.where(self.absolute_A > 0, self.force / np.where(self.absolute_A > 0, self.absolute_A, 1.0), np.inf)
        least = felt.min(axis=1, initial=np.inf)
        return np.where(np.isfinite(least), least, 0.0)


class JudgedPoint(ABC):
    """A point of a program, and the scales of its residuals.

    Attributes
    ----------
    qp, x, z : the program, the point, (n,), and A x, (m,)
    noise_z : rounding error of z, (m,)
    d, row : units of the coordinates, (n,), and of the rows, (m,)
    assumed : verdict on the program, valid unless the point gives a reason to examine the program
    definite : False if P is known to be singular
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
        """The norm ||x||_P."""
        return math.sqrt(max(float(self.x @ (self.qp.P @ self.x)), 0.0))

    def admitted(self, y: Vector) -> Vector:
        """Return the duals, (m,), with zeros at infinite bounds; stationarity then fails if such a dual was needed."""
        return towards_bounds(self.qp, y)

    @abstractmethod
    def sizes(self, y: Vector, force: Vector) -> Sizes:
        """Return the sizes relative to which residuals are measured, for duals y and their forces A^T y."""

    def noise(self, y: Vector) -> Vector:
        """Return the rounding error of P x + q - A^T y, (n,); zero if `sizes` already contains it."""
        return np.zeros(self.qp.n)

    def row_sizes(self, y: Vector, sizes: Sizes, nearest: Vector, possible: Vector) -> Vector:
        """Return the sizes, (m,), relative to which violations of the nearest bounds are judged."""
        return sizes.row(nearest)

    @abstractmethod
    def lengths(self, r: Vector, noise: Vector, sizes: Sizes) -> tuple[float, float]:
        """Return sqrt(r^T P^+ r) of the stationarity residual r, and the gap that r causes along flat directions."""

    @abstractmethod
    def losses(self, gap: float, sloped: float, y: Vector, slack: Vector, sizes: Sizes) -> tuple[float, ...] | None:
        """Return bounds on f(x) - f* that follow from the gap, relative to the terms of the objective and to its value.

        Return None if squares overflow, or if the loss exceeds the value of the objective.
        """

    @abstractmethod
    def distance(self, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
        """Return a bound on ||x - x*||_P and its scale; `slack`, (m,), is relative to the sizes of the rows."""

    @abstractmethod
    def verdict(self, y: Vector, sizes: Sizes, violation: Vector, nearest: Vector) -> Status:
        """Return the verdict on the program; even if residuals are small, it may have no minimiser."""


def towards_bounds(qp: QP, y: Vector) -> Vector:
    """Return the duals, (m,), set to zero where the bound that their sign selects is infinite."""
    return np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
