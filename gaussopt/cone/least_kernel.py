"""The least of all impulses that cause the same velocities, for contacts that leave a choice, as compiled kernels.

Of the impulses z in the unit of the mass norm with L^T z = b, where L L^T is the operator of the closed contacts, those
with the least norm are z = P(L y): P projects onto the friction cones, and Newton's method finds y from
L^T P(L y) = b. The residual is the gradient of a convex function of y, which need not have a minimum where impulses are
on the bounds of their cones: steps are damped in proportion to the residual, and halved where they end in an ascent.
They depend on the velocities alone, not on the impulses from which b comes. A contact that slides keeps the direction
of its friction. Spinning and rolling friction are further discs on the cone of their contact; discs of joints have
constant radii.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.cone.groups import root_of
from gaussopt.cone.newton_kernel import eliminate
from gaussopt.cone.onto_cones_kernel import onto_cones
from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import velocity_size

INDEPENDENT, LOST = 1e-10, 1e-13
"""Part of a row, whose size is 1, that is independent of other rows: above the first number forces count as determined;
below the second one it is a rounding error."""

SLOW, FULL = 1e-12, 0.999
"""Velocity, relative to the size of the velocities of a problem, up to which a contact sticks, and is closed without an
impulse; friction of a contact that slides, relative to its bound, at least."""

SLACK = 1e-11
"""Natural map, relative to the size of the velocities of a problem, that rounding of chosen impulses may cause."""

MOST = 300
"""Largest number of rows of a group of contacts whose impulses are chosen, with the tangents that are left out."""

SHIFT, STEPS = 1e-13, 20
"""Addition to the diagonal of a derivative, whose entries are of order one, and largest number of Newton's steps."""

DAMPED = 1e-2
"""Further addition, relative to the residual over the largest velocity. Where such steps fail, it is left out."""

STEEP, HALVINGS = 0.1, 13
"""Slope at the end of a step, relative to that at its beginning, above which it is halved, and how often at most."""

SETTLED, ENOUGH = 1e-15, 1e-9
"""Change of velocities, relative to the largest, at which the steps end, and up to which it need not halve any more."""


@kernel
def half_factor(W: Vector, L: Vector, m: int, only: bool) -> int:
    """Write L of W = L L^T, (m, rank), by rows; return its rank, less m + 1 if rows depend on each other.

    With `only` the factorisation ends where that is known. The row with the largest rest comes next, as small pivots
    would turn rounding errors of others into further columns.
    """
    rank, b, dependent, rest = 0, 0, False, np.zeros(m)
    for a in range(m):
        rest[a] = W[a * m + a]
        b = a if rest[a] > rest[b] else b
    while rank < m and rest[b] > LOST:
        dependent = dependent or rest[b] <= INDEPENDENT
        if dependent and only:
            return -1
        root, pivot = math.sqrt(rest[b]), b
        rest[pivot] = -1.0
        L[pivot * m + rank] = root
        for a in range(m):
            if rest[a] > -0.5:  # not yet taken; where only rounding is left, the entry is its root, and not small
                x = W[a * m + pivot]
                for c in range(rank):
                    x -= L[a * m + c] * L[pivot * m + c]
                x = x / root
                L[a * m + rank] = x
                rest[a] -= x * x
            b = a if rest[a] > rest[b] else b
        rank += 1
    for a in range(m):
        for c in range(rank):
            L[a * rank + c] = L[a * m + c]
    return rank - m - 1 if dependent or rank < m else rank


@kernel
def missed_by(L: Vector, z: Vector, b: Vector, F: Vector) -> float:
    """Write F = L^T z - b, (rank,); return the largest entry of |L F|, by which velocities differ."""
    m, rank, missed = len(z), len(b), 0.0
    for j in range(rank):
        F[j] = -b[j]
    for a in range(m):
        for j in range(rank):
            F[j] += L[a * rank + j] * z[a]
    for a in range(m):
        u = 0.0
        for j in range(rank):
            u += L[a * rank + j] * F[j]
        missed = max(missed, abs(u))
    return missed


@kernel
def newton_step(L: Vector, D: Vector, F: Vector, shift: float, d: Vector, J: Vector) -> bool:
    """Write Newton's step d, (rank,), for the residual F with the derivative L^T D + shift, which J is used for."""
    rank = len(d)
    for i in range(rank):
        d[i] = F[i]
        for j in range(rank):
            J[i * rank + j] = shift if i == j else 0.0
    for a in range(len(D) // rank):
        for i in range(rank):
            part = L[a * rank + i]
            if part != 0.0:
                for j in range(i, rank):
                    J[i * rank + j] += part * D[a * rank + j]
    for i in range(rank):
        for j in range(i):
            J[i * rank + j] = J[j * rank + i]
    return bool(eliminate(J, d) != 0.0)


@kernel
def residual_of(
    y: Vector, L: Vector, place: Index, owner: Index, mu: Vector, way: Vector, first: bool, b: Vector, x: Vector,
    z: Vector, D: Vector, F: Vector,
) -> float:  # fmt: skip
    """Write x = L y, z = P(x) and D, see `onto_cones`, and F = L^T z - b; return what `missed_by` returns."""
    rank = len(b)
    for a in range(len(x)):
        x[a] = 0.0
        for j in range(rank):
            x[a] += L[a * rank + j] * y[j]
    onto_cones(x, L, rank, place, owner, mu, way, first, z, D)
    return float(missed_by(L, z, b, F))


@kernel
def too_far(F: Vector, d: Vector, slope: float, square: float) -> bool:
    """Return whether a step d goes too far: the square of F has not fallen, and the function rises at its end."""
    along, now = 0.0, 0.0
    for j in range(len(F)):
        along += F[j] * d[j]
        now += F[j] * F[j]
    return -along > STEEP * slope and now >= square


@kernel
def least_of_group(W: Vector, z: Vector, place: Index, owner: Index, mu: Vector, way: Vector, only: bool) -> int:
    """Replace impulses z, (m,), of a group by the least; return 0 if determined, 1 if replaced, otherwise 2."""
    m = len(z)
    L = np.zeros(m * m)
    rank = half_factor(W, L, m, only)
    if rank >= 0:
        return 0
    if only:
        return 2
    rank += m + 1
    b, y, F, d, x = np.zeros(rank), np.zeros(rank), np.zeros(rank), np.zeros(rank), np.zeros(m)
    J, D, found = np.zeros(rank * rank), np.zeros(m * rank), np.zeros(m)
    for a in range(m):
        for j in range(rank):
            b[j] += L[a * rank + j] * z[a]
    size = missed_by(L, found, b, F)
    for attempt in range(2):
        for j in range(rank):
            y[j] = 0.0
        residual_of(y, L, place, owner, mu, way, True, b, x, found, D, F)
        before, shift = math.inf, SHIFT
        for step in range(STEPS):
            if not newton_step(L, D, F, shift, d, J):
                return 2
            slope, square, length, halved = 0.0, 0.0, 1.0, 0
            for j in range(rank):
                slope += F[j] * d[j]
                square += F[j] * F[j]
                y[j] -= d[j]
            missed = residual_of(y, L, place, owner, mu, way, False, b, x, found, D, F)
            while step > 0 and halved < HALVINGS and too_far(F, d, slope, square):
                length, halved = 0.5 * length, halved + 1
                for j in range(rank):
                    y[j] += length * d[j]
                missed = residual_of(y, L, place, owner, mu, way, False, b, x, found, D, F)
            if missed <= SETTLED * size or (missed <= ENOUGH * size and missed > 0.5 * before):
                for a in range(m):
                    z[a] = found[a]
                return 1
            before = missed
            if attempt == 0:
                shift = SHIFT + DAMPED * min(missed / size, 1.0)
    return 2


@kernel
def entry(column: Index, stride: int, i: int, at: int) -> int:
    """Return where block `at`, of contact i, begins in W, whose rows are stored apart by `stride`."""
    return 9 * at if stride == 3 else 3 * i * stride + 3 * column[at]


@kernel
def coupled_across(begin: Index, column: Index, W: Vector, stride: int, i: int, own: int) -> bool:
    """Return whether the row of the second tangent of contact i, whose block begins at `own`, has several entries."""
    for at in range(begin[i], begin[i + 1]):
        p = entry(column, stride, i, at) + 2 * stride
        if W[p] != 0.0 or W[p + 1] != 0.0 or (W[p + 2] != 0.0 and p != own + 2 * stride):
            return True
    return False


@kernel
def scaled_rows(
    own: Index, begin: Index, column: Index, W: Vector, stride: int, local: Index, place: Index, size: Vector, A: Vector
) -> None:  # fmt: skip
    """Write the rows of W of the contacts `own`, divided by `size` on both sides, to A, which holds zeros."""
    m = 0
    for at in range(len(place)):
        m += 1 if place[at] >= 0 else 0
    for c in range(len(own)):
        for a in range(3):
            row, scale = place[3 * c + a], size[3 * c + a]
            if row >= 0:
                for at in range(begin[own[c]], begin[own[c] + 1]):
                    other, p = local[column[at]] - 1, entry(column, stride, own[c], at) + a * stride
                    for b in range(3 if other >= 0 else 0):
                        if place[3 * other + b] >= 0:
                            A[row * m + place[3 * other + b]] = W[p + b] / (scale * size[3 * other + b])
                if not A[row * m + row] > 0.0:
                    A[row * m + row] = 1.0  # of a missing tangent


@kernel
def least_of_contacts(
    own: Index, begin: Index, column: Index, W: Vector, stride: int, mu: Vector, opens: Index, slow: float, u: Vector,
    local: Index, r: Vector,
) -> int:  # fmt: skip
    """Apply `least_of_group` to the contacts `own` with velocities u; `local`, (k,), holds zeros, here as before."""
    k, m, left_out = len(own), 0, 0
    place, owner, size = np.zeros(3 * k, np.int64), np.zeros(k, np.int64), np.zeros(3 * k)
    share, way, where = np.zeros(k), np.zeros(2 * k), np.zeros(k, np.int64)
    for c in range(k):
        local[own[c]] = c + 1
    for c in range(k):
        i = own[c]
        owner[c] = c if opens[i] > 0 else -1
        for at in range(begin[i], begin[i + 1]):
            p = entry(column, stride, i, at)
            if column[at] == i:
                where[c] = p
            elif opens[i] == 0 and W[p] != 0.0:
                owner[c] = local[column[at]] - 1
        p = where[c]
        across = max(W[p + stride + 1], W[p + 2 * stride + 2])
        rubs = mu[i] > 0.0 and across > 0.0
        size[3 * c] = math.sqrt(W[p]) if W[p] > 0.0 else 1.0
        size[3 * c + 1] = size[3 * c + 2] = math.sqrt(across) if rubs else 1.0
        place[3 * c] = place[3 * c + 1] = place[3 * c + 2] = -1
        if opens[i] > 0:
            place[3 * c] = m
            m += 1
        if rubs:
            t, speed = 3 * i + 1, math.sqrt(u[3 * i + 1] * u[3 * i + 1] + u[3 * i + 2] * u[3 * i + 2])
            push = math.sqrt(r[t] * r[t] + r[t + 1] * r[t + 1])
            if speed > slow and push >= FULL * mu[i] * r[3 * i]:
                way[2 * c] = r[t] / push if push > 0.0 else -u[t] / speed
                way[2 * c + 1] = r[t + 1] / push if push > 0.0 else -u[t + 1] / speed
            place[3 * c + 1] = m
            m += 1
            if r[t + 1] != 0.0 or way[2 * c + 1] != 0.0 or coupled_across(begin, column, W, stride, i, where[c]):
                place[3 * c + 2] = m
                m += 1
            else:
                left_out += 1
    A, z = np.zeros(m * m), np.zeros(m)
    for c in range(k):
        i, of = own[c], owner[c]
        share[c] = mu[i] * size[3 * c + 1] * (r[3 * i] if of < 0 else 1.0 / size[3 * max(of, 0)])
        for a in range(3):
            if place[3 * c + a] >= 0:
                z[place[3 * c + a]] = r[3 * i + a] * size[3 * c + a]
    scaled_rows(own, begin, column, W, stride, local, place, size, A)
    found = least_of_group(A, z, place, owner, share, way, m + left_out > MOST)
    for c in range(k):
        for a in range(3):
            if place[3 * c + a] >= 0 and found == 1:
                r[3 * own[c] + a] = z[place[3 * c + a]] / size[3 * c + a]
    for c in range(k):
        if found == 1 and owner[c] >= 0 and owner[c] != c:
            r[3 * own[c]] = r[3 * own[owner[c]]]
        local[own[c]] = 0
    return found


@kernel
def least_into(
    begin: Index, column: Index, W: Vector, stride: int, q: Vector, mu: Vector, opens: Index, slow: float, r: Vector
) -> int:  # fmt: skip
    """Replace impulses r, in each group of contacts, by the least; return 0 if all are determined, 1 if all were found.

    A contact takes part if it pushes or if its normal velocity is at most `slow`, m/s; faster contacts may slide.
    W holds blocks one by one, with `stride` 3, or a dense matrix by rows. A contact that cannot open, where `opens` is
    0, has the normal impulse of the contact to which its normal row connects it, or a given one.
    """
    k, worst = len(mu), 0
    u, parent, closed, local = np.zeros(3 * k), np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k, np.int64)
    for i in range(k):
        parent[i] = i
        for axis in range(3):
            u[3 * i + axis] = q[3 * i + axis]
        for at in range(begin[i], begin[i + 1]):
            p, j = entry(column, stride, i, at), 3 * column[at]
            for axis in range(3 if r[j] > 0.0 else 0):
                u[3 * i + axis] += W[p] * r[j] + W[p + 1] * r[j + 1] + W[p + 2] * r[j + 2]
                p += stride
        closed[i] = 1 if r[3 * i] > 0.0 or (opens[i] > 0 and u[3 * i] <= slow) else 0
    for i in range(k):
        for at in range(begin[i], begin[i + 1] if closed[i] > 0 else 0):
            j, p, joins = column[at], entry(column, stride, i, at), False
            for _ in range(3 if closed[j] > 0 else 0):
                joins = joins or W[p] != 0.0 or W[p + 1] != 0.0 or W[p + 2] != 0.0
                p += stride
            if joins:
                parent[root_of(parent, i)] = root_of(parent, j)
    own = np.zeros(k, np.int64)
    for g in range(k):
        if closed[g] > 0 and root_of(parent, g) == g:
            count = 0
            for i in range(k):
                if closed[i] > 0 and root_of(parent, i) == g:
                    own[count] = i
                    count += 1
            found = least_of_contacts(own[0:count], begin, column, W, stride, mu, opens, slow, u, local, r)
            worst = max(worst, found)
    return worst


@cache
def dense_pattern(k: int) -> tuple[Index, Index]:
    """Return where the blocks of each contact begin, (k + 1,), and their columns, (k^2,), if all k^2 are stored."""
    return np.arange(0, k * k + 1, max(k, 1)), np.tile(np.arange(k), k)


def least_impulses(problem: ConeComplementarity, opens: NDArray[np.bool_], r: Vector) -> tuple[Vector, int]:
    """Return the impulses and the number of `least_into` for impulses r that solve a problem; `opens` is boolean."""
    W: Any = problem.W
    found, stride = r.copy(), 3 if problem.sparse else problem.n
    if problem.sparse:
        begin, column, entries = W.indptr.astype(np.int64), W.indices.astype(np.int64), W.data
    else:
        (begin, column), entries = dense_pattern(problem.k), W
    entries = np.ascontiguousarray(entries).ravel()
    given = begin, column, entries, stride, problem.q, problem.mu, opens.astype(np.int64)
    return found, int(least_into(*given, SLOW * velocity_size(problem), found))
