"""The dense ways to solve one step, each as lean as LAPACK allows, and how many floating-point operations they take.

Two keep the multipliers: the system of all n + m unknowns, and the m multipliers alone. Two do without: the null space
by QR, and the source's eq. (14). M is dense, or a vector of masses where it is diagonal.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from gaussopt.core.step_data import Matrix, Vector


def all_unknowns(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """LU of [M, J^T; J, 0]."""
    n, m = len(f), len(gamma)
    K = np.zeros((n + m, n + m), order="F")
    K[:n, :n], K[:n, n:], K[n:, :n] = M if M.ndim == 2 else np.diag(M), J.T, J
    return np.asarray(lapack.dgesv(K, np.concatenate((f, gamma)), overwrite_a=1)[2][:n])


def multipliers(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Cholesky factors of M and of J M^-1 J^T."""
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


def null_space(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """QR of J^T, only its last n - m columns formed, Cholesky factors of Z^T M Z."""
    n, m = len(f), len(gamma)
    qr, tau, _, _ = lapack.dgeqrf(J.T)
    E = np.zeros((n, n - m + 1), order="F")
    E[:m, 0], E[m:, 1:] = lapack.dtrtrs(qr[:m], gamma, trans=1)[0], np.eye(n - m)
    E, _, _ = lapack.dormqr("L", "N", qr, tau, E, 64 * n, overwrite_c=1)
    MZ = M @ E if M.ndim == 2 else M[:, None] * E
    p, Z = E[:, 0], E[:, 1:]
    C, _ = lapack.dpotrf(Z.T @ MZ[:, 1:], lower=1)
    return np.asarray(p + Z @ lapack.dpotrs(C, Z.T @ (f - MZ[:, 0]), lower=1)[0])


def least_squares(M: Matrix | Vector, f: Vector, J: Matrix, gamma: Vector) -> Vector:
    """Eq. (14): two generalised inverses by singular value decompositions, and the square root of M."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    particular, N = Vt.T @ ((U.T @ gamma) / s), np.eye(len(f)) - Vt.T @ Vt
    if M.ndim == 1:
        root = np.sqrt(M)
        A, b = root[:, None] * N, f / root - root * particular
    else:
        values, V = np.linalg.eigh(M)
        R = (V * np.sqrt(values)) @ V.T
        A, b = R @ N, (V / np.sqrt(values)) @ (V.T @ f) - R @ particular
    return np.asarray(particular + N @ np.linalg.lstsq(A, b, rcond=1e-8)[0])


WITH = {"all n + m unknowns by LU": all_unknowns, "multipliers by Cholesky": multipliers}
WITHOUT = {"null space by QR": null_space, "eq. (14) by SVD": least_squares}


def operations(x: Vector, diagonal: bool) -> dict[str, Vector]:
    """Floating-point operations by n^3 for m = x n, leading terms; of the SVDs only the reduction to two diagonals."""
    ones = np.ones_like(x)
    dense = 0.0 if diagonal else 1.0
    reduce = 4 * x**2 - 4 * x**3 / 3
    return {
        "all n + m unknowns by LU": 2 * (1 + x) ** 3 / 3,
        "multipliers by Cholesky": dense * (ones / 3 + x) + x**2 + x**3 / 3,
        "null space by QR": householder(1.0, x) + (1 - x) * (4 * x - 2 * x**2) + 2 * dense * (1 - x)
        + (1 - x) ** 2 + cholesky(1 - x),
        "eq. (14) by SVD": reduce + x + dense * (4 * ones / 3 + 2) + 8 * ones / 3,
    }  # fmt: skip


def cholesky(n: Vector | float) -> Vector | float:
    """n^3 / 3."""
    return n**3 / 3


def householder(n: Vector | float, m: Vector | float) -> Vector | float:
    """QR of an n by m matrix: 2 n m^2 - 2 m^3 / 3."""
    return 2 * n * m**2 - 2 * m**3 / 3


def counted_cholesky(A: Matrix) -> tuple[Matrix, int]:
    """The factor by the textbook's loop, and the operations it took."""
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
    """The triangular factor by reflections one by one, and the operations they took."""
    R, count = A.copy(), 0
    for j in range(R.shape[1]):
        v = R[j:, j].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        R[j:, j:] -= 2 * np.outer(v, v @ R[j:, j:])
        count += 4 * R[j:, j:].size + 6 * len(v)
    return R[: R.shape[1]], count
