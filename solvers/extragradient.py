"""Extragradient method with Khobotov's step size for contacts with friction cones.

The predictor is p = P_K(r - rho u~(r)), the corrector P_K(r - rho u~(p)), in scaled variables. The step rho falls until
rho |u~(r) - u~(p)| <= 0.9 |r - p|, and grows if the left side is far smaller. Convergence is linear at best.
References: G. M. Korpelevich, Matecon 12, 1976; E. N. Khobotov, USSR Comput. Math. Math. Phys. 27, 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.linalg.cones import project, residual, scaled, shifted
from gaussopt.solvers._cone import ConeIteration, ConeOptions

LOOK = 20
"""Number of iterations between two checks of the natural map."""


@dataclass(frozen=True)
class ExtragradientOptions(ConeOptions):
    """Defaults that suit a first-order method."""

    max_iter: int = 5_000
    tolerance: float = 1e-9


class Extragradient(ConeIteration[ExtragradientOptions]):
    """The extragradient method: two projections per iteration."""

    name = "extragradient"
    title = "Extragradient method with Khobotov's step"
    source = "Korpelevich 1976; Khobotov 1987"
    exact = False
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8))
    options_type = ExtragradientOptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        own, s = scaled(problem)
        x, rho, mu = r / s, 1.0, problem.mu
        best, least = r, residual(problem, r)
        for count in range(self.options.max_iter):
            if least <= self.options.tolerance:
                return best, count
            u = shifted(own.u(x), mu)
            for _ in range(40):
                p = project(x - rho * u, mu)
                v = shifted(own.u(p), mu)
                moved, changed = float(np.linalg.norm(x - p)), rho * float(np.linalg.norm(u - v))
                if changed <= 0.9 * moved or moved == 0.0:
                    break
                rho *= 0.6
            x = project(x - rho * v, mu)
            if changed < 0.3 * moved:
                rho *= 1.5
            if count % LOOK == LOOK - 1 or moved == 0.0:
                now = residual(problem, s * x)
                if now < least:
                    best, least = s * x, now
                if moved == 0.0 or not np.isfinite(now):
                    return best, count + 1
        return best, self.options.max_iter


solver = Extragradient
