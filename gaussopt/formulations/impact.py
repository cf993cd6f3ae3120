"""Newton's impact law, with Coulomb's law for the slip after the impact: an LCP, or in space a problem over cones.

    0 <= J_N v+ + e_N J_N v-   complementary to   Lam_N >= 0,   |Lam_T| <= mu Lam_N against   J_T v+ + e_T J_T v-

with M (v+ - v-) = J^T Lam + J_N^T Lam_N + J_T^T Lam_T. Applied forces have no effect. In the answer, `a` is the jump
v+ - v-, and `lam`, `lam_N`, `lam_T` are the impulses. The step needs `v` or `gdot_N`, and may have `e_N` and `e_T`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.activity import tolerances
from gaussopt.contact.operator import ContactOperator
from gaussopt.contact.velocity_level import jump_step
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Candidate
from gaussopt.formulations.coulomb_soccp import formulation as cones
from gaussopt.formulations.stick_slip import StickSlip


class NewtonImpact(StickSlip):
    """Newton's impact law, as equations for the jump of the velocity."""

    name = "impact"
    title = "Impact (Newton restitution, Coulomb impulses)"
    source = "Moreau 1988; Glocker & Pfeiffer 1995"
    level = "velocity"

    def contacts(self, step: StepData) -> NDArray[np.intp]:
        """Return all contacts that touch, whatever their gap rates."""
        return np.arange(step.k) if step.g_N is None else np.flatnonzero(step.g_N <= tolerances(step)[0])

    def prepare(self, step: StepData) -> StepData:
        """Return the step whose acceleration is the jump; raises NotAccepted if the velocity before it is unknown."""
        if not step.k:
            return step
        if step.v is None and step.gdot_N is None:
            raise NotAccepted(f"The formulation {self.name!r} does not fit: the step knows no velocity 'v' before it.")
        return jump_step(step)

    def refuses(self, step: StepData) -> str | None:
        return cones.refuses(step) if step.rests_in_space else super().refuses(step)

    def apply(self, step: StepData) -> tuple[Any, ContactOperator]:
        """Return the problem of `coulomb-soccp` if a contact in space has no slip, otherwise the LCP of stick-slip."""
        return cones.apply(step) if step.rests_in_space else super().apply(step)

    def recover(self, data: ContactOperator, x: Vector, y: Vector | None) -> Candidate:
        return cones.recover(data, x, y) if data.step.rests_in_space else super().recover(data, x, y)

    def details(self, data: ContactOperator, x: Vector | None) -> dict[str, Any]:
        if x is None or data.step.v is None:
            return {}
        return {"v_after": (data.step.v + self.recover(data, x, None).a).tolist()}


formulation = NewtonImpact()
