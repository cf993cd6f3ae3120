"""Sparse matrices: canonical form, checks, sparsity patterns, reading and writing.

The canonical form is a SciPy array of float64 numbers in compressed rows, sorted and without duplicates; stored zeros
belong to the pattern. A sparse matrix is never made dense implicitly: code for dense matrices refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from gaussopt.core.arrays import (
    DEFINITE_TOLERANCE,
    SYMMETRY_TOLERANCE,
    Vector,
    check_mass_matrix,
    shape_in_words,
)
from gaussopt.core.errors import BadInput

Sparse: TypeAlias = "scipy.sparse.csr_array[np.float64, tuple[int, int]]"
Indices = NDArray[np.intp]

LARGEST_BLOCK = 64
"""Maximum number of coordinates that a block of a sparse mass matrix may couple; rigid bodies have smaller blocks."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """The sparsity pattern of a matrix; data prepared for a pattern may be reused for an equal pattern."""

    shape: tuple[int, int]
    indptr: NDArray[Any]
    indices: NDArray[Any]

    @classmethod
    def of(cls, A: Sparse) -> Pattern:
        """Return the pattern of a canonical matrix; the pattern shares the arrays of the matrix."""
        return cls((int(A.shape[0]), int(A.shape[1])), A.indptr, A.indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pattern):
            return NotImplemented
        return self.shape == other.shape and all(
            a is b or np.array_equal(a, b) for a, b in ((self.indptr, other.indptr), (self.indices, other.indices))
        )

    def __hash__(self) -> int:
        return hash((self.shape, len(self.indices)))

    @property
    def rows(self) -> Indices:
        """Row index of every entry, (nnz,)."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


def as_sparse(name: str, value: Any, shape: tuple[int | None, int]) -> Sparse:
    """Return a dense or sparse matrix in canonical sparse form, checking its shape (None: any number of rows).

    Raises BadInput, which names the matrix, the wrong entry and what was expected.
    """
    try:
        if np.iscomplexobj(value):
            raise TypeError
        A = scipy.sparse.csr_array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} is not a sparse matrix of numbers.") from None
    rows, columns = shape
    if A.ndim != 2 or A.shape[1] != columns or (rows is not None and A.shape[0] != rows):
        raise BadInput(f"{name} has shape {A.shape}, expected {shape_in_words(shape)}.")
    if not A.has_canonical_format:
        A = A.copy()  # copy, because the caller's matrix must not change
        A.sum_duplicates()
    if not np.isfinite(A.data).all():
        k = int(np.flatnonzero(~np.isfinite(A.data))[0])
        raise BadInput(f"{name}[{Pattern.of(A).rows[k]}, {A.indices[k]}] is {A.data[k]}; all entries must be finite.")
    return A


def check_sparse_mass(M: Sparse, what: str = "the mass matrix M", coupled: bool = False) -> Sparse:
    """Return the symmetric part of M after checking that M is the mass matrix of a system of bodies.

    Raises BadInput if M is asymmetric or has a negative eigenvalue beyond rounding, or if a block couples more than
    LARGEST_BLOCK coordinates. A `coupled` matrix may have larger blocks; then the signs of its pivots are checked.
    """
    if is_diagonal(Pattern.of(M)):
        if (M.data < 0).any():
            i = int(M.indices[int(np.argmax(M.data < 0))])
            raise BadInput(f"{what} is indefinite: entry [{i}, {i}] is {M[i, i]:.6g}; a mass is not negative.")
        return M
    scale = float(np.abs(M.data).max(initial=0.0))
    skew = abs(M - M.T).tocoo()
    if skew.data.max(initial=0.0) > SYMMETRY_TOLERANCE * scale:
        k = int(skew.data.argmax())
        i, j = int(skew.row[k]), int(skew.col[k])
        raise BadInput(f"{what} is not symmetric: entry [{i}, {j}] is {M[i, j]:.6g} but [{j}, {i}] is {M[j, i]:.6g}.")
    if skew.nnz and skew.data.any():
        M = scipy.sparse.csr_array(0.5 * (M + M.T))
        M.sum_duplicates()
    for layout in block_layout(Pattern.of(M)):
        members = layout.members
        if members.shape[1] > LARGEST_BLOCK and coupled:
            if not _has_positive_pivots(M):
                raise BadInput(f"{what} is indefinite: a pivot of its factors is negative; the program is not convex.")
            return M
        if members.shape[1] > LARGEST_BLOCK:
            raise BadInput(
                f"{what} couples {members.shape[1]} coordinates, coordinate {members[0, 0]} among them; a sparse mass "
                f"matrix is block diagonal, with blocks of at most {LARGEST_BLOCK}."
            )
        blocks = layout.dense(M.data)
        size = np.abs(np.diagonal(blocks, axis1=1, axis2=2))
        d = np.sqrt(np.where(size > 0, size, max(scale, 1e-300)))
        lowest = np.linalg.eigvalsh(blocks / (d[:, :, None] * d[:, None, :]))[:, 0]
        if lowest.min() < -DEFINITE_TOLERANCE * members.shape[1]:
            i = int(lowest.argmin())
            check_mass_matrix(blocks[i], f"{what}, block of the coordinates {members[i].tolist()},")
    return M


def _has_positive_pivots(M: Sparse) -> bool:
    """Return whether M, scaled to unit diagonal, has positive pivots after a shift that covers rounding errors."""
    size = np.abs(M.diagonal())
    d = scipy.sparse.diags_array(1.0 / np.sqrt(np.where(size > 0, size, 1.0)))
    shifted = d @ M @ d + DEFINITE_TOLERANCE * M.shape[0] * scipy.sparse.eye_array(M.shape[0])
    try:
        lu = scipy.sparse.linalg.splu(
            scipy.sparse.csc_matrix(shifted), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
    except RuntimeError:  # raised if a pivot is zero in spite of the shift
        return False
    # Sylvester's law of inertia applies if rows and columns were permuted alike.
    return bool((lu.U.diagonal() > 0).all() and np.array_equal(lu.perm_r, lu.perm_c))


def times(A: Any, x: Vector) -> Vector:
    """Return A x for a sparse matrix A, typed as a vector."""
    return np.asarray(A @ x)


def is_diagonal(pattern: Pattern) -> bool:
    """Return whether all entries of a pattern are on the diagonal."""
    full = len(pattern.indices) == pattern.shape[0] and bool((pattern.indptr[1:] == pattern.indices + 1).all())
    return full or bool((pattern.rows == pattern.indices).all())


class DiagonalBlocks(NamedTuple):
    """The c diagonal blocks of size b: their coordinates, (c, b), and where `data` and `dense` hold their entries."""

    members: Indices
    entries: Indices
    where: tuple[Indices, Indices, Indices]

    def dense(self, data: Vector) -> NDArray[np.float64]:
        """Return the blocks, (c, b, b), of the matrix whose entries are `data`."""
        blocks = np.zeros((*self.members.shape, self.members.shape[1]))
        blocks[self.where] = data[self.entries]
        return blocks


def block_layout(pattern: Pattern) -> list[DiagonalBlocks]:
    """Return the diagonal blocks of a symmetric pattern, grouped by their size."""
    n = pattern.shape[0]
    graph = scipy.sparse.csr_array((np.ones(len(pattern.indices)), pattern.indices, pattern.indptr), shape=(n, n))
    count, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    size = np.bincount(label, minlength=count)
    order = np.argsort(label, kind="stable")
    first = np.cumsum(size) - size
    local = np.empty(n, dtype=np.intp)
    local[order] = np.arange(n) - np.repeat(first, size)
    rows = pattern.rows
    out = []
    for b in np.unique(size):
        chosen = np.flatnonzero(size == b)
        place = np.full(count, -1)
        place[chosen] = np.arange(len(chosen))
        members = order[first[chosen][:, None] + np.arange(b)]
        entries = np.flatnonzero(size[label[rows]] == b)
        r, c = rows[entries], pattern.indices[entries]
        out.append(DiagonalBlocks(members, entries, (place[label[r]], local[r], local[c])))
    return out


def to_triplets(A: Sparse) -> dict[str, Any]:
    """Return shape, row and column numbers and values of a sparse matrix of any format, for JSON."""
    A = scipy.sparse.csr_array(A)
    return {
        "shape": [int(s) for s in A.shape], "row": Pattern.of(A).rows.tolist(), "column": A.indices.tolist(),
        "value": A.data.tolist(),
    }  # fmt: skip


def json_entries(A: Any) -> Any:
    """Return the entries of an array in a form for JSON, with row and column numbers if it is sparse."""
    return A.tolist() if isinstance(A, np.ndarray) else to_triplets(A)


def read_sparse(name: str, value: Any, shape: tuple[int | None, int]) -> Sparse:
    """Return a matrix, or its mapping from a file, in canonical sparse form; raises BadInput for a wrong shape."""
    return (from_triplets if isinstance(value, Mapping) else as_sparse)(name, value, shape)


def from_triplets(name: str, data: Mapping[str, Any], shape: tuple[int | None, int]) -> Sparse:
    """Return the canonical sparse matrix from the mapping that `to_triplets` wrote; raises BadInput.

    `shape` is the shape that the vectors in the file require. It is compared with the declared shape before anything is
    allocated, because a file of a few bytes can declare billions of rows.
    """
    try:
        declared = tuple(int(s) for s in data["shape"])
        if declared == shape:
            A = scipy.sparse.coo_array((data["value"], (data["row"], data["column"])), shape=shape, dtype=np.float64)
            return as_sparse(name, A, shape)
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError, OverflowError):
        needed = "give 'shape', and 'row', 'column' and 'value' of its entries"
        raise BadInput(f"{name} is no sparse matrix; {needed}.") from None
    raise BadInput(f"{name} has shape {declared}, expected {shape}.")
