"""A step in units that suit it, and what counts as a contradiction there.

Coordinates are measured so that masses are one, rows are multiplied so that their lengths are: no change of units
changes a rank or a verdict, but for rounding. Rows of J count as
dependent where a singular value is below 8 max(m, n) eps of the largest. Right-hand sides of dependent rows, and forces
on directions that neither mass nor row holds, count as consistent where what contradicts is below 8 max(m, n) eps of
the terms |J| |a| + |gamma| of its row, or |M| |a| + |h - Q| + |J^T| |lam| of its coordinate, and of the rows it depends
on: data that differ from the given ones by rounding alone are consistent.

A step that carries the state it was evaluated at (`v`) holds the rounding of that evaluation: terms of gamma that
cancel are not seen in it. There what contradicts must also exceed 1e-9 of the largest numbers of the whole step.
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
"""Contradiction, relative to the largest numbers of the step, that evaluating a step at a state may leave."""

REFINEMENTS = 3
"""Times that an answer is corrected by what its equations leave, so that every row holds by its own terms."""


@dataclass(frozen=True)
class Balanced:
    """A step in coordinates of unit mass and rows of unit length.

    With a = d a' and lam = row lam' these are M = d M d (n, n), f = d (Q - h), J = row J d (m, n) and g = row gamma;
    `evaluated` says whether the step carries the velocity it was evaluated at. Where the terms of the rows are known,
    `noise_J` (m,) is the rounding of a whole row and `noise_g` (m,) that of g; else None.
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
        """The equality part of a dense step; M where another matrix stands for its mass matrix."""
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
        """Rows and their null space."""
        return row_space(self.J, noise=self.noise_J)

    @cached_property
    def inertia(self) -> tuple[Vector, Matrix]:
        """Masses along the null space of J, and their directions as columns, (n - rank), (n, n - rank)."""
        Z = self.space.Z
        if not Z.shape[1]:
            return np.zeros(0), Z
        values, vectors = np.linalg.eigh(Z.T @ self.M @ Z)
        return values, Z @ vectors

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which of these directions have no mass."""
        return self.inertia[0] <= 64 * len(self.d) * EPS

    @cached_property
    def _answer(self) -> tuple[Vector, Vector, Vector, Vector]:
        """Acceleration and multipliers that meet the equations best, none along free directions; what is left."""
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
        """Size of the largest numbers of the step."""
        return norm(self.f) + norm(self.g) + norm(self._answer[0])

    def limits_g(self) -> Vector:
        """Contradiction of each row up to which it counts as rounding, (m,)."""
        a = self._answer[0]
        # Rows that depend on each other to rounding only, as they are given, do so for this acceleration, too.
        terms = np.abs(self.J) @ np.abs(a) + np.abs(self.g)
        limits = self._limits(terms, self.space.left_null, norm(a)) + self.space.dropped * norm(a)
        return limits if self.noise_g is None else limits + self.noise_g

    def limits_f(self) -> Vector:
        """Force on each massless coordinate up to which it counts as rounding, (n,)."""
        a, lam, _, _ = self._answer
        terms = np.abs(self.M) @ np.abs(a) + np.abs(self.J).T @ np.abs(lam) + np.abs(self.f)
        return self._limits(terms, self.inertia[1][:, self.free], float(np.abs(self.M).max()) * norm(a))

    def _limits(self, terms: Vector, null: Matrix, size: float) -> Vector:
        """Limits of rounding of equations with these terms, whose combinations `null` (columns) have no unknowns.

        `size` is how large terms may be that are not there, because unknowns next to others are zero.
        """
        # What contradicts is the projection onto these combinations: it carries the rounding of the terms of all rows
        # that they combine, also into a row whose own terms are zero; and where all of these are zero an answer holds
        # the rounding of its own rounding.
        relative = rounding(len(self.f), len(self.g))
        limits = relative * (terms + np.abs(null @ null.T) @ terms + relative * (norm(terms) + size))
        return np.maximum(limits, EVALUATED * self._whole) if self.evaluated else limits

    def contradictory(self) -> bool:
        """Whether no acceleration satisfies the rows."""
        if self.space.rank == len(self.g):
            return False
        known = 0.0 if self.noise_g is None else self.noise_g
        if not self.evaluated and (np.abs(self.g) > known)[~self.J.any(axis=1)].any():
            return True  # nothing but the terms of gamma is rounded in 0 a = gamma
        return bool((np.abs(self._answer[3]) > self.limits_g()).any())

    def pulled(self) -> bool:
        """Whether a force acts on a direction that neither mass nor row holds."""
        return bool(self.free.any()) and bool((np.abs(self._answer[2]) > self.limits_f()).any())


def row_noise(step: StepData, d: Vector, row: Vector) -> Vector | None:
    """Rounding of the first rows of J in units d (n,) of coordinates and `row` of rows; None where it is unknown."""
    if step.J_terms is None:
        return None
    sizes: Vector = np.linalg.norm(step.J_terms[: len(row)] * d, axis=1)
    return rounding(step.n, step.m) * row * sizes


def resistance(values: Vector) -> float:
    """Norm of 1 / sqrt(values)."""
    return math.sqrt(float((1.0 / values).sum())) if len(values) else 0.0
