"""The method of Yao, Liu & Yang 2020, exactly as printed: without checks of gaps, impacts, zero slips or events.

Its steps: (1) start; (2) compute M, Q, J_N, zeta_N, J_T and the signs of the slips, (3) the Delassus matrix and bias,
(4) the normal forces, in the paper by Newton's method for its quadratic program, (5) the acceleration; (6) advance by
dt. All contacts count as closed whatever their gaps, and the sign of a vanishing slip is zero, so that a contact
without slip has no friction. The stepper serves to study the printed method, not to compute motions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.advance import Advance
from gaussopt.integration.advances.interpreted import InterpretedSteps
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.modes import ContactModes


class AllClosed(ContactModes):
    """Contact modes in which all contacts are closed, and friction opposes the present slip of each."""

    def shape(self, step: StepData) -> StepData:
        """Return the step with all contacts, and with mu = 0 at contacts whose slip is zero."""
        return replace(step, mu=np.where(step.speed == 0, 0.0, step.mu), g_N=None, gdot_N=None)


class PrintedSteps(InterpretedSteps):
    """Advances a motion by the method as the paper prints it, without events and stabilisation."""

    motion: ContactAccelerations
    diverged = Advance.diverged

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions by the stepper of the paper, with or without contacts."""
        return method.loop == "without-events"

    def begin(self) -> None:
        """Close all contacts, whatever their gaps, and begin the integration."""
        self._close()
        super().begin()

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Close all contacts, as the method always does, and continue from the state of an earlier loop."""
        self._close()
        super().recall({**memory, "motion": {}})

    def _close(self) -> None:
        self.rules = replace(self.rules, events=())  # the method as printed finds no events
        k, d = self.motion.phase.sigma.shape
        self.motion.phase = replace(AllClosed.flight(k, d), closed=tuple(range(k)))

    def corrected(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return None: the method makes no correction."""
        return None

    def reached(self) -> str:
        """Return the message of a motion that reached its end."""
        return f"{super().reached()[:-1]}; no gap, slip or impact was looked for."
