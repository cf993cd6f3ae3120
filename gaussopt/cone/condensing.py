"""The contact problem of a time step from masses and rows, the equality rows eliminated, as compiled kernels.

    (M + dt D) (w' - w) = dt f + E^T lam + C^T r,    E w' = 0,    u = C w' = W r + q

With M + dt D = L^T L, L lower, which keeps the zeros of the masses of trees (Featherstone, Rigid Body Dynamics
Algorithms, 2008, section 6.3), and Z = L^-T (E^T, C^T, f), all that follows are products of columns of Z.
"""

from __future__ import annotations

import math

import numpy as np

from gaussopt.cone.newton_kernel import newton_steps, steps_into
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.jit.kernel import kernel

DEPENDENT = 1e-6
"""Pivot of an equality row, relative to its entry of the diagonal, below which rows may be dependent."""

MASSLESS, ROWS_MAY_DEPEND = 1, 2
"""What `condense` returns where a velocity has no mass, and where equality rows may be dependent; else 0."""

MOST_STEPS = 30
"""Newton steps within which contacts are taken out of each other."""

SEPARATED, NEARLY = 1e-12, 1e-8
"""Distances, relative to the gaps, at which Newton's method ends, and at which it may end where it gets no nearer."""


@kernel
def factorise(L: Matrix) -> bool:
    """Write the lower L of M = L^T L over the lower part of M; whether M is positive definite."""
    n = L.shape[0]
    for back in range(n):
        k = n - 1 - back
        if not L[k, k] > 0.0:
            return False
        pivot = math.sqrt(L[k, k])
        L[k, k] = pivot
        for j in range(k):
            L[k, j] /= pivot
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for j in range(i + 1):
                    L[i, j] -= factor * L[k, j]
    return True


@kernel
def half_solve(L: Matrix, Z: Matrix) -> None:
    """Write L^-T Z over Z, (n, columns)."""
    n, columns = Z.shape[0], Z.shape[1]
    for back in range(n):
        k = n - 1 - back
        pivot = L[k, k]
        for b in range(columns):
            Z[k, b] /= pivot
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for b in range(columns):
                    Z[i, b] -= factor * Z[k, b]


@kernel
def condense(
    M: Matrix, damping: Vector, R: Matrix, f: Vector, w: Vector, m: int, dt: float,
    L: Matrix, Z: Matrix, A: Matrix, W: Vector, q: Vector,
) -> int:  # fmt: skip
    """Write W, (3 k, 3 k) by rows, and q, (3 k,), and what `spread` needs.

    Parameters
    ----------
    M, damping : (n, n), (n,), masses and linear damping
    R, m : (p, n), rows of equalities, of which there are m, and of contacts
    f, w : (n,), forces and velocities
    L, Z, A : (n, n), (n, p + 1), (p, p + 1), written. The first m rows of A become G and G^-T u of the equalities
    """
    n, p = len(w), R.shape[0]
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = M[i, j]
        L[i, i] += dt * damping[i]
        for a in range(p):
            Z[i, a] = R[a, i]
        Z[i, p] = f[i]
    if not factorise(L):
        return MASSLESS
    half_solve(L, Z)
    for a in range(p):
        for b in range(a, p + 1):
            A[a, b] = 0.0
    for i in range(n):
        for a in range(p):
            z = Z[i, a]
            if z != 0.0:
                for b in range(a, p + 1):
                    A[a, b] += z * Z[i, b]
    for a in range(p):
        u = dt * A[a, p]
        for i in range(n):
            u += R[a, i] * w[i]
        A[a, p] = u
    for j in range(m):
        whole = 0.0
        for i in range(n):
            whole += Z[i, j] * Z[i, j]
        if not A[j, j] > DEPENDENT * whole:
            return ROWS_MAY_DEPEND
        pivot = math.sqrt(A[j, j])
        for b in range(j, p + 1):
            A[j, b] /= pivot
        for a in range(j + 1, p):
            factor = A[j, a]
            if factor != 0.0:
                for b in range(a, p + 1):
                    A[a, b] -= factor * A[j, b]
    size = p - m
    for a in range(size):
        for b in range(a, size):
            W[a * size + b] = A[m + a, m + b]
            W[b * size + a] = A[m + a, m + b]
        q[a] = A[m + a, p]
    return 0


@kernel
def spread(L: Matrix, Z: Matrix, A: Matrix, m: int, share: float, r: Vector, lam: Vector, x: Vector) -> None:
    """Write x = M^-1 (share f + E^T lam + C^T r) with lam so that E x takes back what `lam` holds, as G^-T of it."""
    n, p = len(x), Z.shape[1] - 1
    for j in range(m):
        y = lam[j]
        for a in range(m, p):
            y += A[j, a] * r[a - m]
        lam[j] = -y
    for back in range(m):
        j = m - 1 - back
        y = lam[j]
        for b in range(j + 1, m):
            y -= A[j, b] * lam[b]
        lam[j] = y / A[j, j]
    for i in range(n):
        y = share * Z[i, p]
        for a in range(m):
            y += Z[i, a] * lam[a]
        for a in range(m, p):
            y += Z[i, a] * r[a - m]
        x[i] = y
    for i in range(n):
        y = x[i]
        for j in range(i):
            y -= L[i, j] * x[j]
        x[i] = y / L[i, i]


@kernel
def velocities_after(
    L: Matrix, Z: Matrix, A: Matrix, R: Matrix, w: Vector, m: int, dt: float, r: Vector, lam: Vector, end: Vector
) -> float:
    """Write the impulses of equality rows, (m,), and the velocities w', (n,); returns the largest entry of E w'."""
    p, missed = Z.shape[1] - 1, 0.0
    for j in range(m):
        lam[j] = A[j, p]
    spread(L, Z, A, m, dt, r, lam, end)
    for i in range(len(end)):
        end[i] += w[i]
    for j in range(m):
        u = 0.0
        for i in range(len(end)):
            u += R[j, i] * end[i]
        missed = max(missed, abs(u))
    return missed


@kernel
def ways_apart(W: Vector, q: Vector, gaps: Vector, r: Vector, dt: float, push: Vector) -> bool:
    """Write the pushes, (3 k,), that take contacts out of each other at the end of a step; whether they were found.

    The gaps there are those of the beginning and dt u_N; the pushes act along normals, never pull, and act only where
    the gap that they leave is closed.
    """
    n, k = len(r), len(gaps)
    ahead, none, rho = np.zeros(n), np.zeros(k), np.zeros(k)
    J, phi = np.zeros(n * n), np.zeros(n)
    least, size = 0.0, 0.0
    for i in range(k):
        u = q[3 * i]
        for j in range(n):
            u += W[3 * i * n + j] * r[j]
        ahead[3 * i] = gaps[i] + dt * u
        least = min(least, ahead[3 * i])
        size += ahead[3 * i] * ahead[3 * i]
    for j in range(n):
        push[j] = 0.0
    if least == 0.0:
        return True
    steps_into(W, rho)
    size = math.sqrt(size)
    return newton_steps(W, ahead, none, rho, push, J, phi, MOST_STEPS, SEPARATED * size, NEARLY * size) < MOST_STEPS


@kernel
def way_back(
    L: Matrix, Z: Matrix, A: Matrix, phi: Vector, push: Vector, lam: Vector, way: Vector
) -> None:  # fmt: skip
    """Add to a way, (n,), the least one in the norm of the masses that makes E way = -phi with pushes of contacts."""
    m, x = len(phi), np.zeros(len(way))
    for j in range(m):
        y = phi[j]
        for b in range(j):
            y -= A[b, j] * lam[b]
        lam[j] = y / A[j, j]
    spread(L, Z, A, m, 0.0, push, lam, x)
    for i in range(len(way)):
        way[i] += x[i]
