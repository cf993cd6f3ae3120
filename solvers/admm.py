"""The alternating direction method of multipliers (ADMM) for contacts with friction cones.

    (W + rho) r = rho z - y - q - s n,   z = P_K(r + y / rho),   y <- y + rho (r - z),   s = mu |y_T|

is one iteration, and u~ = -y at the end. W + rho is factorised, in the velocities of the bodies, when rho changes to
balance the two residuals.
References: S. Boyd et al., Found. Trends Mach. Learn. 3, 2011; J. Carpentier, Q. Le Lidec, L. Montaut, "From compliant
to rigid contact simulation: a unified and efficient approach", RSS 2024.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.cone.response import Response
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import project, residual, rows_of, scaled
from gaussopt.solvers._cone import ConeIteration, ConeOptions

LOOK = 20
"""Number of iterations between two checks of the natural map and of the balance of the residuals."""


@dataclass(frozen=True)
class ADMMOptions(ConeOptions):
    """`rho`: initial penalty, in the units of the scaled problem; `balanced`: whether it changes with the residuals."""

    max_iter: int = 10_000
    tolerance: float = 1e-9
    rho: float = 0.3
    balanced: bool = True


class ADMM(ConeIteration[ADMMOptions]):
    """The method ADMM: one linear solve and one projection per iteration."""

    name = "admm"
    title = "Alternating directions, the slip frozen within each iteration"
    source = "Boyd et al. 2011; Carpentier et al. 2024"
    exact = False
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8))
    options_type = ADMMOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        return directions(problem, r, self.options)


def directions(problem: ConeComplementarity, r: Vector, options: ADMMOptions) -> tuple[Vector, int]:
    """Iterate from r, (3 k,); return the point of least natural map and the number of iterations."""
    own, scale = scaled(problem)
    if not problem.k:
        return r, 0
    z, rho = r / scale, options.rho
    y, s = -own.u(z), np.zeros(own.n)
    W, blocks, solve = Response.of(own.W), np.tile(np.eye(ROWS), (own.k, 1, 1)), None
    best, least = r, residual(problem, r)
    for count in range(options.max_iter):
        if least <= options.tolerance:
            return best, count
        if solve is None:
            try:
                solve = W.solver(rho * blocks, blocks)
            except (np.linalg.LinAlgError, RuntimeError):  # W, which need not be symmetric, has the eigenvalue -rho
                return best, count
        s[::ROWS] = own.mu * np.hypot(rows_of(y)[:, 1], rows_of(y)[:, 2])
        x = solve(rho * z - y - own.q - s)
        old, z = z, project(x + y / rho, own.mu)
        y = y + rho * (x - z)
        if count % LOOK == LOOK - 1:
            now = residual(problem, scale * z)
            if now < least:
                best, least = scale * z, now
            if not np.isfinite(now):
                return best, count + 1
            primal, dual = float(np.linalg.norm(x - z)), rho * float(np.linalg.norm(z - old))
            if options.balanced and count < options.max_iter // 2 and not 0.1 * dual <= primal <= 10.0 * dual:
                rho, solve = float(np.clip(rho * (3.0 if primal > dual else 1.0 / 3.0), 1e-8, 1e8)), None
    return best, options.max_iter


solver = ADMM
