"""Proximal point method: contact problems with W + alpha I and q - alpha r_j are solved until r_j no longer changes.

Each problem is solved by the damped Newton method of `nsn-ac` from the previous answer; alpha falls by a factor of ten
after a success, and rises after a failure. The method solves hyperstatic problems, for which the Jacobian of Newton's
method alone is singular. `damped_sweeps` uses a few sweeps instead of Newton's method, at constant alpha. Undamped
sweeps of a large pile do not converge, because contacts keep changing between stick and slip.
References: R. T. Rockafellar, "Monotone operators and the proximal point algorithm", SIAM J. Control Optim. 14, 1976;
V. Acary, M. Bremond, O. Huber, INRIA RR-9118, 2018 (PPA-NSN-AC).
"""

from __future__ import annotations

import numpy as np

from gaussopt.cone.response import Response
from gaussopt.cone.sweeps import Sweeps
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.delassus import shifted_operator
from gaussopt.linalg.cones import residual, scaled
from gaussopt.solvers._cone import ConeIteration, ConeOptions
from gaussopt.solvers.nsn_ac import steps

INNER = 40
"""Maximum number of Newton steps for each proximal problem."""

DAMPING, SWEPT = 0.03, 20
"""alpha of damped sweeps, in scaled variables with tr W_ii = 3, and the number of sweeps for each proximal problem."""

PATIENCE = 100
"""If sweeps solve the proximal problems, the natural map must fall by half within this number of problems."""


class Prox(ConeIteration[ConeOptions]):
    """Proximal point method; an iteration is one proximal problem."""

    name = "prox"
    title = "Proximal point method, inner problems by nonsmooth Newton"
    source = "Rockafellar 1976; Acary, Bremond & Huber 2018"
    options_type = ConeOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        return proximal(problem, r, self.options.max_iter, self.options.tolerance)


def proximal(
    problem: ConeComplementarity, r: Vector, limit: int, tolerance: float, alpha: float = 1.0
) -> tuple[Vector, int]:
    """Solve at most `limit` proximal problems from r; return the point of least natural map, and the problem count.

    `alpha` is the value for the first problem, in scaled variables.
    """
    own, s = scaled(problem)
    W, x, failed = Response.of(own.W), r / s, 0
    best, least = r, residual(problem, r)
    for count in range(limit):
        if least <= tolerance or failed > 8:
            return best, count
        inner = ConeComplementarity(W.shifted(alpha), own.q - alpha * x, own.mu)  # type: ignore[arg-type]
        exact = max(tolerance, min(1e-2 * least, 1e-4))
        y, _ = steps(inner, x, INNER, lambda y, inner=inner: residual(inner, y), exact)  # type: ignore[misc]
        now = residual(problem, s * y)
        solved = residual(inner, y) <= max(0.1 * least, 1e-12)
        failed = 0 if solved and now < least else failed + 1
        alpha = max(0.1 * alpha, 1e-12) if solved else 5.0 * alpha
        if solved or now < least:
            x = y
        if now < least:
            best, least = s * y, now
    return best, limit


def damped_sweeps(problem: ConeComplementarity, r: Vector, limit: int, tolerance: float) -> Vector:
    """Solve at most `limit` proximal problems from r, each by a few sweeps; return the point of least natural map."""
    own, s = scaled(problem)
    inner = ConeComplementarity(shifted_operator(own.W, DAMPING), own.q.copy(), own.mu)
    sweeps = Sweeps(inner)
    sweeps.r[:] = r / s
    best, least, before = r, residual(problem, r), np.inf
    for count in range(limit):
        if least <= tolerance or (count % PATIENCE == 0 and least > 0.5 * before):
            break
        before = least if count % PATIENCE == 0 else before
        inner.q[:] = own.q - DAMPING * sweeps.r
        sweeps.run(SWEPT)
        now = residual(problem, s * sweeps.r)
        if now < least:
            best, least = s * sweeps.r, now
    return best


solver = Prox
