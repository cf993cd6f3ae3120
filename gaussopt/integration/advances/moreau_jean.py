"""Moreau-Jean time stepping: one velocity-level program per step covers impacts and forces; events are not located.

The contacts of a step are those that may close within it, g_N + h/2 gdot_N <= 0:

    M (v' - v) = h f_theta + J^T Lam + J_N^T Lam_N + J_T^T Lam_T,     q' = q + h ((1 - theta) v + theta v'),
    0 <= J_N v' + e_N J_N v   complementary to   Lam_N >= 0,     Coulomb's law between Lam_T and J_T v' + e_T J_T v,

where f_theta is the force Q - h at (1 - theta) (q, v) + theta (q', v'), found by iteration if it depends on the state.
Angular velocities replace the rates of unit quaternions as unknowns, see `gaussopt.integration.rotations`.
Reference: J. J. Moreau, "Unilateral contact and dry friction in finite freedom dynamics", CISM 302, 1988; M. Jean,
"The non-smooth contact dynamics method", Comput. Methods Appl. Mech. Engrg. 177, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.contact.activity import tolerances
from gaussopt.contact.impact_laws import VelocityJump, newton
from gaussopt.contact.velocity_level import jump_step
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.core.time_step import SteppedSystem
from gaussopt.integration.advance import Advance, End, EventKind, MotionEvent
from gaussopt.integration.events.accelerations import ContactAccelerations, undecided
from gaussopt.integration.events.guides import refuse_start, solve_guided, without_restitution
from gaussopt.integration.events.modes import TOLERANCES, ContactModes
from gaussopt.integration.events.scanning import SHALLOW, CrossingSearch, HermitePoint
from gaussopt.integration.events.turning import MOST, TURN, Turning, turn, turning_of
from gaussopt.integration.stabilisation import Projection
from gaussopt.modelling.contact_surface import ContactSurface
from gaussopt.solving.answer import Answer

SAID = 5
"""Largest number of contacts that the warning of a start inside obstacles names, the deepest ones."""

THETA = 0.5
"""The weight theta of the end of the step; with 1/2, linear systems conserve their energy."""

SETTLED = 1e-14
"""Change of the force, relative to its size, at which the iteration on f_theta ends."""

MOST_FORCES = 100
"""Largest number of forces that the iteration on f_theta computes."""

PENETRATED = 1e-4
"""Largest depth inside an obstacle, relative to 1 + max |q|, at which a motion may start; steps leave such depths."""

LIFTED = 3
"""Number of steps without a normal force after which a contact counts as lifted off."""


class MoreauJeanSteps(Advance):
    """Advances a motion by velocity-level steps with Newton's impact law; events are located to within a step."""

    motion: ContactAccelerations

    @classmethod
    def suits(cls, system: AbstractSystem, method: Stepper) -> bool:
        """Accept motions whose stepper takes velocity-level steps."""
        return method.loop == "time-stepping" and not isinstance(system, SteppedSystem)

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self._turning: Turning | None = None
        self._idle: dict[int, int] = {}
        self._guides = np.array(self.system.two_sided, dtype=bool)
        held = tuple(np.flatnonzero(self._guides).tolist())
        self._surface = ContactSurface(self.system, self.motion.whole, held) if held else self.system

    def begin(self) -> None:
        """Refuse a start deep inside an obstacle; else move it onto two-sided contacts. The first step records it."""
        self._refuse_other_laws()
        start = self.motion.whole(self.t, self.q, self.v)
        refuse_start(self.system, start, PENETRATED)
        if start.g_N is not None:
            gaps = np.where(self._guides, 0.0, start.g_N)
            self._say_penetration(self.system.contact_names, gaps, tolerances(start)[0])
        self._onto_guides()
        self._sides = [event.value(self.t, self.q, self.v) for event in self.rules.events]

    def _refuse_other_laws(self) -> None:
        """Raise BadInput if the user chose an impact law other than Newton's."""
        if self.rules.impact is not newton:
            raise BadInput(
                f"The stepper {self.method.name!r} has Newton's impact law built in; choose the impact law newton."
            )

    def _say_penetration(self, names: Sequence[str], gaps: Vector, tolerance: float, moved: bool = False) -> None:
        """Warn of contacts that start inside their obstacles, which only a projection removes (`moved`)."""
        inside = np.flatnonzero(gaps < -tolerance)
        if len(inside):
            deepest = inside[np.argsort(gaps[inside], kind="stable")[:SAID]].tolist()
            named = ", ".join(f"{names[i]!r} ({-gaps[i]:.3g} m{' or rad' if names[i].endswith(' limit') else ''})"
                              for i in sorted(deepest))  # fmt: skip
            more = f" and {len(inside) - SAID} others" if len(inside) > SAID else ""
            self.motion.warnings.append(
                f"The start is inside the obstacle of {named}{more}: " + (
                    "the projection moves it apart within the first steps, as far as it can." if moved else
                    "such a contact takes part from the first step on, and the steps leave its gap as it is unless the "
                    "contact opens."
                )
            )  # fmt: skip

    def _onto_guides(self) -> None:
        """Move the start onto the two-sided contacts; raises BadInput if this needs more than a small correction."""
        if not self._guides.any():
            return
        q, v = Projection().correct(self._surface, self.t, self.q, self.v)
        moved = max(np.abs(new - x).max() / (1.0 + np.abs(x).max()) for new, x in ((q, self.q), (v, self.v)))
        if moved > TOLERANCES.correction:
            raise BadInput(
                f"The start of {self.system.name!r} is off its two-sided contacts (a correction of {moved:.2g}); give "
                "q0 with gaps of zero and v0 with gap rates of zero there."
            )
        self.q, self.v = q, v

    def renew(self, control: Control) -> End | None:
        """Continue under new inputs with a whole step; the record at this instant belongs to the previous step."""
        steps, earlier = self.steps, self.earlier
        self.go_on(control)
        assert control.dt is not None
        self.steps, self.earlier, self.origin = steps, earlier, self.t - steps * control.dt
        return None

    def memory(self) -> dict[str, Any]:
        """Return, for each contact, the steps since its last normal force, and the latest values of users' events."""
        return {"idle": list(self._idle.items()), "sides": list(self._sides)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier loop."""
        self._idle, self._sides = dict(memory["idle"]), list(memory["sides"])

    def take(self) -> End | None:
        """Take one step."""
        t, q, v = self.t, self.q, self.v
        following = replace(self.control, origin=self.origin).instant(self.steps + 1)
        h = following - t
        answer, active, dv = self._step(t, q, v, h)
        force = self._per_time(answer, dv, q, v, h)
        if not self.steps:
            self.record(t, q, v, force)
        through = self._through(t, q, v + THETA * dv, h, active)
        end, _ = self.motion.rotations.moved(q, v + THETA * dv, h)
        if through is not None:
            return Status.INACCURATE, through
        self._note_contacts(following, dv, answer, active)
        q, v, t = end, self.motion.rotations.carried(q, v + dv, end), following
        self.t, (self.q, self.v) = t, self.motion.stabiliser.correct(self._surface, t, q, v) or (q, v)
        self.steps += 1
        due = self.steps % self.every == 0 or t >= self.control.t_end
        if due:
            self.record(t, q, v, force)
        ending = self._passed()
        if ending is not None and not due:
            self.record(t, q, v, force)
        return ending

    def _per_time(self, answer: Answer, dv: Vector, q: Vector, v: Vector, h: float) -> Answer:
        """Return the answer to a step of length h from (q, v) with accelerations and forces in place of impulses."""
        lam = None if answer.lam is None else self.motion.rotations.with_units(answer.lam / h)
        a = dv / h + self.motion.rotations.bias(q, v)
        return replace(answer, a=a, lam=lam, lam_N=answer.lam_N / h, lam_T=answer.lam_T / h)

    def _passed(self) -> End | None:
        """Append the user's events of the last step; return status and message if one is terminal, else None."""
        for j, event in enumerate(self.rules.events):
            value, before = event.value(self.t, self.q, self.v), self._sides[j]
            self._sides[j] = value
            if value * before < 0 and event.direction * (value - before) >= 0:
                self.note(event.name, terminal=event.terminal)
                if event.terminal:
                    return Status.SOLVED, f"Ended at the event {event.name!r} before t = {self.t:.12g}."
        return None

    def _step(self, t: float, q: Vector, v: Vector, h: float) -> tuple[Answer, list[int], Vector]:
        """Return the certified answer to a step, the numbers of its active contacts, and the change of velocity."""
        motion = self.motion
        whole = motion.whole(t, q, v)
        active: list[int] = []
        if whole.g_N is not None and whole.gdot_N is not None:
            # The gap of a touching contact is zero up to rounding errors of many steps, which must not decide this.
            near = tolerances(whole)[0]
            active = np.flatnonzero(self._guides | (whole.g_N + 0.5 * h * whole.gdot_N <= near)).tolist()
        motion.phase = replace(ContactModes.flight(whole.k, whole.J_T.shape[1]), closed=tuple(active))
        guides = self._guides[active]
        step = self.motion.rotations.reduced(without_restitution(whole.select(active), guides))
        drift = self.motion.rotations.without_units(self.system.velocity_residual(t, q, v))
        if guides.any() and step.gdot_N is not None and isinstance(self.motion.stabiliser, Projection):
            # Projection makes joints and guides hold at the end, too: the forces include the part that turns v.
            drift = None if drift is None else drift - h * step.gamma
            step = replace(step, gdot_N=step.gdot_N + np.where(guides, h * step.zeta_N, 0.0))
        force = step.force
        for _ in range(MOST_FORCES):
            jump = replace(jump_step(step, h, drift), Q=h * force)
            answer = solve_guided(jump, guides, self._solve)
            assert answer.a is not None
            dv = self.motion.rotations.rates(q, answer.a)
            # The step is solved again until the force at the weighted state agrees with the assumed force.
            state = self.motion.rotations.moved(q, v + THETA * dv, THETA * h)
            between = self.system.smooth_part(t + THETA * h, *state)
            new = self.motion.rotations.force_between(step, between, answer.a / h)
            if float(np.abs(new - force).max()) <= SETTLED * (1.0 + float(np.abs(new).max())):
                return answer, active, dv
            force = new
        raise BadInput(f"The force of the step at t = {t:.9g} does not settle; use a smaller step.")

    def _through(self, t: float, q: Vector, v: Vector, h: float, active: list[int]) -> str | None:
        """Return a message if a contact enters and leaves its obstacle within the step, else None.

        Such a step is too long. Other penetration, at the ends of steps or within steps in which no angle turns by more
        than `TURN`, is the normal error of the method, of order h, and is accepted.
        """
        if self._turning is None:
            self._turning = turning_of(self.system, t, q)
        turned = turn(
            self._turning, h, self._turning.at(t, q, v), self._turning.at(t + h, *self.motion.rotations.moved(q, v, h))
        )
        if turned <= TURN:
            return None
        for i in sorted(set(range(len(self.system.contact_names))) - set(active)):

            def gap(s: float, i: int = i) -> tuple[float, float]:
                at = t + s, *self.motion.rotations.moved(q, v, s)
                return float(self.system.gaps(*at[:2])[i]), float(self.system.gap_rates(*at)[i])

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
        chosen = solvers.for_step(jump) if jump.rests_in_space else solvers.main
        chosen.formulation.check(jump)
        answer = self.motion.solve(jump, chosen)
        if undecided(answer):
            self.motion.confirm(jump, chosen)
        return answer

    def _note_contacts(self, t: float, dv: Vector, answer: Answer, active: list[int]) -> None:
        """Append the events of the step to t: contacts that begin or cease to push, and energy that impacts add.

        A resting contact that drifts across its activation threshold may lose its force for a step; therefore a contact
        counts as lifted off only after `LIFTED` steps without a force.
        """
        names, idle = self.system.contact_names, self._idle
        now = {i for place, i in enumerate(active) if answer.lam_N[place] > 0 and not self._guides[i]}
        landed = any(idle.get(i, LIFTED) >= LIFTED for i in now)
        for i in range(len(names)):
            if i in now:
                if idle.get(i, LIFTED) >= LIFTED:
                    self.events.append(MotionEvent(t, EventKind.LANDING, names[i]))
                idle[i] = 0
            elif i in idle:
                idle[i] += 1
                if idle[i] == LIFTED:
                    self.events.append(MotionEvent(t, EventKind.LIFT_OFF, names[i]))
        if not landed:
            return  # an energy gain without an impact is a discretisation error
        step = self.motion.whole(self.t, self.q, self.v).select(active)
        fed = VelocityJump(dv, answer.lam_N, answer.lam_T).energy_fed(step)
        if fed > TOLERANCES.energy * (1.0 + 0.5 * float(self.v @ step.M @ self.v)):
            gaining = {"contacts": [names[i] for i in sorted(now)], "gain": fed}
            self.events.append(MotionEvent(t, EventKind.ENERGY_GAIN, None, gaining))
