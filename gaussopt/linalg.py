"""Small dense linear algebra that states its ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.stepdata import Matrix, Vector

if TYPE_CHECKING:
    from gaussopt.sparse import Sparse

EPS = float(np.finfo(np.float64).eps)


@cache
def lapack() -> Any:
    """SciPy's LAPACK, imported at its first use: a tenth of a second that motions by generated code need not wait."""
    from scipy.linalg import lapack as found

    return found


def cholesky(M: Matrix) -> Matrix | None:
    """Lower factor L with M = L L^T, or None if M is not numerically positive definite."""
    L, info = lapack().dpotrf(M, lower=1)
    if info != 0:
        return None
    diagonal = L.diagonal()
    # A pivot at rounding level of its own row means a singular M, whatever the units.
    if len(L) and (diagonal * diagonal < 64 * len(L) * EPS * M.diagonal()).any():
        return None
    return np.asarray(L)


def solve_lower(L: Matrix, B: Matrix | Vector) -> Matrix:
    """L^{-1} B."""
    if not B.size:
        return np.array(B)
    X, _ = lapack().dtrtrs(L, B, lower=1)
    return np.asarray(X)


def solve_lower_transposed(L: Matrix, B: Matrix | Vector) -> Matrix:
    """L^{-T} B."""
    if not B.size:
        return np.array(B)
    X, _ = lapack().dtrtrs(L, B, lower=1, trans=1)
    return np.asarray(X)


def invert_lower(L: Matrix) -> Matrix:
    """L^{-1}."""
    if not L.size:
        return L
    inverse, _ = lapack().dtrtri(L, lower=1)
    return np.asarray(inverse)


def mass_scale(M: Matrix | Sparse) -> Vector:
    """1 / sqrt(M_ii), and 1 for coordinates without mass: coordinates in these units all have mass 1."""
    diagonal = M.diagonal()
    if not (positive := diagonal > 0).all():
        diagonal = np.where(positive, diagonal, 1.0)
    return np.asarray(1.0 / np.sqrt(diagonal))


def equilibrate(M: Matrix, J: Matrix) -> tuple[Vector, Vector]:
    """Scales of coordinates and rows that make ranks independent of units.

    Coordinates with mass are measured in units of mass 1, coordinates without by the rows that hold them, beginning at
    rows that hold masses too; rows have unit length.

    Returns
    -------
    d, row : (n,), (m,)
        The scaled data are M d d^T and row J d.
    """
    d, size = mass_scale(M), np.abs(J)
    measured = M.diagonal() > 0
    while True:
        length = np.linalg.norm(J[:, measured] * d[measured], axis=1)
        row = np.where(length > 0, 1.0 / np.where(length > 0, length, 1.0), 0.0)
        held = (row[:, None] * size).max(axis=0, initial=0.0)
        fresh = ~measured & (held > 0)
        if not fresh.any():  # what is left hangs on rows without mass alone: one of it sets the measure
            held = size.max(axis=0, initial=0.0)
            fresh = ~measured & (held > 0)
            fresh[np.flatnonzero(fresh)[1:]] = False
        if not fresh.any():
            return d, np.where(length > 0, row, 1.0)
        d[fresh], measured = 1.0 / held[fresh], measured | fresh


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Singular value decomposition of J split at its rank.

    Attributes
    ----------
    rank : int
    Z : (n, n - rank)
        Orthonormal basis of ker J.
    pinv : (n, m)
        Moore-Penrose inverse.
    left_null : (m, m - rank)
        Orthonormal basis of the dependencies between rows.
    condition : float
        Largest over smallest singular value within the rank.
    """

    rank: int
    Z: Matrix
    pinv: Matrix
    left_null: Matrix
    condition: float = 1.0


def row_space(J: Matrix) -> RowSpace:
    """Rank-revealing decomposition; rows are not rescaled."""
    m, n = J.shape
    if m == 0:
        return RowSpace(0, np.eye(n), np.zeros((n, 0)), np.zeros((0, 0)))
    U, s, Vt = np.linalg.svd(J)
    rank = int((s > 8 * max(m, n) * EPS * s[0]).sum()) if s[0] > 0 else 0
    pinv = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    return RowSpace(rank, Vt[rank:].T, pinv, U[:, rank:], condition)


def nearest(M: Matrix, J: Matrix, r: Vector) -> Vector:
    """Smallest x in the mass metric with J x = r, (n,), also where M is singular or rows depend on each other.

    Massless coordinates follow at no cost; of what neither mass nor rows decide, least. Rows that contradict each other
    are met in the least-squares sense. In the null space of J: of x_p - Z z the z with Z^T M (x_p - Z z) = 0.
    """
    d, row = equilibrate(M, J)
    scaled = M * np.outer(d, d)
    space = row_space(J * d * row[:, None])
    x_p, Z = space.pinv @ (r * row), space.Z
    values, vectors = np.linalg.eigh(Z.T @ scaled @ Z)
    held = values > 64 * len(d) * EPS
    Z = Z @ vectors[:, held]
    return np.asarray(d * (x_p - Z @ ((Z.T @ (scaled @ x_p)) / values[held])))
