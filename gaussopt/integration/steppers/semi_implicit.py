"""Semi-implicit (symplectic) Euler: v <- v + dt a, q <- q + dt v; order 1. The papers use this scheme."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.stepper import Motion
from gaussopt.integration.steppers.base import FixedStep


class SemiImplicit(FixedStep):
    """Advances the velocity first, and then the position by the new velocity."""

    name = "semi-implicit"
    title = "Semi-implicit Euler (the papers' scheme)"
    source = "Yuan & Ge 2016 and the other papers' flow charts"
    order = 1

    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Take one step."""
        u = u + dt * motion.rate(t, q, u)
        return q + dt * motion.velocity(t, q, u), u


stepper = SemiImplicit()
