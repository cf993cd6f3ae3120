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

    def only(self, first: int, blocks: Index, size: int) -> SparseRows:
        """Return the rows before `first`, and then those of the given blocks of `size` rows."""
        begins, columns = np.zeros(first + size * len(blocks) + 1, dtype=np.int64), np.empty_like(self.columns)
        found = SparseRows(begins, columns, np.empty(len(columns)))
        copy_rows(self, first, blocks, size, found)
        return found

    def after(self, E: Matrix, first: int) -> SparseRows:
        """Return the rows E, and then these from `first` on."""
        own, at = SparseRows.of(E), self.begins[first]
        begins = np.concatenate((own.begins, own.begins[-1] + self.begins[first + 1 :] - at))
        columns, values = (
            np.concatenate((own.columns, self.columns[at:])),
            np.concatenate((own.values, self.values[at:])),
        )
        return SparseRows(begins, columns, values)

    def times(self, x: Vector, first: int, step: int, found: Vector) -> Vector:
        """Add to `found`, (p,), the products of x with the rows `first`, `first` + `step` and so on; return it."""
        add_products(self, x, first, step, found)
        return found


@kernel
def add_products(rows: SparseRows, x: Vector, first: int, step: int, found: Vector) -> None:
    """Add to `found` the products of x with every `step`-th of the rows, beginning with `first`."""
    for i in range(len(found)):
        row = first + i * step
        for e in range(rows.begins[row], rows.begins[row + 1]):
            found[i] += rows.values[e] * x[rows.columns[e]]


@kernel
def copy_rows(rows: SparseRows, first: int, blocks: Index, size: int, found: SparseRows) -> None:
    """Write the rows that `SparseRows.only` returns."""
    to = 0
    for i in range(len(found.begins) - 1):
        row = i
        if i >= first:
            row = first + size * blocks[(i - first) // size] + (i - first) % size
        for e in range(rows.begins[row], rows.begins[row + 1]):
            found.columns[to], found.values[to] = rows.columns[e], rows.values[e]
            to += 1
        found.begins[i + 1] = to
