"""Integration of motions by adaptive methods in generated code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.compiled.advances.generated import GeneratedAdvance
from gaussopt.compiled.march.recording import ROW
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.integration.advance import End
from gaussopt.integration.singular_positions import near, within_step
from gaussopt.integration.steppers.base import ScipyIntegration, beside, gave_up

LEAP = 1000
"""Number of accepted steps between two reports of progress."""

LOOKS = 8
"""Number of parts of a step at whose ends the independence of the rows is computed."""

CLOSER = 128
"""Number of parts of a step near a singular position, in place of LOOKS."""


class GeneratedAdaptiveSteps(GeneratedAdvance):
    """Advances a motion by steps of variable length; SciPy chooses the length of the first step.

    At fixed recording intervals, each recorded state is computed by a shorter step from the end of the step before it.
    """

    adaptive = True

    def begin(self) -> None:
        """Record the start, and choose the first step as SciPy does."""
        t, q, v, control = self.t, self.q, self.v, self.control
        self._write_down(np.array([t]), np.concatenate((q, v))[None, :])
        self._grid = None if control.dt is None else replace(control, origin=self.origin)
        self._due = 1 if self._grid is None else self._grid.grid_index(t)
        self._bounds = np.array([*(control.instants if control.dt is None else ()), control.t_end])
        landed = float(np.searchsorted(self._bounds, t, side="right"))
        self._clock = np.array([t, self._start(t, q, v, None).next_step, 0.0, 0.0, landed, 0.0])
        self._work, self._beside = np.zeros(self._march.work), np.zeros(self._march.work)

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the current state; further steps depend on nothing else, so that `memory` is not needed."""
        self.begin()

    def _start(self, t: float, q: Vector, v: Vector, first: float | None) -> ScipyIntegration:
        control = replace(self.control, dt=None, origin=self.origin, first_step=first)
        found = self.method.start(self.motion, t, q, self.motion.state_of(t, q, v), control)
        assert isinstance(found, ScipyIntegration)
        return found

    def take(self) -> End | None:
        """Take up to `LEAP` accepted steps and record the due states; raises BadInput if the step size vanishes."""
        clock, n = self._clock, len(self.q)
        before = np.array([self.t, *self.q, *self.v])
        y, begin = before[1:].copy(), perf_counter()
        done, rows = self._marched(y, clock, self._bounds, True, self._work)
        self.motion.timing["solve"] += perf_counter() - begin
        t = float(clock[0])
        self.q, self.v = y[:n], y[n:]
        stuck = done < 0
        self.steps += len(rows)
        self._watch(np.vstack((before[None, :], rows)))
        self._look(before, rows)
        self._record(before, rows, self.steps - len(rows))
        self.t = t
        if stuck:
            raise BadInput(gave_up(t, "Required step size is less than spacing between numbers."))
        if clock[5]:
            self._interpret()
        return None

    def _marched(self, y: Any, clock: Any, bounds: Vector, own: bool, work: Any) -> tuple[int, Matrix]:
        """Take n accepted steps; return n, or -1 - n if the step size vanished, and the rows (t, q, v) of the steps."""
        width, control, worst = 2 * len(self.q) + 1, self.control, np.zeros(2)
        trace = np.zeros((LEAP if own else 1) * width)
        done = self._march.march(
            bounds, len(bounds), LEAP, own, control.rtol, control.atol, y, clock, self._p, self.limit,
            self.sharp, work, worst, trace,
        )  # fmt: skip
        self.motion.evaluations += int(clock[3])
        clock[3] = 0.0
        self._note_residuals(worst)
        count = (done if done >= 0 else -1 - done) if own else 1
        return done, trace[: width * count].reshape(count, width)

    def _watch(self, states: Matrix) -> None:
        """Monitor the independence of rows at the ends of steps and between them, densely near singular positions."""
        begin, steps = perf_counter(), len(states) - 1
        if steps < 1 or not self.equations.m or self.motion.singular.idle:
            return
        seen = self._rows_of(np.vstack((self._inside(states[:-1], states[1:], np.arange(LOOKS) / LOOKS), states[-1:])))
        if seen is None:  # no generated certificate exists
            n = len(self.q)
            for state in states:
                self.motion.passed(float(state[0]), state[1 : n + 1], state[n + 1 :])
        else:
            close = np.flatnonzero(near(*seen)[:-1].reshape(LOOKS, steps).any(axis=0))
            parts = np.setdiff1d(np.arange(CLOSER), np.arange(0, CLOSER, CLOSER // LOOKS)) / CLOSER
            more = self._rows_of(self._inside(states[close], states[close + 1], parts)) if len(close) else None
            t, angles, closeness = seen if more is None else map(np.concatenate, zip(seen, more, strict=True))
            order = t.argsort(kind="stable")
            self.motion.singular.extend(t[order], angles[order], closeness[order])
        self.motion.timing["verify"] += perf_counter() - begin

    def _inside(self, before: Matrix, after: Matrix, parts: Vector) -> Matrix:
        """Interpolate states (t, q, v) within steps, given both ends, at all fractions of a step listed in `parts`."""
        n, h = len(self.q), after[:, :1] - before[:, :1]
        ends = [(state[:, 1 : n + 1], state[:, n + 1 :]) for state in (before, after)]
        return np.vstack([np.hstack((before[:, :1] + x * h, *within_step(h, ends[0], ends[1], x))) for x in parts])

    def _rows_of(self, states: Matrix) -> tuple[Vector, Vector, Matrix] | None:
        """Return instants, 1 / independence^2, and 1 / distance^2 of each row; None without a generated certificate."""
        table = self._table(states[:, 0], states[:, 1:])
        return None if table is None else (states[:, 0], table[:, 9], table[:, ROW + len(self.q) + self.equations.m :])

    def _look(self, before: Vector, rows: Matrix) -> None:
        """Pass to `looks` positions at the ends of steps, from rows (t, q, v), or at the instants that it requests."""
        looks, n = self.looks, len(self.q)
        if looks is None:
            return
        if not looks.between:
            looks.rows(rows[:, 0], rows[:, 1 : n + 1])
            return
        for row in rows:
            for t in looks.due(row[0]).tolist():
                looks.at(t, (row if t == row[0] else self._between(before, t))[1 : n + 1])
            before = row

    def _record(self, before: Vector, rows: Matrix, steps: int) -> None:
        """Record the rows (t, q, v) that are due; they follow `steps` steps and the state `before`."""
        end = self.control.t_end
        if self._grid is None:
            number = np.arange(steps + 1, steps + len(rows) + 1)
            due = rows[(number % self.every == 0) | (rows[:, 0] >= end)]
        else:
            found = []
            for row in rows:
                while (instant := self._grid.instant(self._due)) < row[0]:
                    if self._due % self.every == 0:
                        found.append(self._between(before, instant))
                    self._due += 1
                if instant == row[0]:
                    if self._due % self.every == 0 or instant >= end:
                        found.append(row)
                    self._due += 1
                before = row
            due = np.array(found).reshape(-1, rows.shape[1])
        if len(due):
            self._write_down(due[:, 0], due[:, 1:])

    def _between(self, before: Vector, t: float) -> Vector:
        """Return the state (t, q, v) at an instant by a shorter step from the state `before`."""
        n = len(self.q)
        clock = np.array([before[0], t - before[0], 0.0, 0.0, 0.0, 0.0])
        done, rows = self._marched(before[1:].copy(), clock, np.array([t]), False, self._beside)
        if done > 0 and clock[4] == 1.0 and not clock[5]:
            return np.asarray(rows[0])
        self.handed_over += 1
        q, v = before[1 : n + 1], before[n + 1 :]
        start = float(before[0]), q, self.motion.state_of(float(before[0]), q, v)
        q, v = beside(self.method, self.motion, self.control, start, t)
        q, v = self.motion.stabiliser.correct(self.system, t, q, v) or (q, v)
        return np.array([t, *q, *v])

    def _interpret(self) -> None:
        """Take one accepted step by formulation and solver instead of generated code."""
        clock, t, q, v = self._clock, self.t, self.q, self.v
        before = np.array([t, *q, *v])
        integration = self._start(t, q, v, float(clock[1]))
        t, q, u = integration.advance()
        v = self.motion.velocity(t, q, u)
        q, v = self.motion.stabiliser.correct(self.system, t, q, v) or (q, v)
        self.steps += 1
        self.handed_over += 1
        clock[4] += float(t >= self._bounds[int(clock[4])])
        rows = np.array([[t, *q, *v]])
        self._look(before, rows)
        self._record(before, rows, self.steps - 1)
        clock[0], clock[1], clock[2] = t, integration.next_step, 0.0
        self.t, self.q, self.v = t, q, v
