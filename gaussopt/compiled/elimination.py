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

from gaussopt.stepdata import Matrix
from gaussopt.straight_line import Entry, StructurallySingular, Writer

ACCEPTED = 1e-3
"""Pivots this much smaller than the sum of what they are made of are put off when the order is chosen."""

VANISHING = 1e-8
"""A pivot this small beside the sum of the terms it is made of counts as zero in the generated code."""


def elimination_order(K: Matrix) -> tuple[int, ...] | None:
    """An order of pivots for the symmetric matrix K with little fill-in and no cancellation, None if there is none.

    Parameters
    ----------
    K : (N, N)
        At a sample state, equilibrated or not: only ratios within a pivot matter.

    Returns
    -------
    tuple of N indices
        Markowitz's choice: among the pivots that are safe the one with the fewest neighbours.
    """
    N = len(K)
    A, size = K.copy(), np.abs(K)
    left, order = list(range(N)), []
    while left:
        safe = [i for i in left if abs(A[i, i]) > ACCEPTED * size[i, i] > 0]
        if not safe:
            return None
        degree = {i: sum(size[i, j] > 0 for j in left) for i in safe}
        i = min(safe, key=lambda i: (degree[i], i))
        left.remove(i)
        order.append(i)
        c = A[i, left] / A[i, i]
        A[np.ix_(left, left)] -= np.outer(c, A[i, left])
        size[np.ix_(left, left)] += np.abs(np.outer(c, A[i, left]))
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
    def of(cls, w: Writer, K: list[list[Entry]], order: Sequence[int]) -> Elimination:
        """Write the factorisation.

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
            row = order[j]
            terms = [w.let(t) if (t := w.product(L[j][k], U[j][k])) else None for k in range(j)]
            diagonal = K[row][row]
            pivot = w.let(w.total([diagonal], terms))
            if pivot is None:
                raise StructurallySingular
            if any(terms) and (diagonal is not None or sum(t is not None for t in terms) > 1):
                size = w.total([f"abs({t})" for t in [diagonal, *terms] if t is not None])
                found.checks.append(f"abs({pivot}) > {VANISHING!r}*({size})")
            else:
                found.checks.append(f"{pivot} != 0.0")
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
