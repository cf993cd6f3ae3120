"""Moreau-Jean steps of systems that formulate the contact problem of each step themselves, such as a `Pile`.

Each step (`gaussopt.core.time_step`) is a cone complementarity problem; contacts may appear and disappear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.cone import least_solved, surely_solved
from gaussopt.cone.one_contact import surely_unique
from gaussopt.contact.activity import TOUCHING, refuse_penetration
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import KnownImpulses, Reached, SteppedSystem, Taken, TimeStep
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.advance import ContactRules, End, EventKind, MotionEvent
from gaussopt.integration.advances.moreau_jean import LIFTED, PENETRATED, MoreauJeanSteps
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.integration.recorded_contacts import record_forces
from gaussopt.integration.recorder import Recorder
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS
from gaussopt.kinds import page_of
from gaussopt.linalg.cones import velocity_size

MISSED = 1e-8
"""Residual rate of equality rows, relative to 1 + the largest velocity, above which they contradict each other."""

ROUNDED = "Equality constraints that imply each other differ by rounding of the model's numbers; see `velocity_drift`."

SUNK = 1e-3
"""Depth, m, beyond which a start is said to be inside an obstacle; other engines let bodies sink by less at rest."""

NOT_UNIQUE = "That the impulses of contacts with friction are the only ones that Coulomb's law allows is not proved."

LOST = "although it carried a force and the step before kept it closed; take a smaller dt, or other geometries there."
"""End of the sentence on a contact that is lost."""

NUMBER = re.compile(r", \d+$")
"""End of the name of a contact that is not the first one of its geometries."""

MOST = 64
"""Largest number of steps taken before progress is shown."""


class ContactRecorder(Recorder):
    """Records a motion whose contacts appear and disappear; an absent contact has gap NaN, and zero for other values.

    `names` maps the name of every contact that has occurred so far to its number, in order of appearance.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}
        self._plain: list[tuple[Any, ...]] = []
        self._contacts: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []
        self._names: Sequence[str] = ()
        self._places = np.zeros(0, dtype=np.intp)

    def put(self, plain: tuple[Any, ...], names: Sequence[str], values: NDArray[np.float64]) -> None:
        """Add an instant: t and `COLUMNS`, and for the k contacts present lam_N, gap, mode, lam_T and slip, (k, 7)."""
        known = self.names
        self._plain.append(plain)
        if names is not self._names:
            self._names = names
            self._places = np.array([known.setdefault(x, len(known)) for x in names], dtype=np.intp)
        self._contacts.append((self._places, values))

    def __len__(self) -> int:
        return len(self._plain)

    def latest(self) -> ContactRecorder:
        """Return a recorder that holds only the latest row."""
        one = ContactRecorder()
        one.names, one._plain, one._contacts = self.names, self._plain[-1:], self._contacts[-1:]
        return one

    def arrays(self, n: int) -> dict[str, Any]:
        """Return the columns of `Trajectory`, with all contacts that occurred in the motion."""
        found = {name: np.array(column, dtype=np.float64)
                 for name, column in zip(("t", *COLUMNS), zip(*self._plain, strict=True), strict=True)}  # fmt: skip
        table = np.zeros((len(self), len(self.names), 7))
        table[:, :, 1] = math.nan
        for row, (places, values) in zip(table, self._contacts, strict=True):
            row[places] = values
        parts = table[..., 0], table[..., 1], table[..., 2], table[..., 3:5], table[..., 5:7]
        return found | {"forces_unique": found["forces_unique"] > 0} | dict(zip(CONTACT_COLUMNS, parts, strict=True))


class StatedSteps(MoreauJeanSteps):
    """Advances systems that formulate the contact problem of each step themselves, including restitution."""

    system: SteppedSystem
    recorder: ContactRecorder

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions of systems that formulate their contact problems themselves."""
        return isinstance(system, SteppedSystem)

    @classmethod
    def can(cls, motion: CertifiedAccelerations, method: Stepper, rules: ContactRules) -> str | None:
        """Accept only velocity-level steps; if contacts have no fixed names, only stabilisation none or projection."""
        if method.loop != "time-stepping":
            return "the system states its own time steps; choose stepper='moreau-jean'"
        if motion.stabiliser.name not in ("none", "projection") and not motion.system.contact_names:
            return "time steps of such a system know the stabilisations none and projection"
        return None

    def begin(self) -> None:
        """Prepare the first step, which also records the start; raises BadInput if dt makes the steps unstable."""
        t, q, v = self.t, self.q, self.v
        self.recall(memory := {"idle": [], "sides": [event.value(t, q, v) for event in self.rules.events]})
        if why := self.system.why_damped(t, q, v, self._grid.instant(1) - t):
            self.recall({**memory, "damped": [why]})
        if self.system.contact_names:
            self._refuse_other_laws()
            gaps, size = self.system.gaps(t, q), 1.0 + float(np.abs(q).max())
            refuse_penetration(self.system, gaps, self.system.gap_rates(t, q, v), PENETRATED * size)
            self._say_penetration(self.system.contact_names, gaps, TOUCHING * size)
        elif self._here is not None:
            self._say_penetration(*self._here.found[:2], SUNK, self.motion.stabiliser.name == "projection")

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        self._pushed, self._sides = dict[str, int](memory["idle"]), list(memory["sides"])
        names, r = memory.get("latest", ((), ()))
        self._latest = KnownImpulses(tuple(names), np.array(r, dtype=np.float64))
        if len(r) != ROWS * len(names):
            raise ValueError("a contact has three impulses")
        self.recorder.names.update({name: i for i, name in enumerate(memory.get("contacts", ()))})
        self.motion.solver.sequence.solver.memory = int(memory.get("solver", 0))
        # Contacts of the steps since the latest event, and bytes that tell which of them push.
        self._same: tuple[Sequence[str] | None, bytes] = None, b""
        self._grid, self._why = replace(self.control, origin=self.origin), list(memory.get("damped", ()))
        self.system = self.system.for_steps(self.control.dt or 0.0, damped=bool(self._why))
        self.motion.warnings += self._why
        # None after free steps, until it is needed.
        self._here: TimeStep | None = self._start(self.t, self.q, self.v)

    def renew(self, control: Control) -> End | None:
        """Go on with a step under the new inputs."""
        super().renew(control)
        self._grid = replace(control, origin=self.origin)
        self._here = self._start(self.t, self.q, self.v)
        return None

    def memory(self) -> dict[str, Any]:
        """Return what the base class does, the latest impulses, the solver's memory, and the names of all contacts."""
        solver, names = self.motion.solver.sequence.solver.memory, list(self.recorder.names)
        more = {"latest": tuple(self._latest), "solver": solver, "contacts": names, "damped": self._why}
        return {"idle": list(self._pushed.items()), "sides": list(self._sides), **more}

    def _start(self, t: float, q: Vector, v: Vector) -> TimeStep:
        begin, here = perf_counter(), self.system.time_step(t, q, v)
        self.motion.timing["model"] += perf_counter() - begin
        return here

    def _next(self) -> float:
        """Return the instant at which the next step ends."""
        return self._grid.instant(self.steps + 1)

    def _ends(self) -> Iterator[float]:
        """Yield the instant at which the next step ends, again and again as the state moves on."""
        while True:
            self._end = self._next()
            yield self._end
            if self.looks is not None:
                self.looks.at(self.t, self.q)  # the loop does this for the last of several steps

    def take(self) -> End | None:
        """Take one step, or several, with each of which the state moves on."""
        here, timing, solver, begin = self._here, self.motion.timing, self.motion.solver, perf_counter()
        if self.steps and not self._pushed and (here is None or here.free):
            free = self.system.free_steps(self.t, self.q, self.v, self._free_ends())
            timing["solve"] += perf_counter() - begin
            if free is not None:
                return self._free(*free)
        self._ended: End | None = None
        begin, left = perf_counter(), here or self._start(self.t, self.q, self.v)
        self._here = left
        if solver.sequence.warm_start and solver.sequence.solver.quick_methods() is not None:
            others = timing["model"] + timing["record"]
            quick, project = solver.sequence.solver, self.motion.stabiliser.name == "projection"
            found = left.at_once(self._ends(), self._known, self._arrived, quick, solver.tolerance, project=project)
            timing["solve"] += perf_counter() - begin - (timing["model"] + timing["record"] - others)
            if found is None:
                return self._ended
            left = found
        step = self._in_parts(left, next(self._ends()) - self.t)
        if not isinstance(step, Taken):
            return step
        self._arrived(step)
        return self._ended

    def _free_ends(self) -> list[float]:
        """Return the instants at which steps end up to the next one at which someone looks at the state."""
        left = 1 if self.looks is not None or self.rules.events else self.every - self.steps % self.every
        grid, ends = self._grid, [self._next()]
        while len(ends) < min(left, MOST) and ends[-1] < grid.t_end:
            ends.append(grid.instant(self.steps + 1 + len(ends)))
        return ends

    def _free(self, taken: int, step: Taken) -> End | None:
        """Move on by steps in which no constraint acts, the last of which is given."""
        self._here, self.steps = None, self.steps + taken
        self.t, self.q, self.v = self._grid.instant(self.steps), step.end.q, step.end.v
        return self._taken(step)

    def _known(self, names: Sequence[str]) -> Vector | None:
        return self._latest.of(names)

    def _arrived(self, step: Taken) -> TimeStep | None:
        """Move on to the end of a step; return the step that begins there, or None if others go on first."""
        here, end = self._here, step.end
        assert here is not None
        if not end.missed <= MISSED and (ended := self._contradicts(end)) is not None:
            self._ended = ended
            return None
        if step.missed >= 0.0:
            self._solved(step.names, step.r, step.missed, step.iterations)
        if not self.steps:
            self._record(here, step)
        self.steps += 1
        self.t, self.q, self.v = self._end, end.q, end.v
        if not math.isfinite(end.q.dot(end.q) + end.v.dot(end.v)):
            self.refuse_divergence(end.q, end.v)
        if self._note(step):
            self._note_gain(here, step.r)
        self._here = following = self._start(self.t, self.q, self.v)
        if following.names is not step.names:
            self._say_lost(step, following.names)
        self._ended = self._taken(step)
        # The loop keeps what a longer motion needs before the last step, which the end may shorten.
        last = self._ended is not None or self._next() >= self._grid.t_end or self.steps % MOST == 0
        return None if last or (following.free and not self._pushed) else following

    def _contradicts(self, end: Reached) -> End | None:
        """Return status and message if a step leaves more of the equality rows than rounding explains."""
        left = end.missed / (1.0 + float(np.abs(end.v).max()))
        if not left <= max(MISSED, self.motion.system.row_rounding):
            return Status.INFEASIBLE, (
                f"Stopped at t = {self.t:.9g}: the equality constraints contradict each other; the best step "
                f"leaves {end.missed:.2g} m/s or rad/s of them."
            )
        if left > MISSED and ROUNDED not in self.motion.warnings:
            self.motion.warnings.append(ROUNDED)
        return None

    def _in_parts(self, here: TimeStep, h: float) -> Taken | End:
        """Take a step; return status and message if its impulses are not accepted."""
        begin = perf_counter()
        problem: ConeComplementarity | None = here.problem(h)
        self.motion.timing["build"] += perf_counter() - begin
        for _ in range(100):
            assert problem is not None
            r, ending = self._impulses(problem, here)
            if ending is not None:
                return ending
            stated, problem = problem, here.again(r)
            if problem is None:
                end = here.finish(r, project=self.motion.stabiliser.name == "projection")
                pushes = (r[::ROWS] > 0.0).astype(np.float64).tobytes()
                return Taken(here.names, here.opens, self.v, end, h, stated, r, pushes)
        raise BadInput(f"The force of the step at t = {self.t:.9g} does not settle; use a smaller step.")

    def _say_lost(self, of: Taken, now: Sequence[str]) -> None:
        """Warn of the first contact that a step kept closed and that is not among those found at its end."""
        # Where other contacts of the same pair of geometries remain, their number in the name may have changed.
        pushed = compress(of.names, (of.r[::ROWS] * of.opens > 0.0).tolist())
        lost = [x for x in set(pushed).difference(now) if NUMBER.sub("", x) not in now]
        if lost and not any(warning.endswith(LOST) for warning in self.motion.warnings):
            self.motion.warnings.append(f"At t = {self.t:.9g} the contact {min(lost)!r} is not found, {LOST}")

    def _taken(self, step: Taken) -> End | None:
        """Record the state that is reached if it is due; return status and message if an event ends the motion."""
        ended = self._passed() if self.rules.events else None
        if ended is not None or self.steps % self.every == 0 or self.t >= self.control.t_end:
            self._record(self._here or self._start(self.t, self.q, self.v), step)
        return ended

    def _impulses(self, problem: ConeComplementarity, here: TimeStep) -> tuple[Vector, End | None]:
        """Return the certified impulses of a step, and status and message if they are refused.

        The least are chosen where impulses of equality rows, or events as other contacts push, depend on the choice.
        """
        motion, solver, names = self.motion, self.motion.solver, here.names
        if not problem.k:
            return np.zeros(0), None
        if (problem.q[::ROWS] >= 0.0).all() and (problem.k > 1 or surely_unique(problem)):
            return np.zeros(problem.n), None  # no contact closes: zero impulses satisfy the law exactly
        known = self._latest.of(names)
        raw, timing = solver.sequence.solve(problem, known)
        begin, r = perf_counter(), raw.x
        if r is None or (missed := surely_solved(problem, r, solver.tolerance)) == math.inf:
            judged = page_of(problem).judge(problem, RawSolution(r, None, raw.claim, note=raw.note), solver.tolerance)
            if judged.status is not Status.SOLVED or r is None:
                return np.zeros(0), (judged.status, f"Stopped at t = {self.t:.9g}: {judged.message}")
            missed = judged.proof.residual
        if here.equalities or known is None or ((r[::ROWS] > 0.0) != (known[::ROWS] > 0.0)).any():
            r, missed, _ = least_solved(problem, here.opens, r, solver.tolerance, missed)
        motion.timing["verify"] += perf_counter() - begin
        motion.timing["solve"] += timing.solve
        motion.timing["setup"] += timing.setup
        motion.timing["update"] += timing.update
        self._solved(names, r, missed * velocity_size(problem), raw.iterations)
        return r, None

    def _solved(self, names: Sequence[str], r: Vector, missed: float, iterations: int) -> None:
        """Keep the impulses of a solved problem, which miss Coulomb's law by `missed`, m/s, and count it."""
        motion, worst = self.motion, self.motion.worst
        self._latest = KnownImpulses(names, r)
        motion.iterations += iterations
        motion.evaluations += 1
        worst["constraint_residual"] = max(worst["constraint_residual"], missed)

    def _record(self, at: TimeStep, of: Taken) -> None:
        """Record the present state, described by `at`, with the forces of the step `of`."""
        begin = perf_counter()
        (names, gaps, slip), nan, unique = at.found, math.nan, True
        values = np.zeros((len(names), 7))
        if any(of.pushes):
            before = np.arange(len(names))
            if names is not of.names:
                there = {name: i for i, name in enumerate(of.names)}
                before = np.array([there.get(name, -1) for name in names], dtype=np.int64)
            tolerance = self.motion.solver.tolerance
            unique = record_forces(of.problem, of.opens, of.r, tolerance, of.h, before, values)
        if len(names):
            values[:, 1], values[:, 5:] = gaps, slip
        energy = at.energy()
        about = nan, nan, *at.drift, energy.kinetic, energy.potential, energy.power
        a, lam = (of.end.v - of.before) / of.h, of.end.lam / of.h
        self.recorder.put((self.t, self.q, self.v, a, lam, *about, unique), names, values)
        self.motion.timing["record"] += perf_counter() - begin

    def record_start(self) -> None:
        """Record the start of a motion whose first step has no accepted answer."""
        names, gaps, slip = (self._here or self._start(self.t, self.q, self.v)).found
        values = np.full((len(names), 7), math.nan)
        values[:, 1], values[:, 5:] = gaps, slip
        nothing = np.full(len(self.q), math.nan), np.full(len(self.system.row_names), math.nan)
        self.recorder.put((self.t, self.q, self.v, *nothing, *[math.nan] * 7, True), names, values)

    def _note(self, of: Taken) -> bool:
        """Append events for contacts that began or ceased to push in the last step; return whether any began."""
        if of.names is self._same[0] and of.pushes == self._same[1]:
            return False
        if NOT_UNIQUE not in self.motion.warnings and (of.problem.mu * of.r[::ROWS]).max(initial=0.0) > 0.0:
            self.motion.warnings.append(NOT_UNIQUE)
        pushing = dict.fromkeys(compress(of.names, (of.opens & (of.r[::ROWS] > 0.0)).tolist()), 0)
        if pushing.keys() == self._pushed.keys():
            self._pushed, self._same = pushing, (of.names, of.pushes)
            return False
        self._same = None, b""
        new = sorted(pushing.keys() - self._pushed.keys())
        for name in new:
            self.events.append(MotionEvent(self.t, EventKind.LANDING, name))
        for name in list(self._pushed):
            self._pushed[name] += 1
            if self._pushed[name] == LIFTED and name not in pushing:
                del self._pushed[name]
                self.events.append(MotionEvent(self.t, EventKind.LIFT_OFF, name))
        self._pushed |= pushing
        return bool(new)

    def _note_gain(self, here: TimeStep, r: Vector) -> None:
        """Append an event if the contacts have added energy in the step."""
        fed = here.fed(r)
        if fed > 0.0 and fed > TOLERANCES.energy * (1.0 + here.energy().kinetic):
            pushing = sorted(compress(here.names, (r[::ROWS] > 0.0).tolist()))
            self.events.append(MotionEvent(self.t, EventKind.ENERGY_GAIN, None, {"contacts": pushing, "gain": fed}))

    def about(self) -> dict[str, Any]:
        """Return entries for `Trajectory.meta`, with the contacts that occurred and the entries of the system."""
        return {**super().about(), "contacts": list(self.recorder.names), **self.system.about()}

    def reached(self) -> str:
        """Return the message of a motion that reached its end, with the residual of Coulomb's law."""
        missed = self.motion.worst["constraint_residual"]
        return f"{super().reached()} Coulomb's law of every step is met to {missed:.2g} m/s."
