"""Contact steps as compiled kernels: from the arrays of an instant to accelerations and contact forces.

With M = L D L^T, rows R of the contacts, columns F of their forces (F = R^T without friction) and the joints J,

    [J; R_S] M^-1 [J^T, F_S] (lam, lam_S) = (gamma, -zeta_S) - [J; R_S] M^-1 (Q - h)

is all there is to solve once the set S of contacts that push is known. `contact_step` tries the set of the step before,
looks at the signs, with accelerations of the rows taken from the acceleration itself, and lets those that are wrong
change sides. Where that does not end in a few turns, or the rows of the set depend on each other, it says so, and
`contact_step_by_operator` forms the whole contact operator and solves its complementarity problem (`pivoting`).

A contact acts on few bodies: rows are handled between their first and last entry only, and the factors of M and of the
system of the set keep their envelopes. `contact_step` makes no arrays: a step of one contact takes a tenth of a
microsecond, a fifth of what counting references to arrays takes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.contact.saddle_kernel import factorise, respond
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.jit.kernel import inlined, kernel
from gaussopt.lcp.pivoting import SOLVED, STABLE, UNSOLVED, Active, Index, Indices, solve_lcp

MASSLESS, DEPENDENT_JOINTS = 5, 6
"""Codes beside those of `pivoting`: M is not positive definite; the joints depend on each other or nearly so."""

ROUNDING = 1e-10
"""Acceleration of a row, relative to the terms that it may have cancelled from, that counts as zero."""

SETS = 12
"""Sets of pushing contacts tried, each from the signs of the one before, before the whole operator is formed."""


class Workspace(NamedTuple):
    """Memory of `contact_step` for one size, kept between steps; see `workspace`.

    Attributes
    ----------
    L, first : (n, n), (n,)
        Factors of M, 1 / D on the diagonal; column of the first entry of every row.
    U, V : (m + k, n)
        L^-1 of the rows, joints first, and of the columns of their forces.
    A, W : (m + k, m + k)
        The system of a set, then its factors, the upper one transposed.
    span : (2, m + k)
        First entry of every row and the place behind its last.
    order, row, body : (4, m + k), (2, m + k), (5, n)
    """

    L: Matrix
    first: Index
    U: Matrix
    V: Matrix
    A: Matrix
    W: Matrix
    span: Indices
    order: Indices
    row: Matrix
    body: Matrix


def workspace(n: int, m: int, k: int) -> Workspace:
    """Memory for n coordinates, m joint rows and k contacts."""
    p = m + k
    return Workspace(
        np.zeros((n, n)), np.zeros(n, np.int64), np.zeros((p, n)), np.zeros((p, n)), np.zeros((p, p)),
        np.zeros((p, p)), np.zeros((2, p), np.int64), np.zeros((4, p), np.int64), np.zeros((2, p)), np.zeros((5, n)),
    )  # fmt: skip


@inlined
def spans(rows: Matrix, others: Matrix, same: bool, first: Index, filled: bool, span: Indices, at: int) -> None:
    """Fill the spans, from place `at` on, of rows and others at once, as they are when L^-1 is applied to them."""
    n = rows.shape[1]
    for c in range(len(rows)):
        low, high = n, 0
        for i in range(n):
            if rows[c, i] != 0.0 or (not same and others[c, i] != 0.0):
                low, high = min(low, i), max(high, i + 1)
        for i in range(high, n if filled else 0):
            if first[i] < high:
                high = i + 1
        span[0, at + c], span[1, at + c] = low, high


@inlined
def load(
    J: Matrix, R: Matrix, active: Active, L: Matrix, first: Index, free: Vector, span: Indices, U: Matrix, b: Vector,
    member: Index, low: Index, high: Index,
) -> int:  # fmt: skip
    """The rows of the joints and of the active contacts, times L^-1, and what they do to `free`; returns their number.

    Parameters
    ----------
    U, b : (p, n), (p,)
        Written: the rows; b = U free.
    member, low, high : (p,)
        Written: which row each of them is, counted over joints and contacts, and its span.
    """
    m, size = len(J), 0
    for c in range(m + len(R)):
        if c < m or active[c - m]:
            member[size], low[size], high[size] = c, span[0, c], span[1, c]
            total = 0.0
            for i in range(span[0, c], span[1, c]):
                value = J[c, i] if c < m else R[c - m, i]
                for j in range(max(first[i], span[0, c]), i):
                    value -= L[i, j] * U[size, j]
                U[size, i] = value
                total += value * free[i]
            b[size] = total
            size += 1
    return size


@inlined
def respond_between(
    U: Matrix, V: Matrix, inverse: Vector, low: Index, high: Index, edge: Index, A: Matrix, size: int
) -> None:
    """Lower triangle of A = U D^-1 V^T, from `edge` on in every row: the first row that shares bodies with it."""
    for r in range(size):
        begin, end, start = low[r], high[r], 0
        while start < r and (low[start] >= end or high[start] <= begin):
            start += 1
        edge[r] = start
        for c in range(start, r + 1):
            value = 0.0
            for i in range(max(begin, low[c]), min(end, high[c])):
                value += U[r, i] * inverse[i] * V[c, i]
            A[r, c] = value


@inlined
def solve_set(A: Matrix, W: Matrix, edge: Index, b: Vector, size: int, symmetric: bool) -> bool:
    """B <- A^-1 b by A = L U in the given order; False where a pivot loses digits.

    Parameters
    ----------
    A : (size, size) or larger
        In its lower triangle, from `edge` on in every row. Overwritten by L, with the inverse on the diagonal.
    W : of its size
        The upper triangle, transposed; not read if A is symmetric. Overwritten by U transposed, 1 on its diagonal.
    """
    for i in range(size):
        start = edge[i]
        own = pivot = A[i, i]
        rest = b[i]
        for j in range(start, i):
            both = max(start, edge[j])
            value = A[i, j]
            for c in range(both, j):
                value -= A[i, c] * W[j, c]
            other = value if symmetric else W[i, j]
            for c in range(both, 0 if symmetric else j):
                other -= W[i, c] * A[j, c]
            other *= A[j, j]
            A[i, j], W[i, j] = value, other
            pivot -= value * other
            rest -= value * b[j]
        if not pivot > STABLE * own:
            return False
        A[i, i] = 1.0 / pivot
        b[i] = rest / pivot
    for i in range(size - 1, -1, -1):
        value = b[i]
        for j in range(edge[i], i):
            b[j] -= W[i, j] * value
    return True


@inlined
def known_set(
    J: Matrix, gamma: Vector, R: Matrix, F: Matrix, zeta: Vector, active: Active, z: Vector, a: Vector, lam: Vector,
    w: Vector, space: Workspace, symmetric: bool,
) -> int:  # fmt: skip
    """Solve with the contacts of `active` pushing; M is factorised, and L^-1 force in the memory, already.

    Returns
    -------
    wrong
        How many contacts have a wrong sign and have changed sides in `active`; -1 where rounding is out of hand.
    """
    L, first, U, V, A, W, span, order, row, body = space
    if symmetric:
        V = U
    m, n = J.shape
    edge, member, low, high = order[0], order[1], order[2], order[3]
    b, other = row[0], row[1]
    y, inverse, free, total, extent = body[0], body[1], body[2], body[3], body[4]
    size = load(J, R, active, L, first, free, span, U, b, member, low, high)
    if symmetric:
        respond_between(U, V, inverse, low, high, edge, A, size)
    else:
        load(J, F, active, L, first, free, span, V, other, member, low, high)
        respond_between(U, V, inverse, low, high, edge, A, size)
        respond_between(V, U, inverse, low, high, edge, W, size)
    for s in range(size):
        c = member[s]
        b[s] = (gamma[c] if c < m else -zeta[c - m]) - b[s]
    if not solve_set(A, W, edge, b, size, symmetric):
        return -1
    for c in range(len(zeta)):
        z[c] = 0.0
    for i in range(n):
        total[i] = y[i]
    for s in range(size):
        c, value = member[s], b[s]
        if c < m:
            lam[c] = value
        else:
            z[c - m] = value
        for i in range(low[s], high[s]):
            total[i] += V[s, i] * value
    for i in range(n):
        a[i] = total[i] * inverse[i]
    for i in range(n - 1, -1, -1):
        for j in range(first[i], i):
            a[j] -= L[i, j] * a[i]
    for i in range(n):
        extent[i] = abs(a[i]) + abs(free[i])
    return lawful(J, gamma, R, zeta, z, a, extent, w, active, span)


@inlined
def lawful(
    J: Matrix, gamma: Vector, R: Matrix, zeta: Vector, z: Vector, a: Vector, size: Vector, w: Vector, active: Active,
    span: Indices,
) -> int:  # fmt: skip
    """Check J a = gamma, fill w from the acceleration itself, and let contacts with a wrong sign change sides.

    Parameters
    ----------
    size : (n,)
        Of the accelerations that a may have cancelled from: rounding is relative to the terms with them.

    Returns
    -------
    wrong
        Their number; -1 where a joint or a contact that pushes does not hold, which is rounding out of hand.
    """
    m, wrong = len(gamma), 0
    for c in range(m + len(zeta)):
        value = -gamma[c] if c < m else zeta[c - m]
        extent = abs(value)
        for i in range(span[0, c], span[1, c]):
            entry = J[c, i] if c < m else R[c - m, i]
            value += entry * a[i]
            extent += abs(entry) * size[i]
        tiny = ROUNDING * extent
        if (c < m or active[c - m]) and not abs(value) <= tiny:
            return -1
        if c < m:
            continue
        w[c - m] = value
        if active[c - m]:
            if not z[c - m] >= 0.0:
                active[c - m] = 0
                wrong += 1
        elif not value >= -tiny:
            active[c - m] = 1
            wrong += 1
    return wrong


@kernel
def contact_step(
    M: Matrix, force: Vector, J: Matrix, gamma: Vector, R: Matrix, F: Matrix, zeta: Vector, active: Active, z: Vector,
    a: Vector, lam: Vector, w: Vector, space: Workspace,
) -> int:  # fmt: skip
    """Solve one step of unilateral contacts: 0 <= z complementary to w = R a + zeta >= 0.

    M a = force + J^T lam + F^T z,   J a = gamma.

    Parameters
    ----------
    M, force : (n, n), (n,)
        M positive definite; force is Q - h.
    J, gamma : (m, n), (m,)
        Joints, independent rows.
    R, zeta : (k, n), (k,)
        J_N and zeta_N.
    F : (k, n)
        J_N + mu sigma J_T of contacts that slide. Pass R itself where there is no friction.
    active : (k,)
        In: the contacts that pushed at the step before. Out: those that push.
    z, a, lam, w : (k,), (n,), (m,), (k,)
        Written: lam_N, accelerations, forces of the joints, gap accelerations.
    space : Workspace

    Returns
    -------
    code
        `SOLVED`: a, lam, z satisfy joints and signs, every row to 1e-10 of its own terms. `MASSLESS`: the step is for
        a rank-revealing method. `UNSOLVED`: it is for `contact_step_by_operator`.
    """
    n, symmetric = len(force), R is F
    if factorise(M, space.L, space.first, n) < n:
        return MASSLESS
    L, first, y, inverse, free = space.L, space.first, space.body[0], space.body[1], space.body[2]
    filled = False
    for i in range(n):
        value = force[i]
        filled = filled or first[i] < i
        for j in range(first[i], i):
            value -= L[i, j] * y[j]
        y[i], inverse[i] = value, L[i, i]
        free[i] = value * L[i, i]
    spans(J, J, True, first, filled, space.span, 0)
    spans(R, F, symmetric, first, filled, space.span, len(J))
    for _ in range(SETS):
        wrong = known_set(J, gamma, R, F, zeta, active, z, a, lam, w, space, symmetric)
        if wrong <= 0:
            return SOLVED if wrong == 0 else UNSOLVED
    return UNSOLVED


@kernel
def contact_step_by_operator(
    M: Matrix, force: Vector, J: Matrix, gamma: Vector, R: Matrix, F: Matrix, zeta: Vector, active: Active, z: Vector,
    a: Vector, lam: Vector, w: Vector,
) -> int:  # fmt: skip
    """The same by the contact operator, whatever the set: for steps that `contact_step` leaves unsolved.

    Returns
    -------
    code
        `SOLVED` as there. `MASSLESS`, `DEPENDENT_JOINTS`: the step is for a rank-revealing method. Others: see
        `pivoting`.
    """
    (k, n), m = R.shape, len(J)
    K, L, first = np.zeros((n + m, n + m)), np.empty((n + m, n + m)), np.empty(n + m, np.int64)
    for i in range(n):
        for j in range(n):
            K[i, j] = M[i, j]
        for c in range(m):
            K[i, n + c] = K[n + c, i] = J[c, i]
    done = factorise(K, L, first, n)
    if done < n + m:
        return MASSLESS if done < n else DEPENDENT_JOINTS
    rows, motion, norm, rest = np.zeros((k + 1, n + m)), np.empty((k + 1, n + m)), np.empty(k + 1), np.empty(n + m)
    for i in range(n):
        for c in range(k):
            rows[c, i] = F[c, i]
        rows[k, i] = force[i]
    for c in range(m):
        rows[k, n + c] = gamma[c]
    for c in range(k + 1):
        respond(K, L, first, n, rows, motion, norm, rest, c)
    B, q, error = np.empty((k, k)), np.empty(k), np.empty(k)
    for r in range(k):
        for c in range(k + 1):
            value = 0.0
            for i in range(n):
                value += R[r, i] * motion[c, i]
            if c < k:
                B[r, c] = value
            else:
                q[r] = zeta[r] + value
    code, _ = solve_lcp(B, q, active, z, w, error, 50 * (k + 1), True)
    if code != SOLVED:
        return code
    for i in range(n):
        for c in range(k):
            rows[k, i] += F[c, i] * z[c]
    respond(K, L, first, n, rows, motion, norm, rest, k)
    span = np.zeros((2, m + k), np.int64)
    for c in range(m + k):
        span[1, c] = n
    for i in range(n):
        a[i] = motion[k, i]
        rest[i] = abs(a[i]) + abs(force[i]) / M[i, i]
    for c in range(m):
        lam[c] = -motion[k, n + c]
    return SOLVED if lawful(J, gamma, R, zeta, z, a, rest, w, active, span) == 0 else UNSOLVED
