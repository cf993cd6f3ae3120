"""The equations of a step, unrolled: L D L^T of a sparse symmetric matrix in a fixed order, pivots of size one.

    [ M  J^T ] [   a  ]   [ Q - h ]
    [ J   0  ] [ -lam ] = [ gamma ]

Pivots of size one exist in a suitable order wherever the matrix is regular, unless a row acts on massless coordinates
alone. The order is chosen once, from the numbers of a sample state; the generated code checks every pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen.ldl import Entry, StructurallySingular, Writer
from gaussopt.core.step_data import Matrix

ACCEPTED = 1e-3
"""Pivots this much smaller than the sum of what they are made of are put off when the order is chosen."""

VANISHING = 1e-8
"""A pivot this small beside the sum of the terms it is made of counts as zero in the generated code.

Where M is positive semidefinite, pivots of coordinates are positive and those of rows negative, whatever the order, as
long as none vanishes: the part of the matrix eliminated so far has as many positive eigenvalues as coordinates and as
many negative ones as rows. So what a pivot loses by cancellation is the sum of its terms of the wrong sign, which come
from pivots of the same kind, and one comparison checks sign and size.
"""


def elimination_order(K: Matrix, constant: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """An order of pivots for the symmetric matrix K with little work and no cancellation, None if there is none.

    Parameters
    ----------
    K : (N, N)
        At a sample state, equilibrated or not: only ratios within a pivot matter.
    constant : (N, N)
        Which entries are the same at every state: what is eliminated with them alone is computed once.

    Returns
    -------
    tuple of N indices
        Among the pivots that are safe first those that are constant, of these the one with the fewest varying and then
        the fewest neighbours (Markowitz). Divisions are what a step is made of; constant pivots have none.
    """
    N = len(K)
    A, size, constant = K.copy(), np.abs(K), constant.copy()
    left, order = list(range(N)), []

    def work(i: int) -> tuple[bool, int, int, int]:
        there = size[i, left] > 0
        return not constant[i, i], int((there & ~constant[i, left]).sum()), int(there.sum()), i

    while left:
        safe = [i for i in left if abs(A[i, i]) > ACCEPTED * size[i, i] > 0]
        if not safe:
            return None
        i = min(safe, key=work)
        left.remove(i)
        order.append(i)
        rest = np.ix_(left, left)
        c = A[i, left] / A[i, i]
        A[rest] -= np.outer(c, A[i, left])
        size[rest] += np.abs(np.outer(c, A[i, left]))
        there, fixed = size[i, left] > 0, constant[i, left] & constant[i, i]
        constant[rest] &= ~np.outer(there, there) | np.outer(fixed, fixed)
    return tuple(order)


@dataclass
class Elimination:
    """Factors as names in generated source.

    Attributes
    ----------
    order : pivots in their order
    lower : L[i][k] by position in the order
    inverse : reciprocal pivots
    checks : conditions that hold where no pivot vanishes
    """

    order: Sequence[int]
    lower: list[list[Entry]] = field(default_factory=list)
    inverse: list[Entry] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, w: Writer, K: list[list[Entry]], order: Sequence[int], n: int) -> Elimination:
        """Write the factorisation of a matrix whose first n indices are coordinates.

        Raises
        ------
        StructurallySingular
            If a pivot is zero for every value of the entries.
        """
        N = len(order)
        found = cls(order, [[None] * N for _ in range(N)])
        L = found.lower
        U: list[list[Entry]] = [[None] * N for _ in range(N)]  # U[i][k] = L[i][k] D[k]
        for j in range(N):
            row, moves = order[j], order[j] < n
            terms = [w.let(t) if (t := w.product(L[j][k], U[j][k])) else None for k in range(j)]
            lost = w.let(w.total([t for t, k in zip(terms, order, strict=False) if (k < n) == moves]))
            gained = [t for t, k in zip(terms, order, strict=False) if (k < n) != moves]
            diagonal = K[row][row]
            pivot = w.let(w.total([diagonal], [*gained, lost]))
            if pivot is None:
                raise StructurallySingular
            found.checks.append(f"{pivot} {'>' if moves else '<'} {f'{2 * VANISHING!r}*{lost}' if lost else '0.0'}")
            if diagonal is not None and any(gained):
                found.checks.append(f"{diagonal} >= 0.0")
            found.inverse.append(w.let(f"1.0/{pivot}"))
            for i in range(j + 1, N):
                U[i][j] = w.let(w.total([K[order[i]][row]], [w.product(L[i][k], U[j][k]) for k in range(j)]))
                L[i][j] = w.let(w.product(U[i][j], found.inverse[j]))
        return found

    def solve(self, w: Writer, b: Sequence[Entry]) -> list[Entry]:
        """K^-1 b, in the order of b."""
        N, L = len(self.order), self.lower
        y: list[Entry] = []
        for i in range(N):
            y.append(w.let(w.total([b[self.order[i]]], [w.product(L[i][k], y[k]) for k in range(i)])))
        x = [w.let(w.product(y[i], self.inverse[i])) for i in range(N)]
        for i in reversed(range(N)):
            x[i] = w.let(w.total([x[i]], [w.product(L[k][i], x[k]) for k in range(i + 1, N)]))
        found: list[Entry] = [None] * N
        for i, entry in zip(self.order, x, strict=True):
            found[i] = entry
        return found
