"""Small dense linear algebra that states its ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector

if TYPE_CHECKING:
    from gaussopt.core.sparse_arrays import Sparse

EPS = float(np.finfo(np.float64).eps)

WIDE_EPS = float(np.finfo(np.longdouble).eps)
"""Rounding of the extended precision; that of a double where the machine has none."""

SQUARES = (1e-250, 1e250)
"""Squares beyond which a norm is computed of scaled numbers."""

LARGE = 64
"""Rows and columns from which on singular values take too long for least squares."""

ALONE = 1e3
"""Share of a coordinate in a row, beside all others, from which on the row counts as holding it alone."""

IDLE = 1e-3
"""Entry of a null vector of M, in units of mass 1, from which on the mass of a coordinate is that of others."""


@cache
def lapack() -> Any:
    """SciPy's LAPACK, imported at its first use: a tenth of a second that motions by generated code need not wait."""
    from scipy.linalg import lapack as found

    return found


@cache
def _triangular() -> Any:
    """BLAS's solution by a triangular matrix; that of LAPACK starts threads for several columns of any length."""
    from scipy.linalg.blas import dtrsm

    return dtrsm


def least_norm(A: Matrix, b: Vector) -> Vector:
    """The least-squares solution of least norm: by singular values, of many rows and columns by a faster pivoted QR."""
    if min(A.shape) <= LARGE:
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
    from scipy.linalg import lstsq

    return np.asarray(lstsq(A, b, cond=max(A.shape) * EPS, lapack_driver="gelsy", check_finite=False)[0])


def cholesky(M: Matrix) -> Matrix | None:
    """Lower factor L with M = L L^T, or None if M is not numerically positive definite."""
    L = gram_factor(M)
    if L is None or not len(L):
        return L
    # In units of mass 1 the squares of the diagonal multiply to the determinant, which is at most e times the smallest
    # eigenvalue; behind small pivots rounding leaves pivots that are not small.
    diagonal = L.diagonal()
    unsure = float(np.prod(diagonal * diagonal / M.diagonal())) < math.e * 64 * len(L) * EPS
    return None if unsure and _semidefinite(M) else L


def gram_factor(G: Matrix) -> Matrix | None:
    """The same by the pivots alone, for those who look at them: of rows, which are checked apart."""
    L, info = lapack().dpotrf(G, lower=1)
    if info != 0:
        return None
    diagonal = L.diagonal()
    # A pivot at rounding level of its own row means a singular matrix, whatever the units.
    if len(L) and (diagonal * diagonal < 64 * len(L) * EPS * G.diagonal()).any():
        return None
    return np.asarray(L)


def _semidefinite(M: Matrix) -> bool:
    """Whether an eigenvalue of M in coordinates of unit mass is at rounding level."""
    d = mass_scale(M)
    return float(np.linalg.eigvalsh(M * d * d[:, None])[0]) <= 64 * len(d) * EPS


def solve_lower(L: Matrix, B: Matrix | Vector) -> Matrix:
    """L^{-1} B."""
    if not B.size:
        return np.array(B)
    return _solved(L, B, 0)


def solve_lower_transposed(L: Matrix, B: Matrix | Vector) -> Matrix:
    """L^{-T} B."""
    if not B.size:
        return np.array(B)
    return _solved(L, B, 1)


def _solved(L: Matrix, B: Matrix | Vector, transposed: int) -> Matrix:
    if B.ndim == 1:
        return np.asarray(lapack().dtrtrs(L, B, lower=1, trans=transposed)[0])
    return np.asarray(_triangular()(1.0, L, B, lower=1, trans_a=transposed))


def invert_lower(L: Matrix) -> Matrix:
    """L^{-1}."""
    if not L.size:
        return L
    inverse, _ = lapack().dtrtri(L, lower=1)
    return np.asarray(inverse)


def norm(x: Vector) -> float:
    """The Euclidean norm; squares that overflow or vanish are scaled."""
    if not x.size:
        return 0.0
    square = float(x.dot(x))
    if SQUARES[0] < square < SQUARES[1]:
        return math.sqrt(square)
    size = float(np.abs(x).max())
    return size * math.sqrt(float((x / size) @ (x / size))) if 0.0 < size < math.inf else size


def mass_norm(a: Vector, Ma: Vector) -> float:
    """The root of a^T M a from a and M a; 0 where rounding makes it negative."""
    square = float(a.dot(Ma))
    if SQUARES[0] < square < SQUARES[1]:
        return math.sqrt(square)
    sizes = float(np.abs(a).max(initial=0.0)), float(np.abs(Ma).max(initial=0.0))
    if not (min(sizes) > 0.0 and max(sizes) < math.inf):
        return 0.0 if min(sizes) == 0.0 else math.inf
    return math.sqrt(max(float((a / sizes[0]) @ (Ma / sizes[1])), 0.0)) * math.sqrt(sizes[0]) * math.sqrt(sizes[1])


def cancelled(e: Vector, M: Matrix, length: float) -> float:
    """Rounding of the mass norm of e, which is `length`, where the terms of its square nearly cancel."""
    size = float(np.abs(e).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return 0.0
    x = np.abs(e) / size
    lost = 2.0 * EPS * float(x @ (np.abs(M) @ x))
    return size * (min(math.sqrt(lost), lost * size / length) if length > 0.0 else math.sqrt(lost))


def ratio(value: float, size: float) -> float:
    """Value relative to a size: 0 of nothing, infinite beside nothing."""
    return value / size if size > 0 else 0.0 if value == 0 else math.inf


def largest_ratio(values: Vector, sizes: Vector) -> float:
    """The largest of non-negative values relative to their sizes; infinite where something has no size."""
    return float(np.where(values == 0, 0.0, values / sizes).max(initial=0.0))


def largest_share(residual: Vector, terms: Vector) -> float:
    """The largest of residuals relative to the sizes of their own terms; where there are none, the residual itself."""
    return float((np.abs(residual) / np.where(terms > 0, terms, 1.0)).max(initial=0.0))


def largest(values: Vector) -> float:
    """The largest absolute value, 0 of nothing."""
    return float(np.abs(values).max(initial=0.0))


def mass_scale(M: Matrix | Sparse) -> Vector:
    """1 / sqrt(M_ii), and 1 for coordinates without mass: coordinates in these units all have mass 1."""
    diagonal = M.diagonal()
    if not (positive := diagonal > 0).all():
        diagonal = np.where(positive, diagonal, 1.0)
    return np.asarray(1.0 / np.sqrt(diagonal))


def coordinate_scale(M: Matrix, J: Matrix) -> Vector:
    """`mass_scale`, smaller where the mass of a coordinate is that of others, as of a quaternion near its axes."""
    return without_own_mass(M, np.abs(J), mass_scale(M))


def equilibrate(M: Matrix, J: Matrix) -> tuple[Vector, Vector]:
    """Scales of coordinates and rows that make ranks independent of units.

    Coordinates with mass are measured in units of mass 1, coordinates without by the rows that hold them, beginning at
    rows that hold masses too; rows have unit length. For d (n,) and row (m,) the scaled data are M d d^T and row J d.
    A coordinate whose little mass is that of others, as that of a quaternion near (1, 0, 0, 0), is measured between.
    """
    d, size = mass_scale(M), np.abs(J)
    d = without_own_mass(M, size, d)
    measured = M.diagonal() > 0
    if not measured.all():
        size = _without_rounding(size)
    while True:
        length = _lengths(J[:, measured] * d[measured])
        row = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
        if measured.all():
            row[row == 0.0] = 1.0
            return d, row
        held = (row[:, None] * size).max(axis=0, initial=0.0)
        fresh = ~measured & (held > 0)
        if not fresh.any():  # what is left hangs on rows without mass alone: one of it sets the measure
            held = size.max(axis=0, initial=0.0)
            fresh = ~measured & (held > 0)
            fresh[np.flatnonzero(fresh)[1:]] = False
        if not fresh.any():
            return d, np.where(length > 0, row, 1.0)
        d[fresh], measured = 1.0 / held[fresh], measured | fresh


def without_own_mass(M: Matrix, size: Matrix, d: Vector, share: float = ALONE) -> Vector:
    """Scales d of coordinates (n,), smaller where a row of these sizes (m, n) would hold a coordinate nearly alone.

    `share` says how large its entry then is beside all others.

    That is so where M is singular and its null vector nearly along a coordinate: the reciprocal root of its mass is as
    much too large as what the others move in the row, beside it, is too small; their geometric mean has its unit.
    """
    scaled = size * d
    largest_entry = scaled.max(axis=1, initial=0.0, keepdims=True)
    alone = (scaled > share * (scaled.sum(axis=1, keepdims=True) - largest_entry)) & (scaled == largest_entry)
    found = (alone & ((size > 0).sum(axis=1, keepdims=True) > 1)).any(axis=0) & (M.diagonal() > 0)
    if not found.any():
        return d
    values, vectors = np.linalg.eigh(M * d * d[:, None])
    null = vectors[:, values <= 64 * len(d) * EPS]
    found &= (np.abs(null) > IDLE).any(axis=1)
    if not found.any():
        return d
    others = _lengths(np.where(found, 0.0, scaled))[:, None]
    shares = np.divide(others, size, out=np.full(size.shape, np.inf), where=(size > 0) & (others > 0)).min(axis=0)
    return np.where(found & np.isfinite(shares), np.sqrt(d) * np.sqrt(np.minimum(shares, d)), d)


def _without_rounding(size: Matrix) -> Matrix:
    """Sizes of entries (m, n), zero where one is rounding in its row and in its column; no unit is taken from it."""
    if not size.size:
        return size
    limit = 64 * EPS
    tiny = (size <= limit * size.max(axis=1, keepdims=True)) & (size <= limit * size.max(axis=0, keepdims=True))
    return np.where(tiny, 0.0, size)


def _lengths(A: Matrix) -> Vector:
    """Lengths of rows, also where squares overflow or vanish, (m,)."""
    squares = np.einsum("ij,ij->i", A, A)
    if not len(squares) or (min(entries := squares.tolist()) > SQUARES[0] and max(entries) < SQUARES[1]):
        return np.asarray(np.sqrt(squares))
    size = np.abs(A).max(axis=1, initial=0.0)
    return np.asarray(size * np.linalg.norm(A / np.where(size > 0, size, 1.0)[:, None], axis=1))


def unit_scales(M: Matrix, J: Matrix) -> tuple[Vector, Vector]:
    """`equilibrate` by powers of two, without rounding: masses and lengths of rows are one up to a factor of two."""
    d, row = equilibrate(M, J)
    return np.exp2(np.round(np.log2(d))), np.exp2(np.round(np.log2(row)))


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Singular value decomposition of J split at its rank.

    Attributes
    ----------
    Z : (n, n - rank), an orthonormal basis of ker J
    pinv : (n, m), the Moore-Penrose inverse
    left_null : (m, m - rank), an orthonormal basis of the dependencies between rows
    condition : largest over smallest singular value within the rank
    dropped, least : largest singular value that counts as zero, and smallest one that does not (1 without any)
    """

    rank: int
    Z: Matrix
    pinv: Matrix
    left_null: Matrix
    condition: float = 1.0
    dropped: float = 0.0
    least: float = 1.0


def rounded(U: Matrix, s: Vector, least: float, noise: Vector | None) -> NDArray[np.bool_]:
    """Which singular values s of rows, with left vectors U, are rounding: relative to the largest, or of their rows."""
    found: NDArray[np.bool_] = ~(s > least * s[0])
    return (
        found if noise is None else np.logical_or(found, s <= np.linalg.norm(noise[:, None] * U[:, : len(s)], axis=0))
    )


def row_space(J: Matrix, least: float | None = None, noise: Vector | None = None) -> RowSpace:
    """Rank-revealing decomposition of J, (m, n); rows are not rescaled.

    `least` is the singular value, relative to the largest, that counts as zero; 8 max(m, n) eps if not given. Where
    the rounding of each row is known as `noise`, (m,), that of a combination of rows counts as zero, too.
    """
    m, n = J.shape
    if m == 0:
        return RowSpace(0, np.eye(n), np.zeros((n, 0)), np.zeros((0, 0)))
    U, s, Vt = np.linalg.svd(J)
    least = 8 * max(m, n) * EPS if least is None else least
    counts = ~rounded(U, s, least, noise)
    if noise is not None:
        # Those that count come first: a row of much rounding may stand before a small one of hardly any.
        order = np.argsort(~counts, kind="stable")
        s, counts = s[order], counts[order]
        U[:, : len(s)], Vt[: len(s)] = U[:, order], Vt[order]
    rank = int(counts.sum())
    pinv = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    dropped, least = float(s[rank]) if rank < len(s) else 0.0, float(s[rank - 1]) if rank else 1.0
    return RowSpace(rank, Vt[rank:].T, pinv, U[:, rank:], condition, dropped, least)


def nearest(M: Matrix, J: Matrix, r: Vector) -> tuple[Vector, float]:
    """Smallest x in the mass metric with J x = r, (n,), also where M is singular or rows depend on each other.

    Beside it stands the smallest singular value that counts, relative to the largest.

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
    return np.asarray(d * (x_p - Z @ ((Z.T @ (scaled @ x_p)) / values[held]))), 1.0 / space.condition
