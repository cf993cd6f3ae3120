"""Steps without contacts, exactly: what is true of the step, and how far an answer is from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .exact import Exact, Row, fractions, integers, matrix, solve_many

SOLVED, INFEASIBLE, UNBOUNDED = "solved", "infeasible", "unbounded"
NOT_UNIQUE, SEVERAL, NONE = "acceleration_not_unique", "multiple_solutions", "no_solution"
EPS = 2.0**-52


@dataclass(frozen=True)
class Step:
    """The numbers of a step as fractions; `force` is Q - h."""

    n: int
    M: list[list[Fraction]]
    force: list[Fraction]
    J: list[list[Fraction]]
    gamma: list[Fraction]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Step:
        """From the contents of a step file."""
        Q = fractions(data["Q"])
        h = fractions(data["h"]) if data.get("h") is not None else [Fraction(0)] * len(Q)
        J = data.get("J")
        J = [] if J is None or len(J) == 0 else matrix(J, len(Q))
        gamma = fractions(data["gamma"]) if J else []
        return cls(len(Q), matrix(data["M"], len(Q)), [a - b for a, b in zip(Q, h, strict=True)], J, gamma)

    def saddle(self, sides: list[list[Fraction]]) -> list[Row]:
        """Rows of [M, -J^T; J, 0] with the right-hand sides (each of length n + m) behind, made integers."""
        n, m = self.n, len(self.J)
        rows = []
        for i in range(n):
            rows.append([*self.M[i], *(-self.J[j][i] for j in range(m)), *(side[i] for side in sides)])
        for j in range(m):
            rows.append([*self.J[j], *([Fraction(0)] * m), *(side[n + j] for side in sides)])
        return [integers(row) for row in rows]


@dataclass(frozen=True)
class Truth:
    """What is true of a step without contacts.

    Attributes
    ----------
    verdict : solved (exactly one acceleration), infeasible, unbounded or acceleration_not_unique
    a : the acceleration, if there is exactly one
    forces_unique : whether J has full row rank
    contradiction : of an infeasible step, the largest contradiction relative to the terms that it is the sum of
    pull : of an unbounded step, the same of the force on a free direction
    """

    step: Step
    verdict: str
    a: Exact | None = None
    forces_unique: bool = False
    contradiction: float = 0.0


def judge(data: Mapping[str, Any]) -> Truth:
    """The exact verdict on a step without contacts."""
    step = Step.of(data)
    n, m = step.n, len(step.J)
    points, kernel = solve_many(step.saddle([step.force + step.gamma]), n + m)
    point = points[0]
    if point is None:
        return _contradictory(step)
    unique = not any(any(direction[:n]) for direction in kernel)
    full = not any(any(direction[n:]) for direction in kernel)
    if not unique:
        return Truth(step, NOT_UNIQUE, forces_unique=full)
    return Truth(step, SOLVED, Exact(point.top[:n], point.den), full)


def _contradictory(step: Step) -> Truth:
    """Infeasible if the rows alone contradict each other, else unbounded."""
    n, m = step.n, len(step.J)
    # y with y^T J = 0, and z with M z = 0, J z = 0.
    left = [integers(column) for column in zip(*step.J, strict=True)]
    _, kernel = solve_many([[*row, 0] for row in left], m) if left else ([], ())
    worst = largest_sum(kernel, step.gamma)
    if worst > 0:
        return Truth(step, INFEASIBLE, contradiction=worst)
    rows = [integers(row) for row in (*step.M, *step.J)]
    _, free = solve_many([[*row, 0] for row in rows], n)
    return Truth(step, UNBOUNDED, contradiction=largest_sum(free, step.force))


def largest_sum(directions: Any, values: list[Fraction]) -> float:
    """The largest |d . v| / sum |d_i v_i| over the directions."""
    worst = 0.0
    for direction in directions:
        terms = [d * v for d, v in zip(direction, values, strict=True)]
        total = sum((abs(t) for t in terms), Fraction(0))
        if total:
            worst = max(worst, float(abs(sum(terms, Fraction(0))) / total))
    return worst


def band(step: Step) -> float:
    """Contradictions below this, relative to their terms, count as rounding of the data."""
    return 8.0 * max(step.n, len(step.J), 1) * EPS


def idle_part(rows: list[list[Fraction]], n: int) -> list[list[Fraction]]:
    """The projector onto the combinations of rows that vanish, (m, m), exactly.

    Of right-hand sides it takes what contradicts: exactly nothing where no dependent row is involved.
    """
    m = len(rows)
    columns = [integers([row[i] for row in rows]) for i in range(n)]
    _, kernel = solve_many([[*column, 0] for column in columns], m)
    gram = [[*(sum(a * b for a, b in zip(v, w, strict=True)) for w in kernel), *v] for v in kernel]
    points, _ = solve_many(gram, len(kernel)) if kernel else ([], ())
    shares = [[point.fraction(k) for k in range(len(kernel))] for point in points if point is not None]
    return [
        [sum((share * v[i] for share, v in zip(shares[j], kernel, strict=True)), Fraction(0)) for j in range(m)]
        if kernel
        else [Fraction(0)] * m
        for i in range(m)
    ]


def force_gap(
    step: Step, a: list[float], pull: list[Fraction], measures: list[float], terms_of_pull: list[Fraction],
    called: float = 0.0, natural: float = 0.0,
) -> tuple[float, float]:  # fmt: skip
    """How far forces are from explaining a: a lower bound of ||M a - Q + h - pull|| in the norm of M^-1.

    Parameters
    ----------
    terms_of_pull : the sizes of the terms J_ji lam_j that pull is the sum of, (n,)
    called : size of the accelerations of masses that the rows call for, in the mass norm
    natural : the same of all coordinates; where no force acts at all, multipliers may be rounding beside it

    Returns
    -------
    gap, part
        max |r_i| / sqrt(M_ii), never above the norm itself; and the largest |r_i| relative to its own terms where
        M_ii = 0.
    """
    gap = part = 0.0
    exact = [Fraction(v) for v in a]
    # A size for forces that ought to be zero: the largest force of the step, in coordinates of a common measure. Forces
    # of inertia count by their terms, which may cancel.
    inertia = [sum((abs(m * x) for m, x in zip(row, exact, strict=True)), Fraction(0)) for row in step.M]
    most = max(abs(float(f)) / d for force in (step.force, pull, inertia) for f, d in zip(force, measures, strict=True))
    for i in range(step.n):
        terms = [m * x for m, x in zip(step.M[i], exact, strict=True) if m and x]
        terms += [-step.force[i], -pull[i]]
        r = abs(sum(terms, Fraction(0)))
        if r <= Fraction(1, 2**44) * sum(map(abs, terms)):
            continue  # no forces in floats are nearer
        if step.M[i][i] > 0:
            gap = max(gap, math.sqrt(float(r * r / step.M[i][i])))
        elif r > Fraction(EPS) * terms_of_pull[i] and r > 8 * step.n * EPS * called * measures[i]:
            # More than rounding of the multipliers to floats leaves, and of the accelerations that are called for.
            if not any(step.force) and r <= 8 * step.n * EPS * natural * measures[i]:
                continue
            size = float(sum((abs(t) for t in terms), Fraction(0))) + most * measures[i]
            part = max(part, float(r) / size if size else 0.0)
    return gap, part
