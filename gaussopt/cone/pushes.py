"""Move bodies apart at the end of a time step where contacts penetrate, by pushes beside the impulses, in kernels."""

from __future__ import annotations

import numpy as np

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

YIELDS = 1e-9
"""Yield of contacts that are incompatible, relative to the largest response of one to its own push."""


@kernel
def gaps_ahead(local: Vector, gaps: Vector, r: Vector, dt: float, closing: Vector, ahead: Vector) -> None:
    """Write the gaps at the end of a step, (k,): dt u_N, plus the penetration at its beginning, less `closing`."""
    n, some = len(r), 0
    used = np.zeros(n, np.int64)
    for j in range(n):
        if r[j] != 0.0:
            used[some] = j
            some += 1
    for i in range(len(gaps)):
        u = local[n * n + 3 * i]
        terms = abs(u)
        for at in range(some):
            part = local[3 * i * n + used[at]] * r[used[at]]
            u, terms = u + part, terms + abs(part)
        depth = min(gaps[i], 0.0)
        ahead[i] = depth + dt * u - closing[i]
        if abs(ahead[i]) <= ROUNDED * (dt * terms - depth + abs(closing[i])):
            ahead[i] = 0.0  # it just touches: rounding must not decide whether it is pushed


@kernel
def ways_apart(local: Vector, ahead: Vector, share: float, push: Vector) -> bool:
    """Write pushes, (3 k,): pseudo-impulses that move bodies apart where they penetrate; return whether they do.

    `ahead` are the gaps at the end without pushes, which act along normals and never pull; they act only at contacts
    that they leave closed, and whose gaps they can change. Newton's method on min(push, gap) = 0 treats a contact as
    closed if its push exceeds its gap, until the set of closed contacts no longer changes; where that does not end, the
    first contact alone changes (Murty's rule). If contacts are incompatible, pushes grow until `SHIFT` bounds them, and
    penetration remains. With a positive `share` of the largest response to an own push, each contact yields by that to
    its push, and the sum of squares of depths is the least up to a small multiple of the square of the displacement.
    """
    n, k, deepest, most = len(push), len(ahead), 0.0, 0.0
    was, N, x, closed = np.zeros(k), np.empty(k * k), np.zeros(k), np.zeros(k, np.int64)
    used = np.zeros(k, np.int64)
    for i in range(k):
        deepest, most = max(deepest, abs(ahead[i])), max(most, local[3 * i * n + 3 * i])
    for j in range(n):
        push[j] = 0.0
    c = 0
    for step in range(MOST_STEPS if share == 0.0 else MOST_STEPS + 10 * k):
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
            if step >= MOST_STEPS and changed:
                now = was[i]
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
            if share == 0.0:
                N[a * c + a] *= 1.0 + SHIFT
            else:
                N[a * c + a] += share * most
        if c > 0 and eliminate(N[0 : c * c], x[0:c]) == 0.0:
            return False
        for i in range(k):
            push[3 * i] = 0.0
        for a in range(c):
            push[3 * closed[a]] = x[a]
    return False


@kernel
def half_back(S: Matrix, first: int, m: int, rows: Index, phi: Vector, y: Vector) -> None:
    """Write y, (m,), with G^T y = phi at the `rows` of a group, where G is in the rows of S from `first` on."""
    for j in range(m):
        y[j] = phi[rows[j]]
        for b in range(j):
            y[j] -= S[first + b, j] * y[b]
        y[j] /= S[first + j, j]


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
        half_back(S, first, of, rows[begin : begin + of], phi, lam)
        for a in range(p - of):
            own[a] = push[rows[begin + of + a] - m]
        spread(S[at[o + 2] : at[o + 7]], n, of, 0.0, own[0 : p - of], lam[0:of], x[0:n])
        for i in range(n):
            way[dofs[at[o] + i]] += x[i]


@kernel
def all_apart(
    m: int, dt: float, dofs: Index, rows: Index, at: Index, count: int, S: Matrix, local: Vector, gaps: Vector,
    r: Vector, phi: Vector, push: Vector, way: Vector,
) -> None:  # fmt: skip
    """Write the pushes of `ways_apart`, (3 k,), and correct `way` by them and by phi, of which gaps depend as well."""
    own, found, y = np.zeros(len(r)), np.zeros(len(r)), np.zeros(m)
    depths, closing, ahead = np.zeros(len(gaps)), np.zeros(len(gaps)), np.zeros(len(gaps))
    for g in range(count):
        o = 5 * g
        of, first = at[o + 4], at[o + 2] + 2 * (at[o + 5] - at[o])
        begin = at[o + 1] + of
        size = at[o + 6] - begin
        if size > 0:
            half_back(S, first, of, rows[at[o + 1] : begin], phi, y)
            for a in range(size):
                own[a] = r[rows[begin + a] - m]
                depths[a // 3] = gaps[(rows[begin + a] - m) // 3]
            for i in range(size // 3):
                closing[i] = 0.0
                for j in range(of):
                    closing[i] += S[first + j, of + 3 * i] * y[j]
            part, k = local[at[o + 3] : at[o + 8]], size // 3
            gaps_ahead(part, depths[0:k], own[0:size], dt, closing[0:k], ahead[0:k])
            if not ways_apart(part, ahead[0:k], 0.0, found[0:size]):
                ways_apart(part, ahead[0:k], YIELDS, found[0:size])
            for a in range(size):
                push[rows[begin + a] - m] = found[a]
    way_back(m, dofs, rows, at, count, S, phi, push, way)
