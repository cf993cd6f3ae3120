"""Linear equations of Newton's method and of splittings for contacts, solved in the velocities of the bodies.

    K d + B (W + alpha I) d = c,    K and B with a 3 x 3 block for each contact

With D = (K + alpha B)^-1 B and e = (K + alpha B)^-1 c this is d + D W d = e. For an operator W = H^T M^-1 H it follows
that (M + H D H^T) v = H e, a sparse system with six unknowns for each rigid body, and d = e - D H^T v. This system
stays small if bodies have many contacts, and it is regular if contacts are redundant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lu_solve
from scipy.linalg.lapack import dgetrf
from scipy.sparse.linalg import splu

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.delassus import ROWS, DelassusProduct, block_inverse, is_blocks

SMALL = 400
"""Largest number of rows of a dense W for which dense linear equations and least-norm steps are cheap."""

FILLED = 0.1
"""Largest share of non-zero entries of a large dense W for which its equations are solved as sparse ones."""

PIVOT = 1e-3
"""The diagonal entry is the pivot unless it is below this fraction of the largest entry of its column."""


@dataclass(frozen=True)
class Response:
    """The operator W + alpha I, of shape (3 k, 3 k), and a solver of Newton's equations with it.

    For a `DelassusProduct`, `M` and `H` are its factors, scaled so that M^-1 has a diagonal of ones. Otherwise `M` is
    None, and `H` is W, as a dense or a sparse matrix.
    """

    W: Any
    M: Any
    H: Any
    alpha: float = 0.0

    @classmethod
    def of(cls, W: Any) -> Response:
        """Return the operator for a W that is dense, stored as blocks, or given by its factors."""
        if isinstance(W, DelassusProduct):
            d = sparse.diags_array(np.sqrt(W.A.diagonal()))
            return cls(W, (d @ block_inverse(W.A.tocsr()) @ d).tocsc(), (d @ W.H).tocsr())
        if is_blocks(W):
            return cls(W, None, W.tocsr())
        few = len(W) > SMALL and np.count_nonzero(W) <= FILLED * W.size
        return cls(W, None, sparse.csr_array(W) if few else W)

    def shifted(self, alpha: float) -> Response:
        """Return W + alpha I, which shares its data with this operator."""
        return replace(self, alpha=alpha)

    @property
    def small(self) -> bool:
        """Whether W is dense and has at most SMALL rows."""
        return not is_blocks(self.H) and len(self.H) <= SMALL

    def __matmul__(self, r: Vector) -> Vector:
        return np.asarray(self.W @ r + self.alpha * r)

    def diagonal(self) -> Vector:
        """Return the diagonal, (3 k,)."""
        return np.asarray(self.W.diagonal() + self.alpha)

    def solver(self, K: Matrix, B: Matrix, more: float = 0.0) -> Callable[[Vector], Vector]:
        """Return the function c -> d that solves K d + B (W + (alpha + more) I) d = c; K, B: (k, 3, 3).

        Raises np.linalg.LinAlgError or RuntimeError if the equations are singular.
        """
        k = len(K)
        first = np.linalg.inv(K + (self.alpha + more) * B)
        D = first @ B

        def apart(c: Vector) -> Vector:
            return np.asarray(np.einsum("kab,kb->ka", first, c.reshape(k, ROWS)).ravel())

        if not is_blocks(self.H):
            A = (D @ self.H.reshape(k, ROWS, -1)).reshape(ROWS * k, -1)
            A[np.diag_indices(ROWS * k)] += 1.0
            factors, pivots, found = dgetrf(A, overwrite_a=True)
            if found:
                raise np.linalg.LinAlgError("The equations are singular.")
            return lambda c: np.asarray(lu_solve((factors, pivots), apart(c), check_finite=False))
        ends = np.arange(k + 1)
        blocks = sparse.bsr_array((D, ends[:-1], ends)).tocsr()
        if self.M is None:
            solve = splu((sparse.eye_array(ROWS * k) + blocks @ self.H).tocsc()).solve
            return lambda c: np.asarray(solve(apart(c)))
        H, back = self.H, self.H.T
        A = (self.M + H @ (blocks @ back.tocsr())).tocsc()
        inner = splu(A, "MMD_AT_PLUS_A", diag_pivot_thresh=PIVOT, options={"SymmetricMode": True}).solve

        def through_bodies(c: Vector) -> Vector:
            e = apart(c)
            return np.asarray(e - blocks @ (back @ inner(H @ e)))

        return through_bodies
