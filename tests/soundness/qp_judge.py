"""Convex quadratic programs solved in rational arithmetic, and what that says of a point; shares no code with gaussopt.

The optimality conditions are a linear complementarity problem with a positive semidefinite matrix; Lemke's method with
the lexicographic rule, in fractions, solves it or proves that it has no solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Numbers = list[Fraction]


@dataclass
class Exact:
    """solved, infeasible or unbounded; a minimiser and its objective."""

    verdict: str
    x: Numbers
    objective: Fraction


def exact(values: Any) -> Any:
    if np.ndim(values) == 0:
        return Fraction(float(values))
    return [exact(v) for v in values]


def dot(a: Numbers, b: Numbers) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def objective(P: list[Numbers], q: Numbers, x: Numbers) -> Fraction:
    return dot(x, [dot(row, x) for row in P]) / 2 + dot(q, x)


def solve(P: Any, q: Any, A: Any, l: Any, u: Any) -> Exact:
    n = len(q)
    flat = [[Fraction(0)] * n for _ in range(n)]
    rows, bounds = [], []
    for row, low, high in zip(exact(A), l, u, strict=True):
        if np.isfinite(low):
            rows.append(row)
            bounds.append(exact(low))
        if np.isfinite(high):
            rows.append([-a for a in row])
            bounds.append(-exact(high))
    if _solve(flat, [Fraction(0)] * n, rows, bounds) is None:
        return Exact("infeasible", [], Fraction(0))
    hessian, slope = exact(P), exact(q)
    x = _solve(hessian, slope, rows, bounds)
    if x is None:
        return Exact("unbounded", [], Fraction(0))
    return Exact("solved", x, objective(hessian, slope, x))


def _solve(P: list[Numbers], q: Numbers, rows: list[Numbers], bounds: Numbers) -> Numbers | None:
    """x of min 1/2 x^T P x + q^T x with rows x >= bounds, as the difference of two nonnegative vectors."""
    n, m = len(q), len(rows)
    size = 2 * n + m
    M = [[Fraction(0)] * size for _ in range(size)]
    right = list(q) + [-value for value in q] + [-value for value in bounds]
    for i in range(n):
        for j in range(n):
            M[i][j], M[i][n + j], M[n + i][j], M[n + i][n + j] = P[i][j], -P[i][j], -P[i][j], P[i][j]
        for k in range(m):
            M[i][2 * n + k], M[n + i][2 * n + k] = -rows[k][i], rows[k][i]
            M[2 * n + k][i], M[2 * n + k][n + i] = rows[k][i], -rows[k][i]
    z = lemke(M, right)
    return None if z is None else [z[i] - z[n + i] for i in range(n)]


def lemke(M: list[Numbers], q: Numbers) -> Numbers | None:
    """z >= 0 with w = M z + q >= 0 and z w = 0; None after a ray, which for semidefinite M proves that none exists."""
    n = len(q)
    if all(value >= 0 for value in q):
        return [Fraction(0)] * n
    # Columns: w (0 .. n - 1), z (n .. 2n - 1), z0, right side. Rows: w - M z - z0 = q.
    table = [
        [Fraction(int(i == j)) for j in range(n)] + [-value for value in M[i]] + [Fraction(-1), q[i]] for i in range(n)
    ]
    basis = list(range(n))

    def pivot(row: int, column: int) -> int:
        lead = table[row][column]
        table[row] = [value / lead for value in table[row]]
        for i in range(n):
            if i != row and (factor := table[i][column]):
                table[i] = [a - factor * b if b else a for a, b in zip(table[i], table[row], strict=True)]
        left, basis[row] = basis[row], column
        return left

    first = min(range(n), key=lambda i: (q[i], -i))
    left = pivot(first, 2 * n)
    while left != 2 * n:
        entering = left + n if left < n else left - n
        candidates = [i for i in range(n) if table[i][entering] > 0]
        if not candidates:
            return None

        def order(i: int, column: int = entering) -> tuple[Any, ...]:
            lead = table[i][column]
            return (table[i][-1] / lead, basis[i] != 2 * n, *(value / lead for value in table[i][:n]))

        left = pivot(min(candidates, key=order), entering)
    z = [Fraction(0)] * n
    for i, column in enumerate(basis):
        if n <= column < 2 * n:
            z[column - n] = table[i][-1]
    return z


@dataclass
class Found:
    """How wrong a point is: largest violation of a row and loss of the objective, relative to the true terms."""

    violation: float
    loss: float


def _room(A: list[Numbers], j: int, absolute: Numbers) -> Fraction:
    """How far a coordinate could move within the terms of the rows that hold it."""
    terms = [(abs(row[j]), dot([abs(a) for a in row], absolute)) for row in A if row[j]]
    return min((size / entry for entry, size in terms if size), default=Fraction(0))


def judge(P: Any, q: Any, A: Any, l: Any, u: Any, truth: Exact, x: Any) -> Found:
    P, q, A, point = exact(P), exact(q), exact(A), exact(x)
    absolute = [abs(value) for value in truth.x]
    forces = [abs(b) + dot([abs(p) for p in row], absolute) for row, b in zip(P, q, strict=True)]
    reach = [
        max(value, force / P[i][i] if P[i][i] > 0 else Fraction(0))
        for i, (value, force) in enumerate(zip(absolute, forces, strict=True))
    ]
    # What is a rounding error of the largest energy is none of a coordinate's own.
    energy = max((float(value) * float(P[i][i]) ** 0.5 for i, value in enumerate(reach)), default=0.0)
    for i in range(len(reach)):
        if P[i][i] > 0:
            reach[i] = max(reach[i], Fraction(1e-6 * energy / float(P[i][i]) ** 0.5))
    held = [_room(A, j, absolute) for j in range(len(reach))]
    worst = 0.0
    for row, low, high in zip(A, l, u, strict=True):
        value = dot(row, point)
        size = [abs(a) for a in row]
        for bound, sign in ((low, 1), (high, -1)):
            if np.isfinite(bound) and (beyond := sign * (exact(bound) - value)) > 0:
                terms = abs(exact(bound)) + dot(size, absolute) if bound else dot(size, reach)
                # A row without terms at the solution has no size of its own: what its coordinates could move without
                # changing another row by more than that row's terms stands in, or else the largest coordinate.
                terms = terms or dot(size, held) or sum(size) * max([*absolute, Fraction(0)]) or Fraction(1)
                worst = max(worst, float(beyond / terms))
    lost = objective(P, q, point) - truth.objective
    terms = dot(truth.x, [dot(row, truth.x) for row in P]) / 2 + dot([abs(b) for b in q], absolute)
    if not terms:
        terms = dot([abs(b) for b in q], reach)
    if not terms:  # nothing to lose: what counts is the rounding of the point's own terms
        own = [abs(value) for value in point]
        terms = dot(own, [dot([abs(p) for p in row], own) for row in P]) * Fraction(1e-6)
        terms += dot([abs(b) for b in q], [max([*absolute, Fraction(1)])] * len(q))
    loss = float(lost / terms) if terms else (np.inf if lost > 0 else 0.0)
    return Found(worst, loss)
