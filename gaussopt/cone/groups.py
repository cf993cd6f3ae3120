"""Groups of velocities and rows of a time step that nothing connects, and the operator of all their contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.delassus import ROWS, stored_blocks
from gaussopt.jit.kernel import kernel


@kernel
def root_of(parent: Index, i: int) -> int:
    """Return the root of the tree of i in a forest, and shorten the way to it."""
    at = i
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@kernel
def connect(
    M: SparseRows, D: Matrix, R: SparseRows, m: int, parents: Index, parent: Index, first: Index
) -> None:  # fmt: skip
    """Join the velocities that a mass or a row connects in the forest `parent`; write one velocity of each row."""
    n, p = len(parent), len(first)
    for i in range(n):
        parent[i] = i
        for e in range(M.begins[i], M.begins[i + 1]):
            if M.values[e] != 0.0:
                parent[root_of(parent, M.columns[e])] = root_of(parent, i)
    for i in range(len(D)):
        for j in range(i):
            if D[i, j] != 0.0:
                parent[root_of(parent, j)] = root_of(parent, i)
    for a in range(p):
        first[a] = n
        for e in range(R.begins[a], R.begins[a + 1]):
            if R.values[e] != 0.0:
                if first[a] == n:
                    first[a] = R.columns[e]
                else:
                    parent[root_of(parent, R.columns[e])] = root_of(parent, first[a])
    for a in range(m, p):
        of = m + 3 * ((a - m) // 3)  # all rows of a contact, and those of its parent, are in one group
        for other in range(2):
            if other == 1:
                of = m + 3 * parents[(a - m) // 3]
            if first[of] == n:
                first[of] = first[a]
            elif first[a] == n:
                first[a] = first[of]
            else:
                parent[root_of(parent, first[a])] = root_of(parent, first[of])
    for a in range(p):
        if first[a] == n:
            first[a] = 0 if a < m else first[m + 3 * ((a - m) // 3)]
        if first[a] == n:
            first[a] = 0


@kernel
def groups_into(
    M: SparseRows, D: Matrix, R: SparseRows, m: int, parents: Index, dofs: Index, rows: Index, at: Index
) -> int:  # fmt: skip
    """Group velocities and rows that no mass and no row connects to those of other groups; return the number of groups.

    Parameters
    ----------
    M, D, R : masses and damping as in `gaussopt.cone.condensing.condense`; m rows of equalities, then those of contacts
    parents : (k,), the contact that bounds each contact's friction, or its own index
    dofs, rows : (n,), (p,), written: velocities and rows, sorted by group
    at : (5 (n + 1),), written: for each group, and the end, where its velocities, its rows, its rows of `S` and its
        entries of `local` (`gaussopt.cone.condensing.condense`) begin, and its number of equality rows
    """
    n, p = len(dofs), len(rows)
    parent, first, number = np.zeros(n, np.int64), np.zeros(p, np.int64), np.zeros(n, np.int64)
    connect(M, D, R, m, parents, parent, first)
    count = 0
    for i in range(n):
        if root_of(parent, i) == i:
            number[i] = count
            count += 1
    for i in range(5 * (n + 1)):
        at[i] = 0
    for i in range(n):
        at[5 * number[root_of(parent, i)] + 5] += 1
    for a in range(p):
        first[a] = number[root_of(parent, first[a])]
        at[5 * first[a] + 6] += 1
        if a < m:
            at[5 * first[a] + 4] += 1
    for g in range(count):
        o = 5 * g
        size = at[o + 6] - at[o + 4]
        at[o + 7] = at[o + 2] + 2 * at[o + 5] + (at[o + 6] if at[o + 4] > 0 else 0)
        at[o + 8] = at[o + 3] + size * size + size
        at[o + 5] += at[o]
        at[o + 6] += at[o + 1]
    for i in range(n):
        g = 5 * number[root_of(parent, i)]
        dofs[at[g]] = i
        at[g] += 1
    for a in range(p):
        g = 5 * first[a]
        rows[at[g + 1]] = a
        at[g + 1] += 1
    for back in range(count):
        g = 5 * (count - 1 - back)
        if g > 0:
            at[g], at[g + 1] = at[g - 5], at[g - 4]
        else:
            at[0], at[1] = 0, 0
    return count


@kernel
def joined(m: int, rows: Index, at: Index, count: int, local: Vector, W: Matrix, q: Vector) -> None:
    """Write W, (3 k, 3 k), whose entries are zero, and q of all groups together."""
    for g in range(count):
        o = 5 * g
        begin = at[o + 1] + at[o + 4]
        size = at[o + 6] - begin
        for a in range(size):
            row = rows[begin + a] - m
            for b in range(size):
                W[row, rows[begin + b] - m] = local[at[o + 3] + a * size + b]
            q[row] = local[at[o + 3] + size * size + a]


@kernel
def joined_blocks(
    m: int, rows: Index, at: Index, count: int, local: Vector, parents: Index, begins: Index, columns: Index,
    data: Vector, q: Vector,
) -> bool:  # fmt: skip
    """Write W as blocks, (3, 3), in compressed rows, and q, of all groups; return whether `columns` hold all blocks.

    Blocks that are not zero are written, those on the diagonal, and those of a contact and its parent. `begins`,
    (k + 1,), is zero.
    """
    total, k = 0, len(begins) - 1
    others, first_of = np.empty(len(columns), np.int64), np.zeros(k, np.int64)
    for g in range(count):
        begin = at[5 * g + 1] + at[5 * g + 4]
        size = at[5 * g + 6] - begin
        for i in range(size // 3):
            row = (rows[begin + 3 * i] - m) // 3
            first_of[row] = total
            for j in range(size // 3):
                first = at[5 * g + 3] + 3 * i * size + 3 * j
                there = i == j or parents[row] == (rows[begin + 3 * j] - m) // 3
                for axis in range(3):
                    for other in range(3):
                        there = there or local[first + axis * size + other] != 0.0
                if there:
                    if total == len(columns):
                        return False
                    others[total] = j
                    total += 1
            begins[row + 1] = total - first_of[row]
    for i in range(k):
        begins[i + 1] += begins[i]
    for g in range(count):
        begin = at[5 * g + 1] + at[5 * g + 4]
        size = at[5 * g + 6] - begin
        for i in range(size // 3):
            row = (rows[begin + 3 * i] - m) // 3
            for place in range(begins[row], begins[row + 1]):
                j = others[first_of[row] + place - begins[row]]
                first = at[5 * g + 3] + 3 * i * size + 3 * j
                columns[place] = (rows[begin + 3 * j] - m) // 3
                for axis in range(3):
                    for other in range(3):
                        data[9 * place + 3 * axis + other] = local[first + axis * size + other]
            for axis in range(3):
                q[3 * row + axis] = local[at[5 * g + 3] + size * size + 3 * i + axis]
    return True


@kernel
def number_groups(begins: Index, columns: Index, number: Index) -> int:
    """Number the groups of contacts that no block of an operator in compressed rows connects; return their number."""
    count, k = 0, len(number)
    parent, of_root = np.zeros(k, np.int64), np.zeros(k, np.int64)
    for i in range(k):
        parent[i] = i
    for i in range(k):
        for e in range(begins[i], begins[i + 1]):
            parent[root_of(parent, columns[e])] = root_of(parent, i)
    for i in range(k):
        root = root_of(parent, i)
        if of_root[root] == 0:
            count += 1
            of_root[root] = count
        number[i] = of_root[root] - 1
    return count


@kernel
def gather(begins: Index, columns: Index, blocks: Vector, members: Index, place: Index, W: Matrix) -> None:
    """Add to W the blocks of a group, whose members no block connects to others; `place`, (k,), is working memory."""
    for i in range(len(members)):
        place[members[i]] = i
    for i in range(len(members)):
        for e in range(begins[members[i]], begins[members[i] + 1]):
            j = place[columns[e]]
            for axis in range(3):
                for other in range(3):
                    W[3 * i + axis, 3 * j + other] += blocks[9 * e + 3 * axis + other]


class Groups:
    """The groups of contacts that no block of an operator W stored as blocks connects: `number`, (k,), and `count`.

    Group g has the members order[ends[g]], ..., order[ends[g + 1] - 1].
    """

    def __init__(self, W: Any) -> None:
        self._blocks = stored_blocks(W)
        self._place, self.number = np.empty((2, W.shape[0] // ROWS), dtype=np.int64)
        self.count = int(number_groups(*self._blocks[:2], self.number))
        self.order = np.argsort(self.number, kind="stable")
        self.ends = np.append(0, np.cumsum(np.bincount(self.number, minlength=self.count)))

    def members(self, group: int) -> Index:
        """Return the contacts of a group."""
        return self.order[self.ends[group] : self.ends[group + 1]]

    def operator(self, members: Index) -> Matrix:
        """Return the dense operator of a group with the given members."""
        W = np.zeros((ROWS * len(members),) * 2)
        gather(*self._blocks, members, self._place, W)
        return W
