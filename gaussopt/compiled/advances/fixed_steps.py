"""Integration of motions by methods of constant step in generated code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.compiled.advances.generated import CHUNK, GeneratedAdvance
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.endings import SLIVER
from gaussopt.core.errors import GaussoptError
from gaussopt.integration.advance import End
from gaussopt.integration.advances.interpreted import InterpretedSteps
from gaussopt.integration.looks import BLOCK
from gaussopt.integration.loop import MotionLoop
from gaussopt.integration.time_grid import TimeGrid

FIRST = 1000
"""Number of steps before the first report of progress."""

AGAIN = 3
"""Number of steps that are interpreted where a motion fails: the step that fails, and its neighbours."""

SHORT = 1e-3
"""Length of a step that shows the acceleration at its start, relative to the steps of the motion."""


class _Unrecorded(InterpretedSteps):
    """An interpreted motion that records nothing."""

    def record(self, *state: Any) -> None:
        pass


class GeneratedFixedSteps(GeneratedAdvance):
    """Advances a motion by generated steps of constant length.

    Attributes
    ----------
    least : least number of steps between two reports of progress
    """

    least = FIRST

    def begin(self) -> None:
        """Record the state at the start."""
        self._prepare_grid()
        self._known, self._suspect = (
            (self.t, self.q, self.v),
            None,
        )  # the search for a failed step begins here, even if the start itself fails
        self._write_down(np.array([self.t]), np.concatenate((self.q, self.v))[None, :])

    def _prepare_grid(self) -> None:
        assert self.control.dt is not None
        self._grid = TimeGrid(self.origin, self.control.t_end, self.control.dt, self.every)
        self._total = self._grid.steps
        self._count = self.least

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        self._prepare_grid()
        self._known = self.t, self.q, self.v

    def take(self) -> End | None:
        """Take the steps up to the next report of progress; the last step of the motion is taken by a separate call."""
        begin = perf_counter()
        count = min(self._count, max(1, self._total - self.steps - 1))
        if self._some_steps(count) < count:
            self._interpret()
        spent = perf_counter() - begin
        self._count = max(self.least, min(4 * count, int(count * CHUNK / max(spent, 1e-9))))
        return None

    def trace_failure(self) -> None:
        """Find the failed step, which may be far from any recorded state.

        Generated code repeats the motion from the last certified state, step by step; formulation and solver then
        repeat its last steps, and raise the error to report.

        Returns normally if these last steps do not fail.
        """
        t, q, v = self._known
        dt, end = self.control.dt, self.control.t_end
        assert dt is not None
        last = self.steps + 1 if self._suspect is None else math.ceil((self._suspect - self.origin) / dt - SLIVER)
        self.steps = round((t - self.origin) / dt)
        behind = self.steps, q, v
        while self.steps < last:
            reached = self._one_step(self.steps, q, v)
            if reached is None:
                break
            behind = self.steps, q, v
            self.steps += 1
            q, v = reached
        self.steps, q, v = behind
        self.t = t = self._instant()
        control = replace(self.control, t_end=self._suspect or min(t + AGAIN * dt, end), origin=self.origin)
        again = _Unrecorded(self.motion, self.method, control, self.recorder)
        try:
            MotionLoop(again).integrate(t, q, v)
        except GaussoptError:
            self.t = again.t
            self.steps += again.steps
            raise

    # -- generated code ----------------------------------------------------------------------------------------

    def _packed(self, q: Vector, v: Vector) -> Any:
        """Return a state in the layout that generated code reads."""
        return np.concatenate((q, v))

    def _unpacked(self, states: Matrix) -> Matrix:
        """Convert states from the layout of generated code, (r, ...), to rows of q and v, (r, 2 n)."""
        return states

    def _trace(self, rows: int, width: int) -> Any:
        """Return an array of zeros for the states that the generated code records."""
        return np.zeros(rows * width)

    @property
    def _each(self) -> int:
        """Number of steps from one state that generated code returns to the next: 1 if all positions are needed."""
        return self.every if self.looks is None else 1

    def _room(self, width: int) -> int:
        """Return the largest number of steps in one call of generated code, which is limited by memory."""
        return self._total if self.looks is None else max(1, BLOCK // width)

    def _one_step(self, number: int, q: Vector, v: Vector) -> tuple[Vector, Vector] | None:
        """Return the state after step `number` by generated code; None if it fails or its result is not finite."""
        n, y = len(q), self._packed(q, v)
        if not self._march_steps(number, 1, y, self._trace(2, len(y)), np.zeros(2)):
            return None
        state = self._unpacked(np.array(y)[None, :])[0]
        return (state[:n], state[n:]) if np.isfinite(state).all() else None

    def _some_steps(self, count: int) -> int:
        """Take `count` generated steps, or fewer if a step fails; record due states; return the number taken."""
        n, y, worst = len(self.q), self._packed(self.q, self.v), np.zeros(2)
        reached, room, total, motion = 0, self._room(len(y)), self._total, self.motion
        each = self._each
        while reached < count:
            some = min(count - reached, room)
            trace = self._trace(some // each + 1, len(y))
            begin = perf_counter()
            done = self._march_steps(self.steps, some, y, trace, worst)
            motion.timing["solve"] += perf_counter() - begin
            motion.evaluations += done * self.method.stages
            self._note_residuals(worst)
            due = np.arange(self.steps // each + 1, (self.steps + done) // each + 1) * each
            states = np.asarray(trace).reshape(-1, len(y))[: len(due)]
            if self.looks is not None:
                self.looks.rows(self._grid.at(due), self._unpacked(states)[:, :n])
                recorded = due % self.every == 0
                due, states = due[recorded], states[recorded]
            self.steps += done
            reached += done
            if self.steps == total and total % self.every and done:
                due, states = np.append(due, total), np.vstack((states, np.array(y)))
            self._write_down(self._grid.at(due), self._unpacked(states))
            self.t = self._instant()
            if done < some:
                break
        state = self._unpacked(np.array(y)[None, :])[0]
        self.q, self.v = state[:n], state[n:]
        return reached

    def _march_steps(self, first: int, count: int, y: Any, trace: Any, worst: Any) -> int:
        """Take steps by generated code, which overwrites the state y; return the number of steps taken."""
        assert self.control.dt is not None
        done: int = self._march.march(
            self.origin, self.control.dt, self.control.t_end, first, count, self._each, y, self._p, self.limit,
            self.sharp, worst, trace,
        )  # fmt: skip
        return done

    def may_exceed(self, limit: float, t: float, q: Vector, v: Vector) -> bool:
        """Decide by the change of the velocity in a short generated step, since a certificate may take long."""
        assert self.control.dt is not None
        h, y, n = SHORT * self.control.dt, self._packed(q, v), len(q)
        done = self._march.march(
            t, h, t + h, 0, 1, 1, y, self._p, self.limit, self.sharp, np.zeros(2), self._trace(2, len(y))
        )
        return not done or not np.linalg.norm(y[n:] - v) <= limit * h / 2

    def _instant(self) -> float:
        """Return the instant reached after `self.steps` steps."""
        return float(self._grid.at(np.array([self.steps]))[0])

    def _interpret(self) -> None:
        """Take one step by formulation and solver instead of generated code."""
        motion, t, total = self.motion, self.t, self._total
        control = replace(self.control, origin=self.origin)
        integration = self.method.start(motion, t, self.q, motion.state_of(t, self.q, self.v), control)
        t, q, v = integration.advance()
        q, v = motion.stabiliser.correct(motion.system, t, q, v) or (q, v)
        self.steps += 1
        self.handed_over += 1
        if self.steps % self.every == 0 or self.steps == total:
            self._write_down(np.array([t]), np.concatenate((q, v))[None, :])
        self.t, self.q, self.v = t, q, v
