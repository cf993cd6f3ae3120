"""Linear complementarity problems, exactly: every solution, by enumeration of the complementary bases.

0 <= z, w = M z + q >= 0, z . w = 0. For every subset S of the pairs w_i = 0 in S and z_i = 0 outside; the equations and
inequalities that are left describe a polyhedron, and the solutions are the union of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
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

    def alike(self, part: float) -> bool:
        """Whether every solution has the same w to a part of its terms."""
        if any(any(_slope(self.M, ray)) for p in self.parts for ray in p.rays):
            return False
        points = list(dict.fromkeys(v for p in self.parts for v in p.vertices))
        return alike([_w(self.M, self.q, z) for z in points], [levels(self.M, self.q, z) for z in points], part)


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


def margin(M: list[list[Fraction]], q: list[Fraction], sizes: list[Fraction] | None = None) -> float:
    """The smallest number that decides the verdict and is not zero, relative to the terms that it is the sum of.

    Of every regular basis: the determinant relative to the product of the sizes of its rows (of a scaled matrix), and
    every z_i and w_i. Below some 1e-12 rounding of the data alone may turn the verdict. `sizes` are those of the terms
    that q is the sum of, where q is not given but computed; |q| if absent.
    """
    n, least = len(q), 1.0
    sizes = [abs(level) for level in q] if sizes is None else sizes
    rows = [integers([*row, level, size]) for row, level, size in zip(M, q, sizes, strict=True)]
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
            terms = [r * v for r, v in zip(row, x.top, strict=False)]
            least = min(least, ratio([*terms, row[n] * x.den], [*terms, row[n + 1] * x.den]))
        for place, i in enumerate(inside):
            if x.top[i] and len(inside) <= EXPANDED:
                least = min(least, _cramer(equations, [rows[i][n + 1] for i in inside], place))
    return least


def ratio(terms: list[int], sizes: list[int] | None = None) -> float:
    """|sum| / sum of sizes, those of the terms if absent; 1 where the sum is exactly zero."""
    total, size = abs(sum(terms)), sum(map(abs, terms if sizes is None else sizes))
    return total / size if total else 1.0


def determinant_ratio(A: list[Row], sizes: list[Row] | None = None) -> float:
    """|det A| relative to the sum of the sizes of its terms, the permanent of |A| or of `sizes`; 1 for exact zeros."""
    det, permanent = _expand(A, A if sizes is None else sizes, tuple(range(len(A))))
    return abs(det) / permanent if det else 1.0


def _expand(A: list[Row], sizes: list[Row], columns: tuple[int, ...]) -> tuple[int, int]:
    """Determinant and permanent of sizes, by expansion along the first row; for a handful of rows."""
    if not columns:
        return 1, 1
    place_of_row = len(A) - len(columns)
    row, own = A[place_of_row], sizes[place_of_row]
    det = size = 0
    for place, c in enumerate(columns):
        if own[c]:
            inner, inner_size = _expand(A, sizes, columns[:place] + columns[place + 1 :])
            det += (-1) ** place * row[c] * inner
            size += abs(own[c]) * inner_size
    return det, size


def _cramer(equations: list[Row], sizes: list[int], place: int) -> float:
    """The numerator of Cramer's rule for one unknown, relative to its terms."""
    numerator = [[*row[:place], row[-1], *row[place + 1 : -1]] for row in equations]
    terms = [[*row[:place], size, *row[place + 1 : -1]] for row, size in zip(equations, sizes, strict=True)]
    return determinant_ratio(numerator, terms)


def levels(M: list[list[Fraction]], q: list[Fraction], z: Exact) -> list[Fraction]:
    """The sizes of the terms of M z + q."""
    return [
        sum((abs(a * t) for a, t in zip(row, z.top, strict=True) if a and t), Fraction(0)) / z.den + abs(level)
        for row, level in zip(M, q, strict=True)
    ]


def alike(values: list[Exact], terms: list[list[Fraction]], part: float) -> bool:
    """Whether all vectors agree, entry by entry, to a part of the terms that the entries are sums of."""
    limit = Fraction(part)
    return all(
        abs(a.fraction(i) - b.fraction(i)) <= limit * max(s, t)
        for (a, own), (b, other) in combinations(zip(values, terms, strict=True), 2)
        for i, (s, t) in enumerate(zip(own, other, strict=True))
    )
