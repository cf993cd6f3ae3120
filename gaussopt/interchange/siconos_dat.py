"""Siconos' text files of frictional contact problems, local and global: dense, block-sparse and sparse matrices.

    d, k, W, q (d k), mu (k)                        u = W r + q
    d, k, M, H, q (n), b (d k), mu (k)              M v = H r + q,  u = H^T v + b

A flag, 0 or 1, and a guess of the solution may follow; both are ignored. Entries are separated by blanks and line
ends; dense matrices and blocks are stored column by column.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gaussopt.core.arrays import Index, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
from gaussopt.core.display import reads_as_number
from gaussopt.core.errors import BadInput
from gaussopt.interchange.contact_rows import PLANAR, check_dimension, local_in_space
from gaussopt.interchange.fclib import LARGEST, dense, given_global, triplets

DENSE, BLOCKS, SPARSE = 0, 1, 2
"""Codes of the storage format of a matrix."""

MOST = 2**53
"""Largest whole number that is read; a larger number would be rounded."""

SHAPE = re.compile(r"(\d{1,9})-by-(\d{1,9}),?")
"""The word with which CSparse begins the output of a matrix."""


class Words:
    """The words of a file, read in order."""

    def __init__(self, text: str) -> None:
        self._words, self._at = text.split(), 0

    @property
    def left(self) -> int:
        """Number of words not read yet."""
        return max(0, len(self._words) - self._at)

    def number(self, what: str) -> float:
        """Return the next number."""
        return float(self.numbers(what, 1)[0])

    def integer(self, what: str) -> int:
        """Return the next number, which must be whole and not negative."""
        return int(self.counts(what, 1)[0])

    def counts(self, what: str, count: int) -> Index:
        """Return the next `count` numbers, which must be whole and not negative."""
        found = self.numbers(what, count)
        wrong = found[(found < 0) | (found > MOST) | (found != np.floor(found))]
        if len(wrong):
            raise BadInput(f"{what} is {wrong[0]:g}; expected a whole number, not below 0")
        return found.astype(np.int64)

    def numbers(self, what: str, count: int) -> Vector:
        """Return the next `count` numbers; raises BadInput."""
        if count > self.left:
            raise BadInput(f"it ends within {what}: {self.left} of {count} numbers are there")
        words = self._words[self._at : self._at + count]
        self._at += count
        try:
            found = np.array([float(word) for word in words])
        except ValueError:
            wrong = next(word for word in words if not reads_as_number(word))
            raise BadInput(f"{what} holds {wrong[:20]!r}, which is no number") from None
        if not np.isfinite(found).all():
            raise BadInput(f"{what} holds {found[~np.isfinite(found)][0]}; all numbers must be finite")
        return found

    def record(self, what: str, form: str) -> list[float]:
        """Match the next words with a pattern in which # is a number and * any word; return the numbers at #."""
        found = []
        for word in form.split():
            if word == "#":
                found.append(self.number(what))
                continue
            if word not in ("*", self.peek()):
                raise BadInput(f"it holds {self.peek()[:20]!r} where {word!r} is due")
            self.skip()
        return found

    def skip(self) -> None:
        """Skip a word."""
        self._at += 1

    def peek(self) -> str:
        """Return the next word, or "" at the end."""
        return self._words[self._at] if self.left else ""

    def begin_matrix(self, rows: int, columns: int) -> bool:
        """Return whether a matrix of this shape seems to begin here."""
        head = self._words[self._at : self._at + 3]
        return len(head) == 3 and head[0] in ("0", "1", "2") and head[1:] == [str(rows), str(columns)]

    def end(self) -> None:
        """Raise BadInput unless the file ends here, or only a flag and numbers follow."""
        if self.left and self.peek() not in ("0", "1"):
            raise BadInput(f"{self.left} words follow behind mu, the first of them {self.peek()[:20]!r}")
        self.numbers("what follows mu", self.left)


def read(text: str, in_space: bool = False) -> ConeComplementarity | GlobalContacts:
    """Return the problem in a file; `in_space` refuses planar contacts. The caller adds the file's name to BadInput."""
    words = Words(text)
    dimension = check_dimension(words.number("the dimension"), in_space)
    k = words.integer("the number of contacts")
    rows = dimension * k
    first = _matrix(words, "the first matrix")
    if first.shape[0] != first.shape[1]:
        raise BadInput(f"its first matrix has shape {first.shape}; expected a square one")
    if not words.begin_matrix(first.shape[0], rows):
        if first.shape[0] != rows:
            raise BadInput(f"W has {first.shape[0]} rows; {k} contacts of {dimension} rows each have {rows}")
        q, mu = words.numbers("q", rows), words.numbers("mu", k)
        words.end()
        if dimension == PLANAR:
            return local_in_space(dense("W", first), q, mu)
        return ConeComplementarity.from_mapping({"W": first, "q": q, "mu": mu})
    H = _matrix(words, "H")
    data = {"M": first, "H": H, "f": words.numbers("q", first.shape[0]), "w": words.numbers("b", rows)}
    data["mu"] = words.numbers("mu", k)
    words.end()
    return given_global(data, dimension)


def _matrix(words: Words, what: str) -> Any:
    storage = words.number(f"the storage of {what}")
    shape = words.integer(f"the rows of {what}"), words.integer(f"the columns of {what}")
    if max(shape) > LARGEST:
        raise BadInput(f"{what} has shape {shape}, which is too large to be solved here")
    if storage == DENSE:
        m, n = words.integer(what), words.integer(what)
        if (m, n) != shape:
            raise BadInput(f"{what} has shape {shape} and then {(m, n)}")
        return words.numbers(what, m * n).reshape(n, m).T.copy()
    if storage == BLOCKS:
        return _blocks(words, what, shape)
    if storage == SPARSE:
        return _sparse(words, what, shape)
    raise BadInput(f"{what} has the storage {storage:g}; known: 0 (dense), 1 (blocks), 2 (sparse)")


def _blocks(words: Words, what: str, shape: tuple[int, int]) -> Any:
    count, m, n = (words.integer(f"the blocks of {what}") for _ in range(3))
    row_ends, column_ends = (np.append(0, words.counts(f"an end of the blocks of {what}", end)) for end in (m, n))
    filled, blocks = words.integer(what), words.integer(what)
    begin, column = (words.counts(f"a place of the blocks of {what}", size) for size in (filled, blocks))
    ends = (
        (row_ends[-1], column_ends[-1]) == shape
        and (np.diff(row_ends) >= 0).all()
        and (np.diff(column_ends) >= 0).all()
    )
    whole = filled == m + 1 and blocks == count and (begin[0], begin[-1]) == (0, count)
    if not ends or not whole or (np.diff(begin) < 0).any():
        raise BadInput(f"the blocks of {what} do not fill a matrix of shape {shape}")
    if count and column.max() >= n:
        raise BadInput(f"{what} has a block in column {column.max()} of {n}")
    rows, columns, values = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for i, p in ((row, place) for row in range(m) for place in range(begin[row], begin[row + 1])):
        words.number(f"the number of a block of {what}")
        down = np.arange(row_ends[i], row_ends[i + 1])
        along = np.arange(column_ends[column[p]], column_ends[column[p] + 1])
        values.append(words.numbers(what, len(down) * len(along)))
        rows.append(np.tile(down, len(along)))
        columns.append(np.repeat(along, len(down)))
    return triplets(what, np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)


def _sparse(words: Words, what: str, shape: tuple[int, int]) -> Any:
    """Return a matrix as CSparse prints it: triplets, or compressed columns."""
    listed = False
    while words.left and not SHAPE.fullmatch(words.peek()):
        listed = words.peek() == "triplet:"
        words.skip()
    found = SHAPE.fullmatch(words.peek())
    if found is None:
        raise BadInput(f"it ends before the entries of {what}")
    if (printed := (int(found[1]), int(found[2]))) != shape:
        raise BadInput(f"{what} has shape {shape} and then {printed}")
    words.skip()
    words.record(what, "nzmax: * nnz:")
    count = Words(words.peek().rstrip(",")).integer(f"the number of entries of {what}")
    words.skip()
    if count > words.left:
        raise BadInput(f"{what} has {count} entries, and {words.left} words follow")
    rows, columns, values = np.zeros(count), np.zeros(count), np.zeros(count)
    if listed:
        for p in range(count):
            rows[p], columns[p], values[p] = words.record(what, "# # : #")
        return triplets(what, rows, columns, values, shape)
    words.record(what, "1-norm: *")
    p = 0
    for j in range(shape[1]):
        here, first, last = words.record(f"the head of column {j} of {what}", "col # : locations # to #")
        if (here, first) != (j, p) or not p - 1 <= last < count or last % 1:
            raise BadInput(
                f"{what} has column {here:g} at the places {first:g} to {last:g}; expected column {j} at {p} to at "
                f"most {count - 1}"
            )
        while p <= last:
            (rows[p], values[p]), columns[p] = words.record(what, "# : #"), j
            p += 1
    if p < count:
        raise BadInput(f"{what} has {p} entries, and {count} were said")
    return triplets(what, rows, columns, values, shape)
