"""Moreau-Jean steps of systems that formulate the contact problem of each step themselves, such as a `Pile`.

Each step (`gaussopt.core.time_step`) is a cone complementarity problem; contacts may appear and disappear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from time import perf_counter
from typing import Any, NamedTuple

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
from gaussopt.core.time_step import Reached, SteppedSystem, TimeStep
from gaussopt.integration.accelerations import CertifiedAccelerations
from gaussopt.integration.advance import ContactRules, End, EventKind, MotionEvent
from gaussopt.integration.advances.moreau_jean import LIFTED, PENETRATED, MoreauJeanSteps
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.integration.recorded_contacts import STICKING, by_names, forces_into
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

NO_CONTACTS = ConeComplementarity(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
"""The contact problem of a step in which no constraint acts."""


class _Taken(NamedTuple):
    """The step just taken: contacts, which can open, velocity before, state after it, length, problem, impulses."""

    names: Sequence[str]
    opens: NDArray[np.bool_]
    before: Vector
    end: Reached
    h: float
    problem: ConeComplementarity
    r: Vector


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
        self._latest: tuple[Sequence[str], Vector] = tuple(names), np.array(r, dtype=np.float64)
        if len(r) != ROWS * len(names):
            raise ValueError("a contact has three impulses")
        self.recorder.names.update({name: i for i, name in enumerate(memory.get("contacts", ()))})
        self.motion.solver.sequence.solver.memory = int(memory.get("solver", 0))
        # Contacts, and which of them push, of the steps since the latest event.
        self._same: tuple[Sequence[str], list[bool]] = (), []
        self._grid, self._why = replace(self.control, origin=self.origin), list(memory.get("damped", ()))
        self.system = self.system.for_steps(self.control.dt or 0.0, damped=bool(self._why))
        self.motion.warnings += self._why
        self._start(self.t, self.q, self.v)

    def renew(self, control: Control) -> End | None:
        """Go on with a step under the new inputs."""
        super().renew(control)
        self._grid = replace(control, origin=self.origin)
        self._start(self.t, self.q, self.v)
        return None

    def memory(self) -> dict[str, Any]:
        """Return what the base class does, the latest impulses, the solver's memory, and the names of all contacts."""
        solver, names = self.motion.solver.sequence.solver.memory, list(self.recorder.names)
        more = {"latest": self._latest, "solver": solver, "contacts": names, "damped": self._why}
        return {"idle": list(self._pushed.items()), "sides": list(self._sides), **more}

    def _start(self, t: float, q: Vector, v: Vector) -> TimeStep:
        begin, here = perf_counter(), self.system.time_step(t, q, v)
        self._here: TimeStep | None = here  # None after free steps, until it is needed
        self.motion.timing["model"] += perf_counter() - begin
        return here

    def _take_free(self) -> bool:
        """Take steps until a constraint acts, at most to the next recorded state; return whether any was taken."""
        if not self.steps or self._pushed or not (self._here is None or self._here.free):
            return False
        # Where someone looks at the end of each step, steps are taken one by one.
        left = 1 if self.looks is not None or self.rules.events else self.every - self.steps % self.every
        begin, grid, first = perf_counter(), self._grid, self.steps + 1
        ends = [grid.instant(first)]
        while len(ends) < left and ends[-1] < grid.t_end:
            ends.append(grid.instant(first + len(ends)))
        found = self.system.free_steps(self.t, self.q, self.v, ends)
        self.motion.timing["solve"] += perf_counter() - begin
        if found is None:
            return False
        taken, before, end = found
        h = ends[taken - 1] - (ends[taken - 2] if taken > 1 else self.t)
        self.steps += taken
        self.t, self.q, self.v, self._here = ends[taken - 1], end.q, end.v, None
        self._free_step = _Taken((), np.zeros(0, dtype=bool), before, end, h, NO_CONTACTS, np.zeros(0))
        return True

    def take(self) -> End | None:
        """Take one step, or several in which no constraint acts."""
        if self._take_free():
            return self._taken(self._free_step)
        here = self._here or self._start(self.t, self.q, self.v)
        following = self._grid.instant(self.steps + 1)
        h = following - self.t
        of_step = self._at_once(here, h) or self._in_parts(here, h)
        if not isinstance(of_step, _Taken):
            return of_step
        end, r = of_step.end, of_step.r
        if not end.missed <= MISSED:
            left = end.missed / (1.0 + float(np.abs(end.v).max()))
            if not left <= max(MISSED, self.motion.system.row_rounding):
                return Status.INFEASIBLE, (
                    f"Stopped at t = {self.t:.9g}: the equality constraints contradict each other; the best step "
                    f"leaves {end.missed:.2g} m/s or rad/s of them."
                )
            if left > MISSED and ROUNDED not in self.motion.warnings:
                self.motion.warnings.append(ROUNDED)
        if not self.steps:
            self._record(here, of_step)
        self.steps += 1
        self.t, self.q, self.v = following, end.q, end.v
        self.refuse_divergence(end.q, end.v)
        pushes = (r[::ROWS] * here.opens > 0.0).tolist()
        if self._note(here.names, pushes):
            self._note_gain(here, r)
        if (now := self._start(following, end.q, end.v).names) is not here.names:
            self._say_lost(compress(here.names, pushes), now)
        return self._taken(of_step)

    def _at_once(self, here: TimeStep, h: float) -> _Taken | None:
        """Take a step at once; return None if this is not possible."""
        solver, begin = self.motion.solver, perf_counter()
        by = solver.sequence.solver.quick_methods() if solver.sequence.warm_start else None
        if by is None:
            return None
        project = self.motion.stabiliser.name == "projection"
        found = here.at_once(h, self._known_impulses, by, solver.tolerance, project=project)
        self.motion.timing["solve"] += perf_counter() - begin
        if found is None:
            return None
        if found.missed >= 0.0:
            self._latest = here.names, found.r
            solver.sequence.solver.succeeded(found.method)
            self._solved(found.problem, found.r, found.missed, found.iterations)
        return _Taken(here.names, here.opens, self.v, found.end, h, found.problem, found.r)

    def _in_parts(self, here: TimeStep, h: float) -> _Taken | End:
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
                return _Taken(here.names, here.opens, self.v, end, h, stated, r)
        raise BadInput(f"The force of the step at t = {self.t:.9g} does not settle; use a smaller step.")

    def _say_lost(self, pushed: Iterable[str], now: Sequence[str]) -> None:
        """Warn of the first contact that the step kept closed and that the model does not find at its end."""
        # Where other contacts of the same pair of geometries remain, their number in the name may have changed.
        lost = [x for x in set(pushed).difference(now) if NUMBER.sub("", x) not in now]
        if lost and not any(warning.endswith(LOST) for warning in self.motion.warnings):
            self.motion.warnings.append(f"At t = {self.t:.9g} the contact {min(lost)!r} is not found, {LOST}")

    def _taken(self, of_step: _Taken) -> End | None:
        """Record the state that is reached if it is due; return status and message if an event ends the motion."""
        ended = self._passed()
        if ended is not None or self.steps % self.every == 0 or self.t >= self.control.t_end:
            self._record(self._here or self._start(self.t, self.q, self.v), of_step)
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
        known = self._known_impulses(names)
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
        self._latest = names, r
        self._solved(problem, r, missed * velocity_size(problem), raw.iterations)
        return r, None

    def _solved(self, problem: ConeComplementarity, r: Vector, missed: float, iterations: int) -> None:
        """Count a solved problem, whose impulses miss Coulomb's law by `missed`, m/s."""
        motion, worst = self.motion, self.motion.worst
        motion.iterations += iterations
        motion.evaluations += 1
        worst["constraint_residual"] = max(worst["constraint_residual"], missed)
        if NOT_UNIQUE not in motion.warnings and (problem.mu * r[::ROWS]).max() > 0.0:
            motion.warnings.append(NOT_UNIQUE)

    def _known_impulses(self, names: Sequence[str]) -> Vector | None:
        """Return the latest impulses, zero at new contacts; None if there are none."""
        known, r = self._latest
        if names is known or names == known:
            return r
        return by_names(names, known, r) if len(r) else None

    def _record(self, at: TimeStep, of: _Taken) -> None:
        """Record the present state, described by `at`, with the forces of the step `of`."""
        begin = perf_counter()
        (names, gaps, slip), problem, nan = at.found, of.problem, math.nan
        values, unique = np.zeros((len(names), 7)), True
        if of.r.any():
            r, _, unique = least_solved(problem, of.opens, of.r, self.motion.solver.tolerance)
            before = np.arange(len(names))
            if names is not of.names:
                there = {name: i for i, name in enumerate(of.names)}
                before = np.array([there.get(name, -1) for name in names], dtype=np.int64)
            given = problem.u(r), r, problem.mu, of.h, STICKING * velocity_size(problem)
            forces_into(*given, before, values)
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

    def _note(self, names: Any, pushes_now: list[bool]) -> bool:
        """Append events for contacts that began or ceased to push in the last step; return whether any began."""
        if names is self._same[0] and pushes_now == self._same[1]:
            return False
        pushing = dict.fromkeys(compress(names, pushes_now), 0)
        if pushing.keys() == self._pushed.keys():
            self._pushed, self._same = pushing, (names, pushes_now)
            return False
        self._same = (), []
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
