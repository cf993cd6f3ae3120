"""Rows that store only some of their entries, for compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel


class SparseRows(NamedTuple):
    """Rows of a matrix: row a has the entries begins[a] to begins[a + 1] of `values`, in the columns of `columns`."""

    begins: Index
    columns: Index
    values: Vector

    @classmethod
    def of(cls, A: Matrix) -> SparseRows:
        """Return the rows of a dense matrix."""
        begins = np.append(0, np.cumsum(np.count_nonzero(A, axis=1)))
        return cls(begins, np.ascontiguousarray(np.nonzero(A)[1]), A[A != 0.0])

    def dense(self, first: int, last: int, width: int) -> Matrix:
        """Return the rows from `first` to before `last` as a dense matrix with `width` columns."""
        found = np.zeros((last - first, width))
        at = slice(self.begins[first], self.begins[last])
        rows = np.repeat(np.arange(last - first), np.diff(self.begins[first : last + 1]))
        found[rows, self.columns[at]] = self.values[at]
        return found

    def only(self, rows: Index) -> SparseRows:
        """Return the given rows."""
        counts = np.diff(self.begins)[rows]
        begins = np.append(0, np.cumsum(counts))
        at = np.repeat(self.begins[rows] - begins[:-1], counts) + np.arange(begins[-1])
        return SparseRows(begins, self.columns[at], self.values[at])

    def joined(self, other: SparseRows) -> SparseRows:
        """Return these rows, and then those of `other`, which begin at its first entry."""
        begins = np.concatenate((self.begins, self.begins[-1] + other.begins[1:]))
        columns, values = (np.concatenate(x) for x in zip(self[1:], other[1:], strict=True))
        return SparseRows(begins, columns, values)

    def times(self, x: Vector, first: int, step: int, found: Vector) -> Vector:
        """Add to `found`, (p,), the products of x with the rows `first`, `first` + `step` and so on; return it."""
        add_products(self, x, first, step, found)
        return found


NO_ROWS = SparseRows.of(np.zeros((0, 0)))


@kernel
def add_products(rows: SparseRows, x: Vector, first: int, step: int, found: Vector) -> None:
    """Add to `found` the products of x with every `step`-th of the rows, beginning with `first`."""
    for i in range(len(found)):
        row = first + i * step
        for e in range(rows.begins[row], rows.begins[row + 1]):
            found[i] += rows.values[e] * x[rows.columns[e]]


@kernel
def shortest(rows: SparseRows) -> float:
    """Return the least square of the norm of a row, at most 1."""
    least = 1.0
    for i in range(len(rows.begins) - 1):
        square = 0.0
        for e in range(rows.begins[i], rows.begins[i + 1]):
            square += rows.values[e] * rows.values[e]
        least = min(least, square)
    return least
