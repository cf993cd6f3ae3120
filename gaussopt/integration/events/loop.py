"""Motions with contacts from event to event.

Between two events every contact keeps its mode: open, sliding in one direction, or sticking. The contact laws are
solved and certified at every stage; a phase ends where a watched function falls through zero:

    the gap of an open contact                                -> it closes, with an impact if it approaches,
    lam_N - m w of a closed one                               -> it opens (a two-sided one changes walls),
    the slip of a sliding one along its direction             -> it sticks or reverses,
    mu lam_N - |lam_T| - m |s| of a sticking one              -> it starts to slip,
    the smallest eigenvalue of the scaled sym(delassus)       -> uniqueness is no longer guaranteed,
    a person's own functions

(m a mass that makes the units agree). The solved forces are continuous across such a change, so that a trial step
beyond it is harmless. The instant is found by repeating the step with other lengths: it is as accurate as the
integration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gaussopt.contact.accumulation import ImpactAccumulation, accumulates
from gaussopt.contact.activity import refuse_penetration, tolerances
from gaussopt.contact.impact_laws import ImpactLaw
from gaussopt.contact.operator import eliminate_joints
from gaussopt.core.errors import BadInput, MotionStopped
from gaussopt.core.event import Event
from gaussopt.core.status import Status
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.stepper import Control, Integration, Stepper
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactModes, ContactSurface
from gaussopt.integration.events.between import GOLDEN, StepInspector, StepInterior
from gaussopt.integration.events.functions import EventFunction, Sample, bracket
from gaussopt.integration.events.scanning import unmoved
from gaussopt.integration.stabilisation import Projection
from gaussopt.linalg.dense import mass_scale
from gaussopt.solving.answer import Answer

if TYPE_CHECKING:
    from gaussopt.compiled.contact_phases import PhaseMarcher, PhaseSegment

MOST_CHANGES = 30
"""Changes of the contact modes at one instant beyond which the state is said not to settle."""

MOST_RETURNS = 2
"""Returns to the same modes at one instant beyond which it is said not to settle; rounding may cause one."""

NOISE = 1e-14
"""Gap or slip, relative to 1 + the largest entry of the state, that is rounding."""

INSTANT = 1e-14
"""Accuracy to which the length of a step to an event is iterated, relative to 1 + t."""

UNSHARED = 1e-11
"""Normal force, relative to the largest, below which a contact has none."""

LEAVING = 0.05
"""Share of what counts as below its limit that a force has lost half-way if it leaves the limit at once."""

VANISHING = 1e-9
"""Slip acceleration or force, relative to the terms it consists of, that counts as zero where modes are decided."""

ENERGY = 1e-10
"""Gain of kinetic energy in an impact, relative to 1 + the energy, that is reported."""

CORRECTION = 1e-3
"""Largest change of a state by projection, relative to 1 + its largest entry."""

MOBILE = 1e-6
"""Motion of a slip under its own force, relative to that of the free bodies, below which it is not corrected."""

APPROACHES = 24
"""Halvings of a step that fails, to say where."""

NEAR = 1e-6
"""Tolerance of an adaptive method on the way to a failure, where forces grow without bound."""

LOSING = 0.1
"""Smallest eigenvalue of the scaled sym(delassus) below which a failing integrator is put down to its loss."""

LOST = 1e-6
"""Smallest eigenvalue below which forces that rounding leaves undetermined are put down to its loss."""

FED = 1e-6
"""Power of friction, relative to 1 + that of its force at the speed of the motion, that is reported."""

Record = Callable[[float, Vector, Vector, Answer], None]


class EventLoop:
    """The loop around phases.

    Parameters
    ----------
    motion : ContactAccelerations
        Solves and certifies the steps of a phase.
    method : Stepper
    control : Control
        dt is the recording interval of an adaptive method.
    impact : ImpactLaw
    user_events : events of the problem
    record : called with every recorded state
    progress : called with the fraction done, or None
    close : bool
        Whether a contact whose impacts accumulate is closed, with e_N = 0, instead of ending the motion.
    every : int
        Steps of dt, or of an adaptive method's own, between two recorded states; events are recorded in any case.

    Attributes
    ----------
    leaps : Leaps or None
        What takes many steps at once where nothing happens.
    steps : int
        Steps taken, those that end at an event included.
    """

    def __init__(
        self,
        motion: ContactAccelerations,
        method: Stepper,
        control: Control,
        impact: ImpactLaw,
        user_events: Sequence[Event],
        record: Record,
        progress: Callable[[float], None] | None,
        close: bool = False,
        every: int = 1,
    ) -> None:
        self.motion, self.method, self.control, self.impact, self.close = motion, method, control, impact, close
        self.system, self.user_events, self.record, self.progress = motion.system, user_events, record, progress
        self.leaps: PhaseMarcher | None = None
        self.every, self.steps = every, 0
        self.events: list[dict[str, Any]] = []
        self.t, self.q, self.v = 0.0, np.zeros(0), np.zeros(0)
        self._impacts: dict[int, list[float]] = {}
        self._loose: dict[int, Vector] = {}
        self._changes: tuple[float, list[str]] = (0.0, [])
        self._sides = [0.0] * len(user_events)
        self._just: set[int] = set()
        self._looking = StepInspector(motion.system, method.adaptive)

    # -- the loop ----------------------------------------------------------------------------------------------

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message.

        Raises
        ------
        Rejected
            If a step has no accepted answer.
        BadInput
            If the start penetrates, an impact has no law, or the modes do not settle.
        """
        self.t, self.q, self.v = t, q, v
        origin, end = t, self.control.t_end
        refuse_penetration(self.system, self.motion.whole(t, q, v))
        self._settle({})
        # The modes at the start are no events; an impact there is one.
        self.events = [e for e in self.events if e["kind"] in ("impact", "energy_gain")]
        self._sides = [math.copysign(1.0, e.value(t, self.q, self.v)) for e in self.user_events]
        self._record()
        while self.t < end:
            ended = self._phase(origin)
            if ended is not None:
                return ended
        return Status.SOLVED, f"Reached t = {end:g}."

    def _phase(self, origin: float) -> tuple[Status, str] | None:
        """One phase; returns how the motion ended, or None to go on."""
        control = replace(self.control, origin=origin, every_step=True)
        watches = self._watches()
        before = self._sample(watches, self.t, self.q, self.v)
        # What starts at zero counts as starting above it: a contact just opened, a slip just begun. The others have to
        # be above it once before they can fall through it, and so has a person's function that has just passed it.
        live = np.array([w.kind not in ("definite", "user") for w in watches]) | (before.values > 0)
        live &= np.array([w.kind != "user" or w.index not in self._just for w in watches])
        self._just.clear()
        integration = self.method.start(self.motion, self.t, self.q, self.v, control)
        while self.t < control.t_end:
            if self._leap(origin):
                integration = self.method.start(self.motion, self.t, self.q, self.v, control)
                before = self._sample(watches, self.t, self.q, self.v)
                live |= before.values > 0
                continue
            try:
                t, q, v = integration.advance()
                if not math.isfinite(float(q.sum()) + float(v.sum())):
                    raise BadInput("the motion diverged and is no longer finite; use a smaller step.")
                after = self._sample(watches, t, q, v)
            except Rejected as rejected:
                left = self._approach_failure(watches, before)
                if rejected.answer.status is not Status.INACCURATE or left > LOST:
                    raise
                return self._unbounded_forces(str(rejected))
            except BadInput as error:
                if self._definite(watches, before) > LOSING:
                    raise
                self._note("indefinite", smallest_eigenvalue=self._definite(watches, before))
                return self._unbounded_forces(str(error))
            hits, reached, pierced = self._first(watches, live, before, after, integration)
            self.steps += 1
            if pierced is not None:
                return Status.INACCURATE, pierced
            if hits:
                self.t, self.q, self.v = reached.t, reached.q, reached.v
                self._record()
                return self._handle([watches[i] for i in hits], after)
            live |= after.values > 0
            self.t, self.q, self.v, before = t, q, v, after
            self._turn()
            if isinstance(self.motion.stabiliser, Projection):
                self._project(self.motion.phase.closed, self.motion.phase.sticking)
                integration.replace(self.q, self.v)
                before = self._sample(watches, self.t, self.q, self.v)
            number = self._number(origin)
            if number is not None:
                self._record(number % self.every == 0 or self.t >= control.t_end)
            if self.progress is not None:
                self.progress((self.t - origin) / (control.t_end - origin))
        return None

    def _leap(self, origin: float) -> bool:
        """Take and record the steps of a leap; False where the next step is for the loop itself."""
        if self.leaps is None:
            return False
        mu = self.motion.whole(self.t, self.q, self.v).mu
        leap = self.leaps.take(self.t, self.q, self.v, mu, origin)
        if leap is None:
            return False
        if self.user_events:
            quiet = self._uneventful(leap)
            if quiet < len(leap):
                self.leaps.shortened(quiet)
                leap = leap[:quiet]
            if not quiet:
                return False
        self.steps += len(leap)
        dt = self.control.dt
        assert dt is not None
        due = np.round((leap.t - origin) / dt).astype(int) % self.every == 0
        power = np.einsum("Nkd,Nkd->N", leap.lam_T, leap.slip)
        extent = np.abs(leap.lam_T).max(axis=(1, 2), initial=0.0) * np.linalg.norm(leap.v, axis=1)
        begin = 0
        for i in np.flatnonzero(leap.undecided | (power > FED * (1.0 + extent))).tolist():
            # Where there is something to confirm or to say the state is looked at as any other.
            self.leaps.record(leap[begin:i][due[begin:i]])
            self.t, self.q, self.v = leap.state(i)
            self._record(bool(due[i]))
            begin = i + 1
        self.leaps.record(leap[begin:][due[begin:]])
        self.t, self.q, self.v = leap.state(-1)
        if self.progress is not None:
            self.progress((self.t - origin) / (self.control.t_end - origin))
        return True

    def _uneventful(self, leap: PhaseSegment) -> int:
        """The number of steps of a leap, from the first, in which no person's function comes near zero."""
        t, q, v = np.append(self.t, leap.t), np.vstack((self.q, leap.q)), np.vstack((self.v, leap.v))
        return unmoved(np.array([self._side(j) * event.values(t, q, v) for j, event in enumerate(self.user_events)]))

    def _user_value(self, i: int, t: float, q: Vector, v: Vector) -> float:
        """A user event, above zero on the side that it is watched from."""
        return self._side(i) * self.user_events[i].value(t, q, v)

    def _side(self, i: int) -> float:
        """The sign that makes a user event positive on the side that it is watched from."""
        return -self.user_events[i].direction or self._sides[i]

    def _turn(self) -> None:
        """In space, let the directions of friction follow the slip."""
        phase = self.motion.phase
        if phase.sigma.shape[1] > 1 and phase.sigma.any():
            slip = self.motion.whole(self.t, self.q, self.v).v_T
            speed = np.linalg.norm(slip, axis=1, keepdims=True)
            follow = phase.sigma.any(axis=1, keepdims=True) & (speed > 0)
            self.motion.phase = replace(
                phase, sigma=np.where(follow, -slip / np.where(speed > 0, speed, 1.0), phase.sigma)
            )

    def _number(self, origin: float) -> int | None:
        """Which of the instants that may be recorded the present one is; None where it is none of them."""
        dt = self.control.dt
        if dt is None or self.t >= self.control.t_end:
            return self.steps
        steps = (self.t - origin) / dt
        return round(steps) if abs(steps - round(steps)) < 1e-9 * max(1.0, steps) else None

    def _record(self, due: bool = True) -> None:
        """Look at the present state, and write it down where it is due."""
        answer = self.motion.answer(self.t, self.q, self.v)
        if answer.contact is not None and answer.contact.reason == "undecided":
            self.motion.confirm(self.motion.step(self.t, self.q, self.v), self.motion.solvers.main)
        if due:
            self.record(self.t, self.q, self.v, answer)
        # Friction opposes the slip by construction; that it feeds no power is checked all the same.
        lam_T, slip = self.motion.forces(answer)[1], self.motion.whole(self.t, self.q, self.v).v_T
        power = float(np.vdot(lam_T, slip))
        if power > FED and power > FED * (1.0 + float(np.abs(lam_T).max() * np.linalg.norm(self.v))):
            self._note("energy_gain", power=power)

    def _note(self, kind: str, contact: int | None = None, **more: Any) -> None:
        where = {} if contact is None else {"contact": self.system.contact_names[contact]}
        self.events.append({"t": self.t, "kind": kind, **where, **more})

    # -- watching ----------------------------------------------------------------------------------------------

    def _watches(self) -> list[EventFunction]:
        phase, step = self.motion.phase, self.motion.whole(self.t, self.q, self.v)
        watches = []
        for i in range(step.k):
            if i not in phase.closed:
                watches.append(EventFunction("gap", i))
                continue
            watches.append(EventFunction("normal", i))
            if i in phase.sticking:
                watches.append(EventFunction("stick", i))
            elif step.mu[i] > 0:
                watches.append(EventFunction("slip", i))
        if phase.closed and not phase.sticking and step.mu[list(phase.closed)].any():
            watches.append(EventFunction("definite", 0))
        return watches + [EventFunction("user", j) for j in range(len(self.user_events))]

    def _sample(self, watches: list[EventFunction], t: float, q: Vector, v: Vector) -> Sample:
        motion = self.motion
        step, answer = motion.whole(t, q, v), motion.answer(t, q, v)
        assert answer.a is not None
        w, s, inverse = step.J_N @ answer.a + step.zeta_N, step.J_T @ answer.a + step.zeta_T, mass_scale(step.M) ** 2
        rows = [self._value(watch, step, answer, w, s, inverse, t, q, v) for watch in watches]
        return Sample(t, q, v, answer.a, *np.array(rows).reshape(-1, 4).T)

    def _value(
        self, watch: EventFunction, step: StepData, answer: Answer, w: Vector, s: Matrix, inverse: Vector, t: float,
        q: Vector, v: Vector,
    ) -> tuple[float, float, float, float]:  # fmt: skip
        """Value, rate and acceleration (NaN if unknown), and noise.

        w and s are the accelerations of gaps and slips, (k,) and (k, d); `inverse` is 1 / M_ii, 1 without mass.
        """
        i, phase = watch.index, self.motion.phase
        if watch.kind == "user":
            return self._user_value(i, t, q, v), math.nan, math.nan, 0.0
        if watch.kind == "gap":
            assert step.g_N is not None
            assert step.gdot_N is not None
            return float(step.g_N[i]), float(step.gdot_N[i]), float(w[i]), NOISE * (1.0 + float(np.abs(q).max()))
        if watch.kind == "definite":
            return self.motion.definiteness(t, q, v), math.nan, math.nan, 0.0
        place = phase.closed.index(i)
        # Where forces are shared arbitrarily (redundant contacts), one without a share must not seem to open.
        noise = UNSHARED * float(np.abs(answer.lam_N).max())
        if watch.kind == "normal":
            pull = phase.wall[i] * w[i] / (step.J_N[i] ** 2 @ inverse)
            return float(answer.lam_N[place] - pull), math.nan, math.nan, noise
        if watch.kind == "slip" and step.v_T.shape[1] > 1:
            # In space the direction turns with the motion; sigma is the one at the last step taken.
            return float(-phase.sigma[i] @ step.v_T[i]), math.nan, math.nan, 0.0
        if watch.kind == "slip":
            return (
                float(-phase.sigma[i] @ step.v_T[i]), float(-phase.sigma[i] @ s[i]), math.nan,
                NOISE * (1.0 + float(np.abs(v).max())),
            )  # fmt: skip
        friction = float(np.linalg.norm(answer.lam_T[place]))
        bound = float(step.mu[i] * answer.lam_N[place])
        slipping = float(np.linalg.norm(s[i]) / (step.J_T[i] ** 2 @ inverse).max())
        return bound - friction - slipping, math.nan, math.nan, noise

    def _first(
        self, watches: list[EventFunction], live: Any, before: Sample, after: Sample, integration: Integration
    ) -> tuple[list[int], Sample, str | None]:
        """The watches that fall through zero first within a step, the state there, and what went through unseen."""
        h = after.t - before.t
        known: dict[float, Sample] = {0.0: before, h: after}

        def at(s: float) -> Sample:
            if s not in known:
                known[s] = self._sample(watches, *self._repeat(before, s))
            return known[s]

        step = self._looking.between(before, after, integration.within)
        inner = self._inner(watches, step)
        roots: dict[int, float] = {}
        for j, watch in enumerate(watches):
            interval = self._interval(j, watch, bool(live[j]), step, inner, at)
            if interval is not None:
                roots[j] = self._root(j, watches, interval, before, after, at)
        if not roots:
            return [], after, self._pierced(watches, step, at)
        first = min(roots.values())
        same = 1e-12 * (1.0 + abs(before.t))
        reached = at(first)
        hits = [j for j, s in roots.items() if s <= first + same]
        # Redundant contacts start to slip together, whatever share of the force each of them had.
        if any(watches[j].kind == "stick" for j in hits):
            loose = reached.values <= np.maximum(1e3 * reached.noise, 0.0)
            hits = sorted({*hits, *(j for j in range(len(watches)) if watches[j].kind == "stick" and loose[j])})
        return hits, reached, None

    def _inner(self, watches: list[EventFunction], step: StepInterior) -> list[Sample]:
        """Samples at the ends of a step; of its pieces where more is watched than gaps and a person's functions."""
        if step.number == 1 or all(watch.kind in ("gap", "user") for watch in watches):
            return [step.before, step.after]
        instants = (i / step.number * step.h for i in range(1, step.number))
        between = [self._sample(watches, step.before.t + s, *step.state(s)) for s in instants]
        return [step.before, *between, step.after]

    def _interval(
        self,
        j: int,
        watch: EventFunction,
        live: bool,
        step: StepInterior,
        inner: list[Sample],
        at: Callable[[float], Sample],
    ) -> tuple[float, float] | None:
        """Where within a step watch j falls through zero first, or None."""
        if watch.kind == "gap":
            return step.closing(j, watch.index, at)
        if watch.kind == "user":
            event = self.user_events[watch.index]
            return step.happening(j, lambda *state: self._user_value(watch.index, *state), live, event.name, at)
        begin = step.before.t
        for left, right in pairwise(inner):
            if live:
                shift = left.t - begin

                def later(s: float, shift: float = shift) -> Sample:
                    return at(shift + s)

                found = bracket(left, right, j, right.t - left.t, later)
                if found is not None:
                    return shift + found[0], shift + found[1]
            live = live or right.values[j] > 0
        return None

    def _root(
        self, j: int, watches: list[EventFunction], interval: tuple[float, float], before: Sample, after: Sample,
        at: Callable[[float], Sample],
    ) -> float:  # fmt: skip
        """The instant at which watch j falls through zero, as a time after `before`."""
        low, high = interval
        value, level = float(at(low).values[j]), 0.0
        noise = max(before.noise[j], after.noise[j])
        shared = watches[j].kind == "stick" and sum(watch.kind == "stick" for watch in watches) > 1
        if shared and -noise <= value <= noise and after.values[j] < -2.0 * noise:
            # Where redundant contacts share friction arbitrarily, one of them may be at its limit long before it
            # slips: what counts is where it leaves the limit, which it may do at once.
            level = -2.0 * noise
        if value <= level:
            return low
        accuracy = INSTANT * (1.0 + abs(before.t))
        from scipy.optimize import brentq  # a third of a second that motions without events need not wait

        root = brentq(lambda s: float(at(s).values[j]) - level, low, high, xtol=accuracy, rtol=8.9e-16)
        at_once = level < 0.0 and at(0.5 * (low + root)).values[j] < LEAVING * level
        return low if at_once else float(root)

    def _pierced(self, watches: list[EventFunction], step: StepInterior, at: Callable[[float], Sample]) -> str | None:
        """What is said where a contact was inside its obstacle within a step that is about to be taken."""
        gaps = [(j, watch.index) for j, watch in enumerate(watches) if watch.kind == "gap"]
        found = step.pierced(self.steps * GOLDEN % 1.0, gaps, at)
        if found is None:
            return None
        contact, s, gap = found
        return (
            f"Stopped at t = {self.t:.9g}: within the step that follows, at t = {self.t + s:.9g}, contact "
            f"{self.system.contact_names[contact]!r} was {-gap:.3g} inside its obstacle, and its impact was not found; "
            "limit the steps by dt."
        )

    def _repeat(self, before: Sample, s: float, least_tolerance: float = 0.0) -> tuple[float, Vector, Vector]:
        """The state a time s after `before`, by the same method."""
        end = before.t + s
        rtol, atol = (max(x, least_tolerance) for x in (self.control.rtol, self.control.atol))
        control = Control(end, None if self.method.adaptive else s, rtol, atol, first_step=s)
        integration = self.method.start(self.motion, before.t, before.q, before.v, control)
        t, q, v = before.t, before.q, before.v
        while t < end:
            t, q, v = integration.advance()
        return t, q, v

    def _unbounded_forces(self, why: str) -> tuple[Status, str]:
        """How a motion ends where the contact operator loses its definiteness."""
        return Status.NO_SOLUTION, (
            f"Stopped at t = {self.t:.9g}: the contact operator loses its definiteness and the contact forces grow "
            f"without bound (Painleve). {why}"
        )

    def _approach_failure(self, watches: list[EventFunction], before: Sample) -> float:
        """Where a step fails because the contact operator becomes indefinite, go near to the failure.

        Returns
        -------
        float
            The smallest eigenvalue there; infinite if it is not watched.
        """
        if not any(w.kind == "definite" for w in watches):
            return math.inf
        low, high, best = 0.0, self.control.dt or 0.1 * (self.control.t_end - before.t), before
        for _ in range(APPROACHES):
            middle = 0.5 * (low + high)
            try:
                best = self._sample(watches, *self._repeat(before, middle, NEAR))
                low = middle
            except (Rejected, BadInput):
                high = middle
        self.t, self.q, self.v = best.t, best.q, best.v
        left = self._definite(watches, best)
        self._note("indefinite", smallest_eigenvalue=left)
        self._record()
        return left

    def _definite(self, watches: list[EventFunction], sample: Sample) -> float:
        """The watched eigenvalue; infinite if it is not watched."""
        return next((float(x) for w, x in zip(watches, sample.values, strict=True) if w.kind == "definite"), math.inf)

    # -- changing modes ----------------------------------------------------------------------------------------

    def _handle(self, hits: list[EventFunction], after: Sample) -> tuple[Status, str] | None:
        """What the events do to the phase; returns how the motion ended, or None.

        `after` is the trial step beyond them: where friction reaches its bound, it tells against which slip.
        """
        t, left = self._changes
        left = left if abs(self.t - t) <= 1e-12 * (1 + abs(t)) else []
        here = self.motion.phase.key(self.v) if any(w.kind != "user" for w in hits) else f"user {len(left)}"
        self._changes = (self.t, [*left, here])
        if len(left) >= MOST_CHANGES or left.count(here) >= MOST_RETURNS:
            self._forget_repetitions()
            raise MotionStopped(
                f"the contact modes do not settle at t = {self.t:.9g}: they change again and again at one instant; use "
                "a time-stepping method (moreau-jean)."
            )
        hints: dict[int, str] = {}
        terminal: Event | None = None
        self._just = {watch.index for watch in hits if watch.kind == "user"}
        for watch in hits:
            i = watch.index
            if watch.kind == "user":
                event = self.user_events[i]
                self._sides[i] = -self._sides[i]
                self._note(event.name, terminal=event.terminal)
                terminal = event if event.terminal else terminal
            elif watch.kind == "normal":
                hints[i] = "opens"
                if not self.system.two_sided[i]:
                    self._note("lift_off", i)
            elif watch.kind == "stick":
                hints.setdefault(i, "breaks")  # friction vanishes with the normal force of a contact that opens
            elif watch.kind == "slip":
                hints[i] = "stops"
            elif watch.kind == "definite":
                self._note("indefinite", smallest_eigenvalue=0.0)
        if terminal is not None:
            return Status.SOLVED, f"Ended at the event {terminal.name!r} at t = {self.t:.12g}."
        if all(w.kind == "user" for w in hits):
            return None
        walls = self.motion.phase.wall
        self._loose = {w.index: self._friction_direction(w.index, after) for w in hits if w.kind == "stick"}
        accumulation = self._settle(hints)
        for c in np.flatnonzero(self.motion.phase.wall != walls):
            self._note("wall_change", int(c))
        if accumulation is not None:
            self._note("accumulation", accumulation.contact, time_estimate=accumulation.time, ratio=accumulation.ratio)
            return Status.ACCUMULATION, (
                f"The impacts of contact {self.system.contact_names[accumulation.contact]!r} accumulate at t = "
                f"{accumulation.time:.12g} s (ratio of successive flights {accumulation.ratio:.6g}); the motion is "
                f"known up to t = {self.t:.9g}. Continue with accumulation='close', or use moreau-jean."
            )
        self._record()
        return None

    def _forget_repetitions(self) -> None:
        """Leave one event of each kind and contact at the present instant."""
        seen: set[tuple[str, str]] = set()
        kept = []
        for event in self.events:
            key = event["kind"], str(event.get("contact", event.get("contacts")))
            now = abs(event["t"] - self.t) <= 1e-12 * (1 + abs(self.t))
            if not (now and key in seen):
                kept.append(event)
            if now:
                seen.add(key)
        self.events = kept

    def _settle(self, hints: dict[int, str]) -> ImpactAccumulation | None:
        """Find the phase that follows at the present instant: impacts, then modes."""
        # What has drifted during the phase is neither a separation nor an impact.
        self._project(self.motion.phase.closed, frozenset())
        for _ in range(MOST_CHANGES):
            phase = self.motion.phase
            step = self.motion.whole(self.t, self.q, self.v)
            assert step.g_N is not None
            gap, rate = tolerances(step)
            touching = [i for i in range(step.k) if i in phase.closed or self.system.two_sided[i] or step.g_N[i] <= gap]
            self._project(tuple(touching), frozenset(), positions_only=True)
            step = self.motion.whole(self.t, self.q, self.v)
            assert step.gdot_N is not None
            if any(step.gdot_N[i] < -rate and not self.system.two_sided[i] for i in touching):
                accumulation = self._impact(touching, rate)
                if accumulation is not None:
                    return accumulation
                hints = {}
                continue
            if self._classify(touching, rate, hints):
                return None
            hints = {}
        raise BadInput(
            f"the contact modes do not settle at t = {self.t:.9g}; use a time-stepping method (moreau-jean)."
        )

    def _impact(self, touching: list[int], rate: float) -> ImpactAccumulation | None:
        """Jump to the velocity after the impact."""
        step = self.motion.whole(self.t, self.q, self.v).select(touching)
        assert step.gdot_N is not None
        found: ImpactAccumulation | None = None
        for place, i in enumerate(touching):
            if step.gdot_N[place] < -rate:
                history = self._impacts.setdefault(i, [])
                history.append(self.t)
                found = found or accumulates(i, history)
        if found is not None and self.close:
            self._note("accumulation", found.contact, time_estimate=found.time, ratio=found.ratio)
            self._impacts[found.contact] = []
            e_N = np.zeros(step.k) if step.e_N is None else step.e_N.copy()
            e_N[touching.index(found.contact)] = 0.0
            step, found = replace(step, e_N=e_N), None
        impact = self.impact(step, self.motion.solve_impact)
        names = [self.system.contact_names[i] for i in touching]
        change = impact.energy_change(step)
        kinetic = 0.5 * float(self.v @ step.M @ self.v)
        before = self.v
        self.v = self.v + impact.dv
        self._note(
            "impact", contacts=names, gap_rates=np.asarray(step.gdot_N).tolist(), **impact.to_mapping(),
            energy_change=change, v_before=before.tolist(), v_after=self.v.tolist(),
        )  # fmt: skip
        fed = impact.energy_fed(step)
        if fed > ENERGY * (1.0 + kinetic):
            self._note("energy_gain", contacts=names, gain=fed)
        phase = self.motion.phase
        self.motion.phase = ContactModes(phase.closed, frozenset(), np.zeros_like(phase.sigma), phase.wall)
        return found

    def _classify(self, touching: list[int], rate: float, hints: dict[int, str]) -> bool:
        """Modes of the touching contacts from the contact laws; False if another round is needed."""
        motion, old = self.motion, self.motion.phase
        step = motion.whole(self.t, self.q, self.v)
        assert step.gdot_N is not None
        wall = old.wall.copy()
        for i, hint in hints.items():
            if hint == "opens" and self.system.two_sided[i]:
                wall[i] = -wall[i]
        closed = tuple(
            i for i in touching if self.system.two_sided[i] or (step.gdot_N[i] <= rate and hints.get(i) != "opens")
        )
        sigma = np.zeros_like(old.sigma)
        resting = set()
        for i in closed:
            speed = float(np.linalg.norm(step.v_T[i]))
            if step.mu[i] == 0:
                continue
            if old.sigma[i].any() and hints.get(i) not in ("stops", "breaks"):
                sigma[i] = old.sigma[i]
            elif hints.get(i) == "breaks" and self._loose[i].any():
                sigma[i] = self._loose[i]
            elif speed > rate and hints.get(i) != "stops":
                sigma[i] = -step.v_T[i] / speed
            else:
                resting.add(i)
        motion.phase = ContactModes(closed, frozenset(resting), sigma, wall)
        self._project(closed, frozenset())
        if not closed:
            return True
        answer = motion.solve_thoroughly(motion.step(self.t, self.q, self.v))
        return self._read_modes(answer, old, resting)

    def _friction_direction(self, i: int, after: Sample) -> Vector:
        """The direction of the friction force of contact i: beyond an event, or at it where the contact opens beyond.

        Zero where there is none.
        """
        place = self.motion.phase.closed.index(i)
        for state in ((after.t, after.q, after.v), (self.t, self.q, self.v)):
            force = self.motion.answer(*state).lam_T[place]
            size = float(np.linalg.norm(force))
            if size > 0:
                return np.asarray(force / size)
        return np.asarray(force)

    def _read_modes(self, answer: Answer, old: ContactModes, resting: set[int]) -> bool:
        """The phase that the solved contact laws name."""
        motion, phase = self.motion, self.motion.phase
        step = motion.whole(self.t, self.q, self.v)
        a = answer.a
        assert a is not None
        sigma, wall = phase.sigma.copy(), phase.wall.copy()
        closed, sticking = [], set()
        d = mass_scale(step.M)
        inverse = d**2
        again = False
        for place, i in enumerate(phase.closed):
            w = wall[i] * float(step.J_N[i] @ a + step.zeta_N[i])
            # Terms that may have cancelled in w are of the size of the whole acceleration.
            size = float(np.linalg.norm(step.J_N[i] * d) * np.linalg.norm(a / d) + np.abs(step.zeta_N[i]))
            mass = 1.0 / float(step.J_N[i] ** 2 @ inverse)
            if answer.lam_N[place] - mass * w < -VANISHING * (mass * size + float(answer.lam_N.max())):
                if self.system.two_sided[i]:
                    wall[i], again = -wall[i], True
                    closed.append(i)
                elif i in old.closed:
                    self._note("lift_off", i)
                continue
            closed.append(i)
            if i not in old.closed:
                self._note("landing", i)
            if i not in resting:
                if i in old.sticking and sigma[i].any():
                    self._note("slip", i)
                continue
            s = step.J_T[i] @ a + step.zeta_T[i]
            terms = float(np.linalg.norm(step.J_T[i] * d) * np.linalg.norm(a / d) + np.abs(step.zeta_T[i]).max())
            friction = float(step.mu[i] * answer.lam_N.max() * (step.J_T[i] ** 2 @ inverse).max())
            if np.linalg.norm(s) <= VANISHING * (terms + friction):
                sticking.add(i)
                if i not in old.sticking:
                    self._note("stick", i)
            else:
                sigma[i] = -s / np.linalg.norm(s)
                if old.sigma[i].any():
                    self._note("reversal", i)
                else:
                    self._note("slip", i)
        motion.phase = ContactModes(tuple(closed), frozenset(sticking), sigma, wall)
        if sticking and not again:
            self._project(tuple(closed), frozenset(sticking))
        return not again

    # -- staying on the contacts -------------------------------------------------------------------------------

    def _project(self, closed: tuple[int, ...], sticking: frozenset[int], positions_only: bool = False) -> None:
        """Move the state onto joints, closed gaps and sticking contacts, by a correction that must be small.

        A slip that no force can change (a dead centre) is not corrected: that would change everything else.
        """
        held = tuple(i for i in sorted(sticking) if self._mobile(i))
        corrected = Projection().correct(ContactSurface(self.system, closed, held), self.t, self.q, self.v)
        if corrected is None:
            return
        q, v = corrected
        if positions_only:
            v = self.v
        moved = max(
            float(np.abs(q - self.q).max()) / (1.0 + float(np.abs(self.q).max())),
            float(np.abs(v - self.v).max()) / (1.0 + float(np.abs(self.v).max())),
        )
        if moved > CORRECTION:
            raise MotionStopped(
                f"at t = {self.t:.9g} the state is too far from its closed contacts (a correction of {moved:.2g}); use "
                "smaller steps or tolerances."
            )
        self.q, self.v = q, v

    def _mobile(self, i: int) -> bool:
        """Whether joints let contact i slip."""
        step = self.motion.whole(self.t, self.q, self.v)
        row = step.J_T[i]
        moved = np.linalg.norm(row @ eliminate_joints(step.select([])).root)
        return bool(moved > MOBILE * np.linalg.norm(row * mass_scale(step.M)))
