"""The interface by which `qp` judges a point of a quadratic program, dense (in units of its own) or sparse."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.core.status import Status

CANCELLED = 1e-4
"""Weight of a loss relative to the least value; the weight is 1 for a loss relative to the terms, which may cancel."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes relative to which residuals are measured.

    Attributes
    ----------
    x, y : (n,), (m,), point and duals without parts that have no effect
    force, reach : (n,), sum of the absolute terms of stationarity, and how far they could move the coordinate
    blur : rounding error of the norm of P x in P^+
    share : least size of a row as a share of its move by `reach`; times the tolerance, the rounding error of that move
    """

    absolute_A: Matrix
    x: Vector
    y: Vector
    force: Vector
    reach: Vector
    blur: float
    share: float

    def row(self, bound: Vector) -> Vector:
        """Return the size of each row for a bound, (m,); a bound below the rounding error of `reach` counts as zero."""
        size, wide = np.abs(bound), self.absolute_A @ self.reach
        return np.where(size > 0, np.maximum(size + self.absolute_A @ np.abs(self.x), self.share * wide), wide)

    def rounding(self, row: int) -> float:
        """Return the size of a row below which its terms are rounding errors of possible moves of its coordinates."""
        return self.share * float(self.absolute_A[row] @ self.reach)

    @property
    def pull(self) -> Vector:
        """The least dual of each row whose force on a coordinate is as large as the other forces on it, (m,)."""
        felt = np.where(self.absolute_A > 0, self.force / np.where(self.absolute_A > 0, self.absolute_A, 1.0), np.inf)
        least = felt.min(axis=1, initial=np.inf)
        return np.where(np.isfinite(least), least, 0.0)


class JudgedPoint(ABC):
    """A point of a program, and the scales of its residuals.

    Attributes
    ----------
    qp, x, z : the program, the point, (n,), and A x, (m,)
    noise_z : rounding of z, (m,)
    d, row : units of the coordinates, (n,), and of the rows, (m,)
    assumed : verdict on the program if residuals are so large that it does not matter
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
        """Return the duals, (m,), with zeros towards infinite bounds: such duals count as residuals instead."""
        return towards_bounds(self.qp, y)

    @abstractmethod
    def sizes(self, y: Vector, force: Vector) -> Sizes:
        """Return the sizes relative to which residuals are measured, for duals and their forces A^T y."""

    def noise(self, y: Vector) -> Vector:
        """Return the rounding error of P x + q - A^T y, (n,), if the sizes do not contain it."""
        return np.zeros(self.qp.n)

    def row_sizes(self, y: Vector, sizes: Sizes, nearest: Vector, possible: Vector) -> Vector:
        """Return the sizes by which violations of the nearest bounds are judged, (m,)."""
        return sizes.row(nearest)

    @abstractmethod
    def lengths(self, r: Vector, noise: Vector, sizes: Sizes) -> tuple[float, float]:
        """Return the norm in P^+ of the residual of stationarity, and what it may gain along flat directions."""

    @abstractmethod
    def losses(self, gap: float, sloped: float, y: Vector, slack: Vector, sizes: Sizes) -> tuple[float, ...] | None:
        """Return the losses of the objective that the gap allows, relative to its terms and to its value.

        None if squares overflow and measure nothing, or if the loss exceeds the value.
        """

    @abstractmethod
    def distance(self, y: Vector, sizes: Sizes, noise: Vector, slack: Vector) -> tuple[float, float]:
        """Return a bound on ||x - x*||_P and the size by which it is judged; slack is relative to the rows."""

    @abstractmethod
    def verdict(self, y: Vector, sizes: Sizes, violation: Vector, nearest: Vector) -> Status:
        """Return whether the program has a minimiser; residuals below the tolerance may hide that it has none."""


def towards_bounds(qp: QP, y: Vector) -> Vector:
    """Return the duals with zeros in place of those towards an infinite bound, (m,)."""
    return np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
