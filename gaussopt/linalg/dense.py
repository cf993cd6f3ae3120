"""Dense linear algebra of small matrices: factors, scales, norms, and decompositions with an explicit rank."""

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
"""Machine epsilon of extended precision; equal to EPS if the machine has no extended precision."""

SQUARES = (1e-250, 1e250)
"""A norm is computed from scaled numbers if the squares lie outside this interval."""

LARGE = 64
"""Least squares by singular values take too long if a matrix has more rows and more columns than this."""

ALONE = 1e3
"""A coordinate counts as alone in a row if its entry exceeds this multiple of the sum of the other entries."""

IDLE = 1e-3
"""A coordinate counts as nearly massless if its entry of a null vector of M, in units of mass 1, exceeds this."""


@cache
def lapack() -> Any:
    """Return SciPy's LAPACK; the import takes 0.1 s and is delayed, since generated code does not need it."""
    from scipy.linalg import lapack as found

    return found


@cache
def _triangular() -> Any:
    """Return the triangular solver of BLAS; the solver of LAPACK starts threads even for a few short columns."""
    from scipy.linalg.blas import dtrsm

    return dtrsm


def least_norm(A: Matrix, b: Vector) -> Vector:
    """Return the least-squares solution of least norm, by singular values, or by a faster pivoted QR if A is large."""
    if min(A.shape) <= LARGE:
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])
    from scipy.linalg import lstsq

    return np.asarray(lstsq(A, b, cond=max(A.shape) * EPS, lapack_driver="gelsy", check_finite=False)[0])


def cholesky(M: Matrix) -> Matrix | None:
    """Return the lower factor L of M = L L^T, or None if M is not numerically positive definite."""
    L = gram_factor(M)
    if L is None or not len(L):
        return L
    # The pivots alone do not decide, because rounding may enlarge the pivots that follow a small one. In units of mass
    # 1, the product of all pivots is the determinant, at most 2.718 times the smallest eigenvalue.
    diagonal = L.diagonal()
    unsure = float(np.prod(diagonal * diagonal / M.diagonal())) < math.e * 64 * len(L) * EPS
    return None if unsure and _semidefinite(M) else L


def gram_factor(G: Matrix) -> Matrix | None:
    """Return L like `cholesky`, but judge by the pivots alone: for Gram matrices, whose rank is checked elsewhere."""
    L, info = lapack().dpotrf(G, lower=1)
    if info != 0:
        return None
    diagonal = L.diagonal()
    # Pivots are compared with the diagonal entry of the same row, so that units do not matter.
    if len(L) and (diagonal * diagonal < 64 * len(L) * EPS * G.diagonal()).any():
        return None
    return np.asarray(L)


def _semidefinite(M: Matrix) -> bool:
    """Return whether the smallest eigenvalue of M, in coordinates of unit mass, is at rounding level."""
    d = mass_scale(M)
    return float(np.linalg.eigvalsh(M * d * d[:, None])[0]) <= 64 * len(d) * EPS


def solve_lower(L: Matrix, B: Matrix | Vector) -> Matrix:
    """Return L^{-1} B."""
    if not B.size:
        return np.array(B)
    return _solved(L, B, 0)


def solve_lower_transposed(L: Matrix, B: Matrix | Vector) -> Matrix:
    """Return L^{-T} B."""
    if not B.size:
        return np.array(B)
    return _solved(L, B, 1)


def _solved(L: Matrix, B: Matrix | Vector, transposed: int) -> Matrix:
    if B.ndim == 1:
        return np.asarray(lapack().dtrtrs(L, B, lower=1, trans=transposed)[0])
    return np.asarray(_triangular()(1.0, L, B, lower=1, trans_a=transposed))


def invert_lower(L: Matrix) -> Matrix:
    """Return L^{-1}."""
    if not L.size:
        return L
    inverse, _ = lapack().dtrtri(L, lower=1)
    return np.asarray(inverse)


def norm(x: Vector) -> float:
    """Return the Euclidean norm; numbers are scaled if their squares would overflow or underflow."""
    if not x.size:
        return 0.0
    square = float(x.dot(x))
    if SQUARES[0] < square < SQUARES[1]:
        return math.sqrt(square)
    size = float(np.abs(x).max())
    return size * math.sqrt(float((x / size) @ (x / size))) if 0.0 < size < math.inf else size


def mass_norm(a: Vector, Ma: Vector) -> float:
    """Return sqrt(a^T M a) from a and M a; 0 if rounding makes the square negative."""
    square = float(a.dot(Ma))
    if SQUARES[0] < square < SQUARES[1]:
        return math.sqrt(square)
    sizes = float(np.abs(a).max(initial=0.0)), float(np.abs(Ma).max(initial=0.0))
    if not (min(sizes) > 0.0 and max(sizes) < math.inf):
        return 0.0 if min(sizes) == 0.0 else math.inf
    return math.sqrt(max(float((a / sizes[0]) @ (Ma / sizes[1])), 0.0)) * math.sqrt(sizes[0]) * math.sqrt(sizes[1])


def cancelled(e: Vector, M: Matrix, length: float) -> float:
    """Return the rounding error of `length`, the computed mass norm of e; it is large if terms of e^T M e cancel."""
    size = float(np.abs(e).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return 0.0
    x = np.abs(e) / size
    lost = 2.0 * EPS * float(x @ (np.abs(M) @ x))
    return size * (min(math.sqrt(lost), lost * size / length) if length > 0.0 else math.sqrt(lost))


def ratio(value: float, size: float) -> float:
    """Return value / size; 0 if the value is 0, otherwise infinite if the size is 0."""
    return value / size if size > 0 else 0.0 if value == 0 else math.inf


def largest_ratio(values: Vector, sizes: Vector) -> float:
    """Return the largest of values / sizes, for values >= 0; infinite if a positive value has size 0."""
    return float(np.where(values == 0, 0.0, values / sizes).max(initial=0.0))


def largest_share(residual: Vector, terms: Vector) -> float:
    """Return the largest of |residual| / terms; where the terms are zero, the residual is not divided."""
    return float((np.abs(residual) / np.where(terms > 0, terms, 1.0)).max(initial=0.0))


def largest(values: Vector) -> float:
    """Return the largest absolute value, 0 for an empty array."""
    return float(np.abs(values).max(initial=0.0))


def mass_scale(M: Matrix | Sparse) -> Vector:
    """Return the scales 1 / sqrt(M_ii), which give coordinates the mass 1; the scale of massless coordinates is 1."""
    diagonal = M.diagonal()
    if not (positive := diagonal > 0).all():
        diagonal = np.where(positive, diagonal, 1.0)
    return np.asarray(1.0 / np.sqrt(diagonal))


def coordinate_scale(M: Matrix, J: Matrix) -> Vector:
    """Return `mass_scale`, reduced for coordinates along nearly massless directions, see `without_own_mass`."""
    return without_own_mass(M, np.abs(J), mass_scale(M))


def equilibrate(M: Matrix, J: Matrix) -> tuple[Vector, Vector]:
    """Return scales of coordinates and rows that make ranks independent of units.

    Coordinates with mass are scaled to mass 1, and rows to unit length. Coordinates without mass are scaled by the rows
    that constrain them, beginning with rows that also contain coordinates with mass. For d, (n,), and row, (m,), the
    scaled data are d M d and row J d. For nearly massless coordinates see `without_own_mass`.
    """
    return scaled_by_rows(M, J, without_own_mass(M, np.abs(J), mass_scale(M)))


def scaled_by_rows(M: Matrix, J: Matrix, d: Vector) -> tuple[Vector, Vector]:
    """Return `equilibrate` of M and J for given scales d of the coordinates with mass, (n,)."""
    d, size = d.copy(), np.abs(J)
    measured = M.diagonal() > 0
    if not measured.all():
        size = _without_rounding(size)
    while True:
        length = _lengths(J * np.where(measured, d, 0.0))
        row = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
        if measured.all():
            row[row == 0.0] = 1.0
            return d, row
        held = (row[:, None] * size).max(axis=0, initial=0.0)
        fresh = ~measured & (held > 0)
        if not fresh.any():  # the remaining rows have no scaled coordinate: choose one coordinate
            held = size.max(axis=0, initial=0.0)
            fresh = ~measured & (held > 0)
            fresh[np.flatnonzero(fresh)[1:]] = False
        if not fresh.any():
            return d, np.where(length > 0, row, 1.0)
        d[fresh], measured = 1.0 / held[fresh], measured | fresh


def without_own_mass(M: Matrix, size: Matrix, d: Vector, share: float = ALONE) -> Vector:
    """Return the scales d, (n,), reduced for nearly massless coordinates of a singular M; `size` is |J|, (m, n).

    If M is singular and its null vector is nearly along a coordinate, as for a quaternion near (1, 0, 0, 0), the scale
    1 / sqrt(mass) of this coordinate is far too large: its entry in some row exceeds `share` times the sum of
    the others. It is replaced by its geometric mean with the scale at which the entry equals the norm of the others.
    """
    if np.count_nonzero(M) == np.count_nonzero(M.diagonal()):  # M is diagonal, so null vectors are massless coordinates
        return d
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
    """Return sizes of entries, (m, n), with 0 where an entry is at rounding level in its row and in its column."""
    if not size.size:
        return size
    limit = 64 * EPS
    if ((size == 0.0) | (size > limit * size.max())).all():
        return size
    tiny = (size <= limit * size.max(axis=1, keepdims=True)) & (size <= limit * size.max(axis=0, keepdims=True))
    return np.where(tiny, 0.0, size)


def _lengths(A: Matrix) -> Vector:
    """Return the lengths of the rows of A, (m,), also where squares would overflow or underflow."""
    squares = np.einsum("ij,ij->i", A, A)
    if not len(squares) or (min(entries := squares.tolist()) > SQUARES[0] and max(entries) < SQUARES[1]):
        return np.asarray(np.sqrt(squares))
    size = np.abs(A).max(axis=1, initial=0.0)
    return np.asarray(size * np.linalg.norm(A / np.where(size > 0, size, 1.0)[:, None], axis=1))


def unit_scales(M: Matrix, J: Matrix) -> tuple[Vector, Vector]:
    """Return the scales of `equilibrate` rounded to powers of two, so that scaling by them is exact."""
    d, row = equilibrate(M, J)
    return np.exp2(np.round(np.log2(d))), np.exp2(np.round(np.log2(row)))


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Singular value decomposition of J, (m, n), divided by its rank into range and null space.

    Attributes
    ----------
    Z : (n, n - rank), an orthonormal basis of ker J
    pinv : (n, m), the Moore-Penrose inverse
    left_null : (m, m - rank), an orthonormal basis of the dependencies between rows
    condition : ratio of the largest to the smallest nonzero singular value
    dropped, least : largest singular value that counts as zero (0 if none), smallest that does not (1 if none)
    """

    rank: int
    Z: Matrix
    pinv: Matrix
    left_null: Matrix
    condition: float = 1.0
    dropped: float = 0.0
    least: float = 1.0


def rounded(U: Matrix, s: Vector, least: float, noise: Vector | None) -> NDArray[np.bool_]:
    """Return a mask of the singular values s, with left vectors U, that are at most least * s[0] or ||noise * U_i||."""
    found: NDArray[np.bool_] = ~(s > least * s[0])
    return (
        found if noise is None else np.logical_or(found, s <= np.linalg.norm(noise[:, None] * U[:, : len(s)], axis=0))
    )


def row_space(J: Matrix, least: float | None = None, noise: Vector | None = None) -> RowSpace:
    """Return a rank-revealing decomposition of J, (m, n); rows are not rescaled.

    Singular values up to `least`, relative to the largest, count as zero; the default is 8 max(m, n) eps. If `noise`,
    (m,), the rounding errors of the rows, is given, values up to ||noise * U_i|| also count as zero.
    """
    m, n = J.shape
    if m == 0:
        return RowSpace(0, np.eye(n), np.zeros((n, 0)), np.zeros((0, 0)))
    U, s, Vt = np.linalg.svd(J)
    least = 8 * max(m, n) * EPS if least is None else least
    counts = ~rounded(U, s, least, noise)
    if noise is not None:
        # Move the nonzero values to the front: noise of one row may exceed exact values of another.
        order = np.argsort(~counts, kind="stable")
        s, counts = s[order], counts[order]
        U[:, : len(s)], Vt[: len(s)] = U[:, order], Vt[order]
    rank = int(counts.sum())
    pinv = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    dropped, least = float(s[rank]) if rank < len(s) else 0.0, float(s[rank - 1]) if rank else 1.0
    return RowSpace(rank, Vt[rank:].T, pinv, U[:, rank:], condition, dropped, least)


def nearest(M: Matrix, J: Matrix, r: Vector) -> tuple[Vector, float]:
    """Return the x, (n,), with J x = r and the least x^T M x, also if M is singular or rows are dependent.

    Also return the smallest nonzero singular value of the scaled J, relative to the largest.

    Where neither masses nor rows determine x, its Euclidean norm is least. Contradictory rows are satisfied in the
    least-squares sense. With x_p from the pseudoinverse, x = x_p - Z z, where Z^T M (x_p - Z z) = 0.
    """
    d, row = equilibrate(M, J)
    scaled = M * np.outer(d, d)
    space = row_space(J * d * row[:, None])
    x_p, Z = space.pinv @ (r * row), space.Z
    values, vectors = np.linalg.eigh(Z.T @ scaled @ Z)
    held = values > 64 * len(d) * EPS
    Z = Z @ vectors[:, held]
    return np.asarray(d * (x_p - Z @ ((Z.T @ (scaled @ x_p)) / values[held]))), 1.0 / space.condition
