"""One step of Moreau-Jean time stepping: impacts and forces together at velocity level.

    M (v' - v) = dt (Q - h) + J^T Lam + J_N^T Lam_N + J_T^T Lam_T

with the laws of `impact` between impulses and v'. The step needs `dt` and `v`; its contacts are the contacts that may
close. In the answer, `a` is the change of velocity, and `lam`, `lam_N`, `lam_T` are the impulses over the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.velocity_level import jump_step
from gaussopt.core.errors import NotAccepted
from gaussopt.core.step_data import StepData
from gaussopt.formulations.impact import NewtonImpact


class MoreauJean(NewtonImpact):
    """Moreau-Jean's step, as equations for the change of velocity."""

    name = "moreau-jean"
    title = "Moreau-Jean step (velocity level)"
    source = "Moreau 1988; Jean 1999"

    def contacts(self, step: StepData) -> NDArray[np.intp]:
        """Return the contacts that may close within the step: g_N + dt/2 gdot_N <= 0."""
        if step.g_N is None or step.gdot_N is None or step.dt is None:
            return np.arange(step.k)
        return np.flatnonzero(step.g_N + 0.5 * step.dt * step.gdot_N <= 0)

    def prepare(self, step: StepData) -> StepData:
        """Return the step whose acceleration is the change of velocity; raises NotAccepted without dt or v."""
        if not step.k:
            return step
        if step.dt is None or step.v is None:
            raise NotAccepted(
                f"The formulation {self.name!r} does not fit: it needs the length 'dt' of the time step and the "
                "velocity 'v' before it."
            )
        return jump_step(step, step.dt, step.J @ step.v)


formulation = MoreauJean()
