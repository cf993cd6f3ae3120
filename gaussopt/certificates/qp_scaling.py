"""Scale a quadratic program by powers of two, which causes no rounding errors, before its answer is judged.

With x = D x', y = R y' the program in the scaled unknowns has P' = D P D, q' = D q, A' = R A D, l' = R l, u' = R u.
If the unit of a coordinate or a row changes by a power of two, the scaled program stays the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP

_TIE = 0.5123
"""Offset for rounding exponents to integers; not 0.5, because averages in small programs are often half-integers."""

LARGE = 64
"""If rows plus coordinates without curvature are more than this, singular values take too long."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A scaled dense program, with the units d of the coordinates, x = d x', and `row` of the rows, y = row y'."""

    qp: QP
    d: Vector
    row: Vector

    @classmethod
    def of(cls, qp: QP) -> Scaled:
        """Scale a program: every P_jj > 0 to between 1/2 and 2, the largest entry of every row to between 1/2 and 1."""
        d, row = units(qp.P.diagonal(), qp.A, qp.q)
        with np.errstate(over="ignore", invalid="ignore"):
            P = (qp.P * d[:, None]) * d
            A = (qp.A * d) * row[:, None]
            return cls(QP(P, qp.q * d, A, qp.l * row, qp.u * row), d, row)


def units(diagonal: Vector, A: Matrix, q: Vector) -> tuple[Vector, Vector]:
    """Return units d of the coordinates and factors of the rows, as powers of two.

    Coordinates without curvature are scaled such that the sum of the squared logarithms of all entries of A is least
    (Curtis and Reid 1972). If no row contains such a coordinate, its unit follows from its entry of q.
    """
    massed = diagonal > 0
    exponent = np.zeros(len(q), dtype=np.int64)
    exponent[massed] = -(np.frexp(diagonal[massed])[1] // 2)
    if not massed.all():
        exponent[~massed] = _massless(A, exponent, massed)
        alone = ~massed & ~A.any(axis=0) & (q != 0)
        exponent[alone] = -np.frexp(q[alone])[1]
    rows = np.zeros(len(A), dtype=np.int64)
    filled = A.any(axis=1)
    if filled.any():
        entries = np.where(A[filled] != 0, np.frexp(A[filled])[1] + exponent, np.iinfo(np.int64).min)
        rows[filled] = -entries.max(axis=1)
    return np.ldexp(1.0, np.clip(exponent, -1000, 1000)), np.ldexp(1.0, np.clip(rows, -1000, 1000))


def _massless(A: Matrix, exponent: NDArray[np.int64], massed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return exponents e of units 2^e that bring the entries of coordinates without curvature near 1."""
    filled = A != 0
    size = np.zeros(A.shape)
    size[filled] = np.log2(np.abs(A[filled]))
    size = np.where(filled, size + np.where(massed, exponent, 0), 0.0)
    held = filled[:, ~massed].astype(np.float64)
    normal = np.block([[np.diag(filled.sum(axis=1)), held], [held.T, np.diag(held.sum(axis=0))]])
    right = -np.concatenate((size.sum(axis=1), size[:, ~massed].sum(axis=0)))
    fit = _least_norm(normal, right, len(A)) if len(normal) > LARGE else np.linalg.lstsq(normal, right, rcond=None)[0]
    return np.asarray(np.floor(fit[len(A) :] + _TIE), dtype=np.int64)


def _least_norm(normal: Matrix, right: Vector, rows: int) -> Vector:
    """Return the least-norm solution of the normal equations, without a slow singular value decomposition.

    There is a null vector for each connected component of the matrix, with 1 at its rows and -1 at its columns.
    """
    from scipy.linalg import solve
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(csr_array(normal), directed=False)
    null = (part == np.arange(count)[:, None]) * np.where(np.arange(len(normal)) < rows, 1.0, -1.0)
    null = null[~(normal @ null.T).any(axis=0)]
    null /= np.linalg.norm(null, axis=1, keepdims=True)
    return np.asarray(solve(normal + null.T @ null, right, assume_a="pos"))
