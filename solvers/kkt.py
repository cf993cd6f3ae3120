"""Dense linear algebra: LU for square systems, and least squares of minimum norm for singular systems.

It solves linear systems, least-squares programs, and quadratic programs whose rows are all equalities, since their
optimality conditions are a linear system. The method is direct, exact up to rounding errors, and has no options.
Reference: LAPACK's dgesv and dgelsd.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.lcp.matrix_classes import equilibrate
from gaussopt.linalg.dense import EPS, lapack, row_space, unit_scales
from gaussopt.solvers._kept import Kept

BALANCED = 256.0
"""A matrix is scaled before pivoting if its largest row maximum exceeds this multiple of the smallest."""

NOISE = 1e-12
"""Entries of a null vector up to this size are rounding errors, and set to zero before the scaling is undone."""

REFINEMENTS = 2
"""Number of refinement steps for an answer of least norm."""


class KKT(Kept[Options]):
    """Direct solution of the optimality conditions by dense factors."""

    name = "kkt"
    title = "Direct linear algebra (LU, least squares)"
    source = "LAPACK"
    accepts = (QP, LinearSystem, LeastSquares)

    def refuses(self, program: Program) -> str | None:
        if isinstance(program, QP) and not program.equalities_only:
            return "it takes equality rows only; use osqp, newton or cvxpy for inequalities"
        return super().refuses(program)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        program = self.program
        if isinstance(program, LeastSquares):
            U, s, Vt = np.linalg.svd(program.A, full_matrices=False)
            r = program.rank
            return RawSolution(np.asarray(Vt[:r].T @ ((U[:, :r].T @ program.b) / s[:r])), None, Status.SOLVED)
        if isinstance(program, LinearSystem):
            return RawSolution(_solve(program.K, program.b), None, Status.SOLVED)
        n, m = program.n, program.m
        K = np.zeros((n + m, n + m))
        K[:n, :n] = program.P
        K[:n, n:] = program.A.T
        K[n:, :n] = program.A
        z = _solve(K, np.concatenate((-program.q, program.l)), n)
        return RawSolution(z[:n], -z[n:], Status.SOLVED)


def _solve(K: Matrix, b: Vector, n: int | None = None) -> Vector:
    """Solve K x = b by LU, after scaling if K is not balanced; by least norm if K appears to be singular.

    After scaling, masses and lengths of rows are about 1, so that neither pivots nor ranks depend on units. For
    optimality conditions, n is the number of unknowns without the multipliers.
    """
    if not len(b):
        return b
    absolute = np.abs(K)
    size = absolute.max(axis=1)
    entries = size.tolist()  # a list is faster for few numbers
    x = _lu(K, b, absolute, size) if max(entries) <= BALANCED * min(entries) else None
    if x is None:
        s, t = _scales(K, n)
        K, b = K * t * s[:, None], b * s
        absolute = np.abs(K)
        x = _lu(K, b, absolute, absolute.max(axis=1))
        x = _least_norm(K, b, t) if x is None else x * t
    return x


def _scales(K: Matrix, n: int | None) -> tuple[Vector, Vector]:
    """Return scales of rows and columns, powers of two; for a saddle point they give unit masses and unit rows."""
    if n is None and np.array_equal(K, K.T):
        # K is [P, A^T; A, 0]; take as the size n of P the smallest n for which K[n:, n:] is zero.
        n = next((n for n in range(len(K)) if not K[n:, n:].any()), len(K))
    if n is not None:
        s = np.concatenate(unit_scales(K[:n, :n], K[n:, :n]))
        return s, s
    row, column = equilibrate(K)
    return row, column


def _least_norm(K: Matrix, b: Vector, t: Vector) -> Vector:
    """Return y = t x of least norm, where x solves K x = b, or makes K x nearest to b if that is contradictory."""
    space = row_space(K, 16 * len(b) * EPS)
    x = space.pinv @ b
    for _ in range(REFINEMENTS):
        x = x + space.pinv @ (b - K @ x)
    found, idle = t * x, t[:, None] * np.where(np.abs(space.Z) > NOISE, space.Z, 0.0)
    size = 1.0 / np.linalg.norm(idle, axis=0)
    least = found - (idle * size) @ np.linalg.lstsq(idle * size, found, rcond=None)[0]
    # If units differ much, null vectors are nearly parallel, and removing components along them may lose accuracy.
    allowed = np.maximum(np.abs(K @ x - b), 64 * len(b) * EPS * (np.abs(K) @ np.abs(x) + np.abs(b)))
    return np.asarray(least if (np.abs(K @ (least / t) - b) <= allowed).all() else found)


def _lu(K: Matrix, b: Vector, absolute: Matrix, largest: Vector) -> Vector | None:
    """Return x by LU with refinement; None if pivots, or residuals relative to their terms, show that K is singular."""
    lu, pivots, x, info = lapack().dgesv(K, b)
    if info != 0:
        return None
    # A tiny pivot indicates a singular matrix, for which the answer would be arbitrary.
    diagonal = np.abs(lu.diagonal())
    if diagonal.min() <= 16 * len(b) * EPS * diagonal.max():
        return None
    residual = b - K @ x
    for _ in range(5):
        correction, _ = lapack().dgetrs(lu, pivots, residual)
        x = x + correction
        residual = b - K @ x
        # The residual of every row must be small relative to its terms, with an allowance for unknowns that are zero.
        size = absolute @ np.abs(x) + np.abs(b) + 1e-12 * largest * np.abs(x).max()
        if (np.abs(residual) <= 64 * len(b) * EPS * size).all():
            return np.asarray(x)
    return None


solver = KKT
