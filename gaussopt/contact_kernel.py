"""Contact steps as compiled kernels: from the arrays of an instant to accelerations and contact forces.

With M = L D L^T, rows R of the contacts, columns F of their forces (F = R^T without friction) and the joints J,

    [J; R_S] M^-1 [J^T, F_S] (lam, lam_S) = (gamma, -zeta_S) - [J; R_S] M^-1 (Q - h)

is all there is to solve once the set S of contacts that push is known. `contact_step` tries the set of the step before,
looks at the signs, with accelerations of the rows taken from the acceleration itself, and lets those that are wrong
change sides. Where that does not end in a few turns, or the rows of the set depend on each other, it forms the whole
contact operator and solves its complementarity problem (`pivoting`). The factors of M keep its envelope: a diagonal or
block-diagonal M costs no more than its blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.jit import jit
from gaussopt.linalg import EPS
from gaussopt.pivoting import SOLVED, STABLE, UNSOLVED, Active, Index, solve_lcp
from gaussopt.stepdata import Matrix, Vector

MASSLESS, DEPENDENT_JOINTS = 5, 6
"""Codes beside those of `pivoting`: M is not positive definite; the joints depend on each other or nearly so."""

REGULAR = 1e-8
"""Pivot of J M^-1 J^T, relative to its diagonal, below which the joints are for the rank-revealing path."""

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
    U, V : (n, m + p)
        L^-1 of the rows, joints first, and of the columns of their forces.
    G, A : (m, m), (m + p, m + p)
        Factors of J M^-1 J^T; responses.
    body, row : (3, n), (2, m + p)
    """

    L: Matrix
    first: Index
    U: Matrix
    V: Matrix
    G: Matrix
    A: Matrix
    body: Matrix
    row: Matrix


def workspace(n: int, m: int, p: int) -> Workspace:
    """Memory for n coordinates, m joint rows and p contacts."""
    return Workspace(
        np.zeros((n, n)), np.zeros(n, np.int64), np.zeros((n, m + p)), np.zeros((n, m + p)), np.zeros((m, m)),
        np.zeros((m + p, m + p)), np.zeros((3, n)), np.zeros((2, m + p)),
    )  # fmt: skip


@jit
def factorise_mass(M: Matrix, L: Matrix, first: Index) -> bool:
    """M = L D L^T within the envelope of M; False where a pivot is rounding.

    Parameters
    ----------
    M : (n, n)
        Its lower triangle is read.
    L : (n, n)
        Written: L below the diagonal, from `first` on in every row, and 1 / D on it.
    first : (n,)
        Column of the first entry of every row.
    """
    n = len(M)
    for i in range(n):
        start = 0
        while start < i and M[i, start] == 0.0:
            start += 1
        first[i] = start
        pivot = M[i, i]
        for j in range(start, i):
            value = M[i, j]
            for c in range(max(start, first[j]), j):
                value -= L[i, c] * L[j, c]
            L[i, j] = value
        for j in range(start, i):
            value = L[i, j]
            L[i, j] = value * L[j, j]
            pivot -= value * L[i, j]
        if not pivot > 64.0 * n * EPS * M[i, i]:
            return False
        L[i, i] = 1.0 / pivot
    return True


@jit
def forward(L: Matrix, first: Index, x: Vector) -> None:
    """X <- L^-1 x."""
    for i in range(len(x)):
        for j in range(first[i], i):
            x[i] -= L[i, j] * x[j]


@jit
def backward(L: Matrix, first: Index, x: Vector) -> None:
    """X <- L^-T x."""
    for i in range(len(x) - 1, -1, -1):
        for j in range(first[i], i):
            x[j] -= L[i, j] * x[i]


@jit
def forward_all(L: Matrix, first: Index, X: Matrix, count: int) -> None:
    """X[:, :count] <- L^-1 X[:, :count]."""
    for i in range(len(X)):
        for j in range(first[i], i):
            factor = L[i, j]
            if factor != 0.0:
                for c in range(count):
                    X[i, c] -= factor * X[j, c]


@jit
def known_set(
    force: Vector, J: Matrix, gamma: Vector, R: Matrix, F: Matrix, zeta: Vector, active: Active, z: Vector, a: Vector,
    lam: Vector, w: Vector, L: Matrix, first: Index, U: Matrix, V: Matrix, A: Matrix, body: Matrix, row: Matrix,
    symmetric: bool,
) -> int:  # fmt: skip
    """Solve with the contacts of `active` pushing; M is factorised already.

    Returns
    -------
    wrong
        How many contacts have a wrong sign and have changed sides in `active`; -1 where rounding is out of hand.
    """
    n, m, k = len(force), len(gamma), len(zeta)
    y, free, b, own = body[0], body[1], row[0], row[1]
    for c in range(m):
        b[c] = gamma[c]
        for i in range(n):
            U[i, c] = J[c, i]
    size = m
    for c in range(k):
        if active[c]:
            b[size] = -zeta[c]
            for i in range(n):
                U[i, size] = R[c, i]
            size += 1
    forward_all(L, first, U, size)
    if not symmetric:
        for c in range(m):
            for i in range(n):
                V[i, c] = J[c, i]
        place = m
        for c in range(k):
            if active[c]:
                for i in range(n):
                    V[i, place] = F[c, i]
                place += 1
        forward_all(L, first, V, size)
    for i in range(n):
        y[i] = force[i]
    forward(L, first, y)
    for r in range(size):
        for c in range(size):
            A[r, c] = 0.0
    for i in range(n):
        scaled = L[i, i] * y[i]
        free[i] = scaled
        for r in range(size):
            factor = U[i, r]
            if factor != 0.0:
                b[r] -= factor * scaled
                factor *= L[i, i]
                for c in range(r if symmetric else 0, size):
                    A[r, c] += factor * V[i, c]
    for r in range(size):
        own[r] = A[r, r]
    # Elimination in the given order; where a pivot loses digits the contacts are for those who reveal ranks.
    for i in range(size):
        if not A[i, i] > STABLE * own[i]:
            return -1
        inverse = 1.0 / A[i, i]
        A[i, i] = inverse
        for s in range(i + 1, size):
            factor = (A[i, s] if symmetric else A[s, i]) * inverse
            if factor != 0.0:
                b[s] -= factor * b[i]
                for c in range(s if symmetric else i + 1, size):
                    A[s, c] -= factor * A[i, c]
    for s in range(size - 1, -1, -1):
        value = b[s] * A[s, s]
        b[s] = value
        for r in range(s):
            b[r] -= A[r, s] * value
    for c in range(m):
        lam[c] = b[c]
    place = m
    for c in range(k):
        z[c] = 0.0
        if active[c]:
            z[c] = b[place]
            place += 1
    add_forces(V, b, size, y)
    for i in range(n):
        a[i] = y[i] * L[i, i]
    backward(L, first, a)
    for i in range(n):
        free[i] = abs(a[i]) + abs(free[i])
    return lawful(R, zeta, z, a, free, w, active) if holds(J, gamma, a, free) else -1


@jit
def add_forces(V: Matrix, b: Vector, size: int, y: Vector) -> None:
    """Y <- y + V[:, :size] b."""
    for i in range(len(y)):
        value = y[i]
        for s in range(size):
            value += V[i, s] * b[s]
        y[i] = value


@jit
def holds(J: Matrix, gamma: Vector, a: Vector, free: Vector) -> bool:
    """Whether J a = gamma to rounding of the terms; `free` is the size of the accelerations that may have cancelled."""
    m, n = J.shape
    for c in range(m):
        value, extent = -gamma[c], abs(gamma[c])
        for i in range(n):
            value += J[c, i] * a[i]
            extent += abs(J[c, i]) * free[i]
        if not abs(value) <= ROUNDING * extent:
            return False
    return True


@jit
def lawful(R: Matrix, zeta: Vector, z: Vector, a: Vector, free: Vector, w: Vector, active: Active) -> int:
    """Fill w from the acceleration itself and let contacts with a wrong sign change sides.

    Returns
    -------
    wrong
        Their number; -1 where a contact that pushes does not stay, which is rounding out of hand.
    """
    k, n = R.shape
    wrong = 0
    for c in range(k):
        value, extent = zeta[c], abs(zeta[c])
        for i in range(n):
            value += R[c, i] * a[i]
            extent += abs(R[c, i]) * free[i]
        w[c] = value
        tiny = ROUNDING * extent
        if active[c]:
            if not abs(value) <= tiny:
                return -1
            if not z[c] >= 0.0:
                active[c] = 0
                wrong += 1
        elif not value >= -tiny:
            active[c] = 1
            wrong += 1
    return wrong


@jit
def factorise_joints(G: Matrix) -> bool:
    """G = C E C^T in place, C below the diagonal and 1 / E on it; False where rows depend on each other."""
    for i in range(len(G)):
        own = pivot = G[i, i]
        for j in range(i):
            for c in range(j):
                G[i, j] -= G[i, c] * G[j, c]
        for j in range(i):
            value = G[i, j]
            G[i, j] = value * G[j, j]
            pivot -= value * G[i, j]
        if not pivot > REGULAR * own:
            return False
        G[i, i] = 1.0 / pivot
    return True


@jit
def solve_joints(G: Matrix, x: Vector) -> None:
    """X <- (C E C^T)^-1 x, x of length m or longer."""
    m = len(G)
    for i in range(m):
        for j in range(i):
            x[i] -= G[i, j] * x[j]
    for i in range(m):
        x[i] *= G[i, i]
    for i in range(m - 1, -1, -1):
        for j in range(i):
            x[j] -= G[i, j] * x[i]


@jit
def free_of_joints(L: Matrix, U: Matrix, G: Matrix, y: Vector) -> None:
    """Take from y = L^-1 f what the joints balance: y - B G^-1 B^T D^-1 y, twice for the sake of rounding."""
    m, n = len(G), len(y)
    x = np.empty(m)
    for _ in range(2 if m else 0):
        for c in range(m):
            x[c] = 0.0
        for i in range(n):
            for c in range(m):
                x[c] += U[i, c] * L[i, i] * y[i]
        solve_joints(G, x)
        for i in range(n):
            for c in range(m):
                y[i] -= U[i, c] * x[c]


@jit
def eliminate_joints(J: Matrix, L: Matrix, first: Index, U: Matrix, G: Matrix) -> bool:
    """The first columns of U from the rows of the joints, and the factors of J M^-1 J^T; M is factorised already."""
    m, n = J.shape
    for c in range(m):
        for i in range(n):
            U[i, c] = J[c, i]
    forward_all(L, first, U, m)
    for r in range(m):
        for c in range(r + 1):
            G[r, c] = 0.0
            for i in range(n):
                G[r, c] += U[i, r] * L[i, i] * U[i, c]
    return factorise_joints(G)


@jit
def accelerate(
    force: Vector, J: Matrix, gamma: Vector, a: Vector, lam: Vector, L: Matrix, first: Index, U: Matrix, G: Matrix
) -> None:
    """A and lam that a force causes, refined so that J a = gamma to rounding; M and the joints are factorised."""
    m, n = J.shape
    y, x = np.empty(n), np.zeros(m)
    for i in range(n):
        y[i] = force[i]
    forward(L, first, y)
    for c in range(m):
        lam[c] = 0.0
    for turn in range(3 if m else 1):
        # y + B lam are the forces so far; what J a misses is added to lam.
        for c in range(m):
            lam[c] += x[c]
        for i in range(n):
            a[i] = y[i]
            for c in range(m):
                a[i] += U[i, c] * lam[c]
            a[i] *= L[i, i]
        backward(L, first, a)
        if turn == 2:
            break
        for c in range(m):
            x[c] = gamma[c]
            for i in range(n):
                x[c] -= J[c, i] * a[i]
        solve_joints(G, x)


@jit
def load(rows: Matrix, target: Matrix, L: Matrix, first: Index, U: Matrix, G: Matrix) -> None:
    """Columns of `target` behind the joints: L^-1 of the rows, without what the joints balance."""
    p, n = rows.shape
    m = len(G)
    g = np.empty(n)
    for c in range(p):
        for i in range(n):
            g[i] = rows[c, i]
        forward(L, first, g)
        free_of_joints(L, U, G, g)
        for i in range(n):
            target[i, m + c] = g[i]


@jit
def respond(
    R: Matrix, F: Matrix, L: Matrix, first: Index, U: Matrix, V: Matrix, G: Matrix, A: Matrix, symmetric: bool
) -> None:
    """A[:p, :p] = R K F: the motion of the rows by their forces, joints eliminated; U and V are left loaded."""
    p, n = R.shape
    m = len(G)
    load(R, U, L, first, U, G)
    if not symmetric:
        load(F, V, L, first, U, G)
    for r in range(p):
        for c in range(p):
            A[r, c] = 0.0
    for i in range(n):
        for r in range(p):
            factor = U[i, m + r] * L[i, i]
            if factor != 0.0:
                for c in range(p):
                    A[r, c] += factor * V[i, m + c]


@jit
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
        `SOLVED`: a, lam, z satisfy joints and signs, every row to 1e-10 of its own terms. `MASSLESS`,
        `DEPENDENT_JOINTS`: the step is for a rank-revealing method. Others: see `pivoting`.
    """
    k, n = R.shape
    symmetric = R is F
    L, first, U, V, G, A, body, row = space
    if symmetric:
        V = U
    if not factorise_mass(M, L, first):
        return MASSLESS
    wrong = 1
    for _ in range(SETS):
        wrong = known_set(force, J, gamma, R, F, zeta, active, z, a, lam, w, L, first, U, V, A, body, row, symmetric)
        if wrong <= 0:
            break
    if wrong == 0:
        return SOLVED
    if not eliminate_joints(J, L, first, U, G):
        return DEPENDENT_JOINTS
    respond(R, F, L, first, U, V, G, A, symmetric)
    accelerate(force, J, gamma, a, lam, L, first, U, G)
    B, q, error, total = np.empty((k, k)), np.empty(k), np.empty(k), body[2]
    for r in range(k):
        q[r] = zeta[r]
        for i in range(n):
            q[r] += R[r, i] * a[i]
        for c in range(k):
            B[r, c] = A[r, c]
    code, _ = solve_lcp(B, q, active, z, w, error, 50 * (k + 1), True)
    if code != SOLVED:
        return code
    for i in range(n):
        total[i] = force[i]
        for c in range(k):
            total[i] += F[c, i] * z[c]
    accelerate(total, J, gamma, a, lam, L, first, U, G)
    free = body[1]
    for i in range(n):
        free[i] = abs(a[i]) + abs(force[i]) / M[i, i]
    return SOLVED if holds(J, gamma, a, free) and lawful(R, zeta, z, a, free, w, active) == 0 else UNSOLVED
