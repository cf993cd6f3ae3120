"""Exact linear algebra on integers: fraction-free elimination (Bareiss), distances, conversion of floats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Row = list[int]
Number = int | float | Fraction


@dataclass(frozen=True, slots=True)
class Exact:
    """A vector of fractions with a common denominator: `top[i] / den`, den > 0."""

    top: tuple[int, ...]
    den: int

    def fraction(self, i: int) -> Fraction:
        """One entry."""
        return Fraction(self.top[i], self.den)

    def floats(self) -> list[float]:
        """All entries, correctly rounded."""
        return [quotient(t, self.den) for t in self.top]


def quotient(top: int, den: int) -> float:
    """The float next to top / den, infinite beyond the largest float."""
    try:
        return top / den
    except OverflowError:
        return math.inf if (top > 0) == (den > 0) else -math.inf


def common(values: Iterable[Number]) -> Exact:
    """The numbers over their common denominator."""
    ratios = [v.as_integer_ratio() for v in values]
    den = math.lcm(*(q for _, q in ratios)) if ratios else 1
    return Exact(tuple(p * (den // q) for p, q in ratios), den)


def integers(values: Iterable[Number]) -> Row:
    """The numbers times one positive factor that makes them integers without a common divisor."""
    top = common(values).top
    divisor = math.gcd(*top)
    return [v // divisor for v in top] if divisor > 1 else list(top)


def matrix(values: Any, columns: int) -> list[list[Fraction]]:
    """Rows of exact numbers, from nested lists or an array of floats."""
    rows = values.tolist() if hasattr(values, "tolist") else values
    found = [[Fraction(v) for v in row] for row in rows]
    assert all(len(row) == columns for row in found)
    return found


def reduce_rows(rows: Sequence[Row], columns: int) -> tuple[list[Row], list[int], int]:
    """Gauss-Jordan elimination without fractions.

    Returns
    -------
    rows, pivots, d
        Row i < len(pivots) has d in column pivots[i] and zero in the other pivot columns; the other rows are zero in
        the first `columns` columns.
    """
    work = list(rows)
    pivots: list[int] = []
    d, top = 1, 0
    for c in range(columns):
        best = -1
        for i in range(top, len(work)):
            if work[i][c] and (best < 0 or abs(work[i][c]) < abs(work[best][c])):
                best = i
        if best < 0:
            continue
        work[top], work[best] = work[best], work[top]
        pivot_row = work[top]
        pivot = pivot_row[c]
        for i, row in enumerate(work):
            if i == top:
                continue
            factor = row[c]
            if factor:
                work[i] = [(pivot * x - factor * y) // d for x, y in zip(row, pivot_row, strict=True)]
            elif pivot != d:
                work[i] = [pivot * x // d for x in row]
        d = pivot
        pivots.append(c)
        top += 1
        if top == len(work):
            break
    return work, pivots, d


@dataclass(frozen=True, slots=True)
class Solutions:
    """All solutions of linear equations: point + any combination of the vectors of the kernel (integers)."""

    point: Exact
    kernel: tuple[tuple[int, ...], ...]


def solve(rows: Sequence[Row], n: int) -> Solutions | None:
    """All solutions of row[:n] . x = row[n]; None if the rows contradict each other."""
    found = solve_many(rows, n)
    return None if found is None or found[0][0] is None else Solutions(found[0][0], found[1])


def solve_many(rows: Sequence[Row], n: int) -> tuple[list[Exact | None], tuple[tuple[int, ...], ...]]:
    """Points for several right-hand sides (columns n and beyond), None where they contradict, and the kernel."""
    shifts = []
    for c in range(n):
        bits = 0
        for row in rows:
            bits |= row[c]
        shifts.append((bits & -bits).bit_length() - 1 if bits else 0)
    sides = len(rows[0]) - n if rows else 1
    scaled = [[row[c] >> shifts[c] for c in range(n)] + row[n:] for row in rows]
    work, pivots, d = reduce_rows(scaled, n)
    most = max(shifts, default=0)
    up = [most - s for s in shifts]
    sign = 1 if d > 0 else -1
    den = (sign * d) << most
    points: list[Exact | None] = []
    for side in range(n, n + sides):
        if any(row[side] for row in work[len(pivots) :]):
            points.append(None)
            continue
        x = [0] * n
        for row, c in zip(work, pivots, strict=False):
            x[c] = (sign * row[side]) << up[c]
        points.append(Exact(tuple(x), den))
    kernel = []
    for free in sorted(set(range(n)) - set(pivots)):
        direction = [0] * n
        direction[free] = d << up[free]
        for row, c in zip(work, pivots, strict=False):
            direction[c] = -row[free] << up[c]
        divisor = math.gcd(*direction)
        kernel.append(tuple(v // divisor for v in direction))
    return points, tuple(kernel)


def rank(rows: Sequence[Row], n: int) -> int:
    """Number of independent rows."""
    return len(reduce_rows(rows, n)[1]) if rows else 0


def root(top: int, den: int) -> float:
    """sqrt(top / den), rounded, without overflow on the way."""
    if top <= 0:
        return 0.0
    shift = (top.bit_length() - den.bit_length()) // 2
    ratio = top / (den << 2 * shift) if shift >= 0 else (top << -2 * shift) / den
    try:
        return math.ldexp(math.sqrt(ratio), shift)
    except OverflowError:
        return math.inf


def difference(x: Sequence[float], y: Exact) -> Exact:
    """X - y, exactly."""
    near = common(x)
    return Exact(tuple(a * y.den - b * near.den for a, b in zip(near.top, y.top, strict=True)), near.den * y.den)


def length(x: Exact, M: Sequence[Sequence[Fraction]] | None = None) -> float:
    """sqrt(x^T M x), the 2-norm without M."""
    if M is None:
        return root(sum(v * v for v in x.top), x.den * x.den)
    n = len(x.top)
    whole = common(v for row in M for v in row)
    total = 0
    for i in range(n):
        if x.top[i]:
            total += x.top[i] * sum(whole.top[i * n + j] * x.top[j] for j in range(n))
    return root(total, whole.den * x.den * x.den)


def product(A: Sequence[Sequence[Fraction]], x: Sequence[Fraction]) -> list[Fraction]:
    """A x."""
    return [sum((a * b for a, b in zip(row, x, strict=True) if a and b), Fraction(0)) for row in A]


def fractions(values: Any) -> list[Fraction]:
    """A vector of floats as exact numbers."""
    return [Fraction(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]
