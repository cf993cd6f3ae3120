"""Solve complementarity conditions by trying every active set, without code of the solvers that are judged.

All programs of paper 001, and the mechanics itself, have the form

    P x = p + R y,    w = A x + b,    0 <= y,    0 <= w,    y_i w_i = 0;

in a strictly convex program R = A^T, and y are the multipliers of the inequalities w >= 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gaussopt.core.arrays import Matrix
from gaussopt.lcp.matrix_classes import subsets
from gaussopt.linalg import rational

Rational = Sequence[Sequence[Fraction | int]]


@dataclass(frozen=True, slots=True)
class ActiveSetPoints:
    """For each problem, the basic point that violates the inequalities least: x is (B, m), y and w are (B, k)."""

    x: Matrix
    y: Matrix
    w: Matrix


def solve(P: Matrix, p: Matrix, R: Matrix, A: Matrix, b: Matrix) -> ActiveSetPoints:
    """Solve B problems; P, (B, m, m), is regular; the shapes are p (B, m), R (B, m, k), A (B, k, m), b (B, k)."""
    k = b.shape[1]
    columns: Matrix = np.asarray(np.linalg.solve(P, np.concatenate((R, p[..., None]), axis=2)), dtype=np.float64)
    X, x0 = columns[..., :k], columns[..., k]
    y = lcp(A @ X, b + times(A, x0))
    x = x0 + times(X, y)
    return ActiveSetPoints(x, y, times(A, x) + b)


def lcp(A: Matrix, b: Matrix) -> Matrix:
    """Solve z >= 0, A z + b >= 0, z^T (A z + b) = 0 for each of B problems; A is (B, k, k), b and z are (B, k)."""
    diagonal = A.diagonal(axis1=1, axis2=2)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    S, s = unit[:, :, None] * A * unit[:, None, :], unit * b
    k = b.shape[1]
    identity = np.eye(k)
    found, best = np.zeros_like(b), np.full(len(b), -np.inf)
    for active in subsets(k):
        block, right = np.where(active[:, None] & active, S, identity), np.where(active, -s, 0.0)[..., None]
        regular = np.ones(len(b), dtype=bool)
        try:
            y = np.linalg.solve(block, right)[..., 0]
        except np.linalg.LinAlgError:
            regular = np.linalg.det(block) != 0
            y = np.linalg.solve(np.where(regular[:, None, None], block, identity), right)[..., 0]
        slack = np.where(active, y, times(S, y) + s).min(axis=1)
        better = regular & (slack > best)
        found[better], best[better] = y[better], slack[better]
    return np.asarray(unit * np.maximum(found, 0.0))


def quadratic(P: Matrix, p: Matrix, A: Matrix, b: Matrix) -> Matrix:
    """Return the minimisers z, (B, k), of 1/2 z^T P z - p^T z subject to A z + b >= 0, for positive definite P."""
    return solve(P, p, A.swapaxes(1, 2), A, b).x


def printed(A: Matrix, b: Matrix) -> Matrix:
    """Return the minimisers z, (B, k), of program (29) as the paper prints it: 1/2 z^T A z subject to A z + b >= 0."""
    return quadratic(symmetric(A), np.zeros_like(b), A, b)


def primal(A: Matrix, b: Matrix) -> Matrix:
    """Return the minimisers z, (B, k), of program (36) as printed: 1/2 z^T A z + b^T z subject to z >= 0."""
    return lcp(symmetric(A), b)


def symmetric(A: Matrix) -> Matrix:
    """Return the symmetric part of each matrix."""
    return np.asarray(0.5 * (A + A.swapaxes(-1, -2)))


def times(A: Matrix, x: Matrix) -> Matrix:
    """Multiply each matrix by its vector, (B, r)."""
    return np.asarray((A @ x[..., None])[..., 0])


def solve_exactly(P: Rational, p: Sequence[Fraction | int], R: Rational, A: Rational, b: Sequence[Fraction | int]) \
        -> list[tuple[list[Fraction], list[Fraction], list[Fraction]]]:  # fmt: skip
    """Find all solutions (x, y, w) determined by their active set, in exact rational arithmetic; P must be regular."""
    rows, bias = rational.exact(A), rational.exact(b)
    columns = rational.solve(rational.exact(P), np.column_stack((rational.exact(R), rational.exact(p))))
    assert columns is not None
    X, x0 = columns[:, :-1], columns[:, -1]
    found = []
    for y in lcp_exactly((rows @ X).tolist(), (bias + rows @ x0).tolist()):
        x = x0 + X @ rational.exact(y)
        found.append((x.tolist(), y, (rows @ x + bias).tolist()))
    return found


def lcp_exactly(A: Rational, b: Sequence[Fraction | int]) -> list[list[Fraction]]:
    """Find all solutions of an LCP that belong to a regular principal submatrix of A, in exact rational arithmetic."""
    M, q = rational.exact(A), rational.exact(b)
    found: list[list[Fraction]] = []
    for active in subsets(len(q)):
        y = rational.exact(np.zeros(len(q), dtype=int))
        point = rational.solve(M[np.ix_(active, active)], -q[active])
        if point is None:
            continue
        y[active] = point
        if min(y, default=0) >= 0 and min(M @ y + q, default=0) >= 0 and y.tolist() not in found:
            found.append(y.tolist())
    return found


def printed_exactly(A: Rational, b: Sequence[Fraction | int]) -> list[list[Fraction]]:
    """Find all points that satisfy the optimality conditions of (29), in exact rational arithmetic."""
    M = rational.exact(A)
    return [x for x, _, _ in solve_exactly(((M + M.T) / 2).tolist(), [0] * len(b), M.T.tolist(), A, b)]
