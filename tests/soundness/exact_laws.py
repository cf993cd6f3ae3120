"""All solutions of small contact steps and complementarity problems in exact rational arithmetic.

It shares no code with the package: the joints are taken into the problem as they are, and every vertex of the solution
set is a basic solution with positive entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

Row = list[Fraction]
Rows = list[Row]


def fractions(values: Any) -> Any:
    """Nested lists of floats as exact fractions."""
    if isinstance(values, list | tuple):
        return [fractions(v) for v in values]
    return Fraction(values)


def times(A: Sequence[Row], x: Sequence[Fraction]) -> Row:
    """A x."""
    return [sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0)) for row in A]


def transpose(A: Sequence[Row]) -> Rows:
    """A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def eliminate(A: Sequence[Row], b: Sequence[Fraction]) -> tuple[Rows, list[int]]:
    """Reduced echelon form of (A, b), and the columns of its pivots."""
    T = [[*row, value] for row, value in zip(A, b, strict=True)]
    pivots: list[int] = []
    width = len(T[0]) if T else 0
    for column in range(width):
        place = len(pivots)
        row = next((i for i in range(place, len(T)) if T[i][column]), None)
        if row is None:
            continue
        T[place], T[row] = T[row], T[place]
        head = T[place][column]
        T[place] = [v / head for v in T[place]]
        for i in range(len(T)):
            if i != place and (factor := T[i][column]):
                T[i] = [u - factor * v for u, v in zip(T[i], T[place], strict=True)]
        pivots.append(column)
        if place + 1 == len(T):
            break
    return T, pivots


def solve(A: Sequence[Row], b: Sequence[Fraction]) -> Row | None:
    """The x of A x = b if it exists and is the only one."""
    T, pivots = eliminate(A, b)
    n = len(A[0])
    return [T[i][n] for i in range(n)] if pivots == list(range(n)) else None


@dataclass(frozen=True)
class Solutions:
    """All solutions of 0 <= z, w = M z + q >= 0, z . w = 0: hulls of compatible vertices plus cones of rays.

    Attributes
    ----------
    vertices, rays : (support, z)
        The support is one letter a pair: z or w where that is positive, - where none is.
    """

    vertices: list[tuple[tuple[str, ...], Row]]
    rays: list[tuple[tuple[str, ...], Row]]

    def reachable(self) -> Iterator[Row]:
        """The rays that begin at some vertex."""
        for support, ray in self.rays:
            if any(compatible(support, other) for other, _ in self.vertices):
                yield ray

    def verdict(self, observe: Sequence[Row]) -> str:
        """none, one or many: how many values observe z takes."""
        seen = {tuple(times(observe, z)) for _, z in self.vertices}
        if len(seen) == 1 and any(any(times(observe, ray)) for ray in self.reachable()):
            return "many"
        return ("none", "one")[len(seen)] if len(seen) < 2 else "many"


def compatible(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether no pair is positive on different sides."""
    return not any(x + y in ("zw", "wz") for x, y in zip(a, b, strict=True))


def complementary(M: Sequence[Row], q: Row) -> Solutions:
    """All solutions of a small problem, by every basis and every part of it."""
    n = len(q)
    columns = transpose(M)
    unit = [[Fraction(-1 if i == j else 0) for i in range(n)] for j in range(n)]
    vertices, rays = [], []
    for support in product("wz-", repeat=n):
        chosen = [i for i in range(n) if support[i] != "-"]
        if not chosen:
            if not any(q):
                vertices.append((support, [Fraction(0)] * n))
            continue
        basis = transpose([columns[i] if support[i] == "z" else unit[i] for i in chosen])
        T, pivots = eliminate(basis, [-v for v in q])
        rank, size = sum(p < len(chosen) for p in pivots), len(chosen)
        if rank == size and size not in pivots and all(T[i][size] > 0 for i in range(size)):
            vertices.append((support, _z(support, chosen, [T[i][size] for i in range(size)])))
        elif rank == size - 1:
            open_ = next(c for c in range(size) if c not in pivots)
            null = [Fraction(1) if c == open_ else -T[pivots.index(c)][open_] for c in range(size)]
            if all(v > 0 for v in null):
                rays.append((support, _z(support, chosen, null)))
    return Solutions(vertices, rays)


def _z(support: tuple[str, ...], chosen: list[int], x: Row) -> Row:
    z = [Fraction(0)] * len(support)
    for i, value in zip(chosen, x, strict=True):
        if support[i] == "z":
            z[i] = value
    return z


@dataclass(frozen=True)
class ContactStep:
    """The laws of a step without joints: a = a_0 + effect z, and all z."""

    a_0: Row
    effect: Rows
    found: Solutions

    @property
    def accelerations(self) -> list[Row]:
        """Those of the vertices, each once."""
        seen = {tuple(self.acceleration(z)): None for _, z in self.found.vertices}
        return [list(a) for a in seen]

    def acceleration(self, z: Row) -> Row:
        """A of one solution."""
        return [u + v for u, v in zip(self.a_0, times(self.effect, z), strict=True)]

    @property
    def verdict(self) -> str:
        """none, one or many accelerations."""
        return self.found.verdict(self.effect)

    @property
    def forces_unique(self) -> bool:
        """Whether there is one solution in lam_N and lam_T."""
        k = len(self.slides)
        shown = {tuple(self.forces(z)) for _, z in self.found.vertices}
        return len(shown) == 1 and not any(any(self.forces(ray)) for ray in self.found.reachable()) and k > 0

    slides: list[bool]
    mu: Row

    def forces(self, z: Row) -> Row:
        """lam_N, then lam_T of the contacts without slip."""
        k = len(self.slides)
        resting = [i for i in range(k) if not self.slides[i]]
        return z[:k] + [z[k + p] - self.mu[i] * z[i] for p, i in enumerate(resting)]


def slip_direction(v: Row) -> Row | None:
    """-v / |v| where that is rational; None without slip."""
    square = sum((x * x for x in v), Fraction(0))
    if not square:
        return None
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert root * root == square, "the slip speed must be rational"
    return [-x / root for x in v]


def contact_step(mapping: dict[str, Any]) -> ContactStep:
    """Signorini's and Coulomb's laws of a step of a file, without joints, all contacts closed."""
    M, Q, N = (fractions(mapping[key]) for key in ("M", "Q", "J_N"))
    Q = [u - v for u, v in zip(Q, fractions(mapping.get("h", [0] * len(Q))), strict=True)]
    zeta = fractions(mapping["zeta_N"])
    T = [t if isinstance(t[0], list) else [t] for t in fractions(mapping["J_T"])]
    slip = [v if isinstance(v, list) else [v] for v in fractions(mapping["v_T"])]
    zeta_T = [z if isinstance(z, list) else [z] for z in fractions(mapping["zeta_T"])]
    mu, k, n = fractions(mapping["mu"]), len(zeta), len(Q)
    sigma = [slip_direction(v) for v in slip]
    slides = [s is not None or not m for s, m in zip(sigma, mu, strict=True)]
    resting = [i for i in range(k) if not slides[i]]
    columns = []  # generalised force of each z: lam_N, lam_R, kappa_L (none)
    for i in range(k):
        way = sigma[i] if sigma[i] is not None else ([Fraction(-1)] if not slides[i] else [Fraction(0)] * len(T[i]))
        assert way is not None
        columns.append([N[i][j] + mu[i] * sum(w * t[j] for w, t in zip(way, T[i], strict=True)) for j in range(n)])
    columns += [T[i][0] for i in resting]
    answers = [solve(M, c) for c in columns]
    a_0 = solve(M, Q)
    assert a_0 is not None
    assert all(x is not None for x in answers)
    r = len(resting)
    effect = transpose([x for x in answers if x is not None] + [[Fraction(0)] * n] * r)
    rows = N + [T[i][0] for i in resting]
    start = [u + v for u, v in zip(times(rows, a_0), zeta + [zeta_T[i][0] for i in resting], strict=True)]
    size = k + 2 * r
    L = [times(transpose(effect), row) for row in rows] + [[Fraction(0)] * size for _ in range(r)]
    for p, i in enumerate(resting):
        L[k + p][k + r + p] += 1  # kappa_R = s + kappa_L
        L[k + r + p][i] += 2 * mu[i]
        L[k + r + p][k + p] -= 1
    return ContactStep(a_0, effect, complementary(L, start + [Fraction(0)] * r), slides, mu)
