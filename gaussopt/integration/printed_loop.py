"""The six steps of Yao, Liu & Yang 2020 as printed: no gap, no impact, no zero slip, no event is ever looked for.

(1) start; (2) M, Q, J_N, zeta_N, J_T and the signs of the slips; (3) delassus and bias; (4) the normal forces, in the
paper by Newton's method on the optimality conditions of its quadratic program; (5) the acceleration; (6) advance by dt.
All contacts are taken as closed, wherever they are, and the sign of a vanishing slip is zero, which makes that contact
frictionless. It is here to be looked at, not to be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.contact.impact_laws import ImpactLaw
from gaussopt.core.errors import BadInput
from gaussopt.core.event import Event
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.bilateral_loop import Record
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactModes


class AllClosed(ContactModes):
    """Every contact closed, friction by the sign of the slip of the moment."""

    def shape(self, step: Any) -> Any:
        """All contacts; those whose slip is zero lose their friction."""
        return replace(step, mu=np.where(step.speed == 0, 0.0, step.mu), g_N=None, gdot_N=None)


class PrintedLoop:
    """The printed loop; arguments as for `gaussopt.integration.events.loop.EventLoop`."""

    def __init__(
        self,
        motion: ContactAccelerations,
        method: Stepper,
        control: Control,
        impact: ImpactLaw,
        user_events: Sequence[Event],
        record: Record,
        progress: Callable[[float], None] | None,
        every: int = 1,
    ) -> None:
        self.motion, self.method, self.control, self.record, self.progress = motion, method, control, record, progress
        self.events: list[dict[str, Any]] = []
        self.every, self.t, self.steps = every, 0.0, 0

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message."""
        motion, end, start = self.motion, self.control.t_end, t
        k, d = motion.phase.sigma.shape
        motion.phase = AllClosed(tuple(range(k)), frozenset(), np.zeros((k, d)), np.ones(k))
        self.t = t
        self.record(t, q, v, motion.answer(t, q, v))
        integration = self.method.start(motion, t, q, v, self.control)
        count = 0
        while t < end:
            t, q, v = integration.advance()
            if not math.isfinite(float(q.sum()) + float(v.sum())):
                raise BadInput("the motion diverged and is no longer finite; use a smaller step.")
            answer = motion.answer(t, q, v)
            count += 1
            if count % self.every == 0 or t >= end:
                self.record(t, q, v, answer)
            self.t = t
            self.steps += integration.taken
            if self.progress is not None:
                self.progress((t - start) / (end - start))
        return Status.SOLVED, f"Reached t = {end:g}; no gap, slip or impact was looked for."
