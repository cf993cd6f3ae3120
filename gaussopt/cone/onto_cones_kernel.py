"""The projection onto friction cones, which may carry further discs, and its derivative, as compiled kernels."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.core.arrays import Index, Vector
from gaussopt.jit.kernel import kernel

TINY = 1e-300
"""Replaces zero as a divisor."""


@kernel
def height_into(
    x: Vector, L: Vector, rank: int, place: Index, owner: Index, mu: Vector, way: Vector, first: bool, i: int, G: Vector
) -> float:  # fmt: skip
    """Return the normal entry of P(x) at contact i, which has a cone; write its derivative times L to G, (rank,)."""
    push, before, row, passes = 1.0, -1.0, place[3 * i], 0
    while passes < 6 and push != before:
        # Newton's method on a concave function: from the left, with all discs full, to its zero.
        before, push, size = push if passes > 0 else -1.0, x[row], 1.0
        for j in range(rank):
            G[j] = L[row * rank + j]
        for c in range(len(owner)):
            if owner[c] == i and place[3 * c + 1] >= 0:
                one, two, e0, e1 = place[3 * c + 1], place[3 * c + 2], way[2 * c], way[2 * c + 1]
                x0, x1 = x[one], x[two] if two >= 0 else 0.0
                along = e0 * x0 + e1 * x1
                full = e0 != 0.0 or e1 != 0.0
                if not full and not first:
                    along = math.sqrt(x0 * x0 + x1 * x1)
                    full = along > 0.0 and (passes == 0 or along > mu[c] * before)
                    e0, e1 = x0 / max(along, TINY), x1 / max(along, TINY)
                if full:
                    push += mu[c] * along
                    size += mu[c] * mu[c]
                    for j in range(rank):
                        b = 0.0
                        if two >= 0:
                            b = L[two * rank + j]
                        G[j] += mu[c] * (e0 * L[one * rank + j] + e1 * b)
        push /= size
        for j in range(rank):
            G[j] /= size
        passes += 1
    if push <= 0.0 and not first:
        push = 0.0
        for j in range(rank):
            G[j] = 0.0
    return push


@kernel
def onto_cones(
    x: Vector, L: Vector, rank: int, place: Index, owner: Index, mu: Vector, way: Vector, first: bool, z: Vector,
    D: Vector,
) -> None:  # fmt: skip
    """Write z = P(x), (m,), and D = P'(x) L, (m, rank), by rows; `first`: as if no contact opened or began to slide.

    Contact i has the rows place[3 i], ..., or -1, for the second tangent too if there is no first one. Its friction, in
    the direction `way` if it slides, belongs to the cone of the contact owner[i] with the coefficient mu[i], or has the
    radius mu[i] if owner[i] is -1.
    """
    k, G = len(owner), np.zeros(rank)
    for i in range(k):
        push = 1.0
        for j in range(rank):
            G[j] = 0.0
        if owner[i] == i:
            push = height_into(x, L, rank, place, owner, mu, way, first, i, G)
            z[place[3 * i]] = push
            for j in range(rank):
                D[place[3 * i] * rank + j] = G[j]
        for c in range(k):
            one, two = place[3 * c + 1], place[3 * c + 2]
            if one >= 0 and (owner[c] == i if owner[i] == i else c == i and owner[i] < 0):
                radius = mu[c] * push
                e0, e1, keep = way[2 * c], way[2 * c + 1], 0.0
                x0, x1 = x[one], x[two] if two >= 0 else 0.0
                if e0 == 0.0 and e1 == 0.0:
                    length, keep = math.sqrt(x0 * x0 + x1 * x1), 1.0
                    if length > radius and not first:
                        e0, e1, keep = x0 / length, x1 / length, radius / length
                full = keep < 1.0
                z[one] = radius * e0 if full else x0
                if two >= 0:
                    z[two] = radius * e1 if full else x1
                for j in range(rank):
                    a, b = L[one * rank + j], 0.0
                    if two >= 0:
                        b = L[two * rank + j]
                    along = e0 * a + e1 * b
                    if full:
                        a = keep * (a - e0 * along) + mu[c] * G[j] * e0
                        b = keep * (b - e1 * along) + mu[c] * G[j] * e1
                    D[one * rank + j] = a
                    if two >= 0:
                        D[two * rank + j] = b
