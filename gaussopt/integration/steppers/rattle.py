"""A step of RATTLE type: second order, on the constraints of position and velocity after every step.

    M (v_half - v) = dt/2 (Q - h + J^T lam)      at (t, q, v)              with phi(t', q') = 0,   q' = q + dt v_half
    M (v' - v_half) = dt/2 (Q - h + J^T lam')    at (t', q', v')           with J v' + phi_t = 0

with t' = t + dt. If M is constant and the forces depend on positions alone, this is RATTLE, which is symplectic and,
without constraints, the leapfrog method. Otherwise the first half is explicit in the velocity and the second half is
implicit, so that the step is self-adjoint and therefore of even order. Both halves are solved by iteration: Newton's
method, with the matrix J M^-1 J^T of the start, for the multipliers of the first half, and fixed-point iteration, which
converges if dt/2 ||M^-1 d(Q - h)/dv|| < 1, for the velocity of the second. Each iterate is a certified Gauss step.

For nonholonomic rows, which have no position constraint, the first half imposes J a = gamma, as Gauss's principle does,
and the second half f(t', q', v') = 0. The step is still of second order, but no longer self-adjoint.

References: H. C. Andersen, J. Comput. Phys. 52, 1983; B. Leimkuhler & S. Reich, "Simulating Hamiltonian dynamics",
Cambridge 2004, chapter 7; L. O. Jay, SIAM J. Numer. Anal. 33, 1996 (general M).
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import MotionStopped
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import MOST_ITERATIONS, SHARP, CertifiedAnswer, Motion
from gaussopt.integration.stabilisation import Settling
from gaussopt.integration.steppers._constrained import ConstrainedStep, depend_on_velocity, largest, prescribed


class Rattle(ConstrainedStep):
    """RATTLE: half a step of the velocity, a step of the positions, half a step of the velocity."""

    name = "rattle"
    title = "RATTLE, order 2, on the constraints"
    source = "Andersen 1983, J. Comput. Phys. 52"
    order, stages = 2, 2

    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Take one step; raises MotionStopped if an iteration does not settle."""
        first = self._positions(motion, t, q, u, dt)
        assert first.a is not None
        half = u + 0.5 * dt * first.a
        q = q + dt * half
        return q, self._velocities(motion, t + dt, q, half, u + dt * first.a, dt, first.forces_unique)

    def _positions(self, motion: Motion, t: float, q: Vector, v: Vector, dt: float) -> CertifiedAnswer:
        """Solve the first half step; return the answer whose acceleration leads to positions on the constraints."""
        system, answer = motion.system, motion.answer(t, q, v)
        step: StepData | None = None
        gamma, settling = np.zeros(0), Settling(SHARP)
        for _ in range(MOST_ITERATIONS):
            assert answer.a is not None
            end = q + dt * (v + 0.5 * dt * answer.a)
            phi = system.position_residual(t + dt, end)
            if phi is None or not len(phi) or settling.ended(largest(phi), largest(end)):
                return answer
            if settling.lost:
                break
            if step is None:
                step = system.evaluate(t, q, v)
                gamma = step.gamma.copy()
            gamma[: len(phi)] -= phi * (2.0 / dt**2)
            answer = prescribed(motion, step, gamma, answer.forces_unique)
        raise MotionStopped(
            f"The positions after the step at t = {t:.9g} do not settle on the constraints; use a smaller step."
        )

    def _velocities(
        self, motion: Motion, t: float, q: Vector, half: Vector, v: Vector, dt: float, unique: bool
    ) -> Vector:
        """Solve the second half step; return its final velocity, (n,), from the velocity `half` and the guess v."""
        system, settling = motion.system, Settling(SHARP)
        before: StepData | None = None
        for _ in range(MOST_ITERATIONS):
            step = system.evaluate(t, q, v)
            if before is not None and not depend_on_velocity(before, step):
                return v
            rate = system.velocity_residual(t, q, v)
            residual = step.J @ v if rate is None else rate
            answer = prescribed(motion, step, (step.J @ (v - half) - residual) * (2.0 / dt), unique)
            assert answer.a is not None
            new, before = half + 0.5 * dt * answer.a, step
            if settling.ended(largest(new - v), largest(new)):
                return new
            if settling.lost:
                break
            v = new
        raise MotionStopped(
            f"The forces that depend on the velocity do not settle in the step that ends at t = {t:.9g}; use a smaller "
            "step, or radau for stiff dampers."
        )


stepper = Rattle()
