"""Sparse direct solution of the optimality conditions: the counterpart of `kkt` for hundreds of thousands of unknowns.

It solves sparse programs whose rows are all equalities, and sparse systems of linear equations. If P is block diagonal
and positive definite, it is eliminated, and S = A P^-1 A^T is factorised in an order that keeps its factor as sparse as
the mechanism allows (a band for chains); otherwise a regularised system is factorised, see
`linalg.sparse_saddle_point`. Answers are refined until the optimality conditions hold up to rounding errors.
References: T. A. Davis, Direct Methods for Sparse Linear Systems, SIAM 2006; B. Stellato et al., QDLDL, in: OSQP,
Math. Prog. Comp. 12, 2020; SuperLU for linear systems, X. S. Li et al., ACM TOMS 31, 2005.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.sparse_arrays import times
from gaussopt.core.status import Status
from gaussopt.linalg.dense import EPS, norm
from gaussopt.linalg.sparse_saddle_point import Saddle, SaddleSolution

ACCURACY = 4 * EPS
"""Refinement ends when a correction has at most this relative size."""

BALANCING = 20
"""Maximum number of passes that scale the rows and columns of a matrix."""

RESIDUAL = 1e-9
"""The claim is `solved` if the relative residual of the equations is at most this."""


class SparseKKT(Solver[Options]):
    """Direct solution of the optimality conditions by sparse factors."""

    name = "sparse-kkt"
    title = "Sparse direct linear algebra (Schur complement, band or minimum degree)"
    source = "Davis 2006"
    accepts = (QP, LinearSystem)
    dense = False
    sparse = True
    updates = True

    def refuses(self, program: Program) -> str | None:
        if isinstance(program, QP) and not program.equalities_only:
            return "it takes equality rows only; use osqp for inequalities"
        reason = super().refuses(program)
        if reason is None and not program.sparse:
            return "it takes sparse programs, and this one is dense; use kkt"
        return reason

    def setup(self, program: QP | LinearSystem) -> None:
        self._saddle: Saddle | None = None
        self.update(program)

    def update(self, program: QP | LinearSystem) -> None:
        self._program = program
        if isinstance(program, QP):
            self._saddle = Saddle.of(program.P, program.A, self._saddle)  # type: ignore[arg-type]

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        program = self._program
        if isinstance(program, LinearSystem):
            return _equations(program)
        saddle = self._saddle
        if saddle is None:
            return RawSolution(None, None, Status.SOLVER_ERROR, note="a pivot of the regularised system vanishes")
        found = saddle.solve(-program.q, program.l, ACCURACY)
        left, size = _left(saddle, found, program.q, program.l)
        good = bool(left <= RESIDUAL * (1.0 + size))
        note = "" if good else f"the optimality conditions are missed by {left / (1.0 + size):.3g}, relative"
        return RawSolution(found.x, found.y, Status.SOLVED if good else Status.INACCURATE, found.passes, note=note)


def _equations(program: LinearSystem) -> RawSolution:
    """Solve linear equations as a saddle point [P A^T; A 0] if they have this form, otherwise by LU, or by least norm.

    LU uses the minimum-degree order of K^T K, since K need not be definite. If K is singular, sum (c_i x_i)^2, where
    c_i are the lengths of the columns, is minimised subject to K x = b, by a saddle-point system whose rows may be
    dependent. Rows and columns are scaled by powers of two first, so that neither pivots nor relative residuals depend
    on units.
    """
    r, c = _powers(program.K)
    K: Any = scipy.sparse.csr_array(scipy.sparse.diags_array(r) @ program.K @ scipy.sparse.diags_array(c))
    b = r * program.b
    if (z := _saddle_point(program)) is not None:
        return RawSolution(z, None, Status.SOLVED)
    x, left = np.full(len(b), np.nan), np.nan
    with suppress(RuntimeError):  # raised if a pivot vanishes; a singular K need not raise it
        lu = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(K), permc_spec="COLAMD")
        x = lu.solve(b)
        for _ in range(2):
            x = x + lu.solve(b - K @ x)
        left = _missed(K, x, b)
    if left <= RESIDUAL:
        return RawSolution(c * x, None, Status.SOLVED)
    lengths = np.asarray(K.multiply(K).sum(axis=0)).ravel()
    saddle = Saddle.of(scipy.sparse.csr_array(scipy.sparse.diags_array(np.where(lengths > 0, lengths, 1.0))), K)
    if saddle is None:
        return RawSolution(None, None, Status.SOLVER_ERROR, note="the matrix is singular")
    found = saddle.solve(np.zeros(len(b)), b, ACCURACY)
    least = _missed(K, found.x, b)
    if not left < least:  # if the equations are ill-conditioned, the LU solution and its residual may be large
        x, left = found.x, least
    good = left <= RESIDUAL
    note = "" if good else f"the matrix is singular or nearly so, and the equations are missed by {left:.3g}, relative"
    return RawSolution(c * x, None, Status.SOLVED if good else Status.INACCURATE, note=note)


def _left(saddle: Saddle, found: SaddleSolution, q: Vector, l: Vector) -> tuple[float, float]:
    """Return the residual of the optimality conditions, and the size of their terms, in unit masses and unit rows."""
    row = saddle.row
    if saddle.regular:  # if M was eliminated, `saddle.row` does not scale rows to unit length
        lengths = np.sqrt(times(saddle.J.multiply(saddle.J), saddle.scale**2))
        row = 1.0 / np.where(lengths > 0, lengths, 1.0)
    left = norm(found.rest_f * saddle.scale) + norm(found.rest_g * row)
    pull = times(saddle.J.T, found.y)
    return left, norm(q * saddle.scale) + norm(l * row) + norm(pull * saddle.scale) + norm(found.x / saddle.scale)


def _saddle_point(program: LinearSystem) -> Vector | None:
    """Return the answer to equations of the form [P A^T; A 0], solved in unit masses and rows of unit length.

    In these units dependent rows are detected independently of the masses. Return None if the equations have another
    form, or if the residual is not small.
    """
    K, b = scipy.sparse.csr_array(program.K), program.b
    places = scipy.sparse.coo_array(K)
    n = int(np.minimum(places.row, places.col).max(initial=-1)) + 1
    if not 0 < n < len(b) or abs(K - K.T).max() > 0:
        return None
    saddle = Saddle.of(scipy.sparse.csr_array(K[:n, :n]), scipy.sparse.csr_array(K[n:, :n]))
    if saddle is None:
        return None
    found = saddle.solve(b[:n], b[n:], ACCURACY)
    left, size = _left(saddle, found, b[:n], b[n:])
    return np.concatenate((found.x, -found.y)) if left <= RESIDUAL * size else None


def _powers(K: Any) -> tuple[Vector, Vector]:
    """Return powers of two that scale the largest entries of rows and columns to about 1 (D. Ruiz, RAL-TR-2001-034)."""
    A = abs(K).tocsr()
    r, c = np.ones(A.shape[0]), np.ones(A.shape[1])
    for _ in range(BALANCING):
        rows, columns = (np.asarray(A.max(axis=axis).todense()).ravel() for axis in (1, 0))
        for factor, size in ((r, rows), (c, columns)):
            held = size > 0
            factor[held] *= 2.0 ** -np.round(0.5 * np.log2(size[held]))
        if max(np.abs(np.log2(size[size > 0])).max(initial=0.0) for size in (rows, columns)) < 1.5:
            break
        A = abs(K).multiply(r[:, None]).multiply(c[None, :]).tocsr()
    return r, c


def _missed(K: Any, x: Vector, b: Vector) -> float:
    """Return the largest residual of an equation relative to the largest entry of b."""
    return float(np.abs(K @ x - b).max(initial=0.0) / (np.abs(b).max(initial=0.0) or 1.0))


solver = SparseKKT
