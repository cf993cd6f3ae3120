"""The saddle-point system of a sparse step, factorised in time and memory that grow like the number of bodies.

    M x - J^T y = f,     J x = g

If every block of M is positive definite and the rows of J are independent, M is eliminated. The Schur complement
S = J M^-1 J^T, with y = S^-1 (g - J M^-1 f), has a nonzero entry where two joints share a body. Its factor needs O(N)
numbers if joints can be numbered along the mechanism: a banded Cholesky factor after reverse Cuthill-McKee for chains
and ladders, L D L^T by minimum degree for trees and meshes. In all other cases (a singular M, dependent rows, or a body
with so many joints that S is full) the regularised system

    [M + delta  J^T  ] [ x]
    [J         -delta] [-y]

is factorised, in coordinates of unit mass and rows of unit length; it has factors for every order of elimination. Both
kinds of factors only serve as preconditioners: answers are refined until the original equations, evaluated by products
with M and J, hold, and their residuals are returned.

Data that depend only on the sparsity pattern (order, fill, lists of products) are kept between steps in a `Structure`.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy

from gaussopt.core.arrays import Vector
from gaussopt.core.sparse_arrays import LARGEST_BLOCK, Indices, Pattern, Sparse, block_layout, is_diagonal, times
from gaussopt.linalg.dense import EPS, mass_scale, norm
from gaussopt.linalg.saddle_point import DEPENDENT
from gaussopt.linalg.sparse_factors import Band, Factor, SuperLU, factorise

MOST_PRODUCTS = 64
"""J M^-1 J^T counts as full above this number of products per entry of J, reached if a body has many joints."""

NARROW = 16
"""Up to this half bandwidth, the banded factor is used without comparison with other orders of elimination."""

BAND_ADVANTAGE = 4
"""Time per entry of an L D L^T factor by QDLDL, divided by that of a banded factor by LAPACK (measured)."""

REGULARISATION = 1e-8
"""The regularisation delta, in coordinates of unit mass and rows of unit length."""

PIVOT = 0.01
"""Smallest pivot, relative to its column, if M is singular; pivots near delta would lose half of the digits."""

MOST_REFINEMENTS = 200

ACCURACY = 1e-8
"""Relative accuracy of the solution in `nearest_sparse`."""

PURIFICATIONS = 6
"""Number of iterations that purify a null vector; each multiplies other components by about delta / eigenvalue."""


class Products:
    """The product A B of two sparse matrices with fixed patterns, computed as sums over a fixed list of pairs."""

    def __init__(self, A: Pattern, B: Pattern, turn: Indices | None = None, order: Indices | None = None) -> None:
        """List the pairs of entries to be multiplied.

        `turn` gives the position of each entry of B in the argument b of `values`. `order`, (m,), renumbers the rows
        and columns of a symmetric product, of which only the lower triangle in the new numbering is listed.
        """
        counts = np.diff(B.indptr)[A.indices]
        left = np.repeat(np.arange(len(A.indices)), counts)
        ends = np.cumsum(counts)
        right = np.arange(len(left)) - np.repeat(ends - counts, counts) + np.repeat(B.indptr[A.indices], counts)
        rows, columns = A.rows[left], B.indices[right].astype(np.intp)
        right = right if turn is None else turn[right]
        if order is not None:
            rows, columns = order[rows], order[columns]
            keep = rows >= columns
            rows, columns, left, right = rows[keep], columns[keep], left[keep], right[keep]
        key = rows * B.shape[1] + columns
        by_place = np.argsort(key, kind="stable")
        key = key[by_place]
        self._starts = np.flatnonzero(np.diff(key, prepend=-1))
        small = np.int32 if max(len(A.indices), len(B.indices)) < 2**31 else np.intp
        self._left, self._right = left[by_place].astype(small), right[by_place].astype(small)
        place = key[self._starts]
        first, second = place // B.shape[1], place % B.shape[1]
        indptr = np.searchsorted(first, np.arange(A.shape[0] + 1))
        self.pattern = Pattern((A.shape[0], B.shape[1]), indptr.astype(small), second.astype(small))

    def values(self, a: Vector, b: Vector) -> Vector:
        """Return the entries of the product in the order of its pattern."""
        if not len(self._starts):
            return np.zeros(0)
        terms = a[self._left]
        terms *= b[self._right]
        return np.asarray(np.add.reduceat(terms, self._starts))


class MassBlocks:
    """Inverse Cholesky factors of the blocks of M: M^-1 = R^T R, where R is lower triangular with a fixed pattern."""

    def __init__(self, mass: Pattern) -> None:
        n = mass.shape[0]
        self.diagonal = is_diagonal(mass) and len(mass.indices) == n
        self._layout = [] if self.diagonal else block_layout(mass)
        self.largest = max((x.members.shape[1] for x in self._layout), default=1)
        if self.diagonal or self.largest > LARGEST_BLOCK:
            self.root = Pattern((n, n), np.arange(n + 1), np.arange(n))
            return
        places = [x.members[:, np.stack(np.tril_indices(x.members.shape[1]))] for x in self._layout]
        row, column = (np.concatenate([place[:, side].ravel() for place in places]) for side in (0, 1))
        self._order = np.lexsort((column, row))
        indptr = np.searchsorted(row[self._order], np.arange(n + 1))
        self.root = Pattern((n, n), indptr, column[self._order])

    def inverse_root(self, M: Sparse) -> Vector | None:
        """Return the entries of R in the order of its pattern; None if a block is not numerically positive definite."""
        if self.largest > LARGEST_BLOCK:
            return None
        if self.diagonal:
            return 1.0 / np.sqrt(M.data) if bool((M.data > 0).all()) else None
        values = []
        for layout in self._layout:
            blocks = layout.dense(M.data)
            b = blocks.shape[1]
            try:
                L = np.linalg.cholesky(blocks)
            except np.linalg.LinAlgError:
                return None
            size, pivots = (np.diagonal(x, axis1=1, axis2=2) for x in (blocks, L))
            if (pivots**2 < 64 * b * EPS * size).any():
                return None
            r, s = np.tril_indices(b)
            values.append(np.linalg.inv(L)[:, r, s].ravel())
        return np.asarray(np.concatenate(values)[self._order])


class Structure:
    """Order, fill and lists of products, which depend only on the patterns of M and J and are kept between steps.

    `eliminates` says whether the pattern allows M to be eliminated first; `half_band` is the half bandwidth of the
    factor of S, or 0 if the factor is not banded.
    """

    def __init__(self, mass: Pattern, rows: Pattern) -> None:
        self.blocks = MassBlocks(mass)
        self.half_band = 0
        self.eliminates = self.blocks.largest <= LARGEST_BLOCK
        if not self.eliminates:
            return
        self._whitened: Products | None = None
        W = rows
        if not self.blocks.diagonal:
            self._whitened = Products(W, *transposed(self.blocks.root))
            W = self._whitened.pattern
        per_column = np.bincount(W.indices, minlength=W.shape[1])
        self.eliminates = float(per_column @ per_column.astype(float)) <= MOST_PRODUCTS * max(len(W.indices), 1)
        if not self.eliminates:
            return
        m = W.shape[0]
        ones = scipy.sparse.csr_array((np.ones(len(W.indices)), W.indices, W.indptr), shape=W.shape)
        S = scipy.sparse.csr_array(ones @ ones.T)
        order = np.arange(0)
        if m:
            order = scipy.sparse.csgraph.reverse_cuthill_mckee(S, symmetric_mode=True).astype(np.intp)
        number = np.empty(m, dtype=np.intp)
        number[order] = np.arange(m)
        places = Pattern.of(S)
        band = int(np.abs(number[places.rows] - number[places.indices]).max(initial=0))
        narrow = band <= NARROW or (band + 1) * m <= BAND_ADVANTAGE * _fill(S)
        self._order = order
        self._gram = Products(W, *transposed(W), order=number if narrow else np.arange(m))
        if narrow:
            self.half_band = max(band, 1)
            lower = self._gram.pattern
            self._place = lower.indices * (self.half_band + 1) + (lower.rows - lower.indices)

    def schur(self, root: Vector, J: Sparse, before: Factor | None) -> Factor | None:
        """Return the factors of S = J M^-1 J^T; None if the rows may be dependent."""
        m = J.shape[0]
        W = J.data * root[J.indices] if self._whitened is None else self._whitened.values(J.data, root)
        values = self._gram.values(W, W)
        if self.half_band:
            flat = np.zeros((self.half_band + 1) * m)
            flat[self._place] = values
            return Band.of(flat.reshape(m, self.half_band + 1).T, self._order)
        lower = self._gram.pattern
        upper = scipy.sparse.csc_matrix((values, lower.indices, lower.indptr), shape=(m, m))  # the transpose of `lower`
        factor = factorise(upper, before)
        if factor is None or (factor.pivots < DEPENDENT * upper.diagonal()[factor.order]).any():
            return None
        return factor


structure_of = lru_cache(maxsize=4)(Structure)
"""Return the structure for two patterns, from a cache of the latest structures."""


def transposed(pattern: Pattern) -> tuple[Pattern, Indices]:
    """Return the pattern of the transpose, and for each of its entries the index of the same entry in the matrix."""
    rows, columns = pattern.shape
    turn = np.lexsort((pattern.rows, pattern.indices))
    indptr = np.searchsorted(pattern.indices[turn], np.arange(columns + 1))
    return Pattern((columns, rows), indptr, pattern.rows[turn]), turn


def _fill(S: Sparse) -> int:
    """Return the number of entries of the factor of a matrix with the pattern of S, in minimum-degree order."""
    m = S.shape[0]
    dominant = scipy.sparse.triu(S + scipy.sparse.diags_array(S.sum(axis=1)), format="csc")
    return SuperLU(dominant).fill if m else 0


class SaddleSolution(NamedTuple):
    """A solution (x, y), the residuals f - M x + J^T y and g - J x, and the number of refinements."""

    x: Vector
    y: Vector
    rest_f: Vector
    rest_g: Vector
    passes: int


@dataclass
class Saddle:
    """The factorised system of one step with M and J in SciPy's canonical format.

    `scale`, (n,), and `row`, (m,), give unit masses and unit rows, as in `gaussopt.linalg.dense.equilibrate`. `regular`
    says whether M was eliminated, which proves that M is definite and the rows are independent.
    """

    M: Sparse
    J: Sparse
    scale: Vector
    row: Vector
    regular: bool
    factor: Factor
    structure: Structure
    _root: Sparse | None

    @classmethod
    def of(cls, M: Sparse, J: Sparse, before: Saddle | None = None) -> Saddle | None:
        """Factorise the system; the factors `before`, of an earlier step, are overwritten if the structure is the same.

        Return None if even the regularised system has no factors.
        """
        structure = structure_of(Pattern.of(M), Pattern.of(J))
        usable = before if before is not None and before.structure is structure else None
        root = structure.blocks.inverse_root(M)
        scale = mass_scale(M)
        pattern, R = structure.blocks.root, None
        if root is not None:
            R = scipy.sparse.csr_array((root, pattern.indices, pattern.indptr), shape=pattern.shape)
        if root is not None and structure.eliminates:
            schur = structure.schur(root, J, usable.factor if usable is not None and usable.regular else None)
            if schur is not None:
                return cls(M, J, scale, np.ones(J.shape[0]), True, schur, structure, R)
        scale, row = equilibrate_sparse(M, J, scale)
        K = _regularised(M, J, scale, row)
        used = usable.factor if usable is not None and not usable.regular else None
        factor = factorise(K, used, 0.0 if root is not None else PIVOT)
        if factor is None:
            return None
        return cls(M, J, scale, row, False, factor, structure, R)

    @property
    def definite(self) -> bool:
        """Whether every block of M is numerically positive definite."""
        return self._root is not None

    def stored(self) -> tuple[int, int]:
        """Return the memory, in bytes, of the factors, and of the lists that are kept between steps for a banded S."""
        structure, gram = self.structure, self.structure._gram
        lists = (gram._left, gram._right, gram._starts, structure._order, structure._place)
        numbers = self.factor.fill + (0 if self._root is None else len(self._root.data))
        return 8 * numbers, sum(x.nbytes for x in lists)

    def whiten(self, f: Vector) -> Vector:
        """Return a vector of norm sqrt(f^T M^-1 f) or, if M is singular, f in coordinates of unit mass."""
        return f * self.scale if self._root is None else times(self._root, f)

    def whiten_sizes(self, f: Vector) -> Vector:
        """Return `whiten` of magnitudes f >= 0 with |R| in place of R, so that no terms cancel."""
        return f * self.scale if self._root is None else times(abs(self._root), f)

    def precondition(self, f: Vector, g: Vector) -> tuple[Vector, Vector]:
        """Return the solution (x, y) from the factors alone, without refinement."""
        if self.regular and self._root is not None:
            R, J = self._root, self.J
            free = times(R.T, times(R, f))
            y = self.factor.solve(g - times(J, free)) if len(g) else np.zeros(0)
            return free + times(R.T, times(R, times(J.T, y))), y
        n = len(f)
        z = self.factor.solve(np.concatenate((f * self.scale, g * self.row)))
        return z[:n] * self.scale, -z[n:] * self.row

    def solve(self, f: Vector, g: Vector, accuracy: float) -> SaddleSolution:
        """Solve, and refine until corrections are within relative `accuracy`, at rounding level, or not shrinking."""
        M, J = self.M, self.J
        # With regularisation, convergence is slow if S has eigenvalues near delta.
        least_gain = 0.5 if self.regular else 0.98
        x, y = self.precondition(f, g)
        before, passes, settled, left = math.inf, 0, False, (math.inf, math.inf)
        while passes < MOST_REFINEMENTS:
            Mx, force = times(M, x), times(J.T, y)
            rest_f, rest_g = f - Mx + force, g - times(J, x)
            if settled:
                # For a massless coordinate the force does not determine the acceleration. Therefore both residuals must
                # reach the rounding level of their equations.
                last, left = left, (norm(rest_f * self.scale), norm(rest_g * self.row))
                sizes = norm(f * self.scale) + norm(Mx * self.scale) + norm(force * self.scale)
                met = left[0] <= 4 * EPS * sizes and left[1] <= 4 * EPS * (norm(g * self.row) + norm(x / self.scale))
                if met or (left[0] > 0.5 * last[0] and left[1] > 0.5 * last[1]):
                    break
            dx, dy = self.precondition(rest_f, rest_g)
            x, y, passes = x + dx, y + dy, passes + 1
            moved = norm(dx / self.scale)
            rounding = 4 * EPS * (norm(f * self.scale) + norm(force * self.scale))
            settled = not moved > max(accuracy * norm(x / self.scale), rounding)
            if (settled and self.regular) or (not settled and moved > least_gain * before):
                break
            before = moved
        return SaddleSolution(x, y, f - times(M, x) + times(J.T, y), g - times(J, x), passes)

    def left_null(self, g: Vector) -> Vector:
        """Return the component w of g that is orthogonal to the range of J, so that J^T w is nearly 0, in scaled rows.

        In a regularised system (S + delta) y = g this component is delta y, which is computed without cancellation.
        """
        w = g * self.row
        for _ in range(PURIFICATIONS):
            w = REGULARISATION * self.precondition(np.zeros(len(self.scale)), w / self.row)[1] / self.row
        return w

    def null(self, f: Vector) -> Vector:
        """Return the component w of f, in scaled coordinates, with M w = J w = 0: neither mass nor rows resist it."""
        w = f * self.scale
        for _ in range(PURIFICATIONS):
            w = REGULARISATION * self.precondition(w / self.scale, np.zeros(len(self.row)))[0] / self.scale
        return w


_own = threading.local()
"""The last factors of each thread in `nearest_sparse`, whose symbolic analysis is reused for an equal pattern."""


def nearest_sparse(M: Sparse, J: Sparse, r: Vector) -> Vector:
    """Return x like `linalg.dense.nearest`, for sparse matrices, with relative error ACCURACY; NaN without factors."""
    before: Saddle | None = vars(_own).pop("last", None)
    saddle = _own.last = Saddle.of(M, J, before)
    return np.full(M.shape[0], np.nan) if saddle is None else saddle.solve(np.zeros(M.shape[0]), r, ACCURACY).x


def equilibrate_sparse(M: Sparse, J: Sparse, d: Vector) -> tuple[Vector, Vector]:
    """Return scales like `linalg.dense.equilibrate`, but coordinates not linked to any mass are scaled all at once."""
    measured, places, size = M.diagonal() > 0, Pattern.of(J), np.abs(J.data)
    while True:
        known = np.where(measured, d, 0.0)[J.indices]
        length = np.sqrt(np.bincount(places.rows, (size * known) ** 2, minlength=J.shape[0]))
        row = np.where(length > 0, 1.0 / np.where(length > 0, length, 1.0), 0.0)
        held = np.zeros(len(d))
        np.maximum.at(held, J.indices, row[places.rows] * size)
        fresh = ~measured & (held > 0)
        if not fresh.any():
            np.maximum.at(held, J.indices, size)
            fresh = ~measured & (held > 0)
        if not fresh.any():
            return d, np.where(length > 0, row, 1.0)
        d, measured = np.where(fresh, 1.0 / np.where(fresh, held, 1.0), d), measured | fresh


def _regularised(M: Sparse, J: Sparse, d: Vector, row: Vector) -> Any:
    """Return the upper triangle of the regularised system in compressed columns, including entries that are zero.

    Products and sums of sparse matrices would drop zeros, but updates of factors need a fixed pattern.
    """
    n, m = len(d), len(row)
    mass, rows = Pattern.of(M), Pattern.of(J)
    upper = mass.rows <= mass.indices
    i, k = mass.rows[upper], mass.indices[upper]
    diagonal = np.arange(n + m, dtype=rows.indices.dtype)
    values = (M.data[upper] * d[i] * d[k], J.data * row[rows.rows] * d[rows.indices], np.full(n, REGULARISATION),
              np.full(m, -REGULARISATION))  # fmt: skip
    places = np.concatenate((i, rows.indices, diagonal)), np.concatenate((k, rows.rows + n, diagonal))
    return scipy.sparse.csc_matrix(scipy.sparse.coo_array((np.concatenate(values), places), shape=(n + m, n + m)))
