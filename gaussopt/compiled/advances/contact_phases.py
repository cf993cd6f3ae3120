"""Steps without events within a phase of a motion with contacts, taken by one compiled loop.

Whenever a step begins on the time grid, the event loop requests a segment of certified steps. It ends before a step
that is irregular or may contain an event, or at its maximum length; the event loop, or `contact_events`, takes the next
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from gaussopt.compiled import contact_kernel as kernel
from gaussopt.compiled.advances.generated import CHUNK
from gaussopt.compiled.contact_equations import contact_equations, flat_size
from gaussopt.compiled.event_kernel import projected
from gaussopt.compiled.projection_kernel import SurfaceWorkspace, surface
from gaussopt.compiled.stage_lines import stage_lines
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import MONOTONE, UNDECIDED
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.endings import SLIVER
from gaussopt.core.stepper import Control, Stepper, Tableau
from gaussopt.integration.events.accelerations import ContactAccelerations, WatchedValues, same_instant
from gaussopt.integration.events.functions import EventFunction, Sample, Watched, first_column
from gaussopt.integration.events.modes import ContactModes
from gaussopt.integration.events.segments import PhaseSegment
from gaussopt.integration.events.turning import TURN, turning_of, turns
from gaussopt.integration.recorder import Recorder
from gaussopt.integration.stabilisation import Projection, Unstabilised
from gaussopt.integration.steppers.base import FixedStep
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS
from gaussopt.jit.kernel import COMPILED, SWITCHED_OFF, prepare
from gaussopt.modelling.lagrangian import LagrangianSystem

FIRST, LEAST = 512, 16
"""Largest number of steps in the first segment of a motion, and in the segment after one that an event shortened."""

PATIENCE = 31
"""Largest number of steps left to the event loop after an empty segment, which costs as much as one of these steps."""

SURFACES = 32
"""Largest number of sets of contacts for which work spaces of projections are kept."""


class MarchMemory(NamedTuple):
    """The arrays that kernels use in one motion; as many motions of a model as run at once have arrays of their own.

    Attributes
    ----------
    marched : data of the motion
    spaces : work spaces of phases, by the numbers of closed and of sticking contacts
    surfaces : closed contacts and work spaces of projections, by the closed and the sticking contacts
    """

    marched: kernel.MarchedMotion
    spaces: dict[tuple[int, int], kernel.PhaseWorkspace]
    surfaces: dict[tuple[Sequence[int], Sequence[int]], tuple[Index, SurfaceWorkspace]]


def _values(n: int, row: Vector, watched: Matrix, normal: Index, tangential: Index, walls: Vector) -> WatchedValues:
    """Return the watched values of a state from its row, with the places and signs of forces in it."""
    return WatchedValues(row[2 * n : 3 * n], row[normal] * walls, row[tangential, None], watched)


class PhaseMarcher:
    """Computes the segments of one motion.

    Parameters
    ----------
    motion : motion of a system with generated equations; it counts evaluations and keeps worst certificates
    method : an explicit Runge-Kutta method of constant step
    recorder : receives whole segments
    """

    def __init__(self, motion: ContactAccelerations, method: Stepper, recorder: Recorder) -> None:
        system, tableau = motion.system, method.tableau
        assert isinstance(system, LagrangianSystem)
        assert tableau is not None
        self._motion, self._stages, self._recorder = motion, method.stages, recorder
        self._equations = contact_equations(system.model, system.source)
        prepare(stage, kernel.march, kernel.locate)
        self._turning = turning_of(system, 0.0, np.zeros(system.n))
        self._turns_never = not self._turning.angles(np.zeros(1), *np.zeros((2, 1, system.n)))[0].size
        self._n, self._m, self._k = system.n, system.m, len(system.contact_names)
        self._m_h = system.m_h
        sizes = {"coordinate": self._n, "row": self._m, "contact": self._k}
        self._parts: list[Any] = []  # the places of the recorded values in a row of `march`
        self._width = 0
        for dimensions in (COLUMNS | CONTACT_COLUMNS).values():
            begin, self._width = self._width, self._width + (sizes[dimensions[0]] if dimensions else 1)
            part = slice(begin, self._width) if dimensions else begin
            self._parts.append((slice(None), part, None) if dimensions[1:] else (slice(None), part))
        self._width += 2
        self._lines = stage_lines(system.source, self._n, self._m, self._k)
        memory = self._lent(tableau, len(system.parameters))
        self._marched, self._spaces, self._surfaces = memory
        self._kernels: tuple[Callable[..., int], Callable[..., int]] = kernel.march, kernel.locate
        self._most = FIRST
        self._phase: ContactModes | None = None
        self._latest: tuple[float, Vector] = (math.nan, np.zeros(1))
        self._worst, self._counted = np.zeros(5), [0.0] * 5
        self._flat = np.zeros(flat_size(self._n, self._m, self._k))

    def _lent(self, tableau: Tableau, parameters: int) -> MarchMemory:
        """Return the memory that another motion of the model has given back, or a new one; keep it until the end."""
        A, b, c = (np.array(x, dtype=np.float64) for x in (tableau.A, tableau.b, tableau.c))
        stabiliser, tolerance = self._motion.stabiliser, self._motion.solvers.main.tolerance
        self._sharp = stabiliser.tolerance if isinstance(stabiliser, Projection) else 0.0
        free = self._lines.free[A.tobytes(), b.tobytes(), c.tobytes(), self._sharp, tolerance]
        try:
            memory: MarchMemory = free.pop()
        except IndexError:
            p, mu = np.zeros(parameters), np.zeros(self._k)  # `take` writes their values
            memory = MarchMemory(kernel.MarchedMotion(p, mu, self._n, self._m, A, b, c, tolerance), {}, {})
        finalize(self, free.append, memory).atexit = False
        return memory

    @staticmethod
    def why_not(motion: ContactAccelerations, method: Stepper) -> str | None:
        """Return why the steps of a motion cannot be taken in segments; None if they can."""
        system = motion.system
        if not COMPILED:
            return SWITCHED_OFF
        if method.tableau is None or not isinstance(method, FixedStep):
            return f"the stepper {method.name!r} is taken in Python from event to event: take rk4"
        if not isinstance(system, LagrangianSystem):
            return "the system is not given by energies (System.from_lagrangian)"
        if system.tangents > 1:
            return "loops over steps from event to event are for contacts in the plane"
        if not isinstance(motion.stabiliser, Unstabilised | Projection):
            return f"the stabilisation {motion.stabiliser.name!r} is none of their own: take projection"
        return None

    def _enter(self) -> None:
        """Prepare for the present phase, if it is a new one."""
        phase = self._motion.phase
        if phase is not self._phase:
            self._begin(phase, self._space_of(phase))

    def _space_of(self, phase: ContactModes) -> kernel.PhaseWorkspace:
        """Return the work space of another phase, which that of a phase with as many closed contacts becomes."""
        size = len(phase.closed), len(phase.sticking)
        known = self._spaces.get(size)
        if known is not None:
            kernel.enter(known, phase)
            return known
        found = self._spaces[size] = kernel.space(self._n, self._m, self._m_h, self._stages, phase, self._sharp)
        return found

    def _surface(self, closed: Sequence[int], sticking: Sequence[int]) -> tuple[Index, SurfaceWorkspace]:
        """Return the closed contacts, and the work space to project a state at an event onto them and onto joints."""
        known = self._surfaces.get((closed, sticking))
        if known is None:
            if len(self._surfaces) == SURFACES:
                self._surfaces.clear()
            on = surface(self._n, self._m, self._m_h, len(closed), len(sticking), Projection().tolerance)
            on.sticking[:] = sticking
            known = self._surfaces[closed, sticking] = np.array(closed, dtype=np.int64), on
        return known

    def _begin(self, phase: ContactModes, known: kernel.PhaseWorkspace) -> None:
        """Make a phase the present one."""
        self._phase, self._rest, self._pause = phase, 0, 0
        self._latest, self._fresh = (math.nan, np.zeros(1)), True
        self._space = known
        begin = self._width - 2 - 5 * self._k + known.closed
        self._forces = begin, begin + 3 * self._k, phase.wall[known.closed]  # places of lam_N and lam_T in a row
        # With more rows than coordinates, forces are never unique, and most systems solved for the modes are singular.
        self._redundant = self._m + len(phase.closed) + len(phase.sticking) > self._n

    def step(self, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector] | None:
        """Return the state after a step of any length, in which events may lie; None if a stage is irregular."""
        n, row = self._n, self._rows(1)
        if not self._march(t, (t, dt, 0), 1, q, v, row, 1):
            return None
        q, v = row[0, :n], row[0, n : 2 * n]
        self._know(t + dt, row[0], self._space.after)
        return q, v

    def locate(
        self, begin: Sample, watch: EventFunction, bracket: tuple[float, float, float, float], level: float,
        accuracy: float,
    ) -> tuple[float, Vector, Vector] | None:  # fmt: skip
        """Return the length of a step at whose end a watched function falls through `level`, and q and v there.

        The length is found within `accuracy`. `bracket` holds two lengths, each followed by the function minus `level`
        at the end of such a step; the signs differ. Return None if the function does not belong to a contact, or if a
        stage is irregular.
        """
        if watch.kind in (Watched.USER, Watched.DEFINITE):
            return None
        row, found = self._rows(1), np.array(bracket)
        clock = perf_counter()
        taken = self._kernels[1](
            self._equations.step, self._equations.about, self._lines.code(self._space), stage, begin.t, found,
            watch.index, first_column(watch), level, accuracy, np.concatenate((begin.q, begin.v)), self._marched,
            self._space, self._worst, row,
        )  # fmt: skip
        self._motion.timing["solve"] += perf_counter() - clock
        self._count(taken * self._stages)
        if not taken:
            return None
        length, n = float(found[0]), self._n
        self._know(begin.t + length, row[0], self._space.after)
        return length, row[0, :n], row[0, n : 2 * n]

    def known(self, t: float, q: Vector, v: Vector) -> PhaseSegment | None:
        """Return the state as a segment if it ended the latest step, or begins a phase, with surely unique forces."""
        if self._motion.phase is not self._phase or (self._fresh and not self._ended_at(t, q, v)):
            rows = self._rows(1)
            self._set(self._motion.whole(t, q, v).mu)
            if self._march(t, (t, 0.0, 0), 0, q, v, rows, 2):
                self._know(t, rows[0], self._space.after)
        row = self._latest[1]
        if row[-1] >= MONOTONE or not self._ended_at(t, q, v):
            return None
        return self._segment(np.array([t]), row[None], 0)

    def _ended_at(self, t: float, q: Vector, v: Vector) -> bool:
        """Return whether the latest step ended at this state."""
        at, row = self._latest
        return same_instant(at, t) and row[: 2 * self._n].tobytes() == q.tobytes() + v.tobytes()

    def _set(self, mu: Vector) -> None:
        """Set parameters and coefficients of friction."""
        self._set_parameters()
        self._marched.mu[:] = mu

    def _set_parameters(self) -> None:
        self._marched.p[:] = list(self._motion.system.parameters.values())

    def projected(
        self, t: float, q: Vector, v: Vector, closed: Sequence[int], sticking: Sequence[int], rates: bool
    ) -> tuple[Vector, Vector] | None:  # fmt: skip
        """Return the state projected onto joints and contacts, its velocity only if `rates`; None if rows forbid it."""
        self._set_parameters()
        equations, (contacts, on), y = self._equations, self._surface(closed, sticking), np.concatenate((q, v))
        p, k, flat = self._marched.p, self._k, self._flat
        done = projected(equations.step, equations.about, t, y, p, k, contacts, flat, on, rates)
        return (y[: self._n], y[self._n :]) if done else None

    def _rows(self, count: int) -> Matrix:
        """Return rows for `march` in the present phase."""
        self._enter()
        return np.empty((count, self._width))

    def _know(self, t: float, row: Vector, watched: Matrix) -> None:
        """Remember the state at the end of the latest step, for `known` and for samples of the event loop."""
        n, self._latest = self._n, (t, row)
        self._motion.know_watched(t, row[: 2 * n], partial(_values, n, row, watched.copy(), *self._forces))

    def _march(
        self, t: float, grid: tuple[float, float, int], count: int, q: Vector, v: Vector, rows: Matrix, trial: int
    ) -> int:
        """Call `march` with (origin, dt, first) = `grid`; count its steps and its time."""
        space = self._space
        if self._lines.due(space):
            with self._motion.timed("compile"):
                self._equations.step(t, q, v, self._marched.p, space.flat)
                kernel.pack(space.flat, self._marched.mu, self._n, self._m, space.data)
                self._lines.write(space)
        begin = perf_counter()
        done = self._kernels[0](
            self._equations.step, self._equations.about, self._lines.code(space), stage, t, *grid, count,
            np.concatenate((q, v)), self._marched, space, self._worst, rows, trial,
        )  # fmt: skip
        self._motion.timing["solve"] += perf_counter() - begin
        stages = done if trial == 2 else done * self._stages
        self._count(stages)
        self._lines.stages[self._lines.key(space)] += stages
        return done

    def _count(self, stages: int) -> None:
        """Add evaluations to those of the motion, and raise the maxima of its certificates to those of the kernels."""
        motion, worst = self._motion, self._worst.tolist()
        motion.evaluations += stages
        motion.iterations += stages
        if worst != self._counted:
            self._counted = worst
            motion.worst.update(
                {name: max(x, value) for (name, x), value in zip(motion.worst.items(), worst, strict=True)}
            )

    def take(self, t: float, q: Vector, v: Vector, mu: Vector, control: Control) -> PhaseSegment | None:
        """Take steps in the present phase; return None if the first step is irregular or may contain an event.

        After None, the next few calls return None, too, because a phase mostly stays irregular.

        `control.origin` is the instant from which steps are counted in multiples of dt.
        """
        self._enter()
        self._fresh = False
        if self._rest:
            self._rest -= 1
            return None
        self._set(mu)
        dt, origin, first, last = control.dt, control.origin, control.grid_index(t) - 1, self._last(control)
        assert dt is not None
        assert origin is not None
        part = t != origin + first * dt  # the first step goes from an event to the next multiple of dt
        count = min(self._most + part, last - first)
        if count < 1:
            return None
        rates = [] if self._turns_never else self._turning.at(t, q, v)[1]
        if any(abs(rate) * dt > TURN for rate in rates):
            return None
        rows, begin = self._rows(count), perf_counter()
        taken = done = self._march(t, (origin, dt, first), count, q, v, rows, 0)
        spent = perf_counter() - begin
        times = np.asarray(origin + (first + np.arange(taken + 1)) * dt, dtype=np.float64)
        times[0] = t
        if rates:
            done = self._seen(times, q, v, rows[:taken])
        if not done:
            if not part:
                self._wait()
            return None
        self._pause = 0
        self._rest = int(taken < count)  # an event may occur in the next step, which `EventPhases` takes itself
        if done == taken:
            self._know(float(times[done]), rows[done - 1], self._space.before)
        self._most = max(LEAST, min(4 * count, int(count * CHUNK / max(spent, 1e-9))))
        return self._segment(times[1 : done + 1], rows[:done], first + 1)

    def _last(self, control: Control) -> int:
        """Return the number of the last step that begins and ends on the time grid before the end."""
        end, origin, dt = control.t_end, control.origin, control.dt
        assert dt is not None
        assert origin is not None
        last = int((end - origin) / dt - SLIVER)
        return last - int(control.instant(last) >= end)

    def memory(self) -> dict[str, Any]:
        """Return the counts of steps to wait before the next segment is tried; empty at the start of a phase."""
        return {"rest": self._rest, "pause": self._pause} if self._motion.phase is self._phase else {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned, for the present phase."""
        if memory:
            self._enter()
            self._rest, self._pause = memory["rest"], memory["pause"]

    @property
    def stopped(self) -> bool:
        """Whether the latest segment ended before a step in which an event may occur."""
        return self._rest > 0

    def shortened(self, steps: int) -> None:
        """Limit the next segment, since only the first `steps` steps of the latest segment were used."""
        self._most = max(LEAST, steps)
        if not steps:
            self._wait()

    def _wait(self) -> None:
        """Leave the next steps to the event loop, about twice as many after each further failure."""
        self._pause = min(2 * self._pause + 1, PATIENCE)
        self._rest = self._pause

    def _seen(self, t: Vector, q: Vector, v: Vector, rows: Matrix) -> int:
        """Return the number of steps, from (q, v) at t[0], before the first in which an angle turns by over `TURN`."""
        n = self._n
        states = np.vstack((np.concatenate((q, v)), rows[:, : 2 * n]))
        far = turns(self._turning, t, states[:, :n], states[:, n:]) > TURN
        return int(far.argmax()) if far.any() else len(rows)

    def record(self, segment: PhaseSegment) -> None:
        """Record every step of a segment."""
        self._recorder.extend_rows(segment.t, segment.rows, self._parts)

    def _segment(self, t: Vector, rows: Matrix, first: int) -> PhaseSegment:
        """Return the rows of `march` as a segment."""
        power, how = rows[:, -2:].T
        looked_at = power > 0 if self._redundant else (power > 0) | (how == UNDECIDED)
        return PhaseSegment(t, rows, self._n, first, looked_at)
