"""Delassus operators that are not dense: 3 x 3 blocks in compressed rows, or the factors of H^T M^-1 H.

Small operators are always stored dense, because dense operators are faster and allow more proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from gaussopt.core.arrays import Index, Matrix, Vector, as_array, given_sparse
from gaussopt.core.errors import BadInput
from gaussopt.core.sparse_arrays import LARGEST_BLOCK, Pattern, block_layout, check_sparse_mass, read_sparse

ROWS = 3
"""Number of rows of a contact: N, T1 and T2."""

SMALL = 300
"""Number of rows up to which an operator is always stored dense."""

LARGE = 1500
"""Number of rows from which an operator that is given sparse stays sparse, whatever its share of nonzero entries."""

FILLED = 0.1
"""Share of nonzero entries up to which an operator of more than SMALL rows is stored as blocks."""

MOST = 2**27
"""Maximum number of entries of a sparse matrix that is converted to a dense one."""


@dataclass(frozen=True, eq=False)
class DelassusProduct:
    """The operator W = H^T A H stored by its factors, which need little memory; `W @ r` works as for a matrix.

    Attributes
    ----------
    H : (n, 3 k), sparse; the three columns of a contact are its normal and tangents in the velocities of the bodies
    A : (n, n), sparse, the inverse of the mass matrix
    """

    H: Any
    A: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of W, (3 k, 3 k)."""
        return (int(self.H.shape[1]), int(self.H.shape[1]))

    @property
    def nnz(self) -> int:
        """Number of stored entries of both factors."""
        return int(self.H.nnz + self.A.nnz)

    @cached_property
    def V(self) -> Any:
        """A H, (n, 3 k); column j holds the velocities that a unit impulse in row j of r causes."""
        return (self.A @ self.H).tocsc()

    def __matmul__(self, r: Vector) -> Vector:
        return np.asarray(self.H.T @ (self.V @ r))

    def __abs__(self) -> DelassusProduct:
        return DelassusProduct(abs(self.H), abs(self.A))

    def diagonal(self) -> Vector:
        """Return the diagonal of W, (3 k,)."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Vector:
        return np.asarray(self.H.multiply(self.V).sum(axis=0)).ravel()

    def scaled(self, s: Vector) -> DelassusProduct:
        """Return the operator S W S with S = diag(s), s of shape (3 k,)."""
        return DelassusProduct((self.H * s[None, :]).tocsc(), self.A)

    def tocsr(self) -> Any:
        """Return W as a matrix in compressed rows."""
        return (self.H.T @ self.V).tocsr()

    def toarray(self) -> Matrix:
        """Return W as a dense matrix."""
        return np.asarray(self.tocsr().toarray())

    def copy(self) -> DelassusProduct:
        """Return a copy that shares no memory with this operator."""
        return DelassusProduct(self.H.copy(), self.A.copy())


def is_blocks(W: Any) -> bool:
    """Return whether an operator is not dense, that is, stored as blocks or by its factors."""
    return not isinstance(W, np.ndarray)


def stored_blocks(W: Any) -> tuple[Index, Index, Vector]:
    """Return where the rows of an operator stored as blocks begin, the columns of its blocks, and these, (9 b,)."""
    return W.indptr.astype(np.int64), W.indices.astype(np.int64), np.ascontiguousarray(W.data).ravel()


def formed(W: Any) -> Any:
    """Return a dense operator unchanged, any other operator as 3 x 3 blocks."""
    return as_blocks(W.tocsr()) if isinstance(W, DelassusProduct) else W


def scaled_operator(W: Any, s: Vector) -> Any:
    """Return S W S with S = diag(s); s, (3 k,), must have equal entries for the three rows of a contact."""
    if isinstance(W, np.ndarray):
        return s[:, None] * W * s
    if isinstance(W, DelassusProduct):
        return W.scaled(s)
    each = s[::ROWS]
    factor = np.repeat(each, np.diff(W.indptr)) * each[W.indices]
    return scipy.sparse.bsr_array((factor[:, None, None] * W.data, W.indices, W.indptr), shape=W.shape)


def shifted_operator(W: Any, alpha: float) -> Any:
    """Return W + alpha I, dense or as sparse blocks."""
    if isinstance(W, np.ndarray):
        return W + alpha * np.eye(len(W))
    return as_blocks(formed(W) + scipy.sparse.diags_array(np.full(W.shape[0], alpha)))


def as_blocks(A: Any) -> Any:
    """Return a sparse matrix as sorted 3 x 3 blocks; all diagonal blocks are stored, even those that are zero."""
    found = scipy.sparse.bsr_array(A, blocksize=(ROWS, ROWS))
    k, row = found.shape[0] // ROWS, np.repeat(np.arange(found.shape[0] // ROWS), np.diff(found.indptr))
    missing = np.setdiff1d(np.arange(k), row[row == found.indices])
    if len(missing):
        column = np.append(found.indices, missing)
        data = np.concatenate((found.data, np.zeros((len(missing), ROWS, ROWS))))
        row = np.append(row, missing)
        order = np.lexsort((column, row))
        begin = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=k))))
        found = scipy.sparse.bsr_array((data[order], column[order], begin), shape=found.shape)
    found.sort_indices()
    return found


def operator(value: Any, rows: int) -> Any:
    """Return a checked operator, stored in the form that fits its size; raises BadInput.

    `value` is a checked dense matrix, a sparse matrix, a mapping as from `to_triplets`, or a `DelassusProduct`.
    """
    if isinstance(value, DelassusProduct):
        H, A = value.H, value.A
        if H.shape[1] != rows or A.shape != (H.shape[0], H.shape[0]):
            raise BadInput(f"H has shape {H.shape} and A {A.shape}; expected n rows and {rows} columns, and n by n.")
        if not (np.isfinite(H.data).all() and np.isfinite(A.data).all()):
            raise BadInput("H or A of W = H^T A H holds a number that is not finite.")
        return value if rows > SMALL else value.toarray()
    if given_sparse(value):
        found = read_sparse("W", value, (rows, rows))
        if rows <= SMALL or (rows < LARGE and found.nnz > FILLED * rows * rows):
            return np.asarray(found.toarray())
        return as_blocks(found)
    if rows > SMALL and np.count_nonzero(value) <= FILLED * value.size:
        return as_blocks(value)
    return value


def block_inverse(M: Any) -> Any:
    """Return the inverse of a sparse, block diagonal mass matrix; raises BadInput if a block is singular."""
    rows, columns, values = [], [], []
    for layout in block_layout(Pattern.of(M)):
        blocks = layout.dense(M.data)
        d = np.sqrt(np.abs(np.diagonal(blocks, axis1=1, axis2=2)))
        if not (d > 0).all():
            raise BadInput("M has an entry on its diagonal that is zero: give mass to every velocity.")
        scale = d[:, :, None] * d[:, None, :]
        if (np.linalg.cond(blocks / scale) > 1e14).any():
            raise BadInput("M is singular: give mass to every velocity.")
        shape, members = blocks.shape, layout.members
        rows.append(np.broadcast_to(members[:, :, None], shape).ravel())
        columns.append(np.broadcast_to(members[:, None, :], shape).ravel())
        values.append((np.linalg.inv(blocks / scale) / scale).ravel())
    places = np.concatenate(rows), np.concatenate(columns)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((np.concatenate(values), places), shape=M.shape))


def block_mass(value: Any, n: int) -> Any:
    """Return a checked sparse mass matrix if it is large and its diagonal blocks are small; otherwise None."""
    if n <= SMALL:
        return None
    M = read_sparse("M", value, (n, n))
    if max(layout.members.shape[1] for layout in block_layout(Pattern.of(M))) > LARGEST_BLOCK:
        return None
    return check_sparse_mass(M)


def as_dense(name: str, value: Any, shape: tuple[int, int]) -> Matrix:
    """Return a dense or sparse `value` as a dense matrix, checking its shape; raises BadInput."""
    if not given_sparse(value):
        return as_array(name, value, shape)
    if shape[0] * shape[1] > MOST:
        raise BadInput(f"{name} has shape {shape}, which is too large for what has to be dense here.")
    return np.asarray(read_sparse(name, value, shape).toarray())
