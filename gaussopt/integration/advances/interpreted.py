"""Interpreted steps of a motion without contacts: advance, stabilise, find events, record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.advance import Advance, End
from gaussopt.integration.steppers.base import beside
from gaussopt.integration.watched_steps import Crossing, WatchedSteps
from gaussopt.solving.answer import Answer

DIVERGED = "the motion diverged and is no longer finite; use a smaller step or an exact formulation."


class InterpretedSteps(Advance):
    """Advances a motion without contacts by interpreted steps.

    An adaptive method chooses its steps regardless of recorded instants. A recorded state within a step is computed by
    a shorter step from the same start or, with an implicit method, interpolated between the ends of the step.
    """

    diverged = DIVERGED

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions without contacts."""
        return not system.contact_names and not method.loop

    def begin(self) -> None:
        """Record the start and begin the integration."""
        motion, t, q, v = self.motion, self.t, self.q, self.v
        answer = motion.answer(t, q, v)
        self._prepare()
        if self._watched is not None:
            self._watched.begin(t, q, v, motion.acceleration(t, q, v))
        self.record(t, q, v, answer)
        self._start(motion.state_of(t, q, v))

    def _prepare(self) -> None:
        rules, grid = self.rules, self.method.adaptive and self.control.dt is not None
        self._grid: Control | None = replace(self.control, origin=self.origin) if grid else None
        between = self.looks is not None and self.looks.between
        watched = rules.events or rules.integrals or (grid and self.method.implicit) or between
        self._watched = (
            WatchedSteps(self.system, rules.events, rules.integrals, self.method.adaptive) if watched else None
        )

    def _start(self, u: Vector, count: int = 0) -> None:
        self._u = u
        self._count = count if self._grid is None else self._grid.grid_index(self.t) - 1
        control = self.control if self._grid is None else replace(self.control, dt=None)
        self._integration = self.method.start(self.motion, self.t, self.q, u, control)

    def renew(self, control: Control) -> End | None:
        """Continue under the new inputs; users' events keep the signs whose change they wait for."""
        watched = None if self._watched is None else self._watched.memory()
        super().renew(control)
        if self._watched is not None:
            self._watched.recall(watched, self.t, self.q, self.v, self.motion.acceleration(self.t, self.q, self.v))
        return None

    def memory(self) -> dict[str, Any]:
        """Return u, the number of steps or recording instants so far, and the `memory` of motion and events."""
        watched = {} if self._watched is None else self._watched.memory()
        return {"u": self._u, "count": self._count, "motion": self.motion.memory(), "watched": watched}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        u = np.array(memory["u"], dtype=np.float64)
        motion, t, q, v = self.motion, self.t, self.q, self.v
        motion.recall(t, q, u, memory["motion"])
        self._prepare()
        if self._watched is not None:
            self._watched.recall(memory["watched"], t, q, v, motion.acceleration(t, q, v))
        if self.method.adaptive:
            self.record(t, q, v, motion.answer(t, q, v))
        self._start(u, memory["count"])

    def take(self) -> End | None:
        """Take one step of the method."""
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
        answer = motion.answer(t, q, v)  # even if it is not recorded: the next step needs it
        motion.passed(t, q, u, short=not self.method.adaptive)
        crossings = []
        if self._watched is not None:
            crossings = self._watched.take(t, q, v, motion.acceleration(t, q, v), self._dense)
        ended = self._within(t, crossings)
        if ended is not None:
            self.steps += integration.taken
            return ended
        if self._grid is None:
            self._count += 1
        on_grid = self._grid is None or (self._count > 0 and self._grid.instant(self._count) == t)
        if (on_grid and self._count % self.every == 0) or t >= self.control.t_end:
            self.record(t, q, v, answer)
        self.t, self.q, self.v, self._u = t, q, v, u
        self.steps += integration.taken
        return None

    def _dense(self) -> Any:
        return self._integration.within() if self.motion.state == "velocity" else None

    def corrected(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return q and v corrected by the stabilisation; None if it makes no correction."""
        return self.motion.stabiliser.correct(self.system, t, q, v)

    # -- between the ends of a step ----------------------------------------------------------------------------

    def _within(self, t: float, crossings: list[Crossing]) -> End | None:
        """Record the events and due instants of the step to t; return status and message if they end the motion."""
        self._look_between(crossings[-1].t if crossings and crossings[-1].terminal else t)
        for crossing in crossings:
            self._record_grid(crossing.t)
            self._record_between(crossing.t, crossing.q, crossing.v)
            begin, self.t = self.t, crossing.t
            for i in crossing.events:
                event = self.rules.events[i]
                self.note(event.name, **({"terminal": True} if event.terminal else {}))
            if crossing.terminal:
                name = next(x.name for x in (self.rules.events[i] for i in crossing.events) if x.terminal)
                return Status.SOLVED, f"Ended at the event {name!r} at t = {self.t:.12g}."
            self.t = begin
        self._record_grid(t)
        return None

    def _look_between(self, end: float) -> None:
        """Interpolate the positions at the instants, up to `end`, that `looks` requests; pass them to it."""
        if self.looks is not None and self._watched is not None:
            for t in self.looks.due(end).tolist():
                self.looks.at(t, self._watched.state(t)[0])

    def _record_grid(self, end: float) -> None:
        """Record the states at the instants of the recording grid before `end`."""
        grid = self._grid
        while grid is not None and (instant := grid.instant(self._count + 1)) <= end:
            self._count += 1
            if instant < end and self._count % self.every == 0:
                self._record_between(instant, *self._between(instant))
            if instant >= self.control.t_end:
                break

    def _between(self, t: float) -> tuple[Vector, Vector]:
        """Return q and v at an instant within the step that begins at the present state."""
        if self.method.implicit:
            assert self._watched is not None
            return self._watched.state(t)
        return beside(self.method, self.motion, self.control, (self.t, self.q, self._u), t)

    def _record_between(self, t: float, q: Vector, v: Vector) -> None:
        q, v = self.corrected(t, q, v) or (q, v)
        self.record(t, q, v, self.motion.answer(t, q, v))

    def record(self, t: float, q: Vector, v: Vector, answer: Answer) -> None:
        """Record a state with its certified answer, and the integrals up to it."""
        super().record(t, q, v, answer)
        if self._watched is not None:
            self.sums.append(self._watched.sum_at(t))
