"""Scaling of a step to unit masses and rows, and the limits beyond which its equations count as contradictory.

Coordinates are scaled to unit mass and rows to unit length, so that ranks and verdicts do not depend on units, apart
from rounding. Rows of J count as dependent if a singular value is at most 8 max(m, n) eps of the largest. Dependent
rows, and forces along directions without mass and constraint, may contradict the other equations. An equation counts
as consistent if its residual is below 8 max(m, n) eps times its terms and the terms of the equations it depends on,
so that rounding may have caused it. The terms are |J| |a| + |gamma| and |M| |a| + |h - Q| + |J^T| |lam|.

A step that holds the velocity `v` at which it was evaluated contains rounding errors of that evaluation, which may be
large relative to gamma if terms cancel. A contradiction must then also exceed 1e-9 times the size of the step's data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.row_rounding import rounding
from gaussopt.core.step_data import StepData
from gaussopt.linalg.dense import EPS, RowSpace, equilibrate, norm, row_space

EVALUATED = 1e-9
"""Largest contradiction, relative to the step's numbers, that rounding in its evaluation at a state may cause."""

REFINEMENTS = 3
"""Number of refinements after which every row of an answer holds to rounding, relative to its own terms."""


@dataclass(frozen=True)
class Balanced:
    """A step in coordinates of unit mass and rows of unit length.

    With a = d a' and lam = row lam', the data are d M d, (n, n), f = d (Q - h), row J d, (m, n), and g = row gamma.
    `evaluated` says whether the step holds the velocity at which it was evaluated. If the terms of the rows are known,
    `noise_J`, (m,), is the rounding error of each row and `noise_g`, (m,), that of g; otherwise they are None.
    """

    d: Vector
    row: Vector
    M: Matrix
    f: Vector
    J: Matrix
    g: Vector
    evaluated: bool
    noise_J: Vector | None = None
    noise_g: Vector | None = None

    @classmethod
    def of(cls, step: StepData, M: Matrix | None = None) -> Balanced:
        """Scale a dense step by `equilibrate`, without its contacts; M, if given, replaces the step's mass matrix."""
        M = step.M if M is None else M
        d, row = equilibrate(M, step.J)
        J = step.J * d * row[:, None]
        scaled = M * d * d[:, None], (step.Q - step.h) * d, J, step.gamma * row
        relative = rounding(step.n, step.m)
        noise_J = row_noise(step, d, row)
        noise_g = None if step.gamma_terms is None else relative * row * step.gamma_terms
        return cls(d, row, *scaled, step.v is not None, noise_J, noise_g)

    @cached_property
    def space(self) -> RowSpace:
        """Singular value decomposition of J, divided by its rank into range and null space."""
        return row_space(self.J, noise=self.noise_J)

    @cached_property
    def inertia(self) -> tuple[Vector, Matrix]:
        """Principal masses on the null space of J, (n - rank,), and their directions as columns, (n, n - rank)."""
        Z = self.space.Z
        if not Z.shape[1]:
            return np.zeros(0), Z
        values, vectors = np.linalg.eigh(Z.T @ self.M @ Z)
        return values, Z @ vectors

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Mask, (n - rank,), of the directions of `inertia` that have no mass."""
        return self.inertia[0] <= 64 * len(self.d) * EPS

    @cached_property
    def _answer(self) -> tuple[Vector, Vector, Vector, Vector]:
        """Least-squares acceleration (zero along free directions) and multipliers, and residuals of both equations."""
        values, ways = self.inertia
        values, ways = values[~self.free], ways[:, ~self.free]
        a, lam, rest_f, rest_g = np.zeros(len(self.f)), np.zeros(len(self.g)), self.f, self.g
        for _ in range(1 + REFINEMENTS):
            step = self.space.pinv @ rest_g
            step = step + ways @ ((ways.T @ (rest_f - self.M @ step)) / values)
            a, lam = a + step, lam + self.space.pinv.T @ (self.M @ step - rest_f)
            rest_f, rest_g = self.f - self.M @ a + self.J.T @ lam, self.g - self.J @ a
        return a, lam, rest_f, rest_g

    @cached_property
    def _whole(self) -> float:
        """Sum of the norms of the data and of the acceleration of the step: |f| + |g| + |a|."""
        return norm(self.f) + norm(self.g) + norm(self._answer[0])

    def limits_g(self) -> Vector:
        """Return the largest residual of each row that counts as rounding error, (m,)."""
        a = self._answer[0]
        # If rows are dependent up to rounding errors only, even the solution misses them by these errors times |a|.
        terms = np.abs(self.J) @ np.abs(a) + np.abs(self.g)
        limits = self._limits(terms, self.space.left_null, norm(a)) + self.space.dropped * norm(a)
        return limits if self.noise_g is None else limits + self.noise_g

    def limits_f(self) -> Vector:
        """Return the largest residual force on each coordinate that counts as rounding error, (n,)."""
        a, lam, _, _ = self._answer
        terms = np.abs(self.M) @ np.abs(a) + np.abs(self.J).T @ np.abs(lam) + np.abs(self.f)
        return self._limits(terms, self.inertia[1][:, self.free], float(np.abs(self.M).max()) * norm(a))

    def _limits(self, terms: Vector, null: Matrix, size: float) -> Vector:
        """Return bounds on the residuals that rounding may cause in equations whose terms have the sizes `terms`.

        The columns of `null` combine equations such that all unknowns cancel; `size` bounds terms not in `terms`.
        """
        # A contradiction is the projection of the residual onto the columns of `null`. The projection spreads the
        # rounding errors of a row over all rows of a combination, even to rows with zero terms. If all terms are zero,
        # the last summand covers the rounding errors of numbers that should be zero.
        relative = rounding(len(self.f), len(self.g))
        limits = relative * (terms + np.abs(null @ null.T) @ terms + relative * (norm(terms) + size))
        return np.maximum(limits, EVALUATED * self._whole) if self.evaluated else limits

    def contradictory(self) -> bool:
        """Return whether no acceleration satisfies the rows J a = g."""
        if self.space.rank == len(self.g):
            return False
        known = 0.0 if self.noise_g is None else self.noise_g
        if not self.evaluated and (np.abs(self.g) > known)[~self.J.any(axis=1)].any():
            return True  # a row without coefficients requires gamma = 0, up to rounding errors of its terms
        return bool((np.abs(self._answer[3]) > self.limits_g()).any())

    def pulled(self) -> bool:
        """Return whether a force acts along a direction that has neither mass nor constraint."""
        return bool(self.free.any()) and bool((np.abs(self._answer[2]) > self.limits_f()).any())


def row_noise(step: StepData, d: Vector, row: Vector) -> Vector | None:
    """Return the rounding errors of the first len(row) rows of J, scaled by d, (n,), and `row`; None if unknown."""
    if step.J_terms is None:
        return None
    sizes: Vector = np.linalg.norm(step.J_terms[: len(row)] * d, axis=1)
    return rounding(step.n, step.m) * row * sizes


def resistance(values: Vector) -> float:
    """Return the Euclidean norm of the vector 1 / sqrt(values)."""
    return math.sqrt(float((1.0 / values).sum())) if len(values) else 0.0
