"""Moreau-Jean steps in machine code; a step that is not regular is left to the interpreted loop, with its events."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen.job import LoopJob, Orders
from gaussopt.compiled import modules
from gaussopt.compiled.advances.generated import CHUNK
from gaussopt.compiled.contact_equations import contact_equations
from gaussopt.compiled.step_certificates import certified_rows, certify, taking_part
from gaussopt.contact.stage_kernel import stage
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Control, Stabilisation, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.advance import ContactRules, End, EventKind, MotionEvent
from gaussopt.integration.advances.moreau_jean import LIFTED, MoreauJeanSteps
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.looks import BLOCK
from gaussopt.integration.stabilisation import Unstabilised
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.jit import kernel
from gaussopt.modelling.lagrangian import LagrangianSystem

FIRST = 1000
"""Number of steps before the first report of progress."""

SHARE = 0.1
"""Fraction of interpreted steps above which a motion is reported as interpreted."""

MOST_CONTACTS = 6
"""Largest number of contacts, each of which multiplies the number of modes by four."""

LEFT = (
    "contacts push against each other, friction leaves it open whether the solution is unique, contacts add energy, or "
    "a gap turns too far within a step"
)
"""Why steps are left to the interpreted loop."""


class CompiledTimeSteps(MoreauJeanSteps):
    """Moreau-Jean steps in machine code, with certificates at the recorded states.

    Attributes
    ----------
    handed_over : number of steps, after the first, that were interpreted
    """

    engine = "compiled"
    tangents, most_contacts = 1, MOST_CONTACTS

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions in the plane, and those in space for which there is no other class."""
        in_space = isinstance(system, LagrangianSystem) and system.tangents == 2
        return super().suits(system, method) and in_space == (cls.tangents == 2)

    @classmethod
    def can(cls, motion: CertifiedAccelerations, method: Stepper, rules: ContactRules) -> str | None:
        """Accept contacts in the plane of systems given by energies, under the contact laws; otherwise say why not."""
        assert isinstance(motion, ContactAccelerations)
        return cls.why_not(motion.system, motion.stabiliser) or motion.solvers.why_interpreted()

    @classmethod
    def why_not(cls, system: AbstractSystem, stabiliser: Stabilisation) -> str | None:
        """Return why steps of this system cannot be compiled; None if they can."""
        if not modules.has_llvm():
            return kernel.SWITCHED_OFF
        if not isinstance(system, LagrangianSystem):
            return "the system is not given by energies (System.from_lagrangian)"
        if system.tangents != cls.tangents or (system.quaternions and cls.tangents == 1):
            return "its contacts are in space"
        if any(system.two_sided):
            return "it has two-sided contacts"
        if len(system.contact_names) > cls.most_contacts:
            return f"it has more than {cls.most_contacts} contacts"
        if not isinstance(stabiliser, Unstabilised):
            return f"the stabilisation {stabiliser.name!r} of these steps is interpreted"
        return None

    def prepare(self, first: StepData, evaluations: float) -> None:
        """Generate and compile the loop over steps; raise NotCompiled if it cannot be compiled."""
        super().prepare(first, evaluations)
        begin, system = perf_counter(), self.system
        assert isinstance(system, LagrangianSystem)
        self._compile(system, first)
        self._equations = contact_equations(system.model, system.source)
        self._sizes = system.n, system.m, system.m_h
        self._limit = min(self.motion.solver.tolerance, DEFAULT_TOLERANCE) ** 2
        self.motion.timing["compile"] = perf_counter() - begin
        self.handed_over, self._count = 0, FIRST

    def _compile(self, system: LagrangianSystem, first: StepData) -> None:
        """Compile the loop, and what certifies its steps."""
        orders = Orders.of(system.model, system.constant_entries, first)
        self._march = modules.compiled(LoopJob(system.model, self.method, orders, False)).march
        kernel.prepare(stage, certify)
        self._width = 2 + 5 * system.n

    def begin(self) -> None:
        """Prepare the first step, which is interpreted, as it records the start."""
        super().begin()
        self._measure()

    def renew(self, control: Control) -> End | None:
        """Continue under new inputs; raises BadInput if they are invalid."""
        ended = super().renew(control)
        self._measure()
        return ended

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        super().recall(memory)
        self._measure()

    def _measure(self) -> None:
        """Read the instants of the steps, the parameters of the system, and the coefficients of its contacts."""
        step = self.motion.whole(self.t, self.q, self.v)
        assert self.control.dt is not None
        assert isinstance(self.system, LagrangianSystem)
        assert step.e_N is not None
        assert step.e_T is not None
        self._p = np.array(list(self.system.parameters.values()))
        self._law = np.concatenate((step.mu, step.e_N, step.e_T))
        self._grid = TimeGrid(self.origin, self.control.t_end, self.control.dt, self.every)

    def take(self) -> End | None:
        """Take as many steps as lie between two reports of progress, or one interpreted step where none is regular."""
        if self.steps:
            begin, before = perf_counter(), self.steps
            # The last step is taken alone, so that a continuation can start before it.
            ending = self._march_steps(min(self._count, max(1, self._grid.steps - self.steps - 1)))
            spent, taken = perf_counter() - begin, self.steps - before
            if taken:
                self._count = max(FIRST, min(4 * taken, int(taken * CHUNK / max(spent, 1e-9))))
                return ending
            self.handed_over += 1
        return super().take()

    def _instant(self, steps: int) -> float:
        """Return the instant at the end of step number `steps`."""
        return float(self._grid.at(np.array([steps]))[0])

    def about(self) -> dict[str, Any]:
        """Return entries for `Trajectory.meta`: if many steps were interpreted, this engine, and the reason."""
        many = self.handed_over > SHARE * self.steps
        slow = {"engine": MoreauJeanSteps.engine, "why_interpreted": LEFT} if many else {}
        return {**super().about(), "handed_over": self.handed_over, **slow}

    def slow_sentence(self) -> str | None:
        """Return a warning if many steps were interpreted; None otherwise."""
        if self.handed_over <= SHARE * self.steps:
            return None
        return f"{self.handed_over} of {self.steps} steps were interpreted, which is slow, because {LEFT}."

    def _march_steps(self, count: int) -> End | None:
        """Take up to `count` steps in machine code, none where the first is not regular; note and record them."""
        motion, n, k, dt = self.motion, len(self.q), len(self.system.contact_names), self.control.dt
        assert dt is not None
        each, width = self._each, self._width
        count = min(count, max(1, BLOCK // width) * each)
        y, trace = np.concatenate((self.q, self.v)), np.zeros((count // each + 2) * width)
        idle = np.array([float(min(self._idle.get(i, LIFTED), LIFTED)) for i in range(k)])
        events = np.zeros(1 + 2 * k * count)
        begin = perf_counter()
        done = self._take_steps(count, y, idle, events, trace)
        motion.timing["solve"] += perf_counter() - begin
        if not done:
            return None
        motion.evaluations += done
        motion.iterations += done
        reached = self.steps + done
        rows = trace.reshape(-1, width)
        rows = rows[: reached // each - self.steps // each + int(done == count and reached % each > 0)]
        self._idle |= {i: int(x) for i, x in enumerate(idle) if i in self._idle or x < LIFTED}
        ending = self._note_events(events[1 : 1 + 2 * int(events[0])].reshape(-1, 2).astype(int).tolist(), rows)
        if ending is None:
            self.steps, self.t, self.q, self.v = reached, self._instant(reached), y[:n], y[n:]
        else:
            rows = rows[: self.steps - int(rows[0, 0])]
        numbers = rows[:, 0].astype(int) + 1
        if self.looks is not None:  # the loop passes on the last state, unless the motion ends
            self.looks.rows(self._grid.at(numbers[:-1]), rows[:-1, 1 + 2 * n : 1 + 3 * n])
        due = (numbers % self.every == 0) | (numbers == (self._grid.steps if ending is None else self.steps))
        start, end = self._grid.at(numbers[due] - 1), self._grid.at(numbers[due])
        self._record_steps(rows[due], np.stack((start, end - start, end), axis=1))
        return ending

    @property
    def _each(self) -> int:
        """Every how many steps there is a row in the trace."""
        return self.every if self.looks is None and not self.rules.events else 1

    def _take_steps(self, count: int, y: Vector, idle: Vector, events: Vector, trace: Vector) -> int:
        """Call the loop; return the number of steps that it took. The arguments are those of `moreau_jean.march`."""
        return int(self._march(
            self.origin, self.control.dt, self.control.t_end, self.steps, count, self._each, y, self._p, self._limit,
            idle, events, trace,
        ))  # fmt: skip

    def _certified(
        self, some: Matrix, at: Matrix, closed: Index, worst: Vector
    ) -> tuple[NDArray[np.bool_], dict[str, Any]]:
        """Return what `certified_rows` does, for rows of the trace and the `times` of their steps."""
        tolerance = self.motion.solver.tolerance
        law = self._p[None], self._law[None]
        return certified_rows(self._equations, self._sizes, closed, at, some, law, tolerance, worst)

    def _note_events(self, found: list[list[int]], rows: Matrix) -> End | None:
        """Record landings, lift-offs and the user's events; return the end of the motion if an event is terminal.

        `found` holds pairs (number of the step, contact, counted from 1 and negative where it lifts off).
        """
        n, names = len(self.q), self.system.contact_names
        noted = [(x, EventKind.LANDING if i > 0 else EventKind.LIFT_OFF, names[abs(i) - 1]) for x, i in found]
        if not self.rules.events:
            self.events += [MotionEvent(self._instant(x), kind, name) for x, kind, name in noted]
            return None
        for row in rows:
            self.steps = int(row[0]) + 1
            self.t, self.q, self.v = self._instant(self.steps), row[1 + 2 * n : 1 + 3 * n], row[1 + 3 * n : 1 + 4 * n]
            self.events += [MotionEvent(self.t, kind, name) for x, kind, name in noted if x == self.steps]
            ending = self._passed()
            if ending is not None:
                return ending
        return None

    def _record_steps(self, rows: Matrix, times: Matrix) -> None:
        """Certify and record the ends of steps, in runs of steps in which the same contacts take part."""
        motion, k, worst = self.motion, len(self.system.contact_names), np.zeros(5)
        starts = np.flatnonzero(np.diff(rows[:, -1], prepend=-1.0))
        for first, last in pairwise([*starts, len(rows)]):
            some, at, begin = rows[first:last], times[first:last], perf_counter()
            good, columns = self._certified(some, at, taking_part(some[0, -1], k), worst)
            motion.timing["verify"] += perf_counter() - begin
            next_row = 0
            for bad in [*np.flatnonzero(~good), len(some)]:
                if next_row < bad:
                    self.recorder.extend(*(x[next_row:bad] for x in (at[:, 2], *columns.values())))
                if bad < len(some):
                    self._record_alone(at[bad], some[bad, 1:])
                next_row = bad + 1
        for name, value in zip(motion.worst, worst.tolist(), strict=True):
            motion.worst[name] = max(motion.worst[name], value)

    def _record_alone(self, times: Vector, states: Vector) -> None:
        """Record the end of a step whose quick certificate does not pass, with the answer of formulation and solver."""
        t, h, end = times.tolist()
        q, v, q_end, v_end = states[: 4 * len(self.q)].reshape(4, -1).copy()
        answer, _, dv = self._step(t, q, v, h)
        self.record(end, q_end, v_end, self._per_time(answer, dv, q, v, h))
