"""The classical Runge-Kutta method of order 4, constant step."""

from __future__ import annotations

from gaussopt.stepdata import Vector
from gaussopt.stepper import Acceleration, FixedStep


class RK4(FixedStep):
    """Four accelerations a step."""

    name = "rk4"
    title = "Runge-Kutta, order 4, constant step"
    source = "Kutta 1901"
    order = 4

    def step(self, acceleration: Acceleration, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """One step."""
        half = 0.5 * dt
        a1 = acceleration(t, q, v)
        v2 = v + half * a1
        a2 = acceleration(t + half, q + half * v, v2)
        v3 = v + half * a2
        a3 = acceleration(t + half, q + half * v2, v3)
        v4 = v + dt * a3
        a4 = acceleration(t + dt, q + dt * v3, v4)
        return q + dt / 6 * (v + 2 * (v2 + v3) + v4), v + dt / 6 * (a1 + 2 * (a2 + a3) + a4)


stepper = RK4()
