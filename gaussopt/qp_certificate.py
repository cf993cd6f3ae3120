"""How far a point is from the minimiser of a convex quadratic program, whoever computed it.

With duals y (estimated if none are given) and a feasible point x_f near x,

    1/2 ||x_f - x*||_P^2 <= gap = 1/2 x_f^T P x_f + q^T x_f - D(y),

so ||x - x*||_P <= ||x - x_f||_P + sqrt(2 gap) for positive definite P. For semidefinite P the scaled
residuals of the optimality conditions are what can be said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.certificate import DEFAULT_TOLERANCE
from gaussopt.linalg import EPS, cholesky, mass_scale, solve_lower
from gaussopt.programs import QP
from gaussopt.status import Status
from gaussopt.stepdata import Vector

FEASIBILITY = 1e-7
"""Relative contradiction of the rows, and slope of a ray, that the linear programs can tell from zero."""


@dataclass(frozen=True, slots=True)
class QPCertificate:
    """What is proved about a point of a QP.

    Attributes
    ----------
    verdict : Status
        Of the program itself: solved (a minimiser exists), infeasible or unbounded.
    primal_residual : float
        Largest violation of l <= A x <= u.
    dual_residual : float
        Largest entry of P x + q - A^T y.
    complementarity : float
        Sum over rows of |y_i| times the distance to the bound that y_i names.
    error_bound : float
        On ||x - x*||_P; infinite if P is not positive definite or no bound was found.
    relative_residual : float
        The largest of the residuals, each relative to 1 + the size of its terms.
    y : (m,)
        The duals used.
    own_residual : float
        The same relative to the size of the terms alone.
    """

    verdict: Status
    primal_residual: float
    dual_residual: float
    complementarity: float
    error_bound: float
    norm_x: float
    relative_residual: float
    y: Vector
    own_residual: float = math.inf

    def passed(self, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether the point is optimal within the (relative) tolerance."""
        if self.verdict is not Status.SOLVED or not math.isfinite(self.relative_residual):
            return False
        bounded = not math.isfinite(self.error_bound) or self.error_bound <= tolerance * (1.0 + self.norm_x)
        sensible = math.isinf(tolerance) or self.own_residual <= math.sqrt(tolerance)
        return self.relative_residual <= tolerance and bounded and sensible

    def to_mapping(self) -> dict[str, Any]:
        """For JSON."""

        def number(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "error_bound": number(self.error_bound),
            "relative_error": number(self.error_bound / (1.0 + self.norm_x)),
            "primal_residual": number(self.primal_residual),
            "dual_residual": number(self.dual_residual),
            "complementarity": number(self.complementarity),
            "relative_residual": number(self.relative_residual),
            "verdict": str(self.verdict),
        }


def certify_qp(
    qp: QP, x: Vector | None, y: Vector | None = None, tolerance: float = DEFAULT_TOLERANCE
) -> QPCertificate:
    """Certify a point, with the duals given or the best ones found.

    Parameters
    ----------
    qp : QP
    x : (n,) or None
        None only classifies the program.
    y : (m,) or None
        Duals with P x + q = A^T y, positive on lower bounds.
    """
    if x is None or not np.isfinite(x).all():
        return _no_point(qp)
    verdict, known = Status.SOLVED, math.nan
    if qp.sparse:
        verdict, known, best = _sparse(qp, x)
        y = best if y is None or not np.isfinite(y).all() else y
    elif y is None or not np.isfinite(y).all():
        y = estimate_duals(qp, x, tolerance)
    z = qp.A @ x
    primal = float(np.maximum(np.maximum(qp.l - z, z - qp.u), 0.0).max(initial=0.0))
    # A dual that pulls towards a bound which does not exist is a dual residual, not a force.
    y = np.where((y > 0) & ~np.isfinite(qp.l), 0.0, np.where((y < 0) & ~np.isfinite(qp.u), 0.0, y))
    gradient = qp.P @ x + qp.q
    force = qp.A.T @ y
    dual = float(np.abs(gradient - force).max())
    distance = np.where(y > 0, z - np.where(y > 0, qp.l, 0), np.where(y < 0, np.where(y < 0, qp.u, 0) - z, 0.0))
    complementarity = float(np.abs(y) @ np.abs(distance))
    bounds = np.abs(np.concatenate((qp.l[np.isfinite(qp.l)], qp.u[np.isfinite(qp.u)]))).max(initial=0.0)
    size_p = max(float(np.abs(z).max(initial=0.0)), float(bounds))
    size_d = float(max(np.abs(qp.P @ x).max(), np.abs(qp.q).max(), np.abs(force).max(initial=0.0)))
    size_c = 1.0 + abs(qp.objective(x)) + float(np.abs(qp.q) @ np.abs(x))
    relative = max(primal / (1.0 + size_p), dual / (1.0 + size_d), complementarity / size_c)
    # The "1 +" has a unit: a program whose numbers are all far below it must hold in its own unit too.
    own = max(primal / size_p if bounds > 0 else 0.0, dual / size_d if qp.q.any() else 0.0)
    norm_x = math.sqrt(max(float(x @ qp.P @ x), 0.0))
    bound = known if qp.sparse else _error_bound(qp, x, y)
    return QPCertificate(verdict, primal, dual, complementarity, bound, norm_x, relative, y, own)


def _sparse(qp: QP, x: Vector | None) -> tuple[Status, float, Vector]:
    """Verdict, error in the norm of P and best duals of a sparse program: those of the step with M = P, h = q."""
    from gaussopt.sparse import sparse_step
    from gaussopt.sparse_certificate import certify_sparse

    step = sparse_step(qp.P, qp.q, np.zeros(qp.n), qp.A, qp.l, 0.0, None, None)  # type: ignore[arg-type]
    c = certify_sparse(step, x, None)
    # Several minimisers are minimisers all the same.
    verdict = Status.SOLVED if c.verdict is Status.ACCELERATION_NOT_UNIQUE else c.verdict
    return verdict, c.error_bound if math.isfinite(c.rounding_floor) else math.inf, np.nan_to_num(c.lam)


def estimate_duals(qp: QP, x: Vector, tolerance: float) -> Vector:
    """Duals of the rows that x rests on, by bounded least squares on P x + q = A^T y."""
    from scipy.optimize import lsq_linear

    z = qp.A @ x
    near = math.sqrt(min(tolerance, 1e-4)) * (1.0 + np.abs(z))
    at_lower, at_upper = z <= qp.l + near, z >= qp.u - near
    active = at_lower | at_upper
    y = np.zeros(qp.m)
    if active.any():
        low = np.where(at_upper[active], -np.inf, 0.0)
        high = np.where(at_lower[active], np.inf, 0.0)
        fit = lsq_linear(qp.A[active].T, qp.P @ x + qp.q, bounds=(low, high), tol=1e-14)
        y[active] = fit.x
    return y


def _error_bound(qp: QP, x: Vector, y: Vector) -> float:
    L = cholesky(qp.P)
    if L is None:
        return float("inf")
    plain = _bound_from(qp, L, x, y, np.zeros(qp.m, dtype=bool))
    # With each row decided, force or slack, the bound is linear in the residuals instead of their root.
    z = qp.A @ x
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, np.inf))
    unit = np.linalg.norm(solve_lower(L, qp.A.T), axis=0)
    held = qp.equality | (np.abs(y) * unit > np.abs(z - named) / np.where(unit > 0, unit, 1.0))
    decided = _bound_from(qp, L, x, np.where(held, y, 0.0), held)
    return min(plain, decided)


def _bound_from(qp: QP, L: Any, x: Vector, y: Vector, held: Any) -> float:
    feasible = _project(qp, x, held, y)
    if feasible is None:
        return float("inf")
    z = qp.A @ feasible
    r = solve_lower(L, qp.P @ feasible + qp.q - qp.A.T @ y)
    bound = np.where(y > 0, qp.l, np.where(y < 0, qp.u, z))
    gap = 0.5 * float(r @ r) + float(np.abs(y) @ np.abs(z - bound))
    moved = L.T @ (x - feasible)
    return math.sqrt(float(moved @ moved)) + math.sqrt(2.0 * gap)


def _project(qp: QP, x: Vector, pinned: Any, y: Vector) -> Vector | None:
    """A feasible point near x: least squares on the violated and tight rows, a few rounds."""
    z = x.copy()
    held = qp.equality | pinned
    if held.any():
        goal = np.where(qp.equality | (pinned & (y > 0)), qp.l, np.where(pinned, qp.u, 0.0))[held]
        for _ in range(2):
            z = z + np.linalg.lstsq(qp.A[held], goal - qp.A[held] @ z, rcond=None)[0]
    for _ in range(20):
        s = qp.A @ z
        size = 1e-13 * (1.0 + np.abs(s))
        broken = (s < qp.l - size) | (s > qp.u + size)
        if not broken.any():
            return z
        held |= broken
        A = qp.A[held]
        target = np.clip(s[held], qp.l[held], qp.u[held])
        step, *_ = np.linalg.lstsq(A, target - s[held], rcond=None)
        z = z + step
    return None


def _no_point(qp: QP) -> QPCertificate:
    inf = float("inf")
    return QPCertificate(classify_qp(qp), inf, inf, inf, inf, 0.0, inf, np.zeros(qp.m))


def classify_qp(qp: QP) -> Status:
    """Whether a minimiser exists, by two linear programs (feasibility, then a descent ray).

    Of a sparse program, whose rows are equalities, by what the certificate of the step of the same form proves.
    """
    if qp.sparse:
        return _sparse(qp, None)[0]
    from scipy.optimize import linprog

    empty = ~qp.A.any(axis=1)
    if (empty & ((qp.l > 0) | (qp.u < 0))).any():
        return Status.INFEASIBLE
    lower, upper = np.isfinite(qp.l), np.isfinite(qp.u)
    if lower.any() or upper.any():
        A = np.vstack((-qp.A[lower], qp.A[upper]))
        b = np.concatenate((-qp.l[lower], qp.u[upper]))
        scale = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        # Lengths in units of the largest bound, so that the program's own unit does not hide a contradiction.
        b = b / scale
        b = b / (float(np.abs(b).max()) or 1.0)
        slack = -np.ones((len(b), 1))
        phase1 = linprog(
            np.append(np.zeros(qp.n), 1.0), np.hstack((A / scale[:, None], slack)), b,
            bounds=[(None, None)] * qp.n + [(0, None)],
        )  # fmt: skip
        if phase1.status == 0 and phase1.fun is not None and phase1.fun > FEASIBILITY:
            return Status.INFEASIBLE
    # A ray d with P d = 0, A d in the recession cone of the bounds and q d < 0; flat is judged with unit diagonal.
    d = mass_scale(qp.P)
    values, V = np.linalg.eigh(qp.P * np.outer(d, d))
    Z = d[:, None] * V[:, values <= 64 * qp.n * EPS]
    if Z.shape[1]:
        Z = Z / np.linalg.norm(Z, axis=0)
        AZ, c = qp.A @ Z, Z.T @ qp.q
        c = c / (float(np.abs(d * qp.q).max()) or 1.0)
        rows = np.vstack((-AZ[lower], AZ[upper]))
        ray = linprog(c, rows if len(rows) else None, np.zeros(len(rows)) if len(rows) else None, bounds=(-1, 1))
        if ray.status == 0 and ray.fun is not None and ray.fun < -FEASIBILITY:
            return Status.UNBOUNDED
    return Status.SOLVED
