"""The loop of a motion without contacts: advance, stabilise, record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.integration.loops import End, MotionLoop

DIVERGED = "the motion diverged and is no longer finite; use a smaller step or an exact formulation."


class BilateralLoop(MotionLoop):
    """One integration from start to end."""

    diverged = DIVERGED

    def begin(self) -> None:
        """Record the start and begin there."""
        motion, t, q, v = self.motion, self.t, self.q, self.v
        self.record(t, q, v, motion.answer(t, q, v))
        self._start(motion.state_of(t, q, v))

    def _start(self, u: Vector, count: int = 0) -> None:
        self._u, self._count = u, count
        self._integration = self.method.start(self.motion, self.t, self.q, u, self.control)

    def memory(self) -> dict[str, Any]:
        """The state beside q, and how many times the loop has advanced."""
        return {"u": self._u, "count": self._count, "motion": self.motion.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Begin where a loop stood."""
        u = np.array(memory["u"], dtype=np.float64)
        self.motion.recall(self.t, self.q, u, memory["motion"])
        if self.method.adaptive:
            self.record(self.t, self.q, self.v, self.motion.answer(self.t, self.q, self.v))
        self._start(u, memory["count"])

    def advance(self) -> End | None:
        """Take one step (adaptive: one accepted step, or those to the next recording instant)."""
        motion, integration = self.motion, self._integration
        try:
            t, q, u = integration.advance()
        except GaussoptError:
            within = integration.before_failure()
            if within is not None:
                self.t, self.steps = within[0], self.steps + within[1]
            raise
        self.refuse_divergence(q, u)
        v = motion.velocity(t, q, u)
        corrected = self.corrected(t, q, v)
        if corrected is not None:
            q, v = corrected
            u = motion.state_of(t, q, v)
            integration.replace(q, u)
        self._count += 1
        answer = motion.answer(t, q, v)  # the first of the next step: certified whether recorded or not
        motion.passed(t, q, u)
        if self._count % self.every == 0 or t >= self.control.t_end:
            self.record(t, q, v, answer)
        self.t, self.q, self.v, self._u = t, q, v, u
        self.steps += integration.taken
        return None

    def corrected(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """The state that the stabilisation continues from, None if it stays as it is."""
        return self.motion.stabiliser.correct(self.system, t, q, v)
