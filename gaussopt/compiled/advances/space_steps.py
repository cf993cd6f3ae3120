"""Moreau-Jean steps in space in machine code; a step that is not regular is left to the interpreted loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.compiled.advances.time_steps import CompiledTimeSteps
from gaussopt.compiled.space_steps import SpaceSteps, march_in_space, space_of
from gaussopt.compiled.step_certificates import ABOUT, columns_of, widths
from gaussopt.contact.activity import TOUCHING
from gaussopt.contact.stage_cones import stage_in_space
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.integration.advance import End
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.events.turning import TURN, turning_of, turns
from gaussopt.jit import kernel
from gaussopt.modelling.lagrangian import LagrangianSystem


class CompiledSpaceSteps(CompiledTimeSteps):
    """Moreau-Jean steps with friction cones, each certified; segments of steps in which the same contacts take part."""

    tangents, most_contacts = 2, 30

    def _compile(self, system: LagrangianSystem, first: StepData) -> None:
        kernel.prepare(stage_in_space, march_in_space)
        self._seen = turning_of(system, first.t, np.zeros(system.n))
        self._spaces: dict[tuple[int, ...], SpaceSteps] = {}
        self._worst = np.zeros(5)

    @property
    def _each(self) -> int:
        return 1

    def _march_steps(self, count: int) -> End | None:
        """Find the contacts that take part, and take steps."""
        system, dt = self.system, self.control.dt
        assert isinstance(system, LagrangianSystem)
        assert dt is not None
        whole = self.motion.whole(self.t, self.q, self.v)
        assert whole.g_N is not None
        assert whole.gdot_N is not None
        h, k = self._instant(self.steps + 1) - self.t, whole.k
        near = TOUCHING * (1.0 + float(np.abs(self.q).max()))
        self._closed = np.flatnonzero(whole.g_N + 0.5 * h * whole.gdot_N <= near)
        resting = int((self._law[self._closed] > 0).sum())
        key = resting, *self._closed.tolist()
        if key not in self._spaces:
            self._spaces[key] = space_of(system.quaternions, (*self._sizes, k), self._closed, resting)
        self._space = self._spaces[key]
        self._width = 2 + 6 * system.n + sum(widths(self._sizes, len(self._closed), k, 2))
        return super()._march_steps(count)

    def _take_steps(self, count: int, y: Vector, idle: Vector, events: Vector, trace: Vector) -> int:
        """Call the loop; where an angle turns too far within a step, take the steps before it only."""
        rows, begun, waited, n = trace.reshape(-1, self._width), y.copy(), idle.copy(), len(y) // 2
        bits, work, dt, end = float((2.0**self._closed).sum()), self._space, self.control.dt, self.control.t_end
        assert dt is not None
        while count:
            y[:], idle[:], events[0] = begun, waited, 0.0
            done = int(march_in_space(
                self._equations.step, self._equations.about, stage_in_space, self.origin, dt, end, self.steps, count, y,
                self._p, self._law, self.motion.solver.tolerance, bits, work, idle, events, self._worst, rows,
            ))  # fmt: skip
            if not done:
                return 0
            own, numbers = rows[:done, 1:], rows[:done, 0].astype(int)
            times = np.stack((self._grid.at(numbers), self._grid.at(numbers + 1)), axis=1).ravel()
            ends = np.hstack((own[:, :n], own[:, 2 * n : 3 * n])).reshape(-1, n)
            far = turns(self._seen, times, ends, own[:, 4 * n : 6 * n].reshape(-1, n))[::2] > TURN
            if not far.any():
                if len(work.active) > len(work.closed) and (own[:, 6 * n + ABOUT - 1] == 0.0).any():
                    self.motion.say_not_proved()
                return done
            count = int(far.argmax())
        return 0

    def _certified(
        self, some: Matrix, at: Matrix, closed: Index, worst: Vector
    ) -> tuple[NDArray[np.bool_], dict[str, Any]]:
        """Return the columns of steps, all of which the loop has certified; note forces that are not unique."""
        motion, n, k = self.motion, self._sizes[0], len(self.system.contact_names)
        worst[:] = self._worst
        table, states = some[:, 1 + 6 * n : -1], some[:, 1 + 2 * n : 1 + 4 * n]
        open_rows = np.flatnonzero(table[:, ABOUT - 1] == 0.0)
        if len(open_rows):
            motion.phase = replace(ContactModes.flight(k, 2), closed=tuple(closed.tolist()))
            first = open_rows[0]  # rows of the same contacts depend on each other in the same way
            motion.note_open_forces(float(at[first, 2]), states[first, :n], states[first, n:])
        return table[:, 0] > 0.0, columns_of(table, states, at[:, 1:2], self._sizes, closed, (k, 2))
