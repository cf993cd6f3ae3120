"""Residuals of impulses: the natural map and its rounding error; for few contacts by a compiled kernel."""

from __future__ import annotations

import math

import numpy as np

from gaussopt.cone.newton_kernel import steps_into
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import residual, rounding, velocity_size

FEW = 100
"""Number of contacts up to which loops take less time than NumPy's operations."""

EPS = 2.220446049250313e-16
"""Relative distance of neighbouring floats."""


@kernel
def distances(W: Vector, q: Vector, mu: Vector, r: Vector) -> tuple[float, float]:
    """Return |e|, m/s, of the natural map e_i = (r_i - P_K(r_i - rho_i u~_i)) / rho_i, and its rounding error."""
    n, rho = len(q), np.zeros(len(mu))
    missed, hidden = 0.0, 0.0
    steps_into(W, rho)
    u = np.zeros(3)
    for i in range(len(mu)):
        for axis in range(3):
            row = 3 * i + axis
            total, terms = 0.0, 0.0
            for j in range(n):
                total += W[row * n + j] * r[j]
                terms += abs(W[row * n + j] * r[j])
            u[axis] = total + q[row]
            # If the impulse is huge relative to rho u, rounding of r - rho u loses digits of the velocity.
            terms = EPS * (terms + abs(q[row]) + abs(r[row]) / rho[i])
            hidden += terms * terms
        step, p = rho[i], 3 * i
        x0 = r[p] - step * (u[0] + mu[i] * math.sqrt(u[1] * u[1] + u[2] * u[2]))
        x1, x2 = r[p + 1] - step * u[1], r[p + 2] - step * u[2]
        size = math.sqrt(x1 * x1 + x2 * x2)
        height, factor = x0, 1.0
        if not (size <= mu[i] * x0 and x0 >= 0.0):
            height, factor = 0.0, 0.0
            if not mu[i] * size <= -x0:
                height = (x0 + mu[i] * size) / (1.0 + mu[i] * mu[i])
                if size > 0.0:
                    factor = mu[i] * height / size
        e0, e1, e2 = r[p] - height, r[p + 1] - factor * x1, r[p + 2] - factor * x2
        missed += (e0 * e0 + e1 * e1 + e2 * e2) / (step * step)
    return math.sqrt(missed), math.sqrt(hidden)


def measured(problem: ConeComplementarity, r: Vector) -> tuple[float, float]:
    """Return the natural map and its rounding error, both relative to |q|, or absolute if q vanishes."""
    size = velocity_size(problem)
    if problem.sparse or problem.k > FEW:
        return residual(problem, r), float(np.linalg.norm(rounding(problem, r))) / size
    contiguous = np.ascontiguousarray
    missed, hidden = distances(
        contiguous(problem.W).ravel(), contiguous(problem.q), contiguous(problem.mu), contiguous(r)
    )
    return missed / size if math.isfinite(missed) else math.inf, hidden / size
