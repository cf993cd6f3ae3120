"""Integration of motions with contacts from event to event.

Between two events every contact keeps its mode: open, sliding in one direction, or sticking. The contact laws are
solved and certified at every stage; a phase ends where a watched function falls through zero (see
`gaussopt.integration.events.functions`). The solved forces are continuous across such a zero, so that a trial step may
go beyond it. The instant of the zero is found by repeating the step with other lengths, and is therefore as accurate as
the integration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gaussopt.contact.activity import RESTING
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import ROUNDED, SLIVER, together
from gaussopt.core.errors import BadInput, MotionStopped
from gaussopt.core.event import Event
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.advance import Advance, End, EventKind
from gaussopt.integration.events.accelerations import ContactAccelerations, undecided
from gaussopt.integration.events.between import look_between
from gaussopt.integration.events.crossings import Crossings
from gaussopt.integration.events.functions import EventFunction, PhaseFunctions, Sample, Watched
from gaussopt.integration.events.guides import refuse_start
from gaussopt.integration.events.modes import TOLERANCES, ContactModes, earliest_rest
from gaussopt.integration.events.segments import FastForward, PhaseSegment
from gaussopt.integration.events.transitions import Hint, ImpactAccumulation, Transitions
from gaussopt.integration.stabilisation import Projection


class EventPhases(Advance):
    """Advances a motion from event to event; with an adaptive method, dt is the recording interval.

    `fast_forward` takes many steps at once where no event occurs, if it is not None.
    """

    motion: ContactAccelerations
    fast_forward: FastForward | None = None

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions with contacts by a method that integrates accelerations from event to event."""
        return bool(system.contact_names) and not method.loop and not isinstance(system, SteppedSystem)

    def begin(self) -> None:
        """Find the contact modes at the start; raises BadInput as `refuse_start`, and if the modes do not settle."""
        refuse_start(self.system, self.motion.whole(self.t, self.q, self.v))
        self._prepare()
        self._transitions.settle({}, {})
        # Mode changes while the initial modes are sought are not events of the motion; an impact at the start is.
        self.events[:] = [e for e in self.events if e.kind in (EventKind.IMPACT, EventKind.ENERGY_GAIN)]
        self._functions.begin(self.t, self.q, self.v)
        self._record()

    def renew(self, control: Control) -> End | None:
        """Go on in the modes that the contact laws give under the new inputs."""
        memory = self.memory()
        self.go_on(control)
        self._prepare()
        self._functions.recall(memory["functions"])
        self._transitions.recall(memory)
        accumulation = self._transitions.settle({}, {})
        if accumulation is not None:
            return self._accumulated(accumulation)
        self._record()
        return None

    def _prepare(self) -> None:
        """Create the watched functions, the search for their zeros, and the transitions between phases."""
        self._functions = PhaseFunctions(self.motion, self.rules.events)
        fast = self.fast_forward
        located = () if fast is None else (fast.locate,)
        self._stepping = replace(self.control, origin=self.origin, every_step=True)
        self._crossings = Crossings(self._functions, self.method, self._stepping, *located)
        self._transitions = Transitions(self, self.motion, fast)
        self._changes: tuple[float, list[Callable[[], str]]] = (0.0, [])
        self._mu = self.motion.whole(self.t, self.q, self.v).mu
        self._fresh = True

    def memory(self) -> dict[str, Any]:
        """Return the data on which later steps depend, such as phase, signs of events, impacts and mode changes."""
        return {
            "motion": self.motion.memory(), "functions": self._functions.memory(), **self._transitions.memory(),
            "changes": self._changes,
            "live": None if self._fresh else self._live.copy(),
            "forward": {} if self.fast_forward is None else self.fast_forward.memory(),
        }  # fmt: skip

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        self._prepare()
        self.motion.recall(self.t, self.q, self.v, memory["motion"])
        self._functions.recall(memory["functions"])
        self._transitions.recall(memory)
        self._changes = memory["changes"][0], [partial(str, text) for text in memory["changes"][1]]
        if self.fast_forward is not None:
            self.fast_forward.recall(memory["forward"])
        if self.method.adaptive:
            self._record()
        if memory["live"] is not None:
            self._begin_phase()
            self._live = np.array(memory["live"], dtype=bool)

    def _begin_phase(self) -> None:
        """Begin a phase at the present state: watch the functions that belong to its modes."""
        self._watches = self._functions.of_phase(self.t, self.q, self.v)
        self._before = self._sample(self.t, self.q, self.v)
        self._live = self._functions.live(self._watches, self._before)
        self._integration = self.method.start(self.motion, self.t, self.q, self.v, self._stepping)
        self._fresh = False

    def take(self) -> End | None:
        """Take many steps without events, or one step; if an event occurs in it, end it there and change the modes."""
        fast = self.fast_forward
        if fast is not None:
            skipped = self._skip(fast)
            ended = self._pass_event(fast) if fast.stopped or not skipped else False
            if skipped or ended:
                self._functions.passed(())
                self._fresh = True  # what single steps need is computed where the next one is taken
                return None if isinstance(ended, bool) else ended
        if self._fresh:
            self._begin_phase()
        before = self._before
        try:
            length = self._until_rest()
            t, q, v = self._integration.advance() if length is None else self._crossings.repeat(before, length)
            self.refuse_divergence(q, v)
            after = self._sample(t, q, v)
        except (Rejected, BadInput) as error:
            return self._ended_by(error)
        with self.motion.timed("events"):
            found = self._crossings.first(self._watches, self._live, before, after, self._integration, self.steps)
        hits, reached, pierced = found
        self.steps += 1
        if pierced is not None:
            return Status.INACCURATE, pierced
        if self.looks is not None:
            look_between(self.looks, before, after, reached.t, self._integration.within)
        if hits:
            self.t, self.q, self.v = reached.t, reached.q, reached.v
            self._record()
            self._fresh = True
            with self.motion.timed("events"):
                events = [self._watches[i] for i in hits]
                slips = (watch.index for watch in events if watch.kind is Watched.STICK)
                loose = {i: self._functions.friction_direction(i, after, reached) for i in slips}
                return self._handle(events, loose)
        self._live |= after.values > 0
        self.t, self.q, self.v, self._before = t, q, v, after
        if length is not None:
            self._integration = self.method.start(self.motion, t, q, v, self._stepping)
        self._take_step()
        return None

    def _until_rest(self) -> float | None:
        """Return half the time in which a slip in space that turns may come to rest, if a step takes longer; else None.

        The direction of such a slip turns faster and faster, and no step of constant length follows it to the end.
        """
        sigma = self.motion.phase.sigma
        if sigma.shape[1] == 1 or self.method.adaptive or not sigma.any():
            return None
        half = 0.5 * earliest_rest(self.motion.whole(self.t, self.q, self.v), sigma, self._before.a)
        return half if half < self._stepping.instant(self._stepping.grid_index(self.t)) - self.t else None

    def _take_step(self) -> None:
        """Complete a step: align the directions of friction with the slip, project the state, and record it if due."""
        self._turn()
        if isinstance(self.motion.stabiliser, Projection):
            self._transitions.project(self.motion.phase.closed, self.motion.phase.sticking)
            self._integration.replace(self.q, self.v)
            self._before = self._sample(self.t, self.q, self.v)
        number = self._number()
        if number is not None:
            self._record(number % self.every == 0 or self.t >= self.control.t_end)

    def _sample(self, t: float, q: Vector, v: Vector) -> Sample:
        return self._functions.sample(self._watches, t, q, v)

    def _skip(self, fast: FastForward) -> bool:
        """Take and record many steps at once; return False if the next step must be taken singly."""
        segment = fast.take(self.t, self.q, self.v, self._mu, self._stepping)
        if segment is None:
            return False
        if self.rules.events:
            n, t = segment.n, np.append(self.t, segment.t)
            q, v = (np.vstack((x, segment.rows[:, i : i + n])) for x, i in ((self.q, 0), (self.v, n)))
            quiet = self._functions.quiet(t, q, v)
            if quiet < len(segment):
                fast.shortened(quiet)
                segment = segment[:quiet]
            if not quiet:
                return False
        self.steps += len(segment)
        if self.looks is not None:
            self.looks.rows(segment.t, segment.rows[:, : segment.n])
        begin = 0
        for i in segment.looked_at.nonzero()[0].tolist():
            # States whose forces must be confirmed, or whose friction power must be reported, are handled singly.
            self._record_due(fast, segment, begin, i)
            self.t, self.q, self.v = segment.state(i)
            self._record((segment.first + i) % self.every == 0)
            begin = i + 1
        self._record_due(fast, segment, begin, len(segment))
        self.t, self.q, self.v = segment.state(-1)
        return True

    def _pass_event(self, fast: FastForward) -> End | bool:
        """Take a step to an event in machine code, and change the modes; return False if it is left to the loop."""
        if self.looks is not None and self.looks.between:
            return False

        def quiet(t: float, q: Vector, v: Vector) -> bool:
            return self._functions.quiet(np.array((self.t, t)), np.array((self.q, q)), np.array((self.v, v))) == 1

        found = fast.pass_event(self.t, self.q, self.v, self._stepping, quiet if self.rules.events else None)
        if found is None:
            return False
        self.steps += 1
        self.t, self.q, self.v = found.t, found.q, found.v
        if found.changed is None:
            with self.motion.timed("events"):
                return self._handle([found.watch], found.loose) or True
        before, self.q, self.v, turns = found.changed
        self._count_changes(before, found.v)
        self._note_hits([found.watch])
        kinds = {Watched.SLIP: EventKind.STICK, Watched.STICK: EventKind.SLIP}
        if found.watch.kind in kinds:
            self.note(EventKind.REVERSAL if turns else kinds[found.watch.kind], found.watch.index)
        return True

    def _record_due(self, fast: FastForward, segment: PhaseSegment, begin: int, end: int) -> None:
        """Record those states of a segment, from number `begin` up to `end`, that are due."""
        begin += -(segment.first + begin) % self.every
        if begin < end:
            fast.record(segment[begin : end : self.every])

    def _turn(self) -> None:
        """Align the directions of friction with the slip at contacts in space."""
        phase = self.motion.phase
        if phase.sigma.shape[1] > 1 and phase.sigma.any():
            slip = self.motion.whole(self.t, self.q, self.v).v_T
            speed = np.linalg.norm(slip, axis=1, keepdims=True)
            follow = phase.sigma.any(axis=1, keepdims=True) & (speed > RESTING)
            self.motion.phase = replace(
                phase, sigma=np.where(follow, -slip / np.where(follow, speed, 1.0), phase.sigma)
            )

    def _number(self) -> int | None:
        """Return the number of the present instant on the recording grid; None if it is not on the grid."""
        dt = self.control.dt
        if dt is None or self.t >= self.control.t_end:
            return self.steps
        steps = (self.t - self.origin) / dt
        near = SLIVER * max(1.0, steps) + ROUNDED * abs(self.t) / dt
        return round(steps) if abs(steps - round(steps)) < near else None

    def _record(self, due: bool = True) -> None:
        """Check the present state, and record it if it is due."""
        if self.fast_forward is not None:
            segment = self.fast_forward.known(self.t, self.q, self.v)
            if segment is not None and not segment.looked_at[0]:
                if due:
                    self.fast_forward.record(segment)
                return
        answer = self.motion.answer(self.t, self.q, self.v)
        if undecided(answer):
            self.motion.confirm(self.motion.step(self.t, self.q, self.v), self.motion.solvers.main)
        if due:
            self.record(self.t, self.q, self.v, answer)
        # Friction is directed against the slip; nevertheless, check that it does not increase the energy.
        lam_T, slip = self.motion.forces(answer)[1], self.motion.whole(self.t, self.q, self.v).v_T
        power = float(np.vdot(lam_T, slip))
        extent = float(np.abs(lam_T).max() * np.linalg.norm(self.v)) if power > TOLERANCES.fed else 0.0
        if power > TOLERANCES.fed * (1.0 + extent):
            self.note(EventKind.ENERGY_GAIN, power=power)

    # -- failures ----------------------------------------------------------------------------------------------

    def _ended_by(self, error: Rejected | BadInput) -> End:
        """Return status and message if an indefinite contact operator caused the error; otherwise raise it again."""
        if isinstance(error, Rejected):
            left = self._approach_failure()
            if error.answer.status is not Status.INACCURATE or left > TOLERANCES.lost:
                raise error
        else:
            left = self._definite(self._before)
            if left > TOLERANCES.losing:
                raise error
            self.note(EventKind.INDEFINITE, smallest_eigenvalue=left)
        return Status.NO_SOLUTION, (
            f"Stopped at t = {self.t:.9g}: the contact operator loses its definiteness and the contact forces grow "
            f"without bound (Painleve). {error}"
        )

    def _approach_failure(self) -> float:
        """Bisect the failed step, move to the last state that can be solved, and return its value of `_definite`."""
        before = self._before
        if not any(w.kind is Watched.DEFINITE for w in self._watches):
            return math.inf
        low, high, best = 0.0, self.control.dt or 0.1 * (self.control.t_end - before.t), before
        for _ in range(TOLERANCES.approaches):
            middle = 0.5 * (low + high)
            try:
                best = self._sample(*self._crossings.repeat(before, middle, TOLERANCES.near))
                low = middle
            except (Rejected, BadInput):
                high = middle
        self.t, self.q, self.v = best.t, best.q, best.v
        left = self._definite(best)
        self.note(EventKind.INDEFINITE, smallest_eigenvalue=left)
        self._record()
        return left

    def _definite(self, sample: Sample) -> float:
        """Return the smallest eigenvalue of the contact operator at a sampled state; infinite if not watched."""
        values = zip(self._watches, sample.values, strict=True)
        return next((float(x) for w, x in values if w.kind is Watched.DEFINITE), math.inf)

    # -- changing modes ----------------------------------------------------------------------------------------

    def _handle(self, hits: Sequence[EventFunction], loose: Mapping[int, Vector]) -> End | None:
        """Change the phase as the present events require; return status and message if the motion ends, else None.

        `loose` holds the directions of friction of contacts that begin to slip.
        """
        users = [w.index for w in hits if w.kind is Watched.USER]
        self._count_changes(None if len(users) == len(hits) else self.motion.phase, self.v)
        self._functions.passed(users)
        hints = self._note_hits(hits)
        terminal = [event for event in (self.rules.events[i] for i in users) if event.terminal]
        if terminal:
            return Status.SOLVED, f"Ended at the event {terminal[-1].name!r} at t = {self.t:.12g}."
        if len(users) == len(hits):
            return None
        walls = self.motion.phase.wall
        accumulation = self._transitions.settle(hints, loose)
        for c in np.flatnonzero(self.motion.phase.wall != walls):
            self.note(EventKind.WALL_CHANGE, int(c))
        if accumulation is not None:
            return self._accumulated(accumulation)
        self._record()
        return None

    def _count_changes(self, phase: ContactModes | None, v: Vector) -> None:
        """Count the changes at the present instant; raises MotionStopped if the modes do not settle.

        `phase` and v are modes and velocity before the change, None if only users' events have occurred.
        """
        t, left = self._changes
        left = left if abs(self.t - t) <= together(t, self.origin) else []
        here = partial(str, f"user {len(left)}") if phase is None else partial(phase.key, v)
        self._changes = self.t, [*left, here]  # texts are only made where there are several changes, or for a mark
        *known, last = (key() for key in self._changes[1]) if left else ("",)
        if len(left) >= TOLERANCES.changes or known.count(last) >= TOLERANCES.returns:
            self.forget_repetitions()
            raise MotionStopped(
                f"the contact modes do not settle at t = {self.t:.9g}: they change again and again at one instant; use "
                "a time-stepping method (moreau-jean)."
            )

    def _note_hits(self, hits: Sequence[EventFunction]) -> dict[int, Hint]:
        """Record the events in the motion; return the mode change that follows from them, by index of the contact."""
        hints: dict[int, Hint] = {}
        for watch in hits:
            i = watch.index
            if watch.kind is Watched.USER:
                event: Event = self.rules.events[i]
                self.note(event.name, terminal=event.terminal)
            elif watch.kind is Watched.NORMAL:
                hints[i] = Hint.OPENS
                if not self.system.two_sided[i]:
                    self.note(EventKind.LIFT_OFF, i)
            elif watch.kind is Watched.STICK:
                hints.setdefault(i, Hint.BREAKS)  # if the contact also opens, OPENS is kept
            elif watch.kind is Watched.SLIP:
                hints[i] = Hint.STOPS
            elif watch.kind is Watched.DEFINITE:
                self.note(EventKind.INDEFINITE, smallest_eigenvalue=0.0)
        return hints

    def _accumulated(self, found: ImpactAccumulation) -> End:
        self.note(EventKind.ACCUMULATION, found.contact, time_estimate=found.time, ratio=found.ratio)
        return Status.ACCUMULATION, (
            f"The impacts of contact {self.system.contact_names[found.contact]!r} accumulate at t = {found.time:.12g} "
            f"s (ratio of successive flights {found.ratio:.6g}); the motion is known up to t = {self.t:.9g}. Continue "
            "with accumulation='close' (--accumulation close), or use the stepper moreau-jean."
        )
