"""Dense methods for one step, each with as little work as LAPACK allows, and their counts of operations.

Three methods keep the multipliers: two solve for all n + m unknowns, one for the m multipliers alone. Two avoid them by
the paper's eq. (14); another computes its eq. (16). M is dense, or a vector of masses where it is diagonal.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from gaussopt.core.arrays import Matrix, Vector


def by_lu(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Solve by LU of [M, J^T; J, 0]."""
    return np.asarray(lapack.dgesv(*_all_unknowns(M, f, J, gamma), overwrite_a=1)[2][: len(f)])


def by_ldl(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Solve by L D L^T (Bunch and Kaufman) of [M, J^T; J, 0], which is symmetric and indefinite."""
    K, b = _all_unknowns(M, f, J, gamma)
    return np.asarray(lapack.dsysv(K, b, lwork=64 * len(b), lower=1, overwrite_a=1)[2][: len(f)])


def _all_unknowns(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> tuple[Matrix, Vector]:
    n, m = len(f), len(gamma)
    K = np.zeros((n + m, n + m), order="F")
    K[:n, :n], K[:n, n:], K[n:, :n] = M if M.ndim == 2 else np.diag(M), J.T, J
    return K, np.concatenate((f, gamma))


def multipliers(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Compute the multipliers by Cholesky factors of M and of J M^-1 J^T, then the accelerations."""
    if M.ndim == 1:
        root = np.sqrt(M)
        Y, c = (J / root).T, f / root
    else:
        L, _ = lapack.dpotrf(M, lower=1)
        X, _ = lapack.dtrtrs(L, np.column_stack((J.T, f)), lower=1)
        Y, c = X[:, :-1], X[:, -1]
    S, _ = lapack.dpotrf(Y.T @ Y, lower=1)
    lam, _ = lapack.dpotrs(S, gamma - Y.T @ c, lower=1)
    whitened = c + Y @ lam
    return np.asarray(whitened / root if M.ndim == 1 else lapack.dtrtrs(L, whitened, lower=1, trans=1)[0])


def normal_equations(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Solve eq. (14) with another basis Z, (n, n - m), of ker J, by QR of J^T and a Cholesky factor of Z^T M Z."""
    p, Z = _particular_and_kernel(J, gamma, len(f))
    MZ = M @ Z if M.ndim == 2 else M[:, None] * Z
    C, _ = lapack.dpotrf(Z.T @ MZ, lower=1)
    return np.asarray(p + Z @ lapack.dpotrs(C, Z.T @ f - MZ.T @ p, lower=1)[0])


def two_qr(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Solve eq. (14) with Z in place of N: QR of J^T gives Z, and QR of M^(1/2) Z solves the least-squares problem."""
    p, Z = _particular_and_kernel(J, gamma, len(f))
    if M.ndim == 1:
        root = np.sqrt(M)
        A, b = root[:, None] * Z, f / root - root * p
    else:
        # Any square root of M is valid; the Cholesky factor is the cheapest.
        L, _ = lapack.dpotrf(M, lower=1)
        A, b = L.T @ Z, lapack.dtrtrs(L, f, lower=1)[0] - L.T @ p
    qr, tau, _, _ = lapack.dgeqrf(A, overwrite_a=1)
    k = A.shape[1]
    c, _, _ = lapack.dormqr("L", "T", qr, tau, b[:, None], 64, overwrite_c=1)
    return np.asarray(p + Z @ lapack.dtrtrs(qr[:k], c[:k, 0])[0])


def _particular_and_kernel(J: Matrix, gamma: Vector, n: int) -> tuple[Vector, Matrix]:
    """Return J^+ gamma, and orthonormal columns that span ker J."""
    m = len(gamma)
    qr, tau, _, _ = lapack.dgeqrf(J.T)
    E = np.zeros((n, n - m + 1), order="F")
    E[:m, 0], E[m:, 1:] = lapack.dtrtrs(qr[:m], gamma, trans=1)[0], np.eye(n - m)
    E, _, _ = lapack.dormqr("L", "N", qr, tau, E, 64 * n, overwrite_c=1)
    return E[:, 0], E[:, 1:]


def as_printed(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Compute eq. (16), a0 + J^+ (gamma - J a0), by Cholesky factors of J J^T; this is not the true acceleration."""
    a0 = f / M if M.ndim == 1 else lapack.dposv(M, f, lower=1)[1]
    S, _ = lapack.dpotrf(J @ J.T, lower=1)
    return np.asarray(a0 + J.T @ lapack.dpotrs(S, gamma - J @ a0, lower=1)[0])


LU, LDL = "all n + m unknowns by LU", "all n + m unknowns by L D L^T"
WITH = {LU: by_lu, LDL: by_ldl, "multipliers by Cholesky": multipliers}
PRINTED = "eq. (16) by Cholesky"
WITHOUT = {"eq. (14) by QR and Cholesky": normal_equations, "eq. (14) by QR twice": two_qr}


def operations(x: Vector, diagonal: bool) -> dict[str, Vector]:
    """Return by method the leading terms of its number of operations, relative to n^3; x is the ratio m / n."""
    dense = 0.0 if diagonal else 1.0
    kernel = householder(1.0, x) + (1 - x) * (4 * x - 2 * x**2)
    reduced, product = 1 - x, (1 - x) ** 2
    return {
        LU: 2 * (1 + x) ** 3 / 3,
        LDL: (1 + x) ** 3 / 3,
        "multipliers by Cholesky": dense * (1 / 3 + x) + x**2 + x**3 / 3,
        "eq. (14) by QR and Cholesky": kernel + 2 * dense * reduced + product + cholesky(reduced),
        "eq. (14) by QR twice": kernel + dense * (1 / 3 + reduced) + householder(1.0, reduced),
        PRINTED: dense / 3 + x**2 + x**3 / 3,
    }


def cholesky(n: Vector | float) -> Vector | float:
    """Return the number of operations of a Cholesky factorisation, n^3 / 3."""
    return n**3 / 3


def householder(n: Vector | float, m: Vector | float) -> Vector | float:
    """Return the number of operations of QR of an n by m matrix, 2 n m^2 - 2 m^3 / 3."""
    return 2 * n * m**2 - 2 * m**3 / 3


def counted_cholesky(A: Matrix) -> tuple[Matrix, int]:
    """Return the Cholesky factor by the textbook loop, and the number of operations of the loop."""
    L, count = np.tril(A), 0
    for j in range(len(L)):
        L[j, j] = np.sqrt(L[j, j])
        L[j + 1 :, j] /= L[j, j]
        for k in range(j + 1, len(L)):
            L[k:, k] -= L[k:, j] * L[k, j]
            count += 2 * (len(L) - k)
        count += len(L) - j
    return L, count


def counted_householder(A: Matrix) -> tuple[Matrix, int]:
    """Return the triangular factor by a loop of Householder reflections, and the loop's number of operations."""
    R, count = A.copy(), 0
    for j in range(R.shape[1]):
        v = R[j:, j].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        R[j:, j:] -= 2 * np.outer(v, v @ R[j:, j:])
        count += 4 * R[j:, j:].size + 6 * len(v)
    return R[: R.shape[1]], count
