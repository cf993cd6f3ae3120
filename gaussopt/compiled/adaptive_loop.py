"""The loop of a motion by an adaptive method as generated code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.compiled.generated_loop import INTERPRETER_ERRORS, GeneratedLoop
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import Vector
from gaussopt.integration.loops import End
from gaussopt.integration.steppers.base import ScipyIntegration, gave_up

LEAP = 1000
"""Accepted steps between two reports of progress."""


class GeneratedAdaptiveLoop(GeneratedLoop):
    """Steps chosen by the method; the first one is SciPy's choice."""

    def begin(self) -> None:
        """Record the start, and choose the first step as SciPy does."""
        t, q, v = self.t, self.q, self.v
        self._write_down(np.array([t]), np.concatenate((q, v))[None, :])
        self._bounds = self._landings(self.origin)
        landed = float(np.searchsorted(self._bounds, t, side="right"))
        self._clock = self._array([t, self._start(t, q, v, None).next_step, 0.0, 0.0, landed, 0.0])

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Begin where a loop stood, which holds nothing beside the state."""
        self.begin()

    def _landings(self, t: float) -> Vector:
        dt, end = self.control.dt, self.control.t_end
        if dt is None:
            return np.array([*self.control.instants, end])
        grid = t + dt * np.arange(1, math.floor((end - t) / dt + 2))
        return np.append(grid[grid <= end - 1e-9 * dt], end)

    def _start(self, t: float, q: Vector, v: Vector, first: float | None) -> ScipyIntegration:
        control = replace(self.control, origin=self.origin, every_step=True, first_step=first)
        found = self.method.start(self.motion, t, q, self.motion.state_of(t, q, v), control)
        assert isinstance(found, ScipyIntegration)
        return found

    def advance(self) -> End | None:
        """Take some accepted steps; records what is due, raises BadInput if the step size vanishes."""
        clock, control, n = self._clock, self.control, len(self.q)
        own = control.dt is None
        y, worst = self._array([*self.q.tolist(), *self.v.tolist()]), self._array([0.0, 0.0])
        width, landed = 2 * n + 1, int(clock[4])
        trace = self._zeros(LEAP * width)
        before, begin = (y.copy(), clock.copy()), perf_counter()
        try:
            done = self._march.march(
                self._flat(self._bounds), len(self._bounds), LEAP, own, control.rtol, control.atol, y, clock, self._p,
                self.limit, self.sharp, self._work, worst, trace,
            )  # fmt: skip
        except INTERPRETER_ERRORS:
            y[:], clock[:] = before
            done, clock[5] = 0, 1.0
        self.motion.timing["solve"] += perf_counter() - begin
        self.motion.evaluations += int(clock[3])
        clock[3] = 0.0
        self._note_residuals(worst)
        t, state = float(clock[0]), np.array(y)
        self.q, self.v = state[:n], state[n:]
        stuck = done < 0
        done = -1 - done if stuck else done
        first = self.steps if own else landed
        self.steps += done
        count = done if own else int(clock[4]) - landed
        rows = np.asarray(trace)[: width * count].reshape(count, width)
        number = np.arange(first + 1, first + count + 1)
        rows = rows[(number % self.every == 0) | (rows[:, 0] >= control.t_end)]
        self._write_down(rows[:, 0], rows[:, 1:])
        self.t = t
        if stuck:
            raise BadInput(gave_up(t, "Required step size is less than spacing between numbers."))
        if clock[5]:
            self._interpret()
        return None

    def _interpret(self) -> None:
        """One accepted step by the interpreted motion."""
        clock, t, q, v = self._clock, self.t, self.q, self.v
        integration = self._start(t, q, v, float(clock[1]))
        t, q, u = integration.advance()
        v = self.motion.velocity(t, q, u)
        self.steps += 1
        self.handed_over += 1
        landing = t >= self._bounds[int(clock[4])]
        clock[4] += float(landing)
        if self.control.dt is None or landing:
            q, v = self.motion.stabiliser.correct(self.system, t, q, v) or (q, v)
            number = self.steps if self.control.dt is None else int(clock[4])
            if number % self.every == 0 or t >= self.control.t_end:
                self._write_down(np.array([t]), np.concatenate((q, v))[None, :])
        clock[0], clock[1], clock[2] = t, integration.next_step, 0.0
        self.t, self.q, self.v = t, q, v
