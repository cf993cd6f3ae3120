"""Steps with contacts, exactly: every solution of the contact and friction laws.

M a + h = Q + J^T lam + sum_i (J_N,i^T N_i + J_T,i^T T_i),   J a = gamma,   w = J_N a + zeta_N,   s = J_T a + zeta_T,

0 <= N, w >= 0, N . w = 0; a contact that slides has T = -mu N v_T / |v_T|; one in the plane with friction and without
slip has |T| <= mu N, and T = -mu N s / |s| wherever s is not zero. The modes (open, closed; stick, slip to either side)
are tried one after the other; each is a polyhedron, and the solutions are the union of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as choices
from typing import Any

from . import bilateral
from .bilateral import INFEASIBLE, NONE, NOT_UNIQUE, SEVERAL, SOLVED, Step
from .complementarity import alike, levels
from .exact import Exact, Row, common, fractions, integers, matrix, solve_many
from .polyhedron import Polyhedron, describe, lowest


@dataclass(frozen=True)
class Contacts:
    """The contact arrays of a step as fractions; `sigma` is zero for a contact without slip."""

    k: int
    d: int
    J_N: list[list[Fraction]]
    zeta_N: list[Fraction]
    J_T: list[list[list[Fraction]]]
    zeta_T: list[list[Fraction]]
    sigma: list[list[Fraction]]
    mu: list[Fraction]
    resting: list[int]

    @classmethod
    def of(cls, data: Mapping[str, Any], n: int) -> Contacts:
        """From the contents of a step file; slip speeds must be rational (3, 4 has 5)."""
        J_N = matrix(data["J_N"], n)
        k = len(J_N)
        if data.get("J_T") is None:
            none: list[list[Fraction]] = [[] for _ in range(k)]
            return cls(k, 0, J_N, fractions(data["zeta_N"]), [[] for _ in range(k)], none, none, [Fraction(0)] * k, [])
        J_T = [r if isinstance(r[0], list) else [r] for r in _listed(data["J_T"])]
        tangents = [matrix(rows, n) for rows in J_T]
        v = [fractions(r if isinstance(r, list) else [r]) for r in _listed(data["v_T"])]
        zeta = [fractions(r if isinstance(r, list) else [r]) for r in _listed(data["zeta_T"])]
        mu = fractions(data["mu"])
        sigma = [direction(slip) for slip in v]
        resting = [i for i in range(k) if mu[i] > 0 and not any(v[i])]
        return cls(k, len(tangents[0]), J_N, fractions(data["zeta_N"]), tangents, zeta, sigma, mu, resting)


def _listed(value: Any) -> list[Any]:
    return value.tolist() if hasattr(value, "tolist") else list(value)


def direction(v: list[Fraction]) -> list[Fraction]:
    """-v / |v|, exactly; zero for zero.

    Raises
    ------
    ValueError
        If |v| is no fraction.
    """
    if not any(v):
        return [Fraction(0)] * len(v)
    if len(v) == 1:
        return [Fraction(-1 if v[0] > 0 else 1)]
    square = sum(x * x for x in v)
    speed = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if speed * speed != square:
        raise ValueError(f"the speed of the slip {[float(x) for x in v]} is irrational")
    return [-x / speed for x in v]


@dataclass(frozen=True)
class Truth:
    """What is true of a step with contacts.

    Attributes
    ----------
    verdict : solved, infeasible, unbounded, acceleration_not_unique, no_solution or multiple_solutions
    forces_unique : whether lam, lam_N and lam_T are determined
    a : the different accelerations, if they are isolated; of a continuum those of its vertices
    weights : sqrt(row K row^T) of J_N, then of J_T of the contacts without slip: forces in the unit of the mass norm
    base : the step without its contacts
    """

    step: Step
    contacts: Contacts
    verdict: str
    forces_unique: bool = False
    a: tuple[Exact, ...] = ()
    parts: tuple[Polyhedron, ...] = ()
    weights: tuple[float, ...] = ()
    laws: Laws | None = None
    base: bilateral.Truth | None = None

    def alike(self, part: float) -> bool:
        """Whether every solution has the same acceleration to a part of the terms that it is the sum of."""
        laws = self.laws
        if laws is None or any(any(laws.motion(ray)) for p in self.parts for ray in p.rays):
            return False
        points = list(dict.fromkeys(v for p in self.parts for v in p.vertices))
        columns = [list(column) for column in zip(*laws.effect, strict=True)] or [[] for _ in laws.start]
        terms = [levels(columns, laws.start, x) for x in points]
        return alike([laws.acceleration(x) for x in points], terms, part)


@dataclass(frozen=True)
class Laws:
    """The joints eliminated: a = start + sum x_j effect_j, w and s as rows (length p + 1) in x = (N, T of resting)."""

    start: list[Fraction]
    effect: list[list[Fraction]]
    rows: list[list[Fraction]]
    weights: tuple[float, ...]

    def sizes(self, contacts: Contacts) -> list[Fraction]:
        """The sizes of the terms that w and s without contact forces are the sums of."""
        normals = [*contacts.J_N, *(contacts.J_T[i][0] for i in contacts.resting)]
        biases = [*contacts.zeta_N, *(contacts.zeta_T[i][0] for i in contacts.resting)]
        return [
            sum((abs(r * v) for r, v in zip(row, self.start, strict=True)), abs(bias))
            for row, bias in zip(normals, biases, strict=True)
        ]

    def acceleration(self, x: Exact) -> Exact:
        """Of given contact forces."""
        return lowest(common(
            value + sum((e[i] * t for e, t in zip(self.effect, x.top, strict=True) if t), Fraction(0)) / x.den
            for i, value in enumerate(self.start)
        ))  # fmt: skip

    def motion(self, ray: tuple[int, ...]) -> list[Fraction]:
        """The acceleration caused by forces."""
        n = len(self.start)
        return [sum((e[i] * t for e, t in zip(self.effect, ray, strict=True) if t), Fraction(0)) for i in range(n)]


def eliminate(step: Step, contacts: Contacts) -> Laws:
    """The acceleration by each contact force; the joints must be well-posed."""
    n, zero = step.n, [Fraction(0)] * len(step.J)
    lifts = [column(contacts, i) for i in range(contacts.k)]
    tangents = [contacts.J_T[i][0] for i in contacts.resting]
    bare = [list(row) for row in contacts.J_N]
    sides = [step.force + step.gamma] + [c + zero for c in (*lifts, *tangents, *bare)]
    points, _ = solve_many(step.saddle(sides), n + len(step.J))
    found = [[p.fraction(i) for i in range(n)] for p in points if p is not None]
    p = len(lifts) + len(tangents)
    start, effect, own = found[0], found[1 : 1 + p], [*found[1 + p :], *found[1 + len(lifts) : 1 + p]]
    normals = [*contacts.J_N, *tangents]
    biases = [*contacts.zeta_N, *(contacts.zeta_T[i][0] for i in contacts.resting)]
    rows = [
        [*(_dot(row, e) for e in effect), _dot(row, start) + bias] for row, bias in zip(normals, biases, strict=True)
    ]
    weights = tuple(math.sqrt(max(float(_dot(row, e)), 0.0)) for row, e in zip(normals, own, strict=True))
    return Laws(start, effect, rows, weights)


def column(contacts: Contacts, i: int) -> list[Fraction]:
    """J_N^T + J_T^T mu sigma of one contact, sigma zero without slip."""
    found = list(contacts.J_N[i])
    for row, s in zip(contacts.J_T[i], contacts.sigma[i], strict=True):
        if s and contacts.mu[i]:
            found = [a + b * s * contacts.mu[i] for a, b in zip(found, row, strict=True)]
    return found


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def judge(data: Mapping[str, Any]) -> Truth:
    """The exact verdict on a step with contacts, all of them closed."""
    base = bilateral.judge(data)
    contacts = Contacts.of(data, base.step.n)
    if base.verdict != SOLVED:
        return Truth(base.step, contacts, base.verdict, base=base)
    laws = eliminate(base.step, contacts)
    parts = tuple(modes(laws, contacts))
    vertices = {v for part in parts for v in part.vertices}
    images = {v: laws.acceleration(v) for v in vertices}
    distinct = set(images.values())
    moved = any(any(laws.motion(ray)) for part in parts for ray in part.rays)
    if not parts:
        verdict = NONE if any(contacts.mu) else INFEASIBLE
    elif len(distinct) == 1 and not moved:
        verdict = SOLVED
    else:
        varies = moved or any(len({images[v] for v in part.vertices}) > 1 for part in parts)
        verdict = NOT_UNIQUE if varies else SEVERAL
    unique = len(vertices) == 1 and not any(part.rays for part in parts) and base.forces_unique
    return Truth(base.step, contacts, verdict, unique, tuple(distinct), parts, laws.weights, laws, base)


def jump(data: Mapping[str, Any]) -> dict[str, Any]:
    """The step whose acceleration is the jump of the velocity: an impact, or with `dt` a step of Moreau and Jean.

    M dv = dt (Q - h) + J^T Lam + J_N^T Lam_N + J_T^T Lam_T, with the laws of a step without slip in which
    zeta_N = (1 + e_N) J_N v and zeta_T = (1 + e_T) J_T v; joints are kept as they are by an impact, and brought to rest
    by a time step.
    """
    n = len(data["Q"])
    step, contacts, v = Step.of(data), Contacts.of(data, n), fractions(data["v"])
    zero = [Fraction(0)] * contacts.k
    e_N, e_T = (fractions(data[name]) if data.get(name) is not None else zero for name in ("e_N", "e_T"))
    dt = Fraction(data["dt"]) if data.get("dt") is not None else Fraction(0)
    out = {
        "M": step.M, "Q": [dt * f for f in step.force], "J": step.J,
        "gamma": [-_dot(row, v) if dt else Fraction(0) for row in step.J], "J_N": contacts.J_N,
        "zeta_N": [(1 + e) * _dot(row, v) for row, e in zip(contacts.J_N, e_N, strict=True)],
    }  # fmt: skip
    if contacts.d:
        slips = [[(1 + e) * _dot(row, v) for row in rows] for rows, e in zip(contacts.J_T, e_T, strict=True)]
        none = [[Fraction(0)] * contacts.d for _ in range(contacts.k)]
        out |= {"J_T": contacts.J_T, "zeta_T": slips, "v_T": none, "mu": contacts.mu}
    return out


def as_lcp(truth: Truth) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The laws as a complementarity problem in (N, mu N + T, slip to the left), of which the modes are bases."""
    assert truth.laws is not None
    k, resting, mu = truth.contacts.k, truth.contacts.resting, truth.contacts.mu
    r, p = len(resting), k + len(resting)
    M, q = [], []
    for row in truth.laws.rows:  # T = (mu N + T) - mu N
        normal = [row[i] - (mu[i] * row[k + resting.index(i)] if i in resting else 0) for i in range(k)]
        M.append([*normal, *row[k:p], *([Fraction(0)] * r)])
        q.append(row[p])
    for j in range(r):
        M[k + j][p + j] = Fraction(1)
    for j, i in enumerate(resting):
        row = [Fraction(0)] * (p + r)
        row[i], row[k + j] = 2 * mu[i], Fraction(-1)
        M.append(row)
        q.append(Fraction(0))
    return M, q


def modes(laws: Laws, contacts: Contacts) -> Iterator[Polyhedron]:
    """The solutions in x of every mode that has any."""
    rows = [integers(row) for row in laws.rows]
    options = [
        ("open", "stick", "right", "left") if i in contacts.resting else ("open", "closed") for i in range(contacts.k)
    ]
    for mode in choices(*options):
        yield from _mode(rows, contacts, mode)


def _mode(rows: list[Row], contacts: Contacts, mode: tuple[str, ...]) -> Iterator[Polyhedron]:
    k, resting = contacts.k, contacts.resting
    p = k + len(resting)
    closed = [i for i in range(k) if mode[i] != "open"]
    stuck = [j for j, i in enumerate(resting) if mode[i] == "stick"]
    # x = P y, y = (N of the closed contacts, T of those that stick); integer P by a factor on N where mu is none.
    size = len(closed) + len(stuck)
    P = [[Fraction(0)] * size for _ in range(p)]
    for place, i in enumerate(closed):
        P[i][place] = Fraction(1)
        if i in resting and mode[i] in ("right", "left"):
            P[k + resting.index(i)][place] = contacts.mu[i] if mode[i] == "left" else -contacts.mu[i]
    for place, j in enumerate(stuck):
        P[k + j][len(closed) + place] = Fraction(1)

    def inner(r: int, sign: int = 1) -> Row:
        row = rows[r]
        slopes = (sum((row[a] * P[a][b] for a in range(p) if P[a][b]), Fraction(0)) for b in range(size))
        return integers([*(sign * slope for slope in slopes), sign * row[p]])

    equations = [inner(i) for i in closed] + [inner(k + j) for j in stuck]
    inequalities = [[int(a == b) for b in range(size)] + [0] for a in range(len(closed))]
    inequalities += [inner(i) for i in range(k) if mode[i] == "open"]
    for j, i in enumerate(resting):
        if mode[i] == "right":  # slip to the right, friction to the left
            inequalities.append(inner(k + j))
        elif mode[i] == "left":
            inequalities.append(inner(k + j, -1))
        elif mode[i] == "stick":
            normal, tangent = closed.index(i), len(closed) + stuck.index(j)
            for sign in (1, -1):
                row = [Fraction(0)] * (size + 1)
                row[normal], row[tangent] = contacts.mu[i], Fraction(sign)
                inequalities.append(integers(row))
    found = describe(equations, inequalities, size)
    if found is not None:
        vertices = (_outer(P, [v.fraction(b) for b in range(size)]) for v in found.vertices)
        rays = (_outer(P, list(map(Fraction, ray))).top for ray in found.rays)
        yield Polyhedron(tuple(vertices), tuple(rays))


def _outer(P: list[list[Fraction]], y: list[Fraction]) -> Exact:
    """P y."""
    return lowest(common(_dot(row, y) for row in P))
