"""The order in which the unrolled equations of a step are eliminated, chosen from the numbers of a sample state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix

ACCEPTED = 1e-3
"""Pivots this much smaller than the sum of what they are made of are put off when the order is chosen."""


def elimination_order(K: Matrix, constant: NDArray[np.bool_]) -> tuple[int, ...] | None:
    """An order of pivots for the symmetric matrix K with little work and no cancellation, None if there is none.

    K (N, N) is the matrix at a sample state, equilibrated or not: only ratios within a pivot matter. `constant` (N, N)
    says which entries are the same at every state: what is eliminated with them alone is computed once.

    Among the pivots that are safe come first those that are constant, of these the one with the fewest varying and then
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
