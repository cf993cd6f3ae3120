"""Siconos' text files of frictional contact problems, local and global: dense, block-sparse and sparse matrices.

    d, k, W, q (d k), mu (k)                        u = W r + q
    d, k, M, H, q (n), b (d k), mu (k)              M v = H r + q,  u = H^T v + b

A flag may follow, 0 or 1, and after it a guess of the answer, which is not read. All is separated by blanks and ends of
lines; entries of dense matrices and blocks stand column by column.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import Vector
from gaussopt.interchange.fclib import LARGEST, dense, given_global, triplets
from gaussopt.interchange.planar import PLANAR, check_dimension, local_in_space

DENSE, BLOCKS, SPARSE = 0, 1, 2
"""Codes of the storage of a matrix."""

SHAPE = re.compile(r"\d+-by-\d+,?")
"""The word with which CSparse begins to print a matrix."""


class Words:
    """The words of a file, read one behind the other."""

    def __init__(self, text: str) -> None:
        self._words, self._at = text.split(), 0

    @property
    def left(self) -> int:
        """Words that were not read."""
        return len(self._words) - self._at

    def number(self, what: str) -> float:
        """The next number."""
        return float(self.numbers(what, 1)[0])

    def integer(self, what: str) -> int:
        """The next number, which is a count."""
        value = self.number(what)
        if value != int(value) or value < 0:
            raise BadInput(f"{what} is {value:g}; expected a count")
        return int(value)

    def numbers(self, what: str, count: int) -> Vector:
        """The next `count` numbers; raises BadInput."""
        if count > self.left:
            raise BadInput(f"it ends within {what}: {self.left} of {count} numbers are there")
        words = self._words[self._at : self._at + count]
        self._at += count
        try:
            found = np.array([float(word) for word in words])
        except ValueError:
            wrong = next(word for word in words if not _is_number(word))
            raise BadInput(f"{what} holds {wrong[:20]!r}, which is no number") from None
        if not np.isfinite(found).all():
            raise BadInput(f"{what} holds {found[~np.isfinite(found)][0]}; all numbers must be finite")
        return found

    def skip(self, count: int = 1) -> None:
        """Pass over words that say nothing."""
        self._at += count

    def peek(self) -> str:
        """The next word, "" at the end."""
        return self._words[self._at] if self.left else ""

    def begin_matrix(self, rows: int, columns: int) -> bool:
        """Whether a matrix of this shape seems to begin here."""
        head = self._words[self._at : self._at + 3]
        return len(head) == 3 and head[0] in ("0", "1", "2") and head[1:] == [str(rows), str(columns)]

    def end(self) -> None:
        """See that nothing but a flag and numbers follow; raises BadInput."""
        if self.left and self.peek() not in ("0", "1"):
            raise BadInput(f"{self.left} words follow behind mu, the first of them {self.peek()[:20]!r}")
        self.numbers("what follows mu", self.left)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def read(text: str, in_space: bool = False) -> ConeComplementarity | GlobalContacts:
    """The problem of a file, in space only if that is asked; raises BadInput, its sentence to follow the name."""
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
    row_ends = np.append(0, words.numbers(what, m)).astype(np.int64)
    column_ends = np.append(0, words.numbers(what, n)).astype(np.int64)
    filled, blocks = words.integer(what), words.integer(what)
    begin, column = words.numbers(what, filled).astype(np.int64), words.numbers(what, blocks).astype(np.int64)
    ends = (
        (row_ends[-1], column_ends[-1]) == shape
        and (np.diff(row_ends) >= 0).all()
        and (np.diff(column_ends) >= 0).all()
    )
    if not ends or filled != m + 1 or blocks != count or begin[-1] != count or (np.diff(begin) < 0).any():
        raise BadInput(f"the blocks of {what} do not fill a matrix of shape {shape}")
    if count and not (column.min() >= 0 and column.max() < n):
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
    """What CSparse prints: triplets, or compressed columns."""
    while words.left and not SHAPE.fullmatch(words.peek()):
        listed = words.peek() == "triplet:"
        words.skip()
    if not words.left:
        raise BadInput(f"it ends before the entries of {what}")
    m, n = (int(part) for part in words.peek().rstrip(",").split("-by-"))
    if (m, n) != shape:
        raise BadInput(f"{what} has shape {shape} and then {(m, n)}")
    words.skip(4)  # the shape, "nzmax:", its number, "nnz:"
    count = int(float(words.peek().rstrip(",") or 0)) if _is_number(words.peek().rstrip(",")) else -1
    if not 0 <= count <= words.left:
        raise BadInput(f"{what} does not say how many entries it has")
    words.skip()
    rows, columns, values = np.zeros(count), np.zeros(count), np.zeros(count)
    if listed:
        for p in range(count):
            rows[p], columns[p] = words.numbers(what, 2)
            words.skip()
            values[p] = words.number(what)
        return triplets(what, rows, columns, values, shape)
    words.skip(2)  # "1-norm:" and its number
    p = 0
    for _ in range(n):
        words.skip()  # "col"
        j = words.integer(f"a column of {what}")
        words.skip(2)  # ":", "locations"
        first = words.number(what)
        words.skip()  # "to"
        last = words.number(what)
        for _ in range(int(last - first) + 1):
            if p >= count:
                raise BadInput(f"{what} has more entries than {count}")
            rows[p], columns[p] = words.number(what), j
            words.skip()  # ":"
            values[p] = words.number(what)
            p += 1
    return triplets(what, rows[:p], columns[:p], values[:p], shape)
