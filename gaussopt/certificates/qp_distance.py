"""Bounds on the distance of a point from the minimisers of a convex quadratic program, in the norm of P.

A feasible point x_f near x and duals y give ||x_f - x*||_P^2 <= 2 (f(x_f) - f*) <= 2 gap. If each row has either no
force or no slack, the gap is quadratic in the residuals, so that the bound is linear in them. If P is singular, ||.||_P
is zero in directions without curvature; P x* is the same for all minimisers, and the bound holds if the duals balance
q in the directions without curvature to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gaussopt.certificates.qp_verdict import flat_directions, rounding
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.linalg.dense import EPS, gram_factor, invert_lower, least_norm


def violation_bound(qp: QP, z: Vector) -> Vector:
    """Return the bound that z violates in each row, (m,), or z itself where it violates none."""
    return np.where(z < qp.l, qp.l, np.where(z > qp.u, qp.u, z))


class Curvature:
    """The decomposition of P into directions with and without curvature.

    Attributes
    ----------
    L : (n, n), Cholesky factor of P, or None if P is singular
    Z : (n, k), directions without curvature, as columns
    root : (n, n - k), with sqrt(r^T P^+ r) = ||root^T r||
    room : (n,), square root of the diagonal of P^+: the largest error of each coordinate for an error of P-norm 1
    """

    def __init__(self, P: Matrix) -> None:
        zero = 64 * len(P) * EPS
        self.L = gram_factor(P) if np.isfinite(P).all() else None
        self.Z = np.zeros((len(P), 0))
        self.root: Matrix = np.zeros((len(P), 0)) if self.L is None else invert_lower(self.L).T
        # All pivots may exceed rounding although an eigenvalue does not: test tr P^-1, which exceeds 1 / eigenvalue.
        if self.L is None or not zero * float(np.square(self.root).sum()) < 1.0:
            self.L = None
            self.Z = flat_directions(P)
            values, V = np.linalg.eigh(P)
            steep = values > zero
            self.root = V[:, steep] / np.sqrt(values[steep])
        self.room = np.linalg.norm(self.root, axis=1)

    def lengths(self, r: Vector, noise: Vector, reach: Vector) -> tuple[float, float]:
        """Return sqrt(r^T P^+ r), rounding included, and the gap that r causes by moves within `reach` along Z."""
        steep = float(np.linalg.norm(self.root.T @ r)) + float(noise @ self.room) * (1.0 if r.any() else 0.0)
        flat = float((np.abs(self.Z) @ np.abs(self.Z.T @ r)) @ reach)
        return steep, flat


def error_bound(qp: QP, curvature: Curvature, x: Vector, y: Vector, noise: Vector, held: Any) -> float:
    """Return a bound on ||x - x*||_P; infinite if nothing is proved.

    Rows of the mask `held`, (m,), are assumed active; `noise`, (n,), is the rounding error of P x + q - A^T y.
    """
    if not curvature.root.shape[1]:
        return math.inf
    plain = _bound_from(qp, curvature, x, y, np.zeros(qp.m, dtype=bool), noise)
    return min(plain, _bound_from(qp, curvature, x, np.where(held, y, 0.0), held, noise))


def pushing(qp: QP, curvature: Curvature, x: Vector, y: Vector) -> Any:
    """Return a mask, (m,), of the rows whose force exceeds their slack, compared in the norm of a definite P."""
    named = np.where(y > 0, qp.l, np.where(y < 0, qp.u, np.inf))
    unit = np.linalg.norm(curvature.root.T @ qp.A.T, axis=0)
    slack = np.abs(qp.A @ x - named)
    return qp.equality | (np.abs(y) * unit > slack / np.where(unit > 0, unit, 1.0))


def _bound_from(qp: QP, curvature: Curvature, x: Vector, y: Vector, held: Any, noise: Vector) -> float:
    feasible = project(qp, x, held, y)
    if feasible is None:
        return math.inf
    gradient = qp.P @ feasible + qp.q
    balanced = _without_slope(qp, curvature, gradient, y, noise)
    if balanced is None:
        return math.inf
    y, z = balanced, qp.A @ feasible
    residual = gradient - qp.A.T @ y
    r = float(np.linalg.norm(curvature.root.T @ residual)) + float(noise @ curvature.room) * bool(residual.any())
    r += _turned(qp, curvature, residual, y, noise)
    slack = np.abs(z - np.where(y > 0, qp.l, np.where(y < 0, qp.u, z)))
    if curvature.L is None:  # large forces times rounding errors of the slack would be taken for a gap
        slack = np.maximum(slack - (qp.n + 2) * EPS * (np.abs(qp.A) @ np.abs(feasible)), 0.0)
    gap = 0.5 * r * r + float((np.abs(y) * slack).sum())
    moved = x - feasible
    return math.sqrt(max(float(moved @ qp.P @ moved), 0.0)) + math.sqrt(2.0 * gap)


def _without_slope(qp: QP, curvature: Curvature, gradient: Vector, y: Vector, noise: Vector) -> Vector | None:
    """Return duals, (m,), with the same signs as y that balance the gradient along the flat directions.

    Return None if no change of the nonzero duals achieves this, or if a sign would have to change.
    """
    Z = curvature.Z
    if not Z.shape[1]:
        return y
    allowed = np.abs(Z).T @ noise
    slope = Z.T @ (gradient - qp.A.T @ y)
    if (np.abs(slope) <= allowed).all():
        return y
    push = y != 0
    if not push.any() or not np.isfinite(slope).all():
        return None
    changed = y.copy()
    changed[push] += least_norm((qp.A[push] @ Z).T, slope)
    left = np.abs(Z.T @ (gradient - qp.A.T @ changed))
    same = qp.equality | (changed * y > 0) | ~push
    return changed if same.all() and (left <= 4.0 * allowed).all() else None


def _turned(qp: QP, curvature: Curvature, residual: Vector, y: Vector, noise: Vector) -> float:
    """Bound the change of the forces along curved directions, in the norm of P^+, by a correction of the duals.

    The correction makes the slope along flat directions zero. If rows with a force cannot balance a component of the
    slope, the worst row is assumed to balance it: the row without force for which the change is largest.
    """
    Z, push = curvature.Z, y != 0
    if not Z.shape[1]:
        return 0.0
    left = np.abs(Z.T @ residual) + np.abs(Z).T @ noise * bool(residual.any())
    flat, curved = (qp.A @ Z).T, curvature.root.T @ qp.A.T
    U, s, Vt = np.linalg.svd(flat[:, push], full_matrices=False)
    # Entries below the rounding errors of flat directions, which are large if a curvature is small, count as zero.
    zero = 64 * qp.n * EPS * max(1.0, float(np.square(curvature.root).sum(axis=0).max()))
    seen = s > zero
    U = U[:, seen]
    passed = (curved[:, push] @ Vt[seen].T / s[seen]) @ U.T
    turned = float(np.linalg.norm(np.abs(passed) @ left))
    own = np.linalg.norm(flat - U @ (U.T @ flat), axis=0)
    other = ~push & (own > zero)
    if other.any():
        share = np.linalg.norm((curved - passed @ flat)[:, other], axis=0) / own[other]
        turned += float(share.max() * np.linalg.norm(left))
    return turned


def project(qp: QP, x: Vector, pinned: Any, y: Vector) -> Vector | None:
    """Return a feasible point near x, by repeated least squares on violated and active rows; None if that fails."""
    if not np.isfinite(x).all():
        return None
    z, level, size, held = x.copy(), rounding(qp.n), np.abs(qp.A), qp.equality | pinned
    if held.any():
        goal = np.where(qp.equality | (pinned & (y > 0)), qp.l, np.where(pinned, qp.u, 0.0))[held]
        for _ in range(2):
            z = z + least_norm(qp.A[held], goal - qp.A[held] @ z)
    for _ in range(20):
        s = qp.A @ z
        bound = violation_bound(qp, s)
        broken = np.abs(s - bound) > level * (np.abs(bound) + size @ np.abs(z))
        if not broken.any():
            return z
        held |= broken
        target = np.clip(s[held], qp.l[held], qp.u[held])
        step = least_norm(qp.A[held], target - s[held])
        if not np.isfinite(step).all():
            return None
        z = z + step
    return None
