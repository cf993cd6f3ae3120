"""Matrices of a sequence of programs in compressed columns, for backends that are set up once for a sparsity pattern.

A dense matrix has entries at its non-zeros, a sparse matrix at its stored entries. The pattern is the union over all
programs of a sequence so far, so that an entry that is zero for a while requires no new set-up afterwards.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gaussopt.core.arrays import Matrix, Vector, is_sparse
from gaussopt.core.programs import QP, Program, as_qp
from gaussopt.core.solver import O, Solver
from gaussopt.core.sparse_arrays import Pattern, Sparse

LARGE = 100
"""A backend with two interfaces may use the sparse interface if unknowns and rows together are at least this many."""

FEW = 3
"""Largest average number of non-zeros per row of P and A for the sparse interface; with more, factors often fill in."""


def pays_sparse(qp: QP) -> bool:
    """Return whether a backend should use its sparse interface for a program of this size and density."""
    if qp.sparse or qp.n + qp.m < LARGE:
        return qp.sparse
    return bool(np.count_nonzero(qp.P) + np.count_nonzero(qp.A) <= FEW * (qp.n + qp.m))


class Places:
    """The union of the sparsity patterns of all matrices of a sequence so far, and the latest matrix in this pattern.

    With `triangle`, the matrices are symmetric, and only entries on and above the diagonal are returned.
    """

    def __init__(self, A: Any, triangle: bool = False) -> None:
        self.shape, self._triangle = A.shape, triangle
        self._known: tuple[Pattern, NDArray[np.intp]] | None = None
        if not is_sparse(A):
            self._take(np.flatnonzero(A.T))
            return
        rows, keys = as_rows(A), _keys(A)
        order = np.argsort(keys)
        self._take(keys[order])
        at = np.empty_like(order)
        at[order] = np.arange(len(order))
        self._known = Pattern.of(rows), at

    def _take(self, keys: NDArray[np.int64]) -> None:
        """Set the pattern, given by ascending keys: (column number) * (number of rows) + (row number)."""
        self._keys = keys
        columns, rows = np.divmod(keys, max(self.shape[0], 1))
        self._flat = rows * self.shape[1] + columns
        self._kept: Any = rows <= columns if self._triangle else slice(None)
        columns, rows = columns[self._kept], rows[self._kept].astype(np.int32)
        starts = np.searchsorted(columns, np.arange(self.shape[1] + 1)).astype(np.int32)
        self._made = sparse.csc_matrix((np.zeros(len(rows)), rows, starts), self.shape)
        self._known = None

    def values(self, A: Matrix) -> Vector | None:
        """Return the entries of A at the places of the pattern, by columns; None if A has an entry elsewhere."""
        if not is_sparse(A):
            found: Vector = A.take(self._flat)
            return np.asarray(found[self._kept]) if np.count_nonzero(found) == np.count_nonzero(A) else None
        pattern = Pattern.of(as_rows(A))
        if self._known is None or pattern != self._known[0]:
            keys = _keys(A)
            at = np.searchsorted(self._keys, keys)
            if len(keys) and (at.max() == len(self._keys) or (self._keys[at] != keys).any()):
                return None
            self._known = pattern, at
        found = np.zeros(len(self._keys))
        found[self._known[1]] = as_rows(A).data
        return np.asarray(found[self._kept])

    def matrix(self, values: Vector) -> Any:
        """Store values in the matrix, always the same object; return it in compressed columns with 32-bit indices."""
        self._made.data = values
        return self._made

    def grow(self, A: Matrix) -> None:
        """Add the entries of another matrix to the pattern."""
        self._take(np.union1d(self._keys, _keys(A)))


def _keys(A: Any) -> NDArray[np.int64]:
    """Return the keys of the entries, see `Places._take`; for a sparse A, in the order in which it stores them."""
    if not is_sparse(A):
        return np.flatnonzero(A.T)
    A = as_rows(A)
    return np.asarray(A.indices.astype(np.int64) * A.shape[0] + Pattern.of(A).rows)


def as_rows(A: Any) -> Sparse:
    """Return a sparse matrix in compressed rows; a matrix that already has this form is returned unchanged."""
    return A if isinstance(A, sparse.csr_array) else sparse.csr_array(A)


class Columns:
    """The matrices of a sequence of programs, by name, in compressed columns with the union of their patterns.

    Parameters
    ----------
    triangles : names of the symmetric matrices of which the backend needs only the upper triangle

    Attributes
    ----------
    fresh : whether the last matrices extended a pattern, so that the backend must be set up anew
    """

    def __init__(self, *triangles: str) -> None:
        self._triangles, self._places, self.fresh = triangles, dict[str, Places](), False

    def matrices(self, given: dict[str, Matrix]) -> dict[str, Any]:
        """Return the matrices in compressed columns; `fresh` tells whether the pattern of one of them is new."""
        self.fresh, found = False, {}
        for name, A in given.items():
            place = self._places.get(name)
            values = place.values(A) if place is not None and place.shape == A.shape else None
            if values is None:
                self.fresh = True
                if place is not None and place.shape == A.shape:
                    place.grow(A)
                else:
                    self._places[name] = place = Places(A, name in self._triangles)
                values = place.values(A)
            assert place is not None
            assert values is not None
            found[name] = place.matrix(values)
        return found


class OneSided(NamedTuple):
    """The rows of a program with one row for each finite bound: equalities, then lower bounds, then upper bounds.

    Attributes
    ----------
    rows : (r,), indices of the rows in the program
    sign : (r,), -1 for an upper bound and 1 otherwise, so that sign (A x - bound) >= 0
    bound : (r,)
    equal : number of equalities
    total : number of rows of the program
    """

    rows: NDArray[np.intp]
    sign: Vector
    bound: Vector
    equal: int
    total: int

    @classmethod
    def of(cls, qp: QP) -> OneSided:
        """Return the one-sided rows of a program; rows without a finite bound are left out."""
        eq = qp.equality
        equal, lower, upper = (np.flatnonzero(r) for r in (eq, ~eq & np.isfinite(qp.l), ~eq & np.isfinite(qp.u)))
        sign = np.ones(len(equal) + len(lower) + len(upper))
        sign[len(equal) + len(lower) :] = -1.0
        bound = np.concatenate((qp.l[equal], qp.l[lower], qp.u[upper]))
        return cls(np.concatenate((equal, lower, upper)), sign, bound, len(equal), qp.m)

    def forces(self, z: Vector) -> Vector:
        """Return the forces y of the rows, (m,), from multipliers z, (r,), where A^T y = sum of z_i sign_i A_i."""
        y = np.zeros(self.total)
        np.add.at(y, self.rows, self.sign * z)
        return y


class InColumns(Solver[O]):
    """A backend for quadratic programs that is set up once for a sparsity pattern and then updated with new numbers.

    Attributes
    ----------
    triangles : names of the matrices of which the backend needs only the upper triangle
    as_columns : whether matrices are passed to the backend in compressed columns; otherwise unchanged
    """

    updates: ClassVar[bool] = True
    triangles: ClassVar[tuple[str, ...]] = ()
    as_columns = True

    @abstractmethod
    def data(self, qp: QP) -> dict[str, Any]:
        """Return the matrices and vectors of a program, keyed by the names that the backend uses."""

    @abstractmethod
    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        """Set up the backend."""

    @abstractmethod
    def renew(self, data: dict[str, Any]) -> None:
        """Update the backend with new numbers in the same pattern."""

    def setup(self, program: Program) -> None:
        qp = as_qp(program)
        self._columns = Columns(*self.triangles)
        self.begin(qp, self._given(qp))

    def update(self, program: Program) -> None:
        """Update the backend with new numbers, or set it up anew if the pattern of sparse matrices has grown."""
        qp = as_qp(program)
        data = self._given(qp)
        if self._columns.fresh:
            self.begin(qp, data)
        else:
            self.renew(data)

    def _given(self, qp: QP) -> dict[str, Any]:
        data = self.data(qp)
        if not self.as_columns:
            return data
        return data | self._columns.matrices({name: entry for name, entry in data.items() if entry.ndim == 2})


class TwoInterfaces(InColumns[O]):
    """A backend with a dense and a sparse interface; the program's density decides if no variant is given."""

    sparse: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return "dense", "sparse"

    def refuses(self, program: Program) -> str | None:
        if self.variant == "dense" and getattr(program, "sparse", False):
            return f"its dense interface needs dense matrices, and this program is sparse; use {self.name}:sparse"
        return super().refuses(program)

    def setup(self, program: Program) -> None:
        self.as_columns = self.variant == "sparse" or (self.variant is None and pays_sparse(as_qp(program)))
        super().setup(program)
