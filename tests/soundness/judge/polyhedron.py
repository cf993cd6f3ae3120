"""Equations with inequalities, exactly: the points, vertices and rays of their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from .exact import Exact, Row, solve


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """Vertices and rays of a set without lines; one vertex and no ray if it is a point."""

    vertices: tuple[Exact, ...]
    rays: tuple[tuple[int, ...], ...]


def lowest(x: Exact) -> Exact:
    """The same vector with the smallest denominator, so that equal vectors compare equal."""
    divisor = gcd(x.den, *x.top)
    return Exact(tuple(v // divisor for v in x.top), x.den // divisor)


def holds(row: Row, x: Exact) -> bool:
    """Whether row[:-1] . x + row[-1] >= 0."""
    return sum(r * v for r, v in zip(row, x.top, strict=False)) + row[-1] * x.den >= 0


def describe(equations: Sequence[Row], inequalities: Sequence[Row], n: int) -> Polyhedron | None:
    """The set {x : row[:n] . x + row[n] = 0 and >= 0}; None if it is empty. It must contain no line."""
    if not n:
        point = Exact((), 1)
        ok = all(not row[-1] for row in equations) and all(row[-1] >= 0 for row in inequalities)
        return Polyhedron((point,), ()) if ok else None
    if equations:
        found = solve([[*row[:n], -row[n]] for row in equations], n)
        if found is None:
            return None
        point, kernel = found.point, found.kernel
    else:
        point, kernel = Exact((0,) * n, 1), tuple(tuple(int(i == j) for j in range(n)) for i in range(n))
    if not kernel:
        return Polyhedron((lowest(point),), ()) if all(holds(row, point) for row in inequalities) else None
    return _with_freedom(point, kernel, inequalities)


def _with_freedom(point: Exact, kernel: Sequence[Sequence[int]], inequalities: Sequence[Row]) -> Polyhedron | None:
    """The same in the coordinates t of point + kernel^T t."""
    p = len(kernel)
    rows: list[Row] = []
    seen = set()
    for row in inequalities:
        slope = [point.den * sum(r * k for r, k in zip(row, direction, strict=False)) for direction in kernel]
        level = sum(r * v for r, v in zip(row, point.top, strict=False)) + row[-1] * point.den
        divisor = gcd(level, *slope)
        if not any(slope):
            if level < 0:
                return None
            continue
        reduced = [v // divisor for v in (*slope, level)]
        if tuple(reduced) not in seen:
            seen.add(tuple(reduced))
            rows.append(reduced)
    vertices: set[Exact] = set()
    for chosen in combinations(rows, p):
        found = solve([[*row[:p], -row[p]] for row in chosen], p)
        if found is None or found.kernel:
            continue
        if all(holds(row, found.point) for row in rows):
            vertices.add(lowest(found.point))
    if not vertices:
        return None
    rays: set[tuple[int, ...]] = set()
    for chosen in combinations(rows, p - 1):
        found = solve([[*row[:p], 0] for row in chosen], p) if chosen else None
        directions = found.kernel if found is not None else ((1,),)
        if len(directions) != 1:
            continue
        for sign in (1, -1):
            d = [sign * v for v in directions[0]]
            if all(sum(r * v for r, v in zip(row, d, strict=False)) >= 0 for row in rows):
                rays.add(tuple(d))
    n = len(point.top)
    back = (tuple(sum(t * k[i] for t, k in zip(ray, kernel, strict=True)) for i in range(n)) for ray in rays)
    return Polyhedron(tuple(_back(point, kernel, t) for t in vertices), tuple(back))


def _back(point: Exact, kernel: Sequence[Sequence[int]], t: Exact) -> Exact:
    """Point + kernel^T t."""
    top = tuple(
        v * t.den + point.den * sum(s * k[i] for s, k in zip(t.top, kernel, strict=True))
        for i, v in enumerate(point.top)
    )
    return lowest(Exact(top, point.den * t.den))
