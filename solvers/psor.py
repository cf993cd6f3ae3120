"""Projected successive over-relaxation for contacts with friction cones: in a sweep, one projected step per contact.

A step sets r_i <- P_K(r_i - omega / |W_ii| u~_i), with the newest impulses of the other contacts. A sweep is cheaper
than in `nsgs`, which solves each contact exactly, but more sweeps are needed; convergence is not guaranteed.
Reference: M. Jean, J. J. Moreau, "Dynamics in the presence of unilateral contacts and dry friction: a numerical
approach", in: Unilateral Problems in Structural Analysis 2, Springer 1987.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaussopt.cone.sweeps import Sweeps
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.solver import RELAXATION, Limits
from gaussopt.linalg.cones import residual
from gaussopt.solvers._cone import ConeIteration, ConeOptions
from gaussopt.solvers.nsgs import BATCH


@dataclass(frozen=True)
class PSOROptions(ConeOptions):
    """`omega`: relaxation factor, below 2; with 1 the step size is 1 / (largest eigenvalue of W_ii)."""

    max_iter: int = 20_000
    tolerance: float = 1e-9
    omega: float = 1.0
    limits: ClassVar[Limits] = {**ConeOptions.limits, "omega": RELAXATION}


class PSOR(ConeIteration[PSOROptions]):
    """Projected successive over-relaxation: sweeps with a projected step for each contact."""

    name = "psor"
    title = "Projected successive over-relaxation over contacts"
    source = "Jean & Moreau 1987"
    exact = False
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8))
    options_type = PSOROptions

    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        sweeps, done = Sweeps(problem), 0
        sweeps.r[:] = r
        best, least = r, residual(problem, r)
        while done < self.options.max_iter and least > self.options.tolerance:
            count = min(BATCH, self.options.max_iter - done)
            sweeps.run_projected(count, self.options.omega)
            done += count
            now = residual(problem, sweeps.r)
            if now < least:
                best, least = sweeps.r.copy(), now
            if not np.isfinite(now):
                break
        return best, done


solver = PSOR
