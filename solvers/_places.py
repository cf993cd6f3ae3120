"""Matrices of a sequence of programs as compressed columns, for backends that are set up once for a pattern of entries.

Of a dense matrix the entries are its non-zeros, of a sparse one what it stores. The places of a sequence are the union
over all its programs, so that an entry that vanishes for an instant does not cost a set-up when it comes back.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gaussopt.core.arrays import is_sparse
from gaussopt.core.programs import QP, Program, as_qp
from gaussopt.core.solver import O, Solver
from gaussopt.core.sparse_arrays import Pattern
from gaussopt.core.step_data import Matrix, Vector

LARGE = 100
"""Unknowns and rows together from which a backend with two interfaces may be given the sparse one."""

FEW = 3
"""Non-zeros at most in a row of P and A, on average, for that; with more of them factors of random places fill up."""


def pays_sparse(qp: QP) -> bool:
    """Whether a backend that has a dense and a sparse interface is given the sparse one, by size and density."""
    if qp.sparse or qp.n + qp.m < LARGE:
        return qp.sparse
    return bool(np.count_nonzero(qp.P) + np.count_nonzero(qp.A) <= FEW * (qp.n + qp.m))


class Places:
    """Where the matrices of one shape that were seen so far have entries, and their values there."""

    def __init__(self, A: Matrix) -> None:
        self.shape = A.shape
        self._take(_keys(A))

    def _take(self, keys: NDArray[np.int64]) -> None:
        self._keys = keys
        columns, self._rows = np.divmod(keys, max(self.shape[0], 1))
        self._flat = self._rows * self.shape[1] + columns
        self._starts = np.searchsorted(columns, np.arange(self.shape[1] + 1)).astype(np.int32)
        self.upper = self._rows <= columns
        self._known: tuple[Pattern, NDArray[np.intp]] | None = None

    def values(self, A: Matrix) -> Vector | None:
        """Entries of A at all places, column by column, (k,); None if it has an entry elsewhere."""
        if not is_sparse(A):
            found = A.take(self._flat)
            return found if np.count_nonzero(found) == np.count_nonzero(A) else None
        pattern = Pattern.of(A)  # type: ignore[arg-type]
        if self._known is None or pattern != self._known[0]:
            keys = _keys(A, in_order=False)
            at = np.searchsorted(self._keys, keys)
            if len(keys) and (at.max() == len(self._keys) or (self._keys[at] != keys).any()):
                return None
            self._known = pattern, at
        found = np.zeros(len(self._keys))
        found[self._known[1]] = A.data
        return found

    def matrix(self, values: Vector) -> Any:
        """Compressed columns with short indices, as all backends take them; places without a value are stored zeros."""
        return sparse.csc_matrix((values, self._rows.astype(np.int32), self._starts.copy()), self.shape)

    def grow(self, A: Matrix) -> None:
        """Take in the entries of another matrix."""
        self._take(np.union1d(self._keys, _keys(A)))


def _keys(A: Any, in_order: bool = True) -> NDArray[np.int64]:
    """Places of the entries as column times rows of the matrix plus row: sorted, or as a sparse matrix stores them."""
    if not is_sparse(A):
        return np.flatnonzero(A.T)
    A = sparse.csr_array(A)
    keys = A.indices.astype(np.int64) * A.shape[0] + Pattern.of(A).rows
    return np.unique(keys) if in_order else keys


class Columns:
    """The matrices of a sequence of programs, by name, as compressed columns on the places of all of them."""

    def __init__(self) -> None:
        self.places: dict[str, Places] = {}
        self.fresh = False

    def take(self, matrices: dict[str, Matrix]) -> dict[str, Vector]:
        """The values of each; `fresh` says whether a place is new, so that the backend has to be set up anew."""
        self.fresh, found = False, {}
        for name, A in matrices.items():
            place = self.places.get(name)
            values = None if place is None or place.shape != A.shape else place.values(A)
            if values is None:
                self.fresh = True
                if place is None or place.shape != A.shape:
                    self.places[name] = Places(A)
                else:
                    place.grow(A)
                values = self.places[name].values(A)
                assert values is not None
            found[name] = values
        return found

    def matrices(self, matrices: dict[str, Matrix]) -> dict[str, Any]:
        """The matrices themselves."""
        return {name: self.places[name].matrix(values) for name, values in self.take(matrices).items()}


class TwoInterfaces(Solver[O]):
    """A backend with a dense and a sparse interface: the variants of these names, or what size and density ask for.

    Attributes
    ----------
    as_columns : whether the program that was set up went to the sparse interface
    """

    sparse: ClassVar[bool] = True
    updates: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        return "dense", "sparse"

    def refuses(self, program: Program) -> str | None:
        if self.variant == "dense" and getattr(program, "sparse", False):
            return f"its dense interface needs dense matrices, and this program is sparse; use {self.name}:sparse"
        return super().refuses(program)

    @abstractmethod
    def data(self, qp: QP) -> dict[str, Any]:
        """Matrices and vectors as the backend names them."""

    @abstractmethod
    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        """Set the backend up."""

    @abstractmethod
    def renew(self, data: dict[str, Any]) -> None:
        """Give it new numbers at the same places."""

    def setup(self, program: Program) -> None:
        qp = as_qp(program)
        self.as_columns = self.variant == "sparse" or (self.variant is None and pays_sparse(qp))
        self._columns = Columns()
        self.begin(qp, self._given(qp))

    def update(self, program: Program) -> None:
        """New numbers; a place that had no entry before asks for a set-up, unless the matrices are dense."""
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
