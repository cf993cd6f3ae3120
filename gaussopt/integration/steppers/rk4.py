"""The classical Runge-Kutta method of order 4, with constant steps."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.stepper import Motion, Tableau
from gaussopt.integration.steppers.base import FixedStep


class RK4(FixedStep):
    """The classical Runge-Kutta method; it computes four accelerations per step."""

    name = "rk4"
    title = "Runge-Kutta, order 4, constant step"
    source = "Kutta 1901"
    order, stages = 4, 4
    tableau = Tableau(
        A=((0, 0, 0, 0), (1 / 2, 0, 0, 0), (0, 1 / 2, 0, 0), (0, 0, 1, 0)),
        b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
        c=(0, 1 / 2, 1 / 2, 1),
    )

    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Take one step."""
        half = 0.5 * dt
        v1, r1 = motion.velocity(t, q, u), motion.rate(t, q, u)
        q2, u2 = q + half * v1, u + half * r1
        v2, r2 = motion.velocity(t + half, q2, u2), motion.rate(t + half, q2, u2)
        q3, u3 = q + half * v2, u + half * r2
        v3, r3 = motion.velocity(t + half, q3, u3), motion.rate(t + half, q3, u3)
        q4, u4 = q + dt * v3, u + dt * r3
        v4, r4 = motion.velocity(t + dt, q4, u4), motion.rate(t + dt, q4, u4)
        return q + dt / 6 * (v1 + 2 * (v2 + v3) + v4), u + dt / 6 * (r1 + 2 * (r2 + r3) + r4)


stepper = RK4()
