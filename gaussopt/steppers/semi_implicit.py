"""Semi-implicit (symplectic) Euler: v <- v + dt a, q <- q + dt v. What the papers do; order 1."""

from __future__ import annotations

from gaussopt.stepdata import Vector
from gaussopt.stepper import Acceleration, FixedStep


class SemiImplicit(FixedStep):
    """Velocity first, then position with the new velocity."""

    name = "semi-implicit"
    title = "Semi-implicit Euler (the papers' scheme)"
    source = "Yuan & Ge 2016 and the other papers' flow charts"
    order = 1

    def step(self, acceleration: Acceleration, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """One step."""
        v = v + dt * acceleration(t, q, v)
        return q + dt * v, v


stepper = SemiImplicit()
