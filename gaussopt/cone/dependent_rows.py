"""Equality rows that depend on others: independent rows, and vectors that all rows can have, by compiled loops.

Rows E, (m, n), of rank r are combinations of r of them, found by Cholesky's factorisation of E M^-1 E^T with pivoting.
Each other row j is sum_t c_jt E_order[t], so that the null space of E^T has the basis e_j - sum_t c_jt e_order[t].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.cone.newton_kernel import eliminate
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

KEPT, LEFT = 1e-10, 1e-13
"""Pivots, relative to the largest, from which a row counts as independent and up to which as dependent; between them it
is in doubt."""


class Dependence(NamedTuple):
    """Memory for m rows: their order, independent ones first, the coefficients c, (m, m), and working memory."""

    order: Index
    c: Matrix
    L: Matrix
    d: Vector

    @classmethod
    def of(cls, m: int) -> Dependence:
        """Return memory for m rows."""
        return cls(np.zeros(m, dtype=np.int64), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m))


@kernel
def rank_of(of: Dependence, Z: Matrix) -> int:
    """Return the rank of m rows, and write their order and coefficients; return -1 if a row is in doubt.

    The first m columns of Z, (n, p), are L^-T E^T with M = L^T L.
    """
    m, rank, top = len(of.d), 0, 0.0
    for i in range(m):
        total = 0.0
        for row in range(len(Z)):
            total += Z[row, i] * Z[row, i]
        of.d[i], of.order[i], top = total, i, max(top, total)
    for step in range(m):
        best = step
        for at in range(step + 1, m):
            if of.d[of.order[at]] > of.d[of.order[best]]:
                best = at
        of.order[step], of.order[best] = of.order[best], of.order[step]
        row = of.order[step]
        if not of.d[row] > KEPT * top:
            if of.d[row] > LEFT * top:
                return -1
            break
        pivot = math.sqrt(of.d[row])
        of.L[row, step] = pivot
        for at in range(step + 1, m):
            other, total = of.order[at], 0.0
            for i in range(len(Z)):
                total += Z[i, row] * Z[i, other]
            for t in range(step):
                total -= of.L[row, t] * of.L[other, t]
            of.L[other, step] = total / pivot
            of.d[other] -= of.L[other, step] * of.L[other, step]
        rank = step + 1
    for at in range(rank, m):
        j = of.order[at]
        for back in range(rank):
            t = rank - 1 - back
            total = of.L[j, t]
            for s in range(t + 1, rank):
                total -= of.c[j, s] * of.L[of.order[s], t]
            of.c[j, t] = total / of.L[of.order[t], t]
    return rank


@kernel
def into_range(of: Dependence, rank: int, x: Vector) -> None:
    """Project x, (m,), orthogonally onto the vectors E y, that is, remove its part in the null space of E^T."""
    size = len(x) - rank
    A, y = np.zeros(size * size), np.zeros(size)
    for a in range(size):
        j = of.order[rank + a]
        y[a] = x[j]
        for t in range(rank):
            y[a] -= of.c[j, t] * x[of.order[t]]
        for b in range(size):
            total = 1.0 if a == b else 0.0
            for t in range(rank):
                total += of.c[j, t] * of.c[of.order[rank + b], t]
            A[a * size + b] = total
    eliminate(A, y)
    for a in range(size):
        j = of.order[rank + a]
        x[j] -= y[a]
        for t in range(rank):
            x[of.order[t]] += of.c[j, t] * y[a]
