"""The advance of motions with contacts from event to event by compiled stages, and by compiled segments of steps."""

from __future__ import annotations

import math
from collections import Counter
from time import perf_counter
from typing import Any

from gaussopt.compiled.advances.contact_events import EventMarcher
from gaussopt.compiled.advances.contact_phases import PhaseMarcher
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotCompiled
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Motion, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.advance import ContactRules
from gaussopt.integration.advances.event_phases import EventPhases
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.regular_stages import StageKernel
from gaussopt.integration.steppers.base import FixedStep

SHARE = 0.1
"""Share of interpreted accelerations above which a motion does not count as compiled."""

NOTICED = 1000
"""Number of interpreted accelerations, about a second of computation, up to which no warning is given."""

LOOPED = 20_000
"""Number of compiled accelerations from which a motion says that the loop around them is interpreted."""


class PhaseStep(FixedStep):
    """Takes single steps of a constant-step method in machine code; leaves irregular ones to the interpreted method."""

    name, title, source = "", "", ""

    def __init__(self, method: Stepper, marcher: PhaseMarcher) -> None:
        assert isinstance(method, FixedStep)
        self._method, self._marcher = method, marcher

    def step(self, motion: Motion, t: float, q: Vector, u: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return the state after a step."""
        return self._marcher.step(t, q, u, dt) or self._method.step(motion, t, q, u, dt)


class CompiledPhases(EventPhases):
    """Event-driven motion with stages in machine code; if possible, segments of steps run in one compiled loop."""

    engine = "compiled"

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions with contacts."""
        return bool(system.contact_names) or isinstance(system, SteppedSystem)

    @classmethod
    def can(cls, motion: CertifiedAccelerations, method: Stepper, rules: ContactRules) -> str | None:
        """Accept event-driven motions by formulations that state the contact laws; otherwise return the reason."""
        if not isinstance(motion, ContactAccelerations):
            return "the system states its own time steps"
        if method.loop:
            return f"the stepper {method.name!r} has a loop of its own"
        return motion.solvers.why_interpreted()

    @property
    def _left(self) -> tuple[int, str]:
        """The number of stages that the kernel left to formulation and solver, and the most frequent reason for it."""
        left = self.motion.kernel.left if self.motion.kernel is not None else Counter[str]()
        return left.total(), left.most_common(1)[0][0] if left else ""

    def about(self) -> dict[str, Any]:
        """Return entries for `Trajectory.meta`; if many stages were interpreted, the engine is "interpreted"."""
        left, reason = self._left
        many = left > SHARE * self.motion.evaluations
        return super().about() | ({"engine": EventPhases.engine, "why_interpreted": reason} if many else {})

    def slow_sentence(self) -> str | None:
        """Return a warning if many stages, or the loop over many steps, were interpreted; None otherwise."""
        (left, reason), count = self._left, self.motion.evaluations
        if left > max(SHARE * count, NOTICED):
            return f"{left} of {count} accelerations were interpreted, which is slow, because {reason}."
        loop = "The accelerations were compiled, and the loop over the steps interpreted, which is slower, because"
        return f"{loop} {self.why_interpreted}." if self._slow else None

    def prepare(self, first: StepData, evaluations: float) -> None:
        """Compile the kernel of the stages, and the loop over segments if the equations can be generated."""
        motion = self.motion
        motion.kernel = StageKernel(motion.solvers.main.tolerance)
        super().prepare(first, math.inf)
        self.why_interpreted, self.patience = PhaseMarcher.why_not(motion, self.method), LOOPED
        if self.why_interpreted is None:
            begin = perf_counter()
            try:
                marcher = EventMarcher(motion, self.method, self.recorder)
                self.fast_forward, self.method = marcher, PhaseStep(self.method, marcher)
            except NotCompiled as obstacle:  # without the loop, single stages are still compiled
                self.why_interpreted = str(obstacle)
            motion.timing["compile"] = perf_counter() - begin
