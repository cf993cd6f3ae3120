"""Common parts of the methods that impose the constraints at the end of a step instead of on accelerations.

They solve the equations of a Gauss step with another right-hand side. If the acceleration a solves

    M a + h = Q + J^T lam,   J a = (b - J v) / dt   the velocity v + dt a satisfies   J (v + dt a) = b

so that every formulation and solver can be used, and every solution is certified.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector, is_sparse
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import CertifiedAnswer, Motion, Stabilisation
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.stabilisation import Baumgarte, least_motion
from gaussopt.integration.steppers.base import FixedStep


class ConstrainedStep(FixedStep):
    """A method of constant step, for motions without contacts, that satisfies the constraints after every step."""

    def refuses(self, system: AbstractSystem, state: str, stabiliser: Stabilisation) -> str | None:
        """Refuse contacts, quasi-velocities, and Baumgarte's feedback, which acts on accelerations."""
        return without_contacts(system, state, stabiliser)


def without_contacts(system: AbstractSystem, state: str, stabiliser: Stabilisation) -> str | None:
    """Return the reason why a method that keeps the constraints itself cannot integrate a motion; None if it can."""
    if system.contact_names:
        return f"{system.name!r} has contacts; use moreau-jean, or rk4 from event to event"
    if state != "velocity":
        return f"its state is the velocity, not the {state}; use rk4"
    if isinstance(stabiliser, Baumgarte):
        return "Baumgarte's feedback acts on accelerations, and this stepper keeps the constraints by itself"
    return None


def prescribed(motion: Motion, step: StepData, gamma: Vector, unique: bool) -> CertifiedAnswer:
    """Solve a step with J a = gamma; if rows are redundant, gamma is first made consistent.

    For redundant rows, gamma from position residuals is consistent only to first order, and would have no solution.
    `unique` says whether the multipliers of the step are unique, in which case no row is redundant.
    """
    if not unique:
        gamma = step.J @ least_motion(step.M, step.J, gamma)
    return motion.solve(step.with_gamma(gamma))


def depend_on_velocity(before: StepData, after: StepData) -> bool:
    """Return whether the force or J differs between two step data with equal t and q but different velocities."""
    J = (before.J.data, after.J.data) if is_sparse(before.J) else (before.J, after.J)
    return not (np.array_equal(before.force, after.force) and np.array_equal(*J))


def largest(x: Vector) -> float:
    """Return the largest absolute entry, 0 if there is none."""
    return float(np.abs(x).max(initial=0.0))
