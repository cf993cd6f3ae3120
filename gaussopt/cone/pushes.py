"""Move bodies apart at the end of a time step where contacts penetrate, by pushes beside the impulses, in kernels."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from gaussopt.cone.condensing import spread
from gaussopt.cone.newton_kernel import eliminate
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

MOST_STEPS = 30
"""Largest number of steps of Newton's method for the removal of penetration."""

NEARLY = 1e-8
"""A contact with less than this penetration, relative to the largest without pushes, counts as just touching."""

ROUNDED = 1e-13
"""Largest penetration or gap at the end of a step, relative to the sum of its terms, that counts as zero."""

LEFT = 1e-6
"""Pushes may leave at most this penetration, relative to the largest without them, unless contacts are incompatible."""

SHIFT = 1e-12
"""Relative increase of the response of pushing contacts to their own push; redundant contacts then share a push."""


@kernel
def ways_apart(local: Vector, gaps: Vector, r: Vector, dt: float, push: Vector) -> bool:
    """Write pushes, (3 k,): pseudo-impulses that move bodies apart where they penetrate; return whether any are found.

    The gaps at the end are dt u_N plus the penetration at the beginning. Pushes act along normals and never pull; they
    act only at contacts that they leave closed, and whose gaps they can change. Newton's method on min(push, gap) = 0
    treats a contact as closed if its push exceeds its gap, until the set of closed contacts no longer changes. If
    contacts are incompatible, pushes grow until `SHIFT` bounds them, and penetration remains.
    """
    n, k, deepest, some = len(r), len(gaps), 0.0, 0
    ahead, was, N, x, closed = np.zeros(k), np.zeros(k), np.empty(k * k), np.zeros(k), np.zeros(k, np.int64)
    used = np.zeros(n, np.int64)
    for j in range(n):
        push[j] = 0.0
        if r[j] != 0.0:
            used[some] = j
            some += 1
    for i in range(k):
        u = local[n * n + 3 * i]
        terms = abs(u)
        for at in range(some):
            part = local[3 * i * n + used[at]] * r[used[at]]
            u, terms = u + part, terms + abs(part)
        ahead[i] = min(gaps[i], 0.0) + dt * u
        if abs(ahead[i]) <= ROUNDED * (dt * terms - min(gaps[i], 0.0)):
            ahead[i] = 0.0  # it just touches: rounding must not decide whether it is pushed
        deepest = max(deepest, abs(ahead[i]))
    c = 0
    for _ in range(MOST_STEPS):
        changed, left, before = False, 0.0, c
        for at in range(before):
            x[at] = push[3 * closed[at]]
        c = 0
        for i in range(k):
            gap = ahead[i]
            for at in range(before):
                gap += local[3 * i * n + 3 * used[at]] * x[at]
            left = max(left, was[i] * abs(gap))
            presses = push[3 * i] > 0.0 if was[i] > 0.0 else gap < -NEARLY * abs(ahead[i])
            now = 1.0 if presses and local[3 * i * n + 3 * i] > 0.0 else 0.0
            changed = changed or now != was[i]
            was[i] = now
            if now > 0.0:
                closed[c] = i
                c += 1
        if not changed:
            return left <= LEFT * deepest
        for a in range(c):
            i = closed[a]
            used[a] = i
            x[a] = -ahead[i]
            for b in range(c):
                N[a * c + b] = local[3 * i * n + 3 * closed[b]]
            N[a * c + a] *= 1.0 + SHIFT
        if c > 0 and eliminate(N[0 : c * c], x[0:c]) == 0.0:
            return False
        for i in range(k):
            push[3 * i] = 0.0
        for a in range(c):
            push[3 * closed[a]] = x[a]
    return False


@kernel
def way_back(
    m: int, dofs: Index, rows: Index, at: Index, count: int, S: Matrix, phi: Vector, push: Vector, way: Vector
) -> None:
    """Add M^-1 (C^T push + E^T lam) to the displacement `way`, (n,), with lam such that E maps this sum to -phi."""
    lam, x, own = np.zeros(m), np.zeros(len(way)), np.zeros(len(push))
    for g in range(count):
        o = 5 * g
        n, of = at[o + 5] - at[o], at[o + 4]
        begin, p, first = at[o + 1], at[o + 6] - at[o + 1], at[o + 2] + 2 * n
        for j in range(of):
            y = phi[rows[begin + j]]
            for b in range(j):
                y -= S[first + b, j] * lam[b]
            lam[j] = y / S[first + j, j]
        for a in range(p - of):
            own[a] = push[rows[begin + of + a] - m]
        spread(S[at[o + 2] : at[o + 7]], n, of, 0.0, own[0 : p - of], lam[0:of], x[0:n])
        for i in range(n):
            way[dofs[at[o] + i]] += x[i]


@kernel
def all_apart(
    m: int, dt: float, dofs: Index, rows: Index, at: Index, count: int, S: Matrix, local: Vector, gaps: Vector,
    r: Vector, phi: Vector, first: int, push: Vector, way: Vector,
) -> int:  # fmt: skip
    """Write the pushes of `ways_apart`, (3 k,), from the group `first` on, and correct `way` by all pushes and by phi.

    Return `count`, or the first group without pushes, where it ends.
    """
    own, ahead, found = np.zeros(len(r)), np.zeros(len(gaps)), np.zeros(len(r))
    for g in range(first, count):
        o = 5 * g
        begin = at[o + 1] + at[o + 4]
        size = at[o + 6] - begin
        if size > 0:
            for a in range(size):
                own[a] = r[rows[begin + a] - m]
                ahead[a // 3] = gaps[(rows[begin + a] - m) // 3]
            if not ways_apart(local[at[o + 3] : at[o + 8]], ahead[0 : size // 3], own[0:size], dt, found[0:size]):
                return g
            for a in range(size):
                push[rows[begin + a] - m] = found[a]
    way_back(m, dofs, rows, at, count, S, phi, push, way)
    return count


def least_pushes(local: Vector, gaps: Vector, r: Vector, dt: float) -> Vector:
    """Return nonnegative pushes, (3 k,), that open the gaps at the end of a step as far as possible (least squares)."""
    n, push = len(r), np.zeros(len(r))
    W, q = local[: n * n].reshape(n, n), local[n * n :]
    ahead = np.minimum(gaps, 0.0) + dt * (W @ r + q)[::3]
    values, vectors = np.linalg.eigh(W[::3, ::3])
    kept = values > SHIFT * values[-1]
    values, vectors = np.sqrt(values[kept]), vectors[:, kept]
    push[::3] = nnls(values[:, None] * vectors.T, -(vectors.T @ ahead) / values)[0]
    return push
