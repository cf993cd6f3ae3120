"""Factors of symmetric sparse matrices: banded Cholesky (LAPACK), L D L^T (QDLDL) and L U (SuperLU)."""

from __future__ import annotations

import importlib.util
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.solver import backend
from gaussopt.core.sparse_arrays import Indices
from gaussopt.linalg.dense import lapack
from gaussopt.linalg.saddle_point import DEPENDENT


class Factor(Protocol):
    """Factors of a symmetric matrix, (m, m), with `fill` entries in total."""

    fill: int

    def solve(self, b: Vector) -> Vector:
        """Return the solution for a right-hand side b, (m,)."""


class Band:
    """Banded Cholesky factor, by LAPACK's pbtrf."""

    def __init__(self, lower: NDArray[np.float64], order: Indices) -> None:
        self._factor, self._order = lower, order
        self.fill = lower.size

    @classmethod
    def of(cls, lower: NDArray[np.float64], order: Indices) -> Band | None:
        """Factorise a matrix with these lower diagonals, (bands, m), and rows in `order`; None if nearly singular."""
        diagonal = lower[0].copy()
        factor, info = lapack().dpbtrf(lower, lower=1, overwrite_ab=1)
        if info != 0 or (factor[0] ** 2 < DEPENDENT * diagonal).any():
            return None
        return cls(factor, order)

    def solve(self, b: Vector) -> Vector:
        """Return the solution for b."""
        x, _ = lapack().dpbtrs(self._factor, b[self._order], lower=1)
        out = np.empty_like(b)
        out[self._order] = x
        return out


class Qdldl:
    """L D L^T factors by QDLDL in minimum-degree order; the symbolic analysis is reused while the pattern is equal."""

    def __init__(self, upper: Any, before: Factor | None) -> None:
        """Factorise a matrix, given by its upper triangle in compressed columns, reusing the analysis of `before`."""
        if isinstance(before, Qdldl):
            self._solver: Any = before._solver
            self._solver.update(upper, upper=True)
        else:
            self._solver = backend("qdldl").Solver(upper, upper=True)
        L, self.pivots, self.order = self._solver.factors()
        self.fill = int(L.nnz) + len(self.pivots)

    def solve(self, b: Vector) -> Vector:
        """Return the solution for b."""
        return np.asarray(self._solver.solve(b))


class SuperLU:
    """L U factors by SuperLU in minimum-degree order.

    The pivots are diagonal entries, except where these are below `threshold` times the largest entry of their column.
    """

    def __init__(self, upper: Any, threshold: float = 0.0) -> None:
        strict = scipy.sparse.triu(upper, k=1)
        self._lu = scipy.sparse.linalg.splu(
            scipy.sparse.csc_matrix(upper + strict.T), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=threshold,
            options={"SymmetricMode": True},
        )  # fmt: skip
        self.fill = int(self._lu.L.nnz)
        self.pivots = np.asarray(self._lu.U.diagonal())
        self.order = np.argsort(self._lu.perm_c)

    def solve(self, b: Vector) -> Vector:
        """Return the solution for b."""
        return np.asarray(self._lu.solve(b))


def factorise(upper: Any, before: Factor | None = None, threshold: float = 0.0) -> Qdldl | SuperLU | None:
    """Factorise a symmetric matrix, given by its upper triangle in compressed columns; None if a pivot vanishes.

    With a positive `threshold`, `SuperLU` chooses the pivots; otherwise the diagonal entries are the pivots.
    """
    try:
        fixed = not threshold and importlib.util.find_spec("qdldl")
        return Qdldl(upper, before) if fixed else SuperLU(upper, threshold)
    except RuntimeError:  # raised by both backends if a pivot vanishes
        return None
