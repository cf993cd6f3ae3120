"""Residual and error of a candidate solution x, from any source, of a linear system or a least-squares problem.

Each row is judged relative to its own terms, |r_i| <= tolerance (|b_i| + |K_i| |x|), and each coordinate of x by the
distance K^+ r to the nearest solution. Rows and columns are scaled by powers of two to entries near 1
(`qp_scaling.units`), so that neither units nor a single large entry influence the verdict, and squares do not overflow.
Components of x in the null space of the matrix do not contribute to the sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gaussopt.certificates.qp_scaling import units
from gaussopt.certificates.qp_verdict import feasibility, rounding
from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LeastSquares, LinearSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_entries
from gaussopt.linalg.dense import EPS, largest, largest_ratio, norm, ratio


@dataclass(frozen=True, slots=True)
class LinearCertificate(ProgramCertificate):
    """Proved errors of a candidate solution of a linear system or least-squares problem.

    Attributes
    ----------
    residual : largest entry of K x - b, or of A^T (A x - b)
    relative_residual : the largest of all residuals, each relative to the size of its terms
    relative_error : float
        Distance to the nearest solution relative to the size of x: for linear systems the largest ratio of all
        coordinates, for least squares the ratio of norms in scaled units; NaN for sparse systems.
    contradictory : whether the system is proved to have no solution
    """

    residual: float
    relative_residual: float
    relative_error: float
    contradictory: bool = False

    @property
    def measures(self) -> Measures:
        """The relative residual and error, or the residual alone if the error is unknown."""
        error = 0.0 if math.isnan(self.relative_error) else self.relative_error
        return Measures(math.isfinite(self.residual), self.relative_residual, error)

    def to_mapping(self) -> dict[str, float | None]:
        """Return the numbers for JSON."""
        return finite_entries(self, "residual", "relative_residual", "relative_error")


QUIETLY = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Suppresses NumPy's warnings; a number that overflows fails the certificate in any case."""

UNSEEN = 1e-8
"""A residual counts as orthogonal to a column if their scalar product, relative to its terms, is at most this."""

NOWHERE = LinearCertificate(residual=math.inf, relative_residual=math.inf, relative_error=math.inf)
"""The certificate of a point with infinite or undefined coordinates."""


@QUIETLY
def certify_linear(program: LinearSystem, x: Vector) -> LinearCertificate:
    """Certify a candidate solution x, (n,), of a linear system."""
    if not np.isfinite(x).all():
        return NOWHERE
    return _sparse_system(program, x) if program.sparse else _system(program, x)


def _system(program: LinearSystem, x: Vector) -> LinearCertificate:
    n = program.n
    d, row = units(np.zeros(n), program.K, np.zeros(n))
    K, b, x = program.K * d * row[:, None], program.b * row, x / d
    r = b - K @ x
    U, s, Vt = np.linalg.svd(K)
    rank = int((s > 8 * n * EPS * s[0]).sum()) if n else 0
    inverse = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
    size, reach = _sizes(K, b, Vt[:rank].T @ (Vt[:rank] @ x), inverse)
    if not b.any():  # then b gives x no scale, so errors are relative to the units of the coordinates
        size, reach = np.maximum(size, np.abs(K) @ (1.0 / d)), np.maximum(reach, largest(1.0 / d))
    noise = (n + 2) * EPS * (np.abs(K) @ np.abs(x))
    contradictory = rank < n and feasibility(K, b, b).possible is False
    return LinearCertificate(
        residual=largest(r / row), relative_residual=largest_ratio(np.abs(r) + np.where(r != 0, noise, 0.0), size),
        relative_error=largest_ratio(np.abs(inverse @ r), reach), contradictory=contradictory,
    )  # fmt: skip


def _sizes(K: Matrix, b: Vector, seen: Vector, inverse: Matrix) -> tuple[Vector, Vector]:
    """Return the scales of the errors of rows and of coordinates, none of them below rounding level.

    A coordinate that is zero at the solution has as its scale the rounding error of the largest coordinate.
    """
    share = rounding(len(b)) / DEFAULT_TOLERANCE
    terms = np.abs(b) + np.abs(K) @ np.abs(seen)
    spread = np.abs(inverse) @ terms
    reach = np.maximum(np.abs(seen), share * spread)
    zero = np.abs(inverse @ b) <= (len(b) + 2) * EPS * spread
    reach = np.where(zero, np.maximum(reach, share * largest(reach)), reach)
    return np.maximum(terms, np.abs(K) @ np.maximum(share * spread, np.where(zero, reach, 0.0))), reach


def _sparse_system(program: LinearSystem, x: Vector) -> LinearCertificate:
    """Certify a sparse system by the residuals of its rows only, without an error bound, in linear time."""
    r = program.K @ x - program.b
    size = abs(program.K) @ np.abs(x) + np.abs(program.b)
    if not program.b.any():
        size = np.maximum(size, abs(program.K) @ np.ones(program.n))
    missed = largest_ratio(np.abs(r), size)
    return LinearCertificate(
        residual=largest(r), relative_residual=missed, relative_error=math.nan,
        contradictory=missed > DEFAULT_TOLERANCE and _unseen(program, r),
    )  # fmt: skip


def _unseen(program: LinearSystem, r: Vector) -> bool:
    """Return whether a component y of the residual is orthogonal to all columns of K.

    Then K x = b has no solution, because y^T K x is zero for every x, and y^T b is not.
    """
    from scipy.sparse.linalg import lsqr  # imported here because it is slow and rarely needed

    y = r - program.K @ lsqr(program.K, r, atol=0.0, btol=0.0, iter_lim=4 * program.n)[0]
    if not norm(y) > UNSEEN * norm(program.b):
        return False
    return norm(program.K.T @ y) <= UNSEEN * norm(abs(program.K.T) @ np.abs(y))


@QUIETLY
def certify_least_squares(program: LeastSquares, x: Vector) -> LinearCertificate:
    """Certify a candidate solution x, (n,), of a least-squares problem.

    The sum of squares exceeds its minimum by ||U^T r||^2, where U is an orthonormal basis of the range of A.
    """
    if not np.isfinite(x).all():
        return NOWHERE
    r = program.b - program.A @ x
    residual = largest(program.A.T @ r)
    d, unit = np.ones(program.n), float(np.abs(program.A).max(initial=0.0)) or 1.0
    if not program.minimum_norm:  # column scaling would change a minimum-norm solution
        d = np.ldexp(1.0, -np.frexp(np.abs(program.A).max(axis=0, initial=0.0))[1])
        unit = 1.0
    A, b, x, r = program.A / unit * d, program.b, x / d, r / unit
    b = b / unit
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = min(program.rank, int((s > 0).sum()))
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    seen = Vt.T @ (Vt @ x)
    level = rounding(max(A.shape)) / DEFAULT_TOLERANCE
    fit = max(norm(U.T @ b), level * norm(b))
    reach = max(norm(seen), level * norm(np.abs(Vt.T) @ ((np.abs(U.T) @ np.abs(b)) / s)))
    if not b.any():
        fit, reach = max(fit, norm((A / d).ravel())), max(reach, norm(1.0 / d))
    excess = ratio(norm(U.T @ r), fit)
    error = norm((U.T @ r) / s)
    if program.minimum_norm:
        error = math.hypot(error, norm(x - seen))
    return LinearCertificate(residual=residual, relative_residual=excess, relative_error=ratio(error, reach))
