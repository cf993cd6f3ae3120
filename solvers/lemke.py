"""Lemke's method: complementary pivoting with a covering vector and the lexicographic ratio test.

The problem w = M z + q + z0 c with c > 0 is easy to solve for a large z0; complementary pivots follow an almost
complementary path until z0 leaves the basis (at a solution) or the path ends on a secondary ray. The lexicographic rule
prevents cycling in degenerate problems, so that every path ends. If M is copositive plus or a P0-matrix (as positive
semidefinite and P-matrices are), a solution is found whenever there is one. For other matrices a ray proves nothing.
After a ray, a singular basis, or too long a path of a large problem, other covering vectors are tried; their seed is
fixed, so that runs are repeatable. If all paths of a small problem end on rays, its complementary bases are visited
(`fallback`). Rows and columns are scaled first, and c is 1 in scaled rows at the first attempt. The inverse of a small
basis is computed anew at every pivot. The inverse of a large basis is updated, and computed anew after REFRESH updates,
if the entering column shows that the inverse has lost digits, and before a ray is accepted. `iterations` is the number
of pivots of all attempts, including the pivots at which z0 enters and leaves.
Reference: C. E. Lemke, "Bimatrix equilibrium points and mathematical programming", Management Science 11, 1965;
R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", SIAM 2009, sections 4.4, 4.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.pyramids import pyramids
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.lcp import enumerate_lcp, polish
from gaussopt.lcp.certificate import natural_residual
from gaussopt.lcp.matrix_classes import equilibrate
from gaussopt.linalg.cones import dense, rows_of, scaled
from gaussopt.solvers._kept import Kept

SMALL = 32
"""Largest n for which the basis is inverted at every pivot, because an update would hardly be faster."""

REFRESH = 40
"""The inverse of a larger basis is computed anew after this number of updates."""

FRESH = 1e-14
"""An updated inverse has lost digits if the residual of the entering column, relative to its size, exceeds this; the
ratio test needs errors below 1e-13 to tell ties from differences."""

PATIENCE = 2
"""Number of pivots per pair after which a path of a larger problem is abandoned. Usually a path takes about 1 per pair,
but in a very degenerate problem, such as a tall stack of equal bodies, rounding errors may defeat the lexicographic
rule. Other covering vectors break the ties."""

SOLVES = 1e-11
"""Largest natural residual of a solution, relative to its terms. A point at the end of a ray may still be a solution;
if the end point of a path is not a solution, rounding errors have changed the path, and other paths are tried."""

RAY = (
    "the method ended on a secondary ray, from every covering vector tried, which proves that there is no solution "
    "only for certain classes of matrices (copositive-plus ones, the positive semidefinite among them)"
)

SINGULAR = "a pivot was so small that the basis became singular, from every covering vector tried"


@dataclass(frozen=True)
class LemkeOptions(Options):
    """Limits of the method.

    `max_iter`: maximum number of pivots; `pivot_tolerance`: smallest pivot, relative to its column; `attempts`: number
    of other covering vectors tried after a path that ends on a ray; `fallback`: largest number of pairs for which all
    complementary bases are visited if every path ends on a ray, 0 for none.
    """

    max_iter: int = 10_000
    pivot_tolerance: float = 1e-11
    attempts: int = 20
    fallback: int = 8


EDGES, PAIRS = (8, 4, 8, 4), 320
"""Edges of the pyramids of one problem after the other, and the largest number of pairs of such a problem."""

FEW = LemkeOptions(attempts=6, fallback=0)
"""Options for pyramids; a contact problem without solution takes every path."""


class Lemke(Kept[LemkeOptions]):
    """Lemke's method with the lexicographic rule."""

    name = "lemke"
    title = "Lemke's complementary pivoting, lexicographic"
    source = "Lemke 1965; Cottle, Pang, Stone 2009"
    accepts = (LCP,)
    options_type = LemkeOptions

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Follow the path from the primary ray; `start` is ignored."""
        return lemke(self.program, self.options)


def lemke(lcp: LCP, options: LemkeOptions | None = None) -> RawSolution:
    """Solve an LCP by Lemke's method."""
    options = options or LemkeOptions()
    if not (lcp.q < 0).any():
        return RawSolution(np.zeros(lcp.n), None, Status.SOLVED, 0)
    R, C = equilibrate(lcp.M)
    random = np.random.default_rng(0)
    pivots, best, least = 0, None, math.inf
    for attempt in range(1 + options.attempts):
        # Another covering vector is equivalent to another scaling of the rows.
        cover = 1.0 if attempt == 0 else random.uniform(0.25, 4.0, lcp.n)
        patient = lcp.n <= SMALL or attempt == options.attempts
        most = options.max_iter if patient else min(options.max_iter, pivots + PATIENCE * lcp.n)
        found = _path(lcp, R * cover, C, options, pivots, most)
        pivots = found.iterations
        if found.x is not None:
            missed = _missed(lcp, found.x)
            if missed <= SOLVES:
                return found
            # The point is no solution: rounding errors have changed the path, or the problem is too ill-conditioned.
            if missed < least:
                best, least = found, missed
        if pivots >= options.max_iter:
            break
    if best is not None:
        return replace(best, iterations=pivots)
    return _visit(lcp, found) if lcp.n <= options.fallback and pivots < options.max_iter else found


def with_pyramids(problem: ConeComplementarity) -> Iterator[Vector]:
    """Yield solutions of a small contact problem with pyramids as cones, whose edges are turned into the latest slip.

    Pivoting finds solutions also where W is far from definite, or forces and slips differ by many orders of magnitude.
    """
    if problem.k + (1 + max(EDGES)) * np.count_nonzero(problem.mu) > PAIRS:
        return
    own, s = scaled(dense(problem))
    turned, failed = np.zeros(own.k), 0
    for edges in EDGES:
        lcp, D = pyramids(own, edges, turned)
        z = lemke(lcp, FEW).x
        if z is not None:
            r = D @ z[: len(D.T)]
            yield s * r
            u = rows_of(own.u(r))
            turned = np.arctan2(-u[:, 2], -u[:, 1])
        elif (failed := failed + 1) > 1:
            return


def _visit(lcp: LCP, found: RawSolution) -> RawSolution:
    """Return a solution by visiting all bases, for matrices outside the classes that Lemke's method can process."""
    solutions = enumerate_lcp(lcp).solutions
    if not solutions:
        return found
    note = "every path ended on a secondary ray or at a singular basis; the complementary bases were visited"
    return RawSolution(solutions[0], None, Status.SOLVED, found.iterations, note=note)


def _path(lcp: LCP, R: Vector, C: Vector, options: LemkeOptions, pivots: int, most: int) -> RawSolution:
    """Follow the path for rows scaled by R and columns by C; count pivots from `pivots`, and stop at `most`."""
    n = lcp.n
    M, q = R[:, None] * lcp.M * C, R * lcp.q
    q = q / np.abs(q).max()
    # Indices of the variables: w 0..n-1, z n..2n-1, z0 2n; `columns` are their columns in w - M z - c z0 = q.
    columns = np.hstack((np.eye(n), -M, -np.ones((n, 1))))
    basis = np.arange(n)
    # z0 enters in the lexicographically smallest row of (q, I), after which every row is positive.
    row = _lexicographic(q, np.eye(n), np.ones(n), np.arange(n))
    leaving = int(basis[row])
    basis[row] = 2 * n
    pivots += 1
    inverse: Matrix = np.zeros((0, 0))
    age = REFRESH
    while leaving != 2 * n:
        if pivots >= most:
            return RawSolution(None, None, Status.ITERATION_LIMIT, pivots)
        entering = leaving + n if leaving < n else leaving - n
        try:
            if age >= REFRESH or n <= SMALL:
                inverse, age = np.asarray(np.linalg.inv(columns[:, basis])), 0
            column = inverse @ columns[:, entering]
            ray = not (column > options.pivot_tolerance * np.abs(column).max()).any()
            if age and (ray or _stale(columns, basis, column, columns[:, entering])):
                inverse, age = np.asarray(np.linalg.inv(columns[:, basis])), 0
                column = inverse @ columns[:, entering]
        except np.linalg.LinAlgError:
            return RawSolution(None, None, Status.SOLVER_ERROR, pivots, note=SINGULAR)
        eligible = np.flatnonzero(column > options.pivot_tolerance * np.abs(column).max())
        if not len(eligible):
            # In a degenerate problem z0 may now be a rounding error, so that the point is a solution.
            z = _point(lcp, columns, basis, R, C)
            if z is not None and _missed(lcp, z) <= SOLVES:
                return RawSolution(z, None, Status.SOLVED, pivots)
            return RawSolution(None, None, Status.NO_SOLUTION, pivots, note=RAY)
        values = inverse @ q
        ratios = values[eligible] / column[eligible]
        tied = ratios <= ratios.min() + 1e-13 * float(np.abs(ratios).min())
        out = basis[eligible] == 2 * n
        # z0 leaves the basis as soon as it can; then a solution is reached.
        done = eligible[out & tied]
        row = int(done[0]) if len(done) else _lexicographic(values, inverse, column, eligible)
        leaving = int(basis[row])
        basis[row] = entering
        pivots += 1
        if n > SMALL:
            pivot_row = inverse[row] / column[row]
            inverse -= np.outer(column, pivot_row)
            inverse[row] = pivot_row
            age += 1
    z = _point(lcp, columns, basis, R, C)
    if z is None:
        return RawSolution(None, None, Status.SOLVER_ERROR, pivots, note=SINGULAR)
    return RawSolution(z, None, Status.SOLVED, pivots)


def _point(lcp: LCP, columns: Matrix, basis: NDArray[np.intp], R: Vector, C: Vector) -> Vector | None:
    """Return the z of a basis that does not contain z0, after `polish`; None if the basis is singular."""
    n = lcp.n
    try:
        x = np.linalg.solve(columns[:, basis], R * lcp.q)
    except np.linalg.LinAlgError:
        return None
    z = np.zeros(2 * n + 1)
    z[basis] = np.maximum(x, 0.0)
    return polish(lcp, C * z[n : 2 * n])


def _missed(lcp: LCP, z: Vector) -> float:
    """Return the largest natural residual of a row relative to the terms of the row; NaN if these are zero."""
    residual, size, _ = natural_residual(lcp, z)
    residual = np.abs(residual)
    return float(np.where(residual > 0, residual / np.where(size > 0, size, np.nan), 0.0).max(initial=0.0))


def _stale(columns: Matrix, basis: NDArray[np.intp], column: Vector, entering: Vector) -> bool:
    """Return whether the product of basis and `column` differs from the entering column by more than rounding."""
    full = np.zeros(columns.shape[1])
    full[basis] = column
    miss = columns @ full - entering
    return not float(np.abs(miss).max()) <= FRESH * max(1.0, float(np.abs(column).max()))


def _lexicographic(values: Vector, inverse: Matrix, column: Vector, left: NDArray[np.intp]) -> int:
    """Return the lexicographically smallest of the rows `left` of (values, inverse) / column.

    Entries that differ by rounding errors count as equal; columns of the inverse serve only to break ties.
    """
    for j in range(-1, len(inverse)):
        ratios = (values if j < 0 else inverse[:, j])[left] / column[left]
        low = ratios.min()
        left = left[ratios <= low + 1e-13 * max(abs(low), float(np.abs(ratios).min()))]
        if len(left) == 1:
            break
    return int(left[0])


solver = Lemke
