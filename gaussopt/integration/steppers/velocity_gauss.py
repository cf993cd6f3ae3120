"""Gauss's principle for the velocity at the end of a step: a method of first order whose drift does not grow.

    min 1/2 (v' - v_free)^T M (v' - v_free),   v_free = v + dt M^-1 (Q - h)
    subject to   phi(t + dt, q) + dt J v' = 0,   f(t + dt, q, v) + J (v' - v) = 0;        q' = q + dt v'

with M, Q, h, J at (t, q, v). The holonomic rows are the position constraints at the end of the step, linearised at its
start: the residual of phi is of order dt^2 after every step and does not accumulate. (With the rows J v' + phi_t = 0 it
would accumulate to order dt.) Without constraints the method is semi-implicit Euler; its extension to contacts is the
method of Anitescu and Hart. Multipliers are impulses divided by dt.
"""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.stepper import Motion
from gaussopt.integration.steppers._constrained import ConstrainedStep, prescribed


class VelocityGauss(ConstrainedStep):
    """Solves one Gauss step for the change of velocity."""

    name = "velocity-gauss"
    title = "Velocity-level Gauss step, order 1"
    source = "Anitescu & Hart 2004, Int. J. Numer. Methods Engrg. 60"
    order = 1

    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Take one step."""
        system, step = motion.system, motion.system.evaluate(t, q, u)
        rate, phi = system.velocity_residual(t + dt, q, u), system.position_residual(t + dt, q)
        change = -(step.J @ u if rate is None else rate)
        if phi is not None:
            change[: len(phi)] = -phi / dt - step.J[: len(phi)] @ u
        answer = prescribed(motion, step, change / dt, motion.answer(t, q, u).forces_unique)
        assert answer.a is not None
        v = u + dt * answer.a
        return q + dt * v, v


stepper = VelocityGauss()
