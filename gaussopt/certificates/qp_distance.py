"""Bounds on the distance of a point from the minimisers of a convex quadratic program, in the norm of P.

A feasible point x_f near x and duals y bound it: ||x_f - x*||_P^2 <= 2 (f(x_f) - f*) <= 2 gap. If each row has
either no force or no slack, the gap is quadratic in the residuals, so that the bound is linear in them. If P is
singular, ||.||_P is zero in directions without curvature; P x* is the same for all minimisers, and the bound holds
if the duals balance q in those directions to rounding.
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
    """Return the bound of each row that z violates, or the row's value."""
    return np.where(z < qp.l, qp.l, np.where(z > qp.u, qp.u, z))


class Curvature:
    """P split into directions with curvature and without.

    Attributes
    ----------
    L : (n, n), Cholesky factor of a definite P, or None
    Z : (n, k), directions without curvature
    root : (n, n - k), with sqrt(r^T P^+ r) = ||root^T r||
    room : (n,), sqrt of the diagonal of P^+: largest error of a coordinate if the error is 1 in the norm of P
    """

    def __init__(self, P: Matrix) -> None:
        zero = 64 * len(P) * EPS
        self.L = gram_factor(P) if np.isfinite(P).all() else None
        self.Z = np.zeros((len(P), 0))
        self.root: Matrix = np.zeros((len(P), 0)) if self.L is None else invert_lower(self.L).T
        # All pivots may exceed rounding though an eigenvalue does not; 1 / (the least eigenvalue) is at most this sum.
        if self.L is None or not zero * float(np.square(self.root).sum()) < 1.0:
            self.L = None
            self.Z = flat_directions(P)
            values, V = np.linalg.eigh(P)
            steep = values > zero
            self.root = V[:, steep] / np.sqrt(values[steep])
        self.room = np.linalg.norm(self.root, axis=1)

    def lengths(self, r: Vector, noise: Vector, reach: Vector) -> tuple[float, float]:
        """Return the norm of r in P^+, with its rounding, and what r may gain along flat directions within reach."""
        steep = float(np.linalg.norm(self.root.T @ r)) + float(noise @ self.room) * (1.0 if r.any() else 0.0)
        flat = float((np.abs(self.Z) @ np.abs(self.Z.T @ r)) @ reach)
        return steep, flat


def error_bound(qp: QP, curvature: Curvature, x: Vector, y: Vector, noise: Vector, held: Any) -> float:
    """Return a bound on ||x - x*||_P; infinite if nothing is proved.

    Rows in `held`, (m,), are taken as active; `noise`, (n,), is the rounding error of P x + q - A^T y.
    """
    if not curvature.root.shape[1]:
        return math.inf
    plain = _bound_from(qp, curvature, x, y, np.zeros(qp.m, dtype=bool), noise)
    return min(plain, _bound_from(qp, curvature, x, np.where(held, y, 0.0), held, noise))


def pushing(qp: QP, curvature: Curvature, x: Vector, y: Vector) -> Any:
    """Return the rows whose force is larger than their slack, each in the unit that a definite P gives it, (m,)."""
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
    if curvature.L is None:  # forces along flat directions may be large: keep out the square root of rounding errors
        slack = np.maximum(slack - (qp.n + 2) * EPS * (np.abs(qp.A) @ np.abs(feasible)), 0.0)
    gap = 0.5 * r * r + float((np.abs(y) * slack).sum())
    moved = x - feasible
    return math.sqrt(max(float(moved @ qp.P @ moved), 0.0)) + math.sqrt(2.0 * gap)


def _without_slope(qp: QP, curvature: Curvature, gradient: Vector, y: Vector, noise: Vector) -> Vector | None:
    """Return duals of the same signs that balance the gradient along the flat directions, (m,).

    None if no change of the nonzero duals does, or if it changes the sign of one.
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
    """Return the norm in P^+ of the remaining slope along flat directions, as rows transfer it to curved directions.

    The forces of duals that balance the slope exactly differ by this value from those of y. A part that no row with a
    force can balance falls to a row without force at x: of these rows the one that transfers most counts.
    """
    Z, push = curvature.Z, y != 0
    if not Z.shape[1]:
        return 0.0
    left = np.abs(Z.T @ residual) + np.abs(Z).T @ noise * bool(residual.any())
    flat, curved = (qp.A @ Z).T, curvature.root.T @ qp.A.T
    U, s, Vt = np.linalg.svd(flat[:, push], full_matrices=False)
    # Flat directions are known to rounding of the least curvature: smaller entries of rows along them are zero.
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
    """Return a feasible point near x, by a few rounds of least squares on violated and tight rows, or None."""
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
