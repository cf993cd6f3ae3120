"""Contact steps as compiled kernels: from the arrays of an instant to accelerations and contact forces.

With M = L D L^T, rows R of the contacts, columns F of their forces (F = R^T without friction) and the joints J,

    [J; R_S] M^-1 [J^T, F_S] (lam, lam_S) = (gamma, -zeta_S) - [J; R_S] M^-1 (Q - h)

is all there is to solve once the set S of contacts that push is known. `contact_step` tries the set of the step before
and looks at the signs, with accelerations of the rows taken from the acceleration itself; where they are wrong it forms
the whole contact operator and solves its complementarity problem (`pivoting`). The factors of M keep its envelope: a
diagonal or block-diagonal M costs no more than its blocks.
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


class Workspace(NamedTuple):
    """Memory of contact steps of one size, kept between them; see `workspace`.

    Attributes
    ----------
    L, inverse, first : (n, n), (n,), (n,)
        Factors of M.
    U, V : (n, m + p)
        L^-1 of the rows, joints first, and of the columns of their forces.
    G : (m, m)
        Factors of J M^-1 J^T.
    A : (m + p, m + p)
    b, x : (m + p,)
    y, g, free : (n,)
        `free` is the size of the acceleration without joints and contacts.
    q : (p,)
    error : (p,)
        What one refinement more would add to z.
    """

    L: Matrix
    inverse: Vector
    first: Index
    U: Matrix
    V: Matrix
    G: Matrix
    A: Matrix
    b: Vector
    x: Vector
    y: Vector
    g: Vector
    free: Vector
    q: Vector
    error: Vector


@jit
def workspace(n: int, m: int, p: int) -> Workspace:
    """Memory for n coordinates, m joint rows and p rows of contacts."""
    return Workspace(
        np.zeros((n, n)), np.zeros(n), np.zeros(n, np.int64), np.zeros((n, m + p)), np.zeros((n, m + p)),
        np.zeros((m, m)), np.zeros((m + p, m + p)), np.zeros(m + p), np.zeros(m + p), np.zeros(n), np.zeros(n),
        np.zeros(n), np.zeros(p), np.zeros(p),
    )  # fmt: skip


@jit
def factorise_mass(M: Matrix, L: Matrix, inverse: Vector, first: Index) -> bool:
    """M = L D L^T within the envelope of M; False where a pivot is rounding.

    Parameters
    ----------
    M : (n, n)
        Its lower triangle is read.
    L : (n, n)
        Written below the diagonal, from `first` on in every row.
    inverse : (n,)
        1 / D.
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
            L[i, j] = value * inverse[j]
            pivot -= value * L[i, j]
        if not pivot > 64.0 * n * EPS * M[i, i]:
            return False
        inverse[i] = 1.0 / pivot
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
    lam: Vector, w: Vector, space: Workspace, symmetric: bool,
) -> bool:  # fmt: skip
    """Solve with the contacts of `active` pushing and see whether all signs are right; M is factorised already."""
    n, m, k = len(force), len(gamma), len(zeta)
    L, inverse, first, U, A, b, y = space.L, space.inverse, space.first, space.U, space.A, space.b, space.y
    V, free = U if symmetric else space.V, space.free
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
        scaled = inverse[i] * y[i]
        free[i] = scaled
        for r in range(size):
            factor = U[i, r]
            if factor != 0.0:
                b[r] -= factor * scaled
                factor *= inverse[i]
                for c in range(size):
                    A[r, c] += factor * V[i, c]
    # Elimination in the given order; where a pivot loses digits the contacts are for those who reveal ranks.
    for s in range(size):
        own = A[s, s]
        for i in range(s):
            factor = A[s, i]
            if factor != 0.0:
                factor *= A[i, i]
                A[s, i] = factor
                b[s] -= factor * b[i]
                for c in range(i + 1, size):
                    A[s, c] -= factor * A[i, c]
        if not A[s, s] > STABLE * own:
            return False
        A[s, s] = 1.0 / A[s, s]
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
    for i in range(n):
        value = y[i]
        for s in range(size):
            value += V[i, s] * b[s]
        a[i] = value * inverse[i]
    backward(L, first, a)
    return holds(J, gamma, a, free) and lawful(R, zeta, z, a, free, w)


@jit
def holds(J: Matrix, gamma: Vector, a: Vector, free: Vector) -> bool:
    """Whether J a = gamma to rounding of the terms; `free` is the size of the acceleration without any constraint."""
    m, n = J.shape
    for c in range(m):
        value, extent = -gamma[c], abs(gamma[c])
        for i in range(n):
            value += J[c, i] * a[i]
            extent += abs(J[c, i]) * (abs(a[i]) + abs(free[i]))
        if not abs(value) <= ROUNDING * extent:
            return False
    return True


@jit
def lawful(R: Matrix, zeta: Vector, z: Vector, a: Vector, free: Vector, w: Vector) -> bool:
    """Fill w from the acceleration itself and say whether 0 <= z, w >= 0 and one of each pair is zero to rounding."""
    k, n = R.shape
    for c in range(k):
        value, extent = zeta[c], abs(zeta[c])
        for i in range(n):
            value += R[c, i] * a[i]
            extent += abs(R[c, i]) * (abs(a[i]) + abs(free[i]))
        w[c] = value
        tiny = ROUNDING * extent
        if not (z[c] >= 0.0 and value >= -tiny and (z[c] == 0.0 or value <= tiny)):
            return False
    return True


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
def free_of_joints(space: Workspace, y: Vector) -> None:
    """Take from y = L^-1 f what the joints balance: y - B G^-1 B^T D^-1 y, twice for the sake of rounding."""
    m, n = len(space.G), len(y)
    U, x = space.U, space.x
    if m == 0:
        return
    for _ in range(2):
        for c in range(m):
            x[c] = 0.0
        for i in range(n):
            scaled = space.inverse[i] * y[i]
            for c in range(m):
                x[c] += U[i, c] * scaled
        solve_joints(space.G, x)
        for i in range(n):
            for c in range(m):
                y[i] -= U[i, c] * x[c]


@jit
def eliminate_joints(J: Matrix, space: Workspace) -> bool:
    """The first columns of U from the rows of the joints, and the factors of J M^-1 J^T; M is factorised already."""
    m, n = J.shape
    U, G = space.U, space.G
    for c in range(m):
        for i in range(n):
            U[i, c] = J[c, i]
    forward_all(space.L, space.first, U, m)
    for r in range(m):
        for c in range(r + 1):
            value = 0.0
            for i in range(n):
                value += U[i, r] * space.inverse[i] * U[i, c]
            G[r, c] = value
    return factorise_joints(G)


@jit
def accelerate(force: Vector, J: Matrix, gamma: Vector, a: Vector, lam: Vector, space: Workspace) -> None:
    """A and lam that a force causes, refined so that J a = gamma to rounding; M and the joints are factorised."""
    m, n = J.shape
    U, y, x = space.U, space.y, space.x
    for i in range(n):
        y[i] = force[i]
    forward(space.L, space.first, y)
    for c in range(m):
        lam[c] = 0.0
    for _ in range(3 if m else 1):
        # y + B lam are the forces so far; what J a misses is added to lam.
        for i in range(n):
            value = y[i]
            for c in range(m):
                value += U[i, c] * lam[c]
            a[i] = value * space.inverse[i]
        backward(space.L, space.first, a)
        for c in range(m):
            value = gamma[c]
            for i in range(n):
                value -= J[c, i] * a[i]
            x[c] = value
        solve_joints(space.G, x)
        for c in range(m):
            lam[c] += x[c]
    if m:
        for c in range(m):
            lam[c] -= x[c]  # the last correction has not reached a


@jit
def load(rows: Matrix, target: Matrix, space: Workspace) -> None:
    """Columns of `target` behind the joints: L^-1 of the rows, without what the joints balance."""
    p, n = rows.shape
    m = len(space.G)
    for c in range(p):
        for i in range(n):
            space.g[i] = rows[c, i]
        forward(space.L, space.first, space.g)
        free_of_joints(space, space.g)
        for i in range(n):
            target[i, m + c] = space.g[i]


@jit
def respond(R: Matrix, F: Matrix, space: Workspace, symmetric: bool) -> None:
    """A[:p, :p] = R K F: the motion of the rows by their forces, joints eliminated; U and V are left loaded."""
    p, n = R.shape
    m = len(space.G)
    U, A = space.U, space.A
    load(R, U, space)
    V = U
    if not symmetric:
        V = space.V
        load(F, V, space)
    for r in range(p):
        for c in range(p):
            A[r, c] = 0.0
    for i in range(n):
        for r in range(p):
            factor = U[i, m + r] * space.inverse[i]
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
    if not factorise_mass(M, space.L, space.inverse, space.first):
        return MASSLESS
    if known_set(force, J, gamma, R, F, zeta, active, z, a, lam, w, space, symmetric):
        return SOLVED
    if not eliminate_joints(J, space):
        return DEPENDENT_JOINTS
    respond(R, F, space, symmetric)
    accelerate(force, J, gamma, a, lam, space)
    for c in range(k):
        value = zeta[c]
        for i in range(n):
            value += R[c, i] * a[i]
        space.q[c] = value
    code, _ = solve_lcp(space.A[:k, :k].copy(), space.q, active, z, w, space.error, 50 * (k + 1), True)
    if code != SOLVED:
        return code
    for i in range(n):
        value = force[i]
        for c in range(k):
            value += F[c, i] * z[c]
        space.g[i] = value
    accelerate(space.g, J, gamma, a, lam, space)
    return SOLVED if holds(J, gamma, a, space.free) and lawful(R, zeta, z, a, space.free, w) else UNSOLVED
