"""Plain linear algebra: LU for square systems, minimum-norm least squares where they are singular.

Takes linear systems, least-squares programs, and quadratic programs whose rows are all equalities (their
optimality conditions are a linear system). Direct, exact to rounding, no iterations and no options.
Reference: LAPACK's dgesv and dgelsd.
"""

from __future__ import annotations

import numpy as np

from gaussopt.linalg import EPS, lapack
from gaussopt.programs import QP, LeastSquares, LinearSystem, Program, RawSolution
from gaussopt.solver import Options, Solver
from gaussopt.status import Status
from gaussopt.stepdata import Matrix, Vector


class KKT(Solver[Options]):
    """Direct solution of the optimality conditions."""

    name = "kkt"
    title = "Direct linear algebra (LU, least squares)"
    source = "LAPACK"
    accepts = (QP, LinearSystem, LeastSquares)

    def refuses(self, program: Program) -> str | None:
        """Programs with inequality rows are not linear algebra."""
        if isinstance(program, QP) and not program.equalities_only:
            return "it takes equality rows only; use osqp, newton or cvxpy for inequalities"
        return super().refuses(program)

    def setup(self, program: Program) -> None:
        """Nothing to prepare."""
        self._program = program

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Factorise and solve."""
        program = self._program
        if isinstance(program, LeastSquares):
            return RawSolution(_least_squares(program), None, Status.SOLVED)
        if isinstance(program, LinearSystem):
            return RawSolution(_solve(program.K, program.b), None, Status.SOLVED)
        assert isinstance(program, QP)
        n, m = program.n, program.m
        K = np.zeros((n + m, n + m))
        K[:n, :n] = program.P
        K[:n, n:] = program.A.T
        K[n:, :n] = program.A
        z = _solve(K, np.concatenate((-program.q, program.l)), n)
        return RawSolution(z[:n], -z[n:], Status.SOLVED)


def _solve(K: Matrix, b: Vector, n: int = 0) -> Vector:
    """LU; if its pivots look singular, LU of the equilibrated matrix; if they still do, least norm.

    Of optimality conditions in n unknowns the least norm is taken with P as large as A, so that masses of tonnes or
    milligrams are not in the way of ranks; multipliers of least norm are the same.
    """
    if not len(b):
        return b
    x = _lu(K, b)
    if x is None:
        # Entries of size one, so that small masses are not mistaken for a singular matrix.
        d = np.ones(len(b))
        for _ in range(3):
            row = np.abs(K * np.outer(d, d)).max(axis=1, initial=0.0)
            d = d / np.sqrt(np.where(row > 0, row, 1.0))
        scaled = _lu(K * np.outer(d, d), b * d)
        if scaled is not None:
            return scaled * d
        s = np.ones(len(b))
        P, A = np.abs(K[:n, :n]).max(initial=0.0), np.abs(K[n:, :n]).max(initial=0.0)
        if P > 0 and A > 0:
            half = 2.0 ** round(0.5 * np.log2(P / A))  # a power of two adds no rounding
            s[:n], s[n:] = 1.0 / half, half
        x = s * np.linalg.lstsq(K * np.outer(s, s), b * s, rcond=16 * len(b) * EPS)[0]
    return x


def _lu(K: Matrix, b: Vector) -> Vector | None:
    """LU with refinement; None where a pivot or the residual of some row betrays a bad matrix."""
    lu, pivots, x, info = lapack().dgesv(K, b)
    if info != 0:
        return None
    # A tiny pivot means a singular matrix whose answer may be anything.
    diagonal = np.abs(lu.diagonal())
    if diagonal.min() <= 16 * len(b) * EPS * diagonal.max():
        return None
    absolute = np.abs(K)
    residual = b - K @ x
    for _ in range(5):
        correction, _ = lapack().dgetrs(lu, pivots, residual)
        x = x + correction
        residual = b - K @ x
        # Row by row; the last term forgives noise in rows whose solution is zero.
        size = absolute @ np.abs(x) + np.abs(b) + 1e-12 * absolute.max(axis=1) * np.abs(x).max()
        if (np.abs(residual) <= 64 * len(b) * EPS * size).all():
            return np.asarray(x)
    return None


def _least_squares(program: LeastSquares) -> Vector:
    U, s, Vt = np.linalg.svd(program.A, full_matrices=False)
    r = program.rank
    return np.asarray(Vt[:r].T @ ((U[:, :r].T @ program.b) / s[:r]))


solver = KKT
