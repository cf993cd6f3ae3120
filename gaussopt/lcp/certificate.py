"""The distance of a point, from any source, to the solution of a linear complementarity problem.

The natural residual r = min(z, rho w) with rho_i = 1 / M_ii has the unit of z and vanishes if and only if z is a
solution. With d_i = M_ii^(-1/2) and the dimensionless A = diag(d) M diag(d), of unit diagonal, the error of z satisfies

    ||z - z*|| <= (1 + ||A||_2) / c ||r||,   ||x||^2 = sum (x_i / d_i)^2,   c = lambda_min(sym A) > 0.

For every P-matrix max |(z - z*)_i / d_i| <= beta max |r_i / d_i|, where beta is the maximum of
||(I - I_S + I_S A)^-1||_inf over all subsets S of indices. Otherwise, if all solutions can be enumerated, the distance
to the nearest solution is computed. If M_ii <= 0, rho_i and d_i come from the entries that couple i to other indices.
References: J.-S. Pang, "Error bounds in mathematical programming", Math. Prog. 79, 1997; X. Chen, S. Xiang,
"Computation of error bounds for P-matrix linear complementarity problems", Math. Prog. 106, 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.acceptance import Measures, ProgramCertificate
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import About, shown
from gaussopt.core.programs import LCP
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, finite_entries, finite_or_none
from gaussopt.lcp import matrix_classes
from gaussopt.lcp.enumeration import MAX_ENUMERATED, LCPSolutions, enumerate_lcp
from gaussopt.lcp.matrix_classes import SINGULAR, MatrixClass, classify_matrix, regular_inverse, unit_diagonal
from gaussopt.linalg.dense import EPS, largest_share, ratio

MAX_VERTICES = 10
"""Largest n for which beta is computed, by inverting 2^n matrices."""
NEGLIGIBLE = 1e-10
"""Components below this size, relative to the norm of z and q, need no relative accuracy."""


@shown
@dataclass(frozen=True, slots=True)
class LCPCertificate(ProgramCertificate):
    """Proved errors of a point z of an LCP; without a point, properties of the problem, and infinite errors.

    Attributes
    ----------
    verdict : Status or None
        Verdict on the problem itself: solved (w is unique), no_solution, multiple_solutions or
        acceleration_not_unique; None if undecided.
    unique : whether z is unique; None if undecided
    matrix : the class of M
    solutions : all solutions, if they were enumerated
    residual : ||r||, in the norm of the module docstring
    relative_residual : float
        ||r|| relative to ||z|| + ||rho q|| if the error has a bound, otherwise relative to ||rho q||.
    own_residual : largest entry of r relative to the terms of its row
    error_bound : bound on ||z - z*||, including rounding errors of w; infinite if there is none
    relative_error : `error_bound` relative to ||z|| + ||rho q||
    bound_from : the proof of the bound: "definite", "p-matrix", "enumeration" or "none"
    """

    verdict: Status | None
    unique: bool | None
    matrix: MatrixClass
    solutions: LCPSolutions | None
    residual: float = math.inf
    relative_residual: float = math.inf
    own_residual: float = math.inf
    error_bound: float = math.inf
    relative_error: float = math.inf
    bound_from: str = "none"

    def _about(self) -> About:
        bound = f"z is within {self.error_bound:.2g} of a solution (relative {self.relative_error:.2g})"
        title = f"the problem is {self.verdict or 'not decided'}"
        rows = [(name, getattr(self, name)) for name in self.__slots__ if name != "solutions"]
        return About(title, (bound if math.isfinite(self.error_bound) else "not certified",), rows)

    @property
    def measures(self) -> Measures:
        """Relative residual and error; a single row's residual need only be below the tolerance's square root."""
        error = self.relative_error if math.isfinite(self.error_bound) else 0.0
        return Measures(self.verdict in (Status.SOLVED, None), self.relative_residual, error, rough=self.own_residual)

    def failure(self, tolerance: float) -> str:
        """Return a sentence with the residuals and the error, at least one of which exceeds the tolerance."""
        return (
            f"The certificate fails: relative residual {self.relative_residual:.3g} (by rows {self.own_residual:.3g}), "
            f"relative error at most {self.relative_error:.3g}; the tolerance is {tolerance:.3g}."
        )

    @property
    def z_range(self) -> Matrix | None:
        """Smallest and largest value of each z_i over all solutions, (n, 2), if z is not unique; otherwise None."""
        found = self.solutions
        return found.ranges() if found is not None and found.solutions and self.unique is False else None

    def to_mapping(self) -> dict[str, Any]:
        """Return the certificate for JSON."""
        mapping: dict[str, Any] = {
            "verdict": None if self.verdict is None else str(self.verdict),
            "forces_unique": self.unique,
            **finite_entries(self, "residual", "relative_residual", "error_bound", "relative_error"),
            "bound_from": self.bound_from,
            "matrix": self.matrix.to_mapping(),
        }
        if self.solutions is not None:
            mapping["solutions"] = [z.tolist() for z in self.solutions.solutions]
        if (z_range := self.z_range) is not None:
            mapping["z_range"] = [[finite_or_none(v) for v in row] for row in z_range.tolist()]
        return mapping


def natural_residual(lcp: LCP, z: Vector) -> tuple[Vector, Vector, Vector]:
    """Return three vectors (n,): min(z, rho w), the sums of absolute terms of rho w, and d with rho = d^2."""
    d = unit_diagonal(lcp.M)
    rho = d * d
    size = rho * (np.abs(lcp.M) @ np.abs(z) + np.abs(lcp.q))
    return np.minimum(z, rho * lcp.w(z)), size, d


def certify_lcp(lcp: LCP, z: Vector | None) -> LCPCertificate:
    """Certify a point z, (n,); if z is None, give the verdict on the problem only.

    Examples
    --------
    >>> import gaussopt as go
    >>> import numpy as np
    >>> lcp = go.LCP(M=np.array([[2.0]]), q=np.array([-3.0]))
    >>> go.certify_lcp(lcp, np.array([1.5])).residual
    0.0
    """
    kind = classify_matrix(lcp.M)
    one = bool(kind.positive_definite or kind.p_matrix)
    found = enumerate_lcp(lcp) if not one and lcp.n <= MAX_ENUMERATED else None
    if z is None or not np.isfinite(z).all():
        verdict, unique = _verdict(lcp, kind, found, None)
        return LCPCertificate(verdict=verdict, unique=unique, matrix=kind, solutions=found)
    r, size, d = natural_residual(lcp, z)
    norm = float(np.linalg.norm(z / d) + np.linalg.norm(d * lcp.q))
    residual = float(np.linalg.norm(r / d))
    own = largest_share(r, np.abs(z) + size + NEGLIGIBLE * d * norm)
    certain = (np.abs(r) + (lcp.n + 2) * EPS * size) / d
    A = d[:, None] * lcp.M * d
    bound, source = math.inf, "none"
    if kind.positive_definite:
        bound, source = (1.0 + float(np.linalg.norm(A, 2))) / kind.lowest * float(np.linalg.norm(certain)), "definite"
        bound = bound if lcp.n else 0.0
    if one and not bound <= DEFAULT_TOLERANCE * norm and lcp.n <= MAX_VERTICES:
        vertex = vertex_bound(A) * float(certain.max()) * math.sqrt(lcp.n)
        if vertex < bound:
            bound, source = vertex, "p-matrix"
    if not bound <= DEFAULT_TOLERANCE * norm and lcp.n <= MAX_ENUMERATED:
        found = found or enumerate_lcp(lcp)
        measured = _distance(found, z, d)
        if measured < bound:
            bound, source = measured, "enumeration"
    verdict, unique = _verdict(lcp, kind, found, z)
    relative = ratio(residual, norm)
    if not math.isfinite(bound):
        # The data set the scale, because solutions may be unbounded: relative to a huge z every residual is small.
        given = float(np.linalg.norm(d * lcp.q)) or norm
        relative, own = ratio(residual, given), max(own, largest_share(r, size + NEGLIGIBLE * d * given))
    return LCPCertificate(
        verdict=verdict,
        unique=unique,
        matrix=kind,
        solutions=found,
        residual=residual,
        relative_residual=relative,
        own_residual=own,
        error_bound=bound,
        relative_error=ratio(bound, norm),
        bound_from=source,
    )


def vertex_bound(A: Matrix) -> float:
    """Return beta = max_S ||(I - I_S + I_S A)^-1||_inf over index sets S, which bounds errors if A is a P-matrix."""
    n = len(A)
    D = np.where(matrix_classes.subsets(n)[:, :, None], A, np.eye(n))
    if (np.linalg.det(D) == 0.0).any():
        return math.inf
    return float(np.abs(np.linalg.inv(D)).sum(axis=2).max(initial=0.0))


def _verdict(
    lcp: LCP, kind: MatrixClass, found: LCPSolutions | None, z: Vector | None
) -> tuple[Status | None, bool | None]:
    if kind.positive_definite or kind.p_matrix:
        return Status.SOLVED, True
    if found is not None:
        undecided = not found.decided and not found.faces and found.count == 1
        return (None, None) if undecided else (found.status, found.unique)
    if infeasible(lcp):
        return Status.NO_SOLUTION, False
    if kind.positive_semidefinite and kind.symmetric:
        # w is unique, because it is the gradient of a convex function at its minimisers.
        # z is unique if the columns of M for all z_i that may be positive are independent.
        if z is None:
            return Status.SOLVED, None
        _, size, d = natural_residual(lcp, z)
        held = lcp.w(z) * d * d <= 1e-8 * size
        A = (d[:, None] * lcp.M * d)[:, held]
        return Status.SOLVED, True if np.linalg.matrix_rank(A, tol=1e-8) == held.sum() else None
    return None, None


def infeasible(lcp: LCP) -> bool:
    """Decide by a linear program whether z >= 0 and w >= 0 contradict each other, even without complementarity."""
    from scipy.optimize import linprog

    R, C = matrix_classes.equilibrate(lcp.M)
    M, q = R[:, None] * lcp.M * C, R * lcp.q
    q = q / (float(np.abs(q).max(initial=0.0)) or 1.0)
    n = lcp.n
    # t is the smallest shift that makes M z + q + t >= 0 feasible.
    phase1 = linprog(np.append(np.zeros(n), 1.0), np.hstack((-M, -np.ones((n, 1)))), q, bounds=(0, None))
    return bool(phase1.status == 0 and phase1.fun is not None and phase1.fun > 1e-7)


def _distance(found: LCPSolutions, z: Vector, d: Vector) -> float:
    """Return an upper bound on the distance from z to the nearest solution, including rounding errors."""
    best = math.inf
    for solution, rounding in zip(found.solutions, found.floors, strict=True):
        best = min(best, float(np.linalg.norm((np.abs(z - solution) + rounding) / d)))
    if not found.faces:
        return best
    from scipy.optimize import nnls

    floor = max(float(np.linalg.norm(f / d)) for f in found.floors)
    for face in found.faces:
        V, W = face.vertices / d, face.rays / d
        size = max(float(np.abs(V).max()), float(np.abs(z / d).max())) or 1.0
        # Only the directions of rays matter, so they are scaled to the size of the vertices.
        W = W * (size / np.abs(W).max(axis=1, keepdims=True)) if len(W) else W
        weights = np.append(np.ones(len(V)), np.zeros(len(W))) * size
        A = np.vstack((np.vstack((V, W)).T, 1e3 * weights))
        part, _ = nnls(A / size, np.append(z / d, 1e3 * size) / size)
        hull = part[: len(V)]
        if hull.sum() > 0:
            # With weights scaled to the sum 1, the point lies on the face, and its distance is an upper bound.
            near = (hull / hull.sum()) @ V + part[len(V) :] @ W
            best = min(best, float(np.linalg.norm(z / d - near)) + floor)
    return best


def polish(lcp: LCP, z: Vector) -> Vector:
    """Solve w_i = 0 where z_i > rho_i w_i, with z_i = 0 elsewhere; return the better of the solution and z."""
    r, _, d = natural_residual(lcp, z)
    push = z > d * d * lcp.w(z)
    candidate = np.zeros(lcp.n)
    if push.any():
        A = (d[:, None] * lcp.M * d)[np.ix_(push, push)]
        b = d[push] * lcp.q[push]
        x = z[push] / d[push]
        inverse = regular_inverse(A)
        if inverse is not None:
            x = -(inverse @ b)
            x -= inverse @ (A @ x + b)
        else:
            x = x - np.asarray(np.linalg.lstsq(A, A @ x + b, rcond=SINGULAR)[0], dtype=np.float64)
        candidate[push] = np.maximum(x * d[push], 0.0)
    if not np.isfinite(candidate).all():
        return z
    better = np.abs(natural_residual(lcp, candidate)[0] / d).max(initial=0.0) <= np.abs(r / d).max(initial=0.0)
    return candidate if better else z
