"""Nonsmooth Newton method on Alart and Curnier's function, globalised by Levenberg and Marquardt's damping.

In scaled variables r^ = r / s and u^ = s u, s_i^2 = 3 / tr W_ii, and with x = r^ - u^, the function is

    Phi_N = r^_N - max(0, x_N),    Phi_T = r^_T - P(x_T),   P onto the disc of radius mu max(0, x_N).

Each step solves (J^T J + lambda) d = -J^T Phi for an element J of the generalised Jacobian, with lambda proportional to
|Phi|^2 as long as steps succeed. Near a solution d is the least-norm Newton step, also if J is singular because
contacts are redundant. In problems that are not small J = A + B W is damped as A + B (W + lambda I), which is
solved in the velocities of the bodies (`gaussopt.cone.response`). A step is accepted if |Phi| falls below the largest
|Phi| of the last few steps.
References: P. Alart, A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution
methods", Comput. Methods Appl. Mech. Engrg. 92, 1991; V. Acary, M. Bremond, O. Huber, "On solving contact problems with
Coulomb friction: formulations and numerical comparisons", INRIA RR-9118, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import numpy as np
from scipy.linalg import lstsq

from gaussopt.cone.response import Response
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import residual, rows_of, scaled, velocity_size
from gaussopt.linalg.dense import EPS
from gaussopt.solvers._cone import ConeIteration, ConeOptions

SEEN = 5
"""|Phi| after a step must be smaller than the largest |Phi| of this number of latest steps."""

LEAST = 1e-11
"""Smallest damping, in scaled variables, in a problem too large for least-norm steps."""

PATIENCE = 40
"""In a large problem the natural map must fall by half within this number of steps, each as costly as many sweeps."""

SHORTEST = 2.0**-12
"""Smallest fraction of a step that is tried."""


class ConeEquations(Protocol):
    """A function Phi of scaled impulses x that is zero at solutions, and its derivatives."""

    def value(self, own: ConeComplementarity, x: Vector) -> Vector:
        """Return Phi, (3 k,)."""

    def parts(self, own: ConeComplementarity, x: Vector) -> tuple[Vector, Matrix, Matrix]:
        """Return Phi, (3 k,), and generalised derivatives with respect to r and to u = W r + q, (k, 3, 3) each."""


class NSNAC(ConeIteration[ConeOptions]):
    """Damped nonsmooth Newton steps from the given start, or from r = 0."""

    name = "nsn-ac"
    title = "Nonsmooth Newton on Alart and Curnier's function, damped"
    source = "Alart & Curnier 1991"
    options_type = ConeOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        return newton(problem, r, self.options.max_iter, self.options.tolerance)


def newton(
    problem: ConeComplementarity, r: Vector, limit: int, tolerance: float, equations: ConeEquations | None = None
) -> tuple[Vector, int]:
    """Return the point with the smallest natural map in at most `limit` steps from r, and the number of steps.

    By default the equations are Alart and Curnier's.
    """
    own, s = scaled(problem)
    if residual(problem, r) <= tolerance:
        return r, 0
    given = ConeComplementarity(Response.of(own.W), own.q, own.mu)  # type: ignore[arg-type]
    x, count = steps(given, r / s, limit, lambda x: residual(problem, s * x), tolerance, equations)
    return s * x, count


def steps(
    own: ConeComplementarity, x: Vector, limit: int, measure: Callable[[Vector], float], tolerance: float,
    equations: ConeEquations | None = None,
) -> tuple[Vector, int]:  # fmt: skip
    """Take the steps of `newton` in scaled variables, with a `Response` as W, until `measure` <= `tolerance`."""
    equations, W = equations or AlartCurnier(), cast(Response, own.W)
    best, least = x, measure(x)
    recent: list[float] = []
    damping, count, before = 1e-2, 0, np.inf
    for count in range(1, limit + 1):
        if least <= tolerance:
            return best, count - 1
        if not W.small and count % PATIENCE == 0:
            if least > 0.5 * before:
                break
            before = least
        parts = equations.parts(own, x)
        size = float(np.linalg.norm(parts[0]))
        recent = [*recent[1 - SEEN :], size]
        found = None
        for _ in range(8):
            d = _step(W, parts, damping * (min(size, 1.0) ** 2 if W.small else min(size / velocity_size(own), 1.0)))
            found = None if d is None else _shortened(equations, own, x, d, max(recent))
            if found is not None:
                break
            damping = max(damping, 1e-6) * 10.0
        if found is None:
            break
        damping = max(damping * (0.1 if found[1] == 1.0 else 2.0), 1e-10)
        x = found[0]
        now = measure(x)
        if now < least:
            best, least = x, now
        elif len(recent) == SEEN and least <= 1e3 * EPS:
            break
    return best, count


def _step(W: Response, parts: tuple[Vector, Matrix, Matrix], damping: float) -> Vector | None:
    """Return the damped step, or None if J is singular; small problems with tiny damping get the least-norm step."""
    phi, by_r, by_u = parts
    n = len(phi)
    try:
        if not W.small:
            return W.solver(by_r, by_u, max(damping, LEAST))(-phi)
        J = (by_u @ W.H.reshape(-1, ROWS, n)).reshape(n, n)
        rows = np.arange(n).reshape(-1, ROWS)
        J[rows[:, :, None], rows[:, None, :]] += by_r + W.alpha * by_u
        if damping <= 1e-12:
            return np.asarray(lstsq(J, -phi, cond=1e-11, lapack_driver="gelsd", check_finite=False)[0])
        return np.asarray(np.linalg.solve(J.T @ J + damping * np.eye(n), -(J.T @ phi)))
    except (np.linalg.LinAlgError, ValueError, RuntimeError):  # RuntimeError: sparse factors are singular
        return None


def _shortened(
    equations: ConeEquations, own: ConeComplementarity, x: Vector, d: Vector, bound: float
) -> tuple[Vector, float] | None:
    """Return x after the longest of d, d/2, d/4, ... that brings |Phi| below the bound, and the fraction of d taken."""
    if not np.isfinite(d).all():
        return None
    part = 1.0
    while part >= SHORTEST:
        y = x + part * d
        if float(np.linalg.norm(equations.value(own, y))) <= (1.0 - 1e-4 * part) * bound:
            return y, part
        part *= 0.5
    return None


class AlartCurnier:
    """Alart and Curnier's function."""

    def value(self, own: ConeComplementarity, x: Vector) -> Vector:
        return self._target(own, x)[0]

    def parts(self, own: ConeComplementarity, x: Vector) -> tuple[Vector, Matrix, Matrix]:
        phi, y, length, radius = self._target(own, x)
        D = np.zeros((own.k, ROWS, ROWS))  # derivative of the projected point y with respect to x = r - u
        closed, stick = y[:, 0] > 0.0, length <= radius
        D[closed, 0, 0] = 1.0
        free = closed & ~stick
        D[stick, 1, 1] = D[stick, 2, 2] = 1.0
        if free.any():
            t = y[free, 1:] / length[free, None]
            D[free, 1:, 0] = own.mu[free, None] * t
            turn = np.eye(2) - t[:, :, None] * t[:, None, :]
            D[free, 1:, 1:] = (radius[free] / length[free])[:, None, None] * turn
        return phi, np.eye(ROWS) - D, D

    def _target(self, own: ConeComplementarity, x: Vector) -> tuple[Vector, Matrix, Vector, Vector]:
        """Return Phi = r - target, x = r - u as (k, 3), the lengths of the tangential parts x_T, and the disc radii."""
        y = rows_of(x - own.u(x))
        length, radius = np.hypot(y[:, 1], y[:, 2]), own.mu * np.maximum(0.0, y[:, 0])
        factor = np.where(length <= radius, 1.0, radius / np.where(length > 0, length, 1.0))
        target = np.column_stack((np.maximum(0.0, y[:, 0]), factor[:, None] * y[:, 1:]))
        return x - target.ravel(), y, length, radius


solver = NSNAC
