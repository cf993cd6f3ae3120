"""The alternating direction method of multipliers (ADMM) for contacts with friction cones.

    (W + rho) r = rho z - y - q - s n,   z = P_K(r + y / rho),   y <- y + rho (r - z),   s = mu |y_T|

is one iteration, and u~ = -y at the end. W + rho is factorised when rho changes, to balance the two residuals.
References: S. Boyd et al., Found. Trends Mach. Learn. 3, 2011; J. Carpentier, Q. Le Lidec, L. Montaut, "From compliant
to rigid contact simulation: a unified and efficient approach", RSS 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import splu

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.delassus import is_blocks, shifted_operator
from gaussopt.linalg.cones import project, residual, rows_of, scaled
from gaussopt.solvers._cone import ConeIteration, ConeOptions

LOOK = 20
"""Number of iterations between two checks of the natural map and of the balance of the residuals."""


@dataclass(frozen=True)
class ADMMOptions(ConeOptions):
    """`rho`: initial penalty, in the units of the scaled problem."""

    max_iter: int = 10_000
    tolerance: float = 1e-9
    rho: float = 0.3


class ADMM(ConeIteration[ADMMOptions]):
    """The method ADMM: one linear solve and one projection per iteration."""

    name = "admm"
    title = "Alternating directions, the slip frozen within each iteration"
    source = "Boyd et al. 2011; Carpentier et al. 2024"
    exact = False
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8))
    options_type = ADMMOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        own, scale = scaled(problem)
        if not problem.k:
            return r, 0
        z, rho = r / scale, self.options.rho
        y, s = -own.u(z), np.zeros(own.n)
        solve = _factorised(own.W, rho)
        best, least = r, residual(problem, r)
        for count in range(self.options.max_iter):
            if least <= self.options.tolerance:
                return best, count
            s[::ROWS] = own.mu * np.hypot(rows_of(y)[:, 1], rows_of(y)[:, 2])
            x = solve(rho * z - y - own.q - s)
            old, z = z, project(x + y / rho, own.mu)
            y = y + rho * (x - z)
            if count % LOOK == LOOK - 1:
                now = residual(problem, scale * z)
                if now < least:
                    best, least = scale * z, now
                primal, dual = float(np.linalg.norm(x - z)), rho * float(np.linalg.norm(z - old))
                if not np.isfinite(now):
                    return best, count + 1
                if count < self.options.max_iter // 2 and not 0.1 * dual <= primal <= 10.0 * dual:
                    rho = float(np.clip(rho * (3.0 if primal > dual else 1.0 / 3.0), 1e-8, 1e8))
                    solve = _factorised(own.W, rho)
        return best, self.options.max_iter


def _factorised(W: Any, rho: float) -> Callable[[Vector], Vector]:
    """Return a function that solves with W + rho I."""
    A = shifted_operator(W, rho)
    if is_blocks(A):
        solve: Callable[[Vector], Vector] = splu(A.tocsc()).solve
        return solve
    factors = lu_factor(A)
    return lambda x: np.asarray(lu_solve(factors, x, check_finite=False))


solver = ADMM
