"""Linear complementarity problems, exactly: every solution, by enumeration of the complementary bases.

0 <= z, w = M z + q >= 0, z . w = 0. For every subset S of the pairs w_i = 0 in S and z_i = 0 outside; the equations and
inequalities that are left describe a polyhedron, and the solutions are the union of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .bilateral import NONE, NOT_UNIQUE, SEVERAL, SOLVED
from .exact import Exact, Row, common, fractions, integers, matrix, solve
from .polyhedron import Polyhedron, describe, lowest

EXPANDED = 6
"""Largest matrix whose determinant is expanded to see how far it cancels."""


@dataclass(frozen=True)
class Truth:
    """What is true of a problem.

    Attributes
    ----------
    verdict : solved (w is the same for all solutions), no_solution, multiple_solutions or acceleration_not_unique
    unique : whether z itself is determined
    parts : the solutions in z, a polyhedron each
    images : the distinct values of w at their vertices
    """

    M: list[list[Fraction]]
    q: list[Fraction]
    verdict: str
    unique: bool
    parts: tuple[Polyhedron, ...] = ()
    images: tuple[Exact, ...] = ()
    _rows: list[Row] = field(default_factory=list, repr=False)


def judge(M: Any, q: Any) -> Truth:
    """All solutions of the problem and what they mean."""
    q = fractions(q)
    M = matrix(M, len(q))
    rows = [integers([*row, level]) for row, level in zip(M, q, strict=True)]
    parts = tuple(_parts(rows))
    vertices = {v for part in parts for v in part.vertices}
    images = {_w(M, q, v) for v in vertices}
    moved = any(any(_slope(M, ray)) for part in parts for ray in part.rays)
    unique = len(vertices) == 1 and not any(part.rays for part in parts)
    if not parts:
        verdict = NONE
    elif len(images) == 1 and not moved:
        verdict = SOLVED
    else:
        varies = moved or any(len({_w(M, q, v) for v in part.vertices}) > 1 for part in parts)
        verdict = NOT_UNIQUE if varies else SEVERAL
    return Truth(M, q, verdict, unique, parts, tuple(images), rows)


def _parts(rows: list[Row]) -> Iterator[Polyhedron]:
    n = len(rows)
    for code in range(1 << n):
        inside = [i for i in range(n) if code >> i & 1]
        p = len(inside)
        equations = [[rows[i][j] for j in inside] + [rows[i][n]] for i in inside]
        outside = [[rows[i][j] for j in inside] + [rows[i][n]] for i in range(n) if not code >> i & 1]
        signs = [[int(a == b) for b in range(p)] + [0] for a in range(p)]
        if p == 1 and equations[0][0]:  # the most frequent case, at little cost
            slope, level = equations[0]
            if slope * level > 0:
                continue
        found = describe(equations, [*signs, *outside], p)
        if found is not None:
            yield Polyhedron(
                tuple(_spread(v, inside, n) for v in found.vertices),
                tuple(_spread_ray(r, inside, n) for r in found.rays),
            )


def _spread(x: Exact, inside: list[int], n: int) -> Exact:
    top = [0] * n
    for i, v in zip(inside, x.top, strict=True):
        top[i] = v
    return Exact(tuple(top), x.den)


def _spread_ray(ray: tuple[int, ...], inside: list[int], n: int) -> tuple[int, ...]:
    return _spread(Exact(ray, 1), inside, n).top


def _w(M: list[list[Fraction]], q: list[Fraction], z: Exact) -> Exact:
    values = [
        sum((a * t for a, t in zip(row, z.top, strict=True) if a and t), Fraction(0)) / z.den + level
        for row, level in zip(M, q, strict=True)
    ]
    return lowest(common(values))


def _slope(M: list[list[Fraction]], ray: tuple[int, ...]) -> list[Fraction]:
    return [sum((a * t for a, t in zip(row, ray, strict=True) if a and t), Fraction(0)) for row in M]


def margin(M: list[list[Fraction]], q: list[Fraction]) -> float:
    """The smallest number that decides the verdict and is not zero, relative to the terms that it is the sum of.

    Of every regular basis: the determinant relative to the product of the sizes of its rows (of a scaled matrix), and
    every z_i and w_i. Below some 1e-12 rounding of the data alone may turn the verdict.
    """
    n, least = len(q), 1.0
    rows = [integers([*row, level]) for row, level in zip(M, q, strict=True)]
    for code in range(1 << n):
        inside = [i for i in range(n) if code >> i & 1]
        equations = [[rows[i][j] for j in inside] + [-rows[i][n]] for i in inside]
        if inside:
            if len(inside) <= EXPANDED:
                least = min(least, determinant_ratio([row[:-1] for row in equations]))
            found = solve(equations, len(inside))
            if found is None or found.kernel:
                continue
            x = _spread(found.point, inside, n)
        else:
            x = Exact((0,) * n, 1)
        for i, row in enumerate(rows):
            if i in inside:
                continue
            terms = [r * v for r, v in zip(row, x.top, strict=False)] + [row[n] * x.den]
            least = min(least, ratio(terms))
        for place, i in enumerate(inside):
            if x.top[i] and len(inside) <= EXPANDED:
                least = min(least, _cramer(equations, place, found.point))
    return least


def ratio(terms: list[int]) -> float:
    """|sum| / sum of sizes, 1 where the sum is exactly zero."""
    total, size = abs(sum(terms)), sum(abs(t) for t in terms)
    return total / size if total else 1.0


def determinant_ratio(A: list[Row]) -> float:
    """|det A| relative to the permanent of |A|, the sum of the sizes of its terms; 1 if it is exactly zero."""
    det, permanent = _expand(A, tuple(range(len(A))))
    return abs(det) / permanent if det else 1.0


def _expand(A: list[Row], columns: tuple[int, ...]) -> tuple[int, int]:
    """Determinant and permanent of sizes, by expansion along the first row; for a handful of rows."""
    if not columns:
        return 1, 1
    row = A[len(A) - len(columns)]
    det = size = 0
    for place, c in enumerate(columns):
        if row[c]:
            inner, inner_size = _expand(A, columns[:place] + columns[place + 1 :])
            det += (-1) ** place * row[c] * inner
            size += abs(row[c]) * inner_size
    return det, size


def _cramer(equations: list[Row], place: int, x: Exact) -> float:
    """The numerator of Cramer's rule for one unknown, relative to its terms."""
    return determinant_ratio([[*row[:place], row[-1], *row[place + 1 : -1]] for row in equations])
