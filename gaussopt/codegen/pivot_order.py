"""The order in which the unrolled equations of a step are eliminated, chosen from the numbers of a sample state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix

ACCEPTED = 1e-3
"""Pivots below this part of the sum of their terms are postponed when the order is chosen."""


def elimination_order(K: Matrix, constant: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """Return an order of pivots for the symmetric matrix K with little work and no cancellation, None if none exists.

    K (N, N) is the matrix at a sample state, equilibrated or not: only ratios within a pivot matter. `constant` (N, N)
    tells which entries are the same at every state: elimination of these alone is computed once.

    Among the safe pivots the constant ones come first, and among these the one with the fewest varying and then the
    fewest neighbours (Markowitz). Divisions take most of the time of a step; constant pivots need none.
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
