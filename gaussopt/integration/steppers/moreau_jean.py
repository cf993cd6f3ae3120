"""Moreau-Jean time stepping; see `gaussopt.integration.advances.moreau_jean`."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.stepper import Control, Integration, Motion, Stepper


class MoreauJeanStepper(Stepper):
    """Velocity-level steps that include impacts, with theta = 1/2."""

    name = "moreau-jean"
    title = "Moreau-Jean time stepping (theta = 1/2)"
    source = "Moreau 1988; Jean 1999"
    order = 1
    loop = "time-stepping"

    def start(self, motion: Motion, t: float, q: Vector, u: Vector, control: Control) -> Integration:
        """Raise BadInput, because the method solves for velocities and does not integrate accelerations."""
        raise BadInput(f"The stepper {self.name!r} has a loop of its own and cannot integrate accelerations.")


stepper = MoreauJeanStepper()
