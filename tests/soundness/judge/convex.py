"""Convex quadratic programs, exactly: whether a minimiser exists, one of them, and the least value.

min 1/2 x^T P x + q^T x   subject to   l <= A x <= u.

Feasibility is decided by pivots with the least-index rule, which cannot cycle; unboundedness by the feasibility of a
ray; the minimum by a primal active-set method from a feasible point. Nothing rounds, so its optimality conditions hold
exactly, and for a convex program they prove the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Any

from .bilateral import INFEASIBLE, SOLVED, UNBOUNDED
from .exact import Exact, Row, common, fractions, integers, matrix, rank, solve

LIMIT = 500
"""Changes of the active set after which the judge gives up."""


class GaveUp(Exception):
    """The judge did not decide."""


@dataclass(frozen=True)
class Truth:
    """What is true of a program.

    Attributes
    ----------
    verdict : solved, infeasible or unbounded
    x : a minimiser; P x is the same for all
    least : the least value
    definite : whether P is positive definite, so that x is the only one
    contradiction : of an infeasible program, the contradiction of its rows relative to the terms it is the sum of
    """

    P: list[list[Fraction]]
    q: list[Fraction]
    A: list[list[Fraction]]
    l: list[Fraction | None]
    u: list[Fraction | None]
    verdict: str
    x: Exact | None = None
    least: Fraction | None = None
    definite: bool = False
    contradiction: float = 0.0


def judge(P: Any, q: Any, A: Any, l: Any, u: Any) -> Truth:
    """The exact verdict on a convex program; infinite or absent (None) bounds are no bounds."""
    q = fractions(q)
    P, A = matrix(P, len(q)), matrix(A, len(q))
    l, u = bounds(l), bounds(u)
    data = (P, q, A, l, u)
    rows, levels, _ = one_sided(A, l, u)
    point, contradiction = feasible(rows, len(q), levels)
    if point is None:
        return Truth(*data, INFEASIBLE, contradiction=contradiction)
    definite = rank([integers(row) for row in P], len(q)) == len(q)
    if not definite and _descends(P, q, rows):
        return Truth(*data, UNBOUNDED)
    x = _minimise(P, q, rows, point)
    values = [x.fraction(i) for i in range(len(q))]
    return Truth(*data, SOLVED, x, objective(P, q, values), definite)


def bounds(values: Any) -> list[Fraction | None]:
    """Exact bounds, None where there is none."""
    listed = values.tolist() if hasattr(values, "tolist") else values
    return [None if v is None or isinf(v) else Fraction(v) for v in listed]


def objective(P: list[list[Fraction]], q: list[Fraction], x: Sequence[Fraction]) -> Fraction:
    """1/2 x^T P x + q^T x."""
    value = sum((a * b for a, b in zip(q, x, strict=True)), Fraction(0))
    for row, v in zip(P, x, strict=True):
        if v:
            value += v * sum((a * b for a, b in zip(row, x, strict=True) if a), Fraction(0)) / 2
    return value


def one_sided(A: Any, l: Any, u: Any) -> tuple[list[list[Fraction]], list[Fraction], list[int]]:
    """Rows (length n + 1) with row[:n] . x + row[n] >= 0, the bounds they come from, and which row of A that is."""
    rows, levels, places = [], [], []
    for i, row in enumerate(A):
        if l[i] is not None:
            rows.append([*row, -l[i]])
            levels.append(-l[i])
            places.append(i)
        if u[i] is not None:
            rows.append([*(-v for v in row), u[i]])
            levels.append(u[i])
            places.append(i)
    return rows, levels, places


def feasible(rows: list[list[Fraction]], n: int, levels: list[Fraction]) -> tuple[Exact | None, float]:
    """A point with row[:n] . x + row[n] >= 0 for all rows, or None and the relative contradiction.

    The slacks of independent rows take the place of x; then the least slack below zero is made zero by the least slack
    that can grow, until none is below zero or none can help.
    """
    if not rows:
        return Exact((0,) * n, 1), 0.0
    # Every slack and x as rows of a dictionary over the same variables: columns (nonbasic..., constant), over d.
    table = [integers(row) for row in rows]
    count, d = len(table), 1
    table += [[int(i == j) for j in range(n)] + [0] for i in range(n)]
    basis = list(range(count + n))  # name of each row's variable; x_i is count + i
    nonbasic: list[int] = [-1 - j for j in range(n)]
    # Phase 0: bring slacks into the columns.
    for j in range(n):
        i = next((i for i in range(count) if basis[i] >= 0 and table[i][j] and basis[i] == i), None)
        if i is not None:
            d = _pivot(table, i, j, d)
            nonbasic[j], basis[i] = i, -1 - j
    usable = [j for j in range(n) if nonbasic[j] >= 0]
    # Rows whose variable is an old x direction (name < 0) are free and never block.
    while True:
        candidates = [(basis[i], i) for i in range(count) if basis[i] >= 0 and table[i][n] < 0]
        if not candidates:
            break
        _, i = min(candidates)
        helpers = [(nonbasic[j], j) for j in usable if table[i][j] > 0]
        if not helpers:
            return None, _contradiction(table[i], nonbasic, usable, basis[i], rows, levels, d)
        _, j = min(helpers)
        d = _pivot(table, i, j, d)
        basis[i], nonbasic[j] = nonbasic[j], basis[i]
    return Exact(tuple(table[count + i][n] for i in range(n)), d), 0.0


def _pivot(table: list[Row], i: int, j: int, d: int) -> int:
    """Exchange the variable of row i with that of column j; returns the new common denominator, positive."""
    row = table[i]
    p = row[j]
    sign = 1 if p > 0 else -1
    for k, other in enumerate(table):
        if k == i:
            continue
        f = other[j]
        if f:
            table[k] = [sign * (p * v - f * r) // d for v, r in zip(other, row, strict=True)]
            table[k][j] = sign * f
        elif p != d:
            table[k] = [sign * p * v // d for v in other]
    table[i] = [-sign * v for v in row]
    table[i][j] = sign * d
    return abs(p)


def _contradiction(
    row: Row, nonbasic: list[int], usable: list[int], name: int, rows: Any, levels: Any, d: int
) -> float:
    """|sum y_r b_r| / sum |y_r b_r| of the combination y of the rows whose left side vanishes."""
    scale = [_factor(full) for full in rows]
    weights = {name: Fraction(d)}
    for j in usable:
        if row[j]:
            weights[nonbasic[j]] = Fraction(-row[j])
    parts = [weight * scale[r] * levels[r] for r, weight in weights.items()]
    size = sum((abs(p) for p in parts), Fraction(0))
    return float(abs(sum(parts, Fraction(0))) / size) if size else 0.0


def _factor(full: list[Fraction]) -> Fraction:
    """What `integers` multiplied a row by."""
    whole = integers(full)
    i = next((i for i, v in enumerate(full) if v), None)
    return Fraction(1) if i is None else Fraction(whole[i]) / full[i]


def _descends(P: list[list[Fraction]], q: list[Fraction], rows: list[list[Fraction]]) -> bool:
    """Whether a ray d has P d = 0, q . d < 0 and stays feasible."""
    n = len(q)
    cone = [[*row[:n], Fraction(0)] for row in rows]
    for row in P:
        if any(row):
            cone += [[*row, Fraction(0)], [*(-v for v in row), Fraction(0)]]
    cone.append([*(-v for v in q), Fraction(-1)])
    return feasible(cone, n, [row[n] for row in cone])[0] is not None


def _minimise(P: list[list[Fraction]], q: list[Fraction], rows: list[list[Fraction]], start: Exact) -> Exact:
    """Primal active-set method; least index enters and leaves."""
    n = len(q)
    x = [start.fraction(i) for i in range(n)]
    working: list[int] = []
    for _ in range(LIMIT):
        gradient = [q[i] + sum((a * b for a, b in zip(P[i], x, strict=True) if a), Fraction(0)) for i in range(n)]
        direction, y = _direction(P, gradient, [rows[r][:n] for r in working])
        if not any(direction):
            bad = [r for r, v in zip(working, y or [], strict=True) if v < 0]
            if not bad:
                return common(x)
            working.remove(min(bad))
            continue
        step, block = None if y is None else Fraction(1), None
        for r, row in enumerate(rows):
            if r in working:
                continue
            slope = sum((a * b for a, b in zip(row, direction, strict=False) if a and b), Fraction(0))
            if slope < 0:
                level = row[n] + sum((a * b for a, b in zip(row, x, strict=False) if a), Fraction(0))
                reach = -level / slope
                if step is None or reach < step:
                    step, block = reach, r
        assert step is not None, "a bounded program has no free ray"
        x = [a + step * b for a, b in zip(x, direction, strict=True)]
        if block is not None:
            working.append(block)
    raise GaveUp


def _direction(P: Any, gradient: list[Fraction], held: Any) -> tuple[list[Fraction], list[Fraction] | None]:
    """Step to the minimum on the held rows with their duals, or a ray of descent (duals None)."""
    n, m = len(gradient), len(held)
    equations = [integers([*P[i], *(-row[i] for row in held), -gradient[i]]) for i in range(n)]
    equations += [integers([*row, *([Fraction(0)] * (m + 1))]) for row in held]
    found = solve(equations, n + m)
    if found is not None:
        return [found.point.fraction(i) for i in range(n)], [found.point.fraction(n + j) for j in range(m)]
    free = solve([integers([*row, Fraction(0)]) for row in (*P, *held)], n)
    assert free is not None
    for k in free.kernel:
        slope = sum((g * v for g, v in zip(gradient, k, strict=True)), Fraction(0))
        if slope:
            return [Fraction(-v if slope > 0 else v) for v in k], None
    raise AssertionError("no step and no ray")
