"""Moreau-Jean time stepping: one velocity-level program a step, impacts and forces alike, no events to locate.

With the contacts that may close within the step, g_N + h/2 gdot_N <= 0,

    M (v' - v) = h f_theta + J^T Lam + J_N^T Lam_N + J_T^T Lam_T,     q' = q + h ((1 - theta) v + theta v'),
    0 <= J_N v' + e_N J_N v   complementary to   Lam_N >= 0,     Coulomb's law between Lam_T and J_T v' + e_T J_T v,

f_theta the force Q - h at (1 - theta) (q, v) + theta (q', v'). Forces that depend on the state are iterated.
Reference: J. J. Moreau, "Unilateral contact and dry friction in finite freedom dynamics", CISM 302, 1988; M. Jean,
"The non-smooth contact dynamics method", Comput. Methods Appl. Mech. Engrg. 177, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.contact.activity import refuse_penetration
from gaussopt.contact.impact_laws import ImpactLaw, VelocityJump, newton
from gaussopt.contact.velocity_level import jump_step
from gaussopt.core.errors import BadInput
from gaussopt.core.event import Event
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData, Vector
from gaussopt.core.stepper import Control, Stepper
from gaussopt.integration.bilateral_loop import Record
from gaussopt.integration.events.accelerations import ContactAccelerations, ContactModes
from gaussopt.integration.events.scanning import SHALLOW, CrossingSearch, HermitePoint
from gaussopt.integration.events.turning import MOST, TURN, Turning, turn, turning_of
from gaussopt.solving.answer import Answer

THETA = 0.5
"""Weight of the end of the step; 1/2 conserves the energy of linear motions."""

SETTLED = 1e-14
"""Change of the force, relative to its size, at which the iteration on f_theta ends."""

LIFTED = 3
"""Steps without a push after which a contact has lifted off."""

ENERGY = 1e-10
"""Energy fed by contacts in a step, relative to 1 + the kinetic energy, that is reported."""


class TimeSteppingLoop:
    """The loop of velocity-level steps; arguments as for `gaussopt.integration.events.loop.EventLoop`."""

    def __init__(
        self,
        motion: ContactAccelerations,
        method: Stepper,
        control: Control,
        impact: ImpactLaw,
        user_events: Sequence[Event],
        record: Record,
        progress: Callable[[float], None] | None,
        every: int = 1,
    ) -> None:
        if impact is not newton:
            raise BadInput(
                f"The stepper {method.name!r} has Newton's impact law built in; choose the impact law newton."
            )
        self.motion, self.method, self.control = motion, method, control
        self.system, self.user_events, self.record, self.progress = motion.system, user_events, record, progress
        self.events: list[dict[str, Any]] = []
        self.every, self.t, self.steps = every, 0.0, 0
        self._turning: Turning | None = None

    def integrate(self, t: float, q: Vector, v: Vector) -> tuple[Status, str]:
        """From a state to the end; returns status and message."""
        self.t = t
        dt, end, start = self.control.dt, self.control.t_end, t
        assert dt is not None
        refuse_penetration(self.system, self.motion.whole(t, q, v))
        idle: dict[int, int] = {}
        sides = [event.value(t, q, v) for event in self.user_events]
        while t < end:
            following = min(start + (self.steps + 1) * dt, end)
            if following > end - 1e-9 * dt:
                following = end
            h = following - t
            answer, active, dv = self._step(t, q, v, h)
            force = replace(answer, a=dv / h, lam=None if answer.lam is None else answer.lam / h,
                            lam_N=answer.lam_N / h, lam_T=answer.lam_T / h)  # fmt: skip
            if not self.steps:
                self.record(t, q, v, force)
            through = self._through(t, q, v + THETA * dv, h, active)
            if through is not None:
                return Status.INACCURATE, through
            self._note_contacts(following, q, v, dv, answer, active, idle)
            q, v, t = q + h * (v + THETA * dv), v + dv, following
            corrected = self.motion.stabiliser.correct(self.system, t, q, v)
            if corrected is not None:
                q, v = corrected
            self.t = t
            self.steps += 1
            due = self.steps % self.every == 0 or t >= end
            if due:
                self.record(t, q, v, force)
            for j, event in enumerate(self.user_events):
                value = event.value(t, q, v)
                crossed = value * sides[j] < 0 and event.direction * (value - sides[j]) >= 0
                sides[j] = value
                if crossed:
                    self.events.append({"t": t, "kind": event.name, "terminal": event.terminal})
                    if event.terminal:
                        if not due:
                            self.record(t, q, v, force)
                        return Status.SOLVED, f"Ended at the event {event.name!r} before t = {t:.12g}."
            if self.progress is not None:
                self.progress((t - start) / (end - start))
        return Status.SOLVED, f"Reached t = {end:g}."

    def _step(self, t: float, q: Vector, v: Vector, h: float) -> tuple[Answer, list[int], Vector]:
        """The certified jump over a step, the contacts that took part, and the change of velocity."""
        motion = self.motion
        whole = motion.whole(t, q, v)
        active: list[int] = []
        if whole.g_N is not None and whole.gdot_N is not None:
            active = [int(i) for i in np.flatnonzero(whole.g_N + 0.5 * h * whole.gdot_N <= 0)]
        if any(self.system.two_sided):
            raise BadInput(
                f"{self.system.name!r} has a two-sided contact, whose bearing wall {self.method.name!r} does not "
                "follow; use an event-driven stepper."
            )
        motion.phase = ContactModes(
            tuple(active), frozenset(), np.zeros((whole.k, whole.J_T.shape[1])), np.ones(whole.k)
        )
        step = whole.select(active)
        drift = self.system.velocity_residual(t, q, v)
        force = whole.force
        for _ in range(100):
            jump = replace(jump_step(step, h, drift), Q=h * force)
            answer = self._solve(jump)
            assert answer.a is not None
            dv = answer.a
            # The force at the weighted state; where it does not depend on it, one solve is enough.
            state = q + THETA * h * (v + THETA * dv), v + THETA * dv
            new = self.system.evaluate(t + THETA * h, *state).force
            if float(np.abs(new - force).max()) <= SETTLED * (1.0 + float(np.abs(new).max())):
                return answer, active, dv
            force = new
        raise BadInput(f"The force of the step at t = {t:.9g} does not settle; use a smaller step.")

    def _through(self, t: float, q: Vector, v: Vector, h: float, active: list[int]) -> str | None:
        """What is said of a step too long to see a contact that enters its obstacle and leaves it again within.

        Penetration at the ends of steps is the method's error, of order h, and so is what lies between two ends while
        the gaps do not turn far.
        """
        if self._turning is None:
            self._turning = turning_of(self.system, t, q)
        turned = turn(self._turning, h, self._turning.at(t, q, v), self._turning.at(t + h, q + h * v, v))
        if turned <= TURN:
            return None
        for i in sorted(set(range(len(self.system.contact_names))) - set(active)):

            def gap(s: float, i: int = i) -> tuple[float, float]:
                at = t + s, q + s * v
                return float(self.system.gaps(*at)[i]), float(self.system.gap_rates(*at, v)[i])

            begin, end = HermitePoint(0.0, *gap(0.0)), HermitePoint(h, *gap(h))
            depth = SHALLOW * (1.0 + float(np.abs(q).max()))
            name = f"The gap of contact {self.system.contact_names[i]!r} near t = {t:.9g}"
            found = CrossingSearch(gap, h, depth, 0.0, name).first(begin, end, math.ceil(min(turned / TURN, MOST)))
            if found is not None and end.value >= 0 and found[1] < h:
                return (
                    f"Stopped at t = {t:.9g}: within the step that follows, at t = {t + found[1]:.9g}, contact "
                    f"{self.system.contact_names[i]!r} is {-gap(found[1])[0]:.3g} inside its obstacle, and outside "
                    "again at the end of the step; use a smaller dt."
                )
        return None

    def _solve(self, jump: StepData) -> Answer:
        solvers = self.motion.solvers
        if not jump.k:
            return self.motion.solve(jump, solvers.flight)
        solvers.main.formulation.check(jump)
        answer = self.motion.solve(jump, solvers.main)
        if answer.contact is not None and answer.contact.reason == "undecided":
            self.motion.confirm(jump, solvers.main)
        return answer

    def _note_contacts(
        self, t: float, q: Vector, v: Vector, dv: Vector, answer: Answer, active: list[int], idle: dict[int, int]
    ) -> None:
        """Note contacts that begin and end to push, and energy that they feed.

        `idle` counts the steps since each contact pushed. A resting contact may skip a step where it drifts across its
        activation rule; it has lifted off when it has not pushed for `LIFTED` steps.
        """
        names = self.system.contact_names
        now = {i for place, i in enumerate(active) if answer.lam_N[place] > 0}
        landed = any(idle.get(i, LIFTED) >= LIFTED for i in now)
        for i in range(len(names)):
            if i in now:
                if idle.get(i, LIFTED) >= LIFTED:
                    self.events.append({"t": t, "kind": "landing", "contact": names[i]})
                idle[i] = 0
            elif i in idle:
                idle[i] += 1
                if idle[i] == LIFTED:
                    self.events.append({"t": t, "kind": "lift_off", "contact": names[i]})
        if not landed:
            return  # between impacts what contacts seem to feed is the error of the step
        step = self.motion.whole(self.t, q, v).select(active)
        fed = VelocityJump(dv, np.zeros(0), answer.lam_N, answer.lam_T).energy_fed(step)
        if fed > ENERGY * (1.0 + 0.5 * float(v @ step.M @ v)):
            gaining = [names[i] for i in sorted(now)]
            self.events.append({"t": t, "kind": "energy_gain", "contacts": gaining, "gain": fed})
