"""Scaling of complementarity problems, and the matrix classes that determine how many solutions a problem has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, shown
from gaussopt.linalg.dense import EPS

MAX_MINORS = 12
"""Largest n for which all 2^n principal minors are computed."""
POSITIVE = 1e-13
"""A scaled eigenvalue or pivot below n times this number counts as zero."""
DOUBTFUL = 1e-6
"""A principal minor of a matrix of unit diagonal below this number may be rounding noise."""
SYMMETRIC = 1e-12
"""A matrix counts as symmetric if its relative asymmetry, in scaled rows, is at most this."""
SINGULAR = 1e-11
"""A matrix counts as singular if a relative change of one entry by this number makes it singular."""
INVERTED = 1e-4
"""An inverse is rejected if a diagonal entry of B^-1 B or B B^-1 differs from 1 by this or more."""


def regular_inverse(A: Matrix) -> Matrix | None:
    """Return the inverse of A, or None if a relative change of `SINGULAR` in one entry makes A singular.

    The decision is independent of the scaling of rows and columns. If a matrix is singular up to rounding, solutions by
    elimination diverge along its null space.
    """
    try:
        inverse = np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    both = np.concatenate((np.einsum("ij,ji->i", inverse, A), np.einsum("ij,ji->i", A, inverse)))
    gain = float((np.abs(A) * np.abs(inverse.T)).max(initial=0.0))
    return inverse if gain < 1.0 / SINGULAR and (np.abs(both - 1.0) < INVERTED).all() else None


@lru_cache(maxsize=16)
def subsets(n: int) -> NDArray[np.bool_]:
    """Return all subsets of n indices as the rows of a mask, (2^n, n); row s holds the bits of the number s."""
    masks: NDArray[np.bool_] = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
    masks.setflags(write=False)
    return masks


def power_of_two(x: Vector) -> Vector:
    """Return 1 / x rounded to powers of two, so that scaling by them is exact; 1 where x is zero."""
    positive = x > 0
    return np.asarray(np.where(positive, np.exp2(-np.round(np.log2(np.where(positive, x, 1.0)))), 1.0))


def equilibrate(M: Matrix) -> tuple[Vector, Vector]:
    """Return positive factors R of rows and C of columns, (..., n), that make entries of diag(R) M diag(C) about 1.

    With z = C z' and w' = R w the scaled problem has the same complementary pairs.
    """
    A = np.abs(M)
    R = power_of_two(A.max(axis=-1, initial=0.0))
    C = power_of_two((R[..., :, None] * A).max(axis=-2, initial=0.0))
    return R * power_of_two((R[..., :, None] * A * C[..., None, :]).max(axis=-1, initial=0.0)), C


@shown
@dataclass(frozen=True, slots=True)
class MatrixClass:
    """Class of a square matrix, which determines the number of solutions of its complementarity problems.

    Attributes
    ----------
    symmetric : bool
    positive_definite, positive_semidefinite : whether the symmetric part has this property
    p_matrix : whether all principal minors are positive; None if there are too many to compute
    lowest : smallest eigenvalue of the symmetric part, after scaling to unit diagonal
    """

    symmetric: bool
    positive_definite: bool
    positive_semidefinite: bool
    p_matrix: bool | None
    lowest: float

    def _about(self) -> About:
        return About(self.sentence.rstrip("."), (), [(name, getattr(self, name)) for name in self.__slots__])

    @property
    def sentence(self) -> str:
        """A sentence on the class and the number of solutions."""
        kind = "symmetric" if self.symmetric else "non-symmetric"
        if self.positive_definite:
            return f"M is {kind} positive definite: exactly one solution for every q."
        if self.p_matrix:
            return f"M is a {kind} P-matrix, not positive definite: exactly one solution for every q."
        if self.positive_semidefinite:
            return f"M is {kind} positive semidefinite: the solutions form a convex set, possibly empty."
        if self.p_matrix is None:
            return f"M is {kind} and not positive semidefinite; too large to tell whether it is a P-matrix."
        return f"M is {kind} and no P-matrix: none, one or several solutions, depending on q."

    def to_mapping(self) -> dict[str, bool | str | None]:
        """Return the properties for JSON."""
        names = ("symmetric", "positive_definite", "positive_semidefinite", "p_matrix", "sentence")
        return {name: getattr(self, name) for name in names}


def classify_matrix(M: Matrix, max_minors: int = MAX_MINORS) -> MatrixClass:
    """Determine symmetry, definiteness of the symmetric part, and the P-property of a square matrix.

    Definiteness is judged after scaling to unit diagonal, the P-property by all principal minors of the balanced
    matrix. Both are independent of units (z_i times a factor, w_i divided by it), and the P-property also of the
    scaling of rows. Eigenvalues and minors below about 1e-13 of the scaled matrix count as zero.

    Parameters
    ----------
    M : (n, n)
    max_minors : largest n for which principal minors are computed

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> found = go.classify_matrix(np.array([[1.0, 2.0], [0.0, 1.0]]))
    >>> found.p_matrix, found.positive_definite
    (True, False)
    """
    n = len(M)
    if n == 0:
        return MatrixClass(True, True, True, True, 1.0)
    d = unit_diagonal(M)
    A = d[:, None] * M * d
    size = np.abs(A)
    symmetric = bool((np.abs(A - A.T) <= SYMMETRIC * np.maximum(size, size.T).max(axis=1)).all())
    lowest = float(np.linalg.eigvalsh(0.5 * (A + A.T))[0])
    floor = POSITIVE * n * max(1.0, float(np.abs(A + A.T).max()) / 2)
    definite = bool((M.diagonal() > 0).all()) and lowest > floor
    return MatrixClass(symmetric, definite, lowest >= -floor, definite or is_p_matrix(M, max_minors), lowest)


def unit_diagonal(M: Matrix) -> Vector:
    """Return the factors d, (n,), with which diag(d) M diag(d) has unit diagonal.

    Where M_ii <= 0, d_i makes the largest scaled entry between i and an index of known d equal to 1, so that the scaled
    matrix does not depend on units. If i is not coupled to any positive diagonal entry, d_i is taken from the largest
    entries of its row and column.
    """
    diagonal = M.diagonal()
    positive = diagonal > 0
    d = np.where(positive, 1.0 / np.sqrt(np.where(positive, diagonal, 1.0)), 0.0)
    if positive.all():
        return np.asarray(d)
    size = np.abs(M)
    both = np.maximum(size, size.T)
    while True:
        tied = np.where(d > 0, 0.0, (both * d).max(axis=1))
        found = (tied > 0) & np.isfinite(tied)
        if not found.any():
            break
        d = np.where(found, 1.0 / np.where(found, tied, 1.0), d)
    row, column = size.max(axis=1), size.max(axis=0)
    row, column = np.where(row > 0, row, column), np.where(column > 0, column, row)
    own = np.where(
        row > 0, 1.0 / np.sqrt(np.sqrt(np.where(row > 0, row, 1.0)) * np.sqrt(np.where(row > 0, column, 1.0))), 1.0
    )
    return np.asarray(np.where(d > 0, d, own))


def is_p_matrix(M: Matrix, max_minors: int) -> bool | None:
    """Return whether all principal minors are positive; None if n > `max_minors` and orders 1 and 2 do not decide."""
    from scipy.linalg import matrix_balance

    n = len(M)
    diagonal = M.diagonal()
    if (diagonal <= 0).any():
        return False
    # Neither division of the rows by the diagonal nor a diagonal similarity changes the signs of principal minors.
    A, _ = matrix_balance(M / diagonal[:, None], permute=False)
    pairs = 1.0 - A * A.T
    np.fill_diagonal(pairs, 1.0)
    if (pairs <= POSITIVE).any():
        return False
    if n > max_minors:
        return None
    return bool(principal_minors_positive(np.asarray(A, dtype=np.float64)))


def principal_minors_positive(A: Matrix) -> NDArray[np.bool_]:
    """Return whether all principal minors are positive, for matrices, (..., n, n), of unit diagonal.

    Each minor is divided by the minor that omits its highest index. The quotient is a pivot of the elimination; it is
    at rounding level if the submatrix is singular.
    """
    n = A.shape[-1]
    masks = subsets(n)
    both = masks[:, :, None] & masks[:, None, :]
    minors = np.linalg.det(np.where(both, A[..., None, :, :], np.eye(n)))
    index = np.arange(1, 2**n)
    without = index ^ (1 << (np.frexp(index.astype(float))[1] - 1))
    size = np.maximum(1.0, np.abs(A).max(axis=(-2, -1)))[..., None]
    positive = np.asarray((minors[..., 1:] > 8 * n * EPS * size * np.abs(minors[..., without])).all(axis=-1))
    # If the smaller minor is tiny, the quotient may consist of rounding errors, so small minors are examined again.
    doubtful = positive[..., None] & (minors < DOUBTFUL)
    for place in zip(*np.nonzero(doubtful), strict=True):
        inside = masks[place[-1]]
        positive[place[:-1]] &= _regular(A[place[:-1]][np.ix_(inside, inside)])
    return positive


def _regular(A: Matrix) -> bool:
    """Return whether no relative change of a single entry by up to n times `POSITIVE` makes the matrix singular."""
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return False
    return bool((np.abs(A) * np.abs(inverse.T)).max(initial=0.0) * len(A) * POSITIVE < 1.0)
