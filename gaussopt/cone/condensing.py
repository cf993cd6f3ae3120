"""Form the contact problem of a time step from masses and rows, and eliminate equality rows, in compiled kernels.

    (M + dt D) (w' - w) = dt f + E^T lam + C^T r,    E w' = 0,    u = C w' = W r + q

M + dt D = L^T L with lower L keeps the zeros in mass matrices of trees (Featherstone, Rigid Body Dynamics Algorithms,
2008, section 6.3). With Z = L^-T (E^T, C^T, f), everything else is made of products of columns of Z.
"""

from __future__ import annotations

import math

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

DEPENDENT = 1e-6
"""Pivot of an equality row, relative to its diagonal entry, below which the rows count as possibly dependent."""

HELD = 1e-13
"""Equalities fix a row entirely if they reduce its response to its own impulse below this fraction."""

MASSLESS, ROWS_MAY_DEPEND = 1, 2
"""Codes that `condense` returns if a velocity has no mass, or if equality rows may be dependent; else 0."""

TILE = 32
"""Number of rows and columns of a part of a matrix that is transposed in fast memory."""


@kernel
def factorise(L: Matrix) -> bool:
    """Write the lower triangular L of M = L^T L over the lower part of M; return whether M is positive definite."""
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
def nonzero(row: Vector, found: Index) -> int:
    """Write the places of the entries that are not zero; return their number."""
    count = 0
    for b in range(len(row)):
        if row[b] != 0.0:
            found[count] = b
            count += 1
    return count


@kernel
def half_solve(L: Matrix, Z: Matrix, columns: int) -> None:
    """Write L^-T Z over the first columns of Z."""
    n, used = L.shape[0], np.zeros(columns, np.int64)
    for back in range(n):
        k = n - 1 - back
        pivot, count = L[k, k], nonzero(Z[k, 0:columns], used)
        for at in range(count):
            Z[k, used[at]] /= pivot
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for at in range(count):
                    Z[i, used[at]] -= factor * Z[k, used[at]]


@kernel
def products(Z: Matrix, p: int, A: Matrix) -> None:
    """Write the upper part of the first p rows of Z^T Z, with Z of p + 1 columns."""
    used = np.zeros(p + 1, np.int64)
    for a in range(p):
        for b in range(a, p + 1):
            A[a, b] = 0.0
    for i in range(Z.shape[0]):
        count = nonzero(Z[i, 0 : p + 1], used)
        for at in range(count):
            a = used[at]
            if a < p:
                for to in range(at, count):
                    A[a, used[to]] += Z[i, a] * Z[i, used[to]]


@kernel
def responses(Z: Matrix, p: int, local: Vector) -> None:
    """Write W = C M^-1 C^T and C M^-1 f, without equality rows, from the columns of Z, (n, p + 1)."""
    used = np.zeros(p, np.int64)
    for j in range(p * p + p):
        local[j] = 0.0
    for i in range(Z.shape[0]):
        count = nonzero(Z[i, 0:p], used)  # each velocity is in few rows
        for at in range(count):
            row = used[at] * p
            for to in range(at, count):
                local[row + used[to]] += Z[i, used[at]] * Z[i, used[to]]
            local[p * p + used[at]] += Z[i, used[at]] * Z[i, p]
    for first in range(0, p, TILE):
        for other in range(first, p, TILE):
            for a in range(first, min(first + TILE, p)):
                for b in range(max(other, a + 1), min(other + TILE, p)):
                    local[b * p + a] = local[a * p + b]


@kernel
def eliminate_rows(A: Matrix, p: int, m: int, local: Vector) -> int:
    """Eliminate the first m rows of A, (p, p + 1); write W and q of the other rows; return a code as in `condense`."""
    whole, terms = np.zeros(p), np.zeros(p)
    for a in range(p):
        whole[a], terms[a] = A[a, a], abs(A[a, p])
    for j in range(m):
        if not A[j, j] > DEPENDENT * whole[j]:
            return ROWS_MAY_DEPEND
        pivot = math.sqrt(A[j, j])
        for b in range(j, p + 1):
            A[j, b] /= pivot
        for a in range(j + 1, p):
            factor = A[j, a]
            if factor != 0.0:
                for b in range(a, p + 1):
                    A[a, b] -= factor * A[j, b]
                terms[a] += abs(factor * A[j, p])
    size = p - m
    # Set to zero the rows that the equalities fix entirely; only rounding errors are left in these rows.
    for a in range(size):
        keep = 1.0 if A[m + a, m + a] > HELD * whole[m + a] else 0.0
        q = A[m + a, p]
        local[size * size + a] = 0.0 if keep == 0.0 and abs(q) <= HELD * terms[m + a] else q
        whole[m + a] = keep
    for a in range(size):
        for b in range(a, size):
            entry = A[m + a, m + b] * whole[m + a] * whole[m + b]
            local[a * size + b] = entry
            local[b * size + a] = entry
    return 0


@kernel
def condense_one(
    M: SparseRows, D: Matrix, damping: Vector, R: SparseRows, f: Vector, w: Vector, gaps: Vector, whole: int, m: int,
    dt: float, dofs: Index, place: Index, rows: Index, S: Matrix, local: Vector,
) -> int:  # fmt: skip
    """Condense one group as `condense` does; `m` is its number of equality rows, `whole` that of all groups.

    `place`, (n,), are the places of its velocities among `dofs`.
    """
    n, p = len(dofs), len(rows)
    L, Z, A = S[0:n], S[n : 2 * n], S[2 * n : 2 * n + p]
    found, size = 0, p - m
    for i in range(n):
        row = dofs[i]
        for j in range(i + 1):
            L[i, j] = 0.0
        for e in range(M.begins[row], M.begins[row + 1]):
            if M.values[e] != 0.0:  # otherwise the column may be in another group
                L[i, place[M.columns[e]]] = M.values[e]
        if len(D) > 0:
            for j in range(i + 1):
                L[i, j] += dt * D[row, dofs[j]]
        L[i, i] += dt * damping[row]
        for a in range(p):
            Z[i, a] = 0.0
        Z[i, p] = f[row]
    for a in range(p):
        for e in range(R.begins[rows[a]], R.begins[rows[a] + 1]):
            if R.values[e] != 0.0:
                Z[place[R.columns[e]], a] = R.values[e]
    if not factorise(L):
        return MASSLESS
    half_solve(L, Z, p + 1)
    if m == 0:
        responses(Z, p, local)
    else:
        products(Z, p, A)
    for a in range(p):
        u = 0.0
        if m > 0:  # a conditional expression would read both entries
            u = dt * A[a, p]
        if m == 0:
            u = dt * local[p * p + a]
        for e in range(R.begins[rows[a]], R.begins[rows[a] + 1]):
            u += R.values[e] * w[R.columns[e]]
        if m > 0:
            A[a, p] = u
        else:
            local[p * p + a] = u
    if m > 0:
        found = eliminate_rows(A, p, m, local)
    for i in range(size // 3):
        local[size * size + 3 * i] += max(gaps[(rows[m + 3 * i] - whole) // 3], 0.0) / dt
    return found


@kernel
def condense(
    M: SparseRows, D: Matrix, damping: Vector, R: SparseRows, f: Vector, w: Vector, gaps: Vector, m: int, dt: float,
    dofs: Index, rows: Index, at: Index, count: int, S: Matrix, local: Vector,
) -> int:  # fmt: skip
    """Write the contact problem of a step and the data that the other kernels need; return 0 or a code.

    Parameters
    ----------
    M, D, damping : the lower part of the masses, (n, n); damping, (n, n) or without entries; its part on the diagonal
    R, m : m rows of equalities, then the rows of contacts, of n columns
    f, w, gaps : (n,), (n,), (k,), forces, velocities, and gaps: u_N is increased by g / dt where a gap g is open
    dofs, rows, at, count : groups, see `gaussopt.cone.groups.groups_into`
    S : (2 n + p, max(n, p + 1)) for the sizes of each group, (2 n, p + 1) without equality rows, written: L, Z and A,
        whose rows 1 to m are G and G^-T (E M^-1 C^T), E M^-1 E^T = G^T G
    local : (9 k^2 + 3 k,) for each group, written: W by rows, and q
    """
    place = np.zeros(len(w), np.int64)
    for g in range(count):
        o = 5 * g
        for i in range(at[o], at[o + 5]):
            place[dofs[i]] = i - at[o]
        found = condense_one(
            M, D, damping, R, f, w, gaps, m, at[o + 4], dt, dofs[at[o] : at[o + 5]], place, rows[at[o + 1] : at[o + 6]],
            S[at[o + 2] : at[o + 7]], local[at[o + 3] : at[o + 8]],
        )  # fmt: skip
        if found != 0:
            return found
    return 0


@kernel
def spread(S: Matrix, n: int, m: int, share: float, r: Vector, lam: Vector, x: Vector) -> None:
    """Replace lam by l with E M^-1 (E^T l + C^T r) = -G^T lam; write x = M^-1 (share f + E^T l + C^T r).

    All are those of one group with n velocities and m equality rows.
    """
    p, count = m + len(r), 0
    L, Z, A = S[0:n], S[n : 2 * n], S[2 * n : 2 * n + p]
    used = np.zeros(len(r), np.int64)
    for a in range(len(r)):
        if r[a] != 0.0:
            used[count] = a
            count += 1
    for j in range(m):
        y = lam[j]
        for at in range(count):
            y += A[j, m + used[at]] * r[used[at]]
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
        for at in range(count):
            y += Z[i, m + used[at]] * r[used[at]]
        x[i] = y
    for i in range(n):
        y = x[i]
        for j in range(i):
            y -= L[i, j] * x[j]
        x[i] = y / L[i, i]


@kernel
def finish(
    R: SparseRows, w: Vector, m: int, dt: float, dofs: Index, rows: Index, at: Index, count: int, S: Matrix, r: Vector,
    lam: Vector, end: Vector, way: Vector,
) -> float:  # fmt: skip
    """Write velocities and displacement at the end of a step with impulses r, (3 k,); return the largest |E w'|.

    `lam`, (m,), are the impulses of equality rows, `end` the velocities w', `way` the displacement dt w', (n,).
    """
    missed, own, x, y = 0.0, np.zeros(len(r)), np.zeros(len(w)), np.zeros(m)
    for g in range(count):
        o = 5 * g
        n, of = at[o + 5] - at[o], at[o + 4]
        begin, p = at[o + 1], at[o + 6] - at[o + 1]
        for j in range(of):
            y[j] = S[at[o + 2] + 2 * n + j, p]
        for a in range(p - of):
            own[a] = r[rows[begin + of + a] - m]
        spread(S[at[o + 2] : at[o + 7]], n, of, dt, own[0 : p - of], y[0:of], x[0:n])
        for i in range(n):
            j = dofs[at[o] + i]
            end[j] = x[i] + w[j]
            way[j] = dt * end[j]
        for j in range(of):
            u, row = 0.0, rows[begin + j]
            for e in range(R.begins[row], R.begins[row + 1]):
                u += R.values[e] * end[R.columns[e]]
            lam[row] = y[j]
            missed = max(missed, abs(u))
    return missed
