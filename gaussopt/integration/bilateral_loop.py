"""The loop of a motion without contacts: advance, stabilise, record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gaussopt.core.arrays import all_finite
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.solving.answer import Answer

DIVERGED = "the motion diverged and is no longer finite; use a smaller step or an exact formulation."

Record = Callable[[float, Vector, Vector, Answer], None]


class BilateralLoop:
    """One integration from start to end."""

    def __init__(
        self,
        motion: CertifiedAccelerations,
        method: Stepper,
        control: Control,
        record: Record,
        progress: Callable[[float], None] | None,
        every: int = 1,
    ) -> None:
        self.motion, self.method, self.control, self.record, self.progress = motion, method, control, record, progress
        self.every, self.steps = every, 0
        self.t = 0.0
        self.events: list[dict[str, Any]] = []

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message."""
        motion, end, start = self.motion, self.control.t_end, t
        self.t = t
        self.record(t, q, v, motion.answer(t, q, v))
        integration = self.method.start(motion, t, q, motion.state_of(t, q, v), self.control)
        count = 0
        while t < end:
            try:
                t, q, u = integration.advance()
            except GaussoptError:
                within = integration.before_failure()
                if within is not None:
                    self.t, self.steps = within[0], self.steps + within[1]
                raise
            if not (all_finite(q) and all_finite(u)):
                raise BadInput(DIVERGED)
            v = motion.velocity(t, q, u)
            corrected = motion.stabiliser.correct(motion.system, t, q, v)
            if corrected is not None:
                q, v = corrected
                integration.replace(q, motion.state_of(t, q, v))
            count += 1
            answer = motion.answer(t, q, v)  # the first of the next step: certified whether recorded or not
            if count % self.every == 0 or t >= end:
                self.record(t, q, v, answer)
            self.t = t
            self.steps += integration.taken
            if self.progress is not None:
                self.progress((t - start) / (end - start))
        return Status.SOLVED, f"Reached t = {end:g}."

    def about(self) -> dict[str, Any]:
        """The engine and the number of steps."""
        return {"engine": "interpreted", "steps": self.steps}
