"""Random contact steps at the borders of what is solvable, and candidates that run away from the truth.

All numbers are dyadic or small fractions, so that exact rational arithmetic tells what is true of every step.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np

from gaussopt.contact.operator import ContactOperator

SLIPS = ([3.0, 4.0], [-4.0, 3.0], [5.0, -12.0], [12.0, 5.0], [8.0, 15.0])


def border_step(seed: int, planar: bool | None = None) -> dict[str, Any]:
    """A step of 1 to 4 contacts; some have a diagonal entry of their operator exactly zero, rows alike, or ties.

    Parameters
    ----------
    seed : int
    planar : bool, optional
        Whether contacts have one tangent (and may rest) or two (and slide); either if absent.
    """
    r = random.Random(seed)
    n, k = r.randint(1, 3), r.randint(1, 4)
    planar = r.random() < 0.5 if planar is None else planar
    d = 1 if planar else 2
    mass = [r.choice([0.25, 0.5, 0.75, 1.0, 2.0]) for _ in range(n)]
    J_N = [[r.randint(-2, 2) / r.choice([1, 2, 4]) for _ in range(n)] for _ in range(k)]
    J_N = [row if any(row) else [1.0] * n for row in J_N]  # a contact has a normal direction
    J_T = [[[r.randint(-3, 3) / 2 for _ in range(n)] for _ in range(d)] for _ in range(k)]
    J_T = [t if all(map(any, t)) else [[1.0 + e] * n for e in range(d)] for t in J_T]
    v_T = [
        [float(r.choice([-2, -1, 1, 2]) if i else r.choice([0, 1]))] if planar else list(r.choice(SLIPS))
        for i in range(k)
    ]
    mu = [r.choice([0.0, 0.25, 0.5, 1.0, 1.5]) for _ in range(k)]
    Q = [float(r.randint(-4, 4)) for _ in range(n)]
    zeta = [float(r.choice([-3, -2, -1, 0, 0, 1, 3])) for _ in range(k)]
    if k > 1 and r.random() < 0.25:  # the same row twice
        J_N[1], J_T[1], v_T[1] = J_N[0], J_T[0], v_T[0]
    for i in range(k):
        if r.random() < 0.6:
            mu[i] = _critical(mass, J_N[i], J_T[i], v_T[i], mu[i])
    power = r.choice([0, 0, 0, 40, -40])
    unit, length = 2.0**power, 2.0 ** r.choice([0, 0, power, -power])
    return {
        "kind": "step", "M": [[m * unit if i == j else 0.0 for j in range(n)] for i, m in enumerate(mass)],
        "Q": [x * unit * length for x in Q], "J_N": J_N, "zeta_N": [z * length for z in zeta],
        "J_T": [t[0] for t in J_T] if planar else J_T, "mu": mu,
        "zeta_T": [r.randint(-2, 2) * length if planar else [0.0, 0.0] for _ in range(k)],
        "v_T": [v[0] for v in v_T] if planar else v_T,
    }  # fmt: skip


def _critical(mass: list[float], row: list[float], tangents: list[list[float]], slip: list[float], mu: float) -> float:
    """The coefficient at which the contact's own response vanishes, if it is a short binary number."""
    speed = sum(Fraction(v) ** 2 for v in slip)
    if not speed:
        return mu
    root = Fraction(round(float(speed) ** 0.5))
    way = [-Fraction(v) / root for v in slip]
    own = sum(Fraction(x) ** 2 / Fraction(m) for x, m in zip(row, mass, strict=True))
    turn = sum(
        Fraction(x) * sum(w * Fraction(t[j]) for w, t in zip(way, tangents, strict=True)) / Fraction(mass[j])
        for j, x in enumerate(row)
    )
    if not own or not turn:
        return mu
    value = -own / turn
    return float(value) if 0 < value <= 4 and Fraction(float(value)) == value else mu


def runaways(op: ContactOperator, seed: int, count: int = 12) -> list[np.ndarray]:
    """Contact forces x far along directions in which the operator hardly responds."""
    random_ = np.random.default_rng(seed)
    size, k = len(op.response), op.k
    scale = float(np.abs(op.step.force).max(initial=0.0)) or 1.0
    directions = list(np.eye(size)[:k])
    for _ in range(count):
        part = random_.random(k) < 0.6
        block = op.response[:k, :k][np.ix_(part, part)]
        if block.size:
            null = np.zeros(size)
            null[:k][part] = np.linalg.svd(block)[2][-1]
            directions += [null, -null]
        directions.append(np.concatenate((random_.random(k) * part, np.zeros(size - k))))
    found = []
    for direction in directions:
        far = direction * scale * 10.0 ** random_.uniform(6, 17)
        slip = random_.uniform(-1, 1, size - k) * op.step.mu[op.resting] * np.maximum(far[:k][op.resting], 0.0)
        x = far.copy()
        x[k:] = slip
        found += [x, solved_beside(op, x)]
    return found


def solved_beside(op: ContactOperator, x: np.ndarray) -> np.ndarray:
    """The forces moved by least squares, so that the accelerations of the pushing contacts vanish up to rounding."""
    push = np.flatnonzero(x > 0)
    if not len(push):
        return x
    value = op.start + op.response @ x
    moved = x.copy()
    moved[push] -= np.linalg.lstsq(op.response[np.ix_(push, push)], value[push], rcond=1e-10)[0]
    return np.maximum(moved, 0.0) if op.step.mu.size == len(x) else moved
