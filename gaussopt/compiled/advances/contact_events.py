"""Regular events of a motion with contacts, located and settled by kernels, see `gaussopt.compiled.event_kernel`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from gaussopt.compiled import contact_kernel as kernel
from gaussopt.compiled.advances.contact_phases import PhaseMarcher
from gaussopt.compiled.event_kernel import projected, reach, settle
from gaussopt.compiled.stage_lines import no_lines
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import MONOTONE
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.functions import EventFunction, Watched
from gaussopt.integration.events.modes import TOLERANCES, ContactModes
from gaussopt.integration.events.segments import RegularEvent
from gaussopt.integration.events.turning import TURN, turn
from gaussopt.integration.recorder import Recorder
from gaussopt.jit.kernel import prepare


class EventMarcher(PhaseMarcher):
    """Computes the segments of one motion, and the regular events that end them."""

    def __init__(self, motion: ContactAccelerations, method: Stepper, recorder: Recorder) -> None:
        prepare(kernel.march, kernel.locate, projected, reach, settle)  # together, as they have most code in common
        super().__init__(motion, method, recorder)
        self._two_sided = any(motion.system.two_sided)

    def pass_event(
        self, t: float, q: Vector, v: Vector, control: Control, quiet: Callable[[float, Vector, Vector], bool] | None
    ) -> RegularEvent | None:
        """Take a step to the event within, change the modes, and record both states of the event; None if irregular."""
        self._enter()
        n, phase, begin, rows = self._n, self._phase, perf_counter(), np.empty((2, self._width))
        found = self._reached(t, q, v, control, rows[:1])
        if phase is None or found is None or (quiet is not None and not quiet(*found[1:])):
            return None
        i, row = int(found[0][4]), rows[0]
        t += float(found[0][0])
        watch, new = self._changed(phase, i, found[0])
        loose = {i: new.sigma[i]} if watch.kind is Watched.STICK else {}
        after = self._space.after.copy()
        changed = None if watch.kind is Watched.GAP else self._settled(t, i, phase, new, rows)
        self._motion.timing["solve"] += perf_counter() - begin
        if changed is None:
            self._know(t, row, after)
        count = 1 if changed is None else 2
        self._recorder.extend_rows(np.full(count, t), rows[:count], self._parts)
        return RegularEvent(watch, t, row[:n], row[n : 2 * n], loose, changed)

    def _reached(
        self, t: float, q: Vector, v: Vector, control: Control, rows: Matrix
    ) -> tuple[Vector, float, Vector, Vector] | None:
        """Return what `reach` finds in the step from a state, and the state at its end; None if it is irregular."""
        n, number, equations = self._n, control.grid_index(t), self._equations
        if self._two_sided or number > self._last(control):
            return None
        found, end = np.zeros(7 + 2 * n), control.instant(number)
        taken = reach(
            equations.step, equations.about, self._lines.code(self._space), stage, t, end - t,
            TOLERANCES.instant * (1.0 + abs(t - (control.origin or 0.0))), np.concatenate((q, v)), self._marched,
            self._space, self._worst, rows,
            found,
        )  # fmt: skip
        after = found[7 : 7 + n], found[7 + n :]
        if not taken or rows[0, -1] >= MONOTONE or rows[0, -2] > 0:  # forces may not be unique, or friction feeds power
            return None
        if not self._turns_never:
            turning = self._turning
            if turn(turning, end - t, turning.at(t, q, v), turning.at(end, *after)) > TURN:
                return None
        self._count(taken * self._stages)
        return found, end, *after

    def _settled(
        self, t: float, i: int, phase: ContactModes, new: ContactModes, rows: Matrix
    ) -> tuple[ContactModes, Vector, Vector, bool] | None:
        """Begin the phase after an event of contact i; return `RegularEvent.changed`, None if it is not as expected.

        rows[0] is the row of the event; rows[1] receives that of the state after it.
        """
        n, equations, space, after = self._n, self._equations, self._space, self._space_of(new)
        y, none = rows[0, : 2 * n].copy(), ()
        held, left = self._surface(phase.closed, none)[1], self._surface(new.closed, none)[1]
        on = self._surface(new.closed, tuple(sorted(new.sticking)))[1]
        solved = settle(
            equations.step, equations.about, no_lines, stage, t, y, i, self._marched, space, after, held, left, on,
            self._worst, rows[1:],
        )  # fmt: skip
        if not solved:
            return None
        self._count(abs(solved))
        if solved < 0:
            sigma = phase.sigma.copy()
            sigma[i] = -sigma[i]
            new, after = replace(phase, sigma=sigma), space
        self._motion.phase = new
        self._begin(new, after)
        self._know(t, rows[1], after.after)
        return phase, y[:n], y[n:], solved < 0

    @staticmethod
    def _changed(phase: ContactModes, i: int, found: Vector) -> tuple[EventFunction, ContactModes]:
        """Return the function that ends a phase, and the modes to expect after it, from what `reach` has found."""
        closed, sticking, sigma = phase.closed, phase.sticking, phase.sigma.copy()
        if i not in closed:
            kind = Watched.GAP
        elif not found[5]:
            kind, closed = Watched.NORMAL, tuple(j for j in closed if j != i)
            sigma[i], sticking = 0.0, sticking - {i}
        elif i in sticking:
            kind, sticking, sigma[i] = Watched.STICK, sticking - {i}, math.copysign(1.0, found[6])
        else:
            kind, sticking, sigma[i] = Watched.SLIP, sticking | {i}, 0.0
        return EventFunction(kind, i), ContactModes(closed, sticking, sigma, phase.wall)
