"""Transitions from one phase to the next: first impacts, then the new contact modes by the contact laws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any
from weakref import proxy

import numpy as np

from gaussopt.contact.activity import tolerances
from gaussopt.contact.impact_laws import poisson
from gaussopt.contact.joints import eliminate_joints
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import ROUNDED
from gaussopt.core.errors import BadInput, MotionStopped
from gaussopt.core.step_data import StepData
from gaussopt.integration.advance import Advance, EventKind
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.guides import refuse_open_compression, solve_guided, without_restitution
from gaussopt.integration.events.modes import TOLERANCES, ContactModes
from gaussopt.integration.events.segments import FastForward
from gaussopt.integration.stabilisation import Projection
from gaussopt.linalg.dense import coordinate_scale
from gaussopt.modelling.contact_surface import ContactSurface
from gaussopt.solving.answer import Answer

SHORT = 1e-6
"""Time between impacts, relative to 1 s + the motion's time, below which a geometric sequence is not computed further.
At late times it is at least a thousand times the rounding error of the instants: the ratios of intervals are known."""

STEADY = 0.05
"""Relative change of the ratio of successive intervals up to which the sequence counts as geometric."""


@dataclass(frozen=True, slots=True)
class ImpactAccumulation:
    """A contact whose impacts accumulate, the estimated limit instant, s, and the ratio of successive intervals."""

    contact: int
    time: float
    ratio: float


def accumulates(contact: int, instants: Sequence[float], origin: float) -> ImpactAccumulation | None:
    """Estimate when impacts accumulate from the last four instants; None if they do not seem to accumulate.

    Intervals are assumed to shrink geometrically, D, r D, r^2 D, ..., so that D r / (1 - r) remains after interval D.
    """
    if len(instants) < 4:
        return None
    a, b, c = (instants[i + 1] - instants[i] for i in range(len(instants) - 4, len(instants) - 1))
    if min(a, b, c) <= 0:
        return None
    before, ratio = b / a, c / b
    short = SHORT * (1 + abs(instants[-1] - origin)) + 1e3 * ROUNDED * abs(instants[-1])
    if ratio >= 1 or abs(ratio - before) > STEADY * before or c > short:
        return None
    return ImpactAccumulation(contact, instants[-1] + c * ratio / (1 - ratio), ratio)


def _size(x: Vector) -> float:
    """Return the Euclidean norm of a short vector, several times faster than NumPy."""
    return math.sqrt(x @ x)


class Hint(Enum):
    """Mode change that an event announces for its contact: it opens, its slip stops, or its sticking ends."""

    OPENS = auto()
    STOPS = auto()
    BREAKS = auto()


class Transitions:
    """Changes the phase of a motion at one instant.

    Parameters
    ----------
    loop : Advance, whose state is projected onto the constraints and jumps in impacts; it receives the events
    motion : ContactAccelerations of the loop, which receives the new phase
    fast : FastForward or None, solves and projects the state that begins a phase
    """

    def __init__(self, loop: Advance, motion: ContactAccelerations, fast: FastForward | None = None) -> None:
        self.loop: Advance = proxy(loop)  # without a cycle, what a motion holds is given back as soon as it has ended
        self.motion, self.system, self._fast = motion, motion.system, fast
        self._impacts: dict[int, list[float]] = {}
        self._loose: Mapping[int, Vector] = {}
        self._projected: tuple[tuple[int, ...], tuple[int, ...], float, bytes] | None = None

    def memory(self) -> dict[str, Any]:
        """Return the instants of the last four impacts of each contact."""
        return {"impacts": [(i, instants[-4:]) for i, instants in self._impacts.items()]}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned."""
        self._impacts = {i: list(instants) for i, instants in memory["impacts"]}

    @property
    def _whole(self) -> StepData:
        """The step data at the present state, with all contacts."""
        return self.motion.whole(self.loop.t, self.loop.q, self.loop.v)

    def settle(self, hints: dict[int, Hint], loose: Mapping[int, Vector]) -> ImpactAccumulation | None:
        """Process impacts and set the phase that follows; return the accumulation of impacts if one ends the motion.

        `hints` holds, by contact, the mode changes that events announce; `loose` holds the directions of friction of
        contacts that start to slip. Raises BadInput if the modes do not settle.
        """
        self._loose = loose
        # Without projection, drift during the phase might be mistaken for a separation or an impact.
        self.project(self.motion.phase.closed, frozenset())
        for _ in range(TOLERANCES.changes):
            phase = self.motion.phase
            step = self._whole
            assert step.g_N is not None
            gap, rate = tolerances(step)
            touching = [i for i in range(step.k) if i in phase.closed or self.system.two_sided[i] or step.g_N[i] <= gap]
            self.project(tuple(touching), frozenset(), positions_only=True)
            step = self._whole
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
            f"the contact modes do not settle at t = {self.loop.t:.9g}; use a time-stepping method (moreau-jean)."
        )

    def _impact(self, touching: list[int], rate: float) -> ImpactAccumulation | None:
        """Set the velocity after the impact; return the accumulation of impacts if one ends the motion, else None."""
        guides, loop = np.array(self.system.two_sided, dtype=bool)[touching], self.loop
        if guides.any():
            # The positions have just been projected, which has changed the rows of the guides.
            held = ContactSurface(self.system, self.motion.whole, tuple(np.array(touching)[guides].tolist()))
            loop.v = Projection().velocities(held, loop.t, loop.q, loop.v)
        step = without_restitution(self._whole.select(touching), guides)
        assert step.gdot_N is not None
        found: ImpactAccumulation | None = None
        for place, i in enumerate(touching):
            if step.gdot_N[place] < -rate:
                history = self._impacts.setdefault(i, [])
                history.append(self.loop.t)
                found = found or accumulates(i, history, self.loop.origin)
        if found is not None and self.loop.rules.close:
            self.loop.note(EventKind.ACCUMULATION, found.contact, time_estimate=found.time, ratio=found.ratio)
            self._impacts[found.contact] = []
            e_N = np.zeros(step.k) if step.e_N is None else step.e_N.copy()
            e_N[touching.index(found.contact)] = 0.0
            step, found = replace(step, e_N=e_N), None

        def solve(jump: StepData) -> Answer:
            # After projection the gap rate of a guide is a rounding error; if it were kept, redundant guides would
            # contradict each other.
            jump = replace(jump, zeta_N=np.where(guides, 0.0, jump.zeta_N))
            answer = solve_guided(jump, guides, self.motion.solve_impact)
            if loop.rules.impact is poisson and jump.least_N is None and step.e_N is not None:
                refuse_open_compression(jump, guides, step.e_N, answer)
            return answer

        impact = self.loop.rules.impact(step, solve)
        names = [self.system.contact_names[i] for i in touching]
        change = impact.energy_change(step)
        kinetic = 0.5 * float(self.loop.v @ step.M @ self.loop.v)
        before = self.loop.v
        self.loop.v = self.loop.v + impact.dv
        self.loop.note(
            EventKind.IMPACT, contacts=names, gap_rates=np.asarray(step.gdot_N).tolist(), **impact.to_mapping(),
            energy_change=change, v_before=before.tolist(), v_after=self.loop.v.tolist(),
        )  # fmt: skip
        fed = impact.energy_fed(step)
        if fed > TOLERANCES.energy * (1.0 + kinetic):
            self.loop.note(EventKind.ENERGY_GAIN, contacts=names, gain=fed)
        phase = self.motion.phase
        self.motion.phase = ContactModes(phase.closed, frozenset(), np.zeros_like(phase.sigma), phase.wall)
        return found

    def _classify(self, touching: list[int], rate: float, hints: dict[int, Hint]) -> bool:
        """Solve the contact laws for the modes of the touching contacts; return False if this must be repeated."""
        motion, old = self.motion, self.motion.phase
        step = self._whole
        assert step.gdot_N is not None
        wall = old.wall.copy()
        for i, hint in hints.items():
            if hint == Hint.OPENS and self.system.two_sided[i]:
                wall[i] = -wall[i]
        in_space, stops = step.J_T.shape[1] > 1, Hint.STOPS in hints.values()
        closed = tuple(
            i for i in touching if self.system.two_sided[i] or (step.gdot_N[i] <= rate and hints.get(i) != Hint.OPENS)
        )
        sigma = np.zeros_like(old.sigma)
        resting = set()
        for i in closed:
            speed = _size(step.v_T[i])
            if step.mu[i] == 0:
                continue
            # In space a slip may pass near zero, and contacts of one body stop together only up to rounding errors.
            follows = in_space and (speed > rate or stops)
            if old.sigma[i].any() and hints.get(i) not in (Hint.STOPS, Hint.BREAKS) and not follows:
                sigma[i] = old.sigma[i]
            elif hints.get(i) == Hint.BREAKS and self._loose[i].any():
                sigma[i] = self._loose[i]
            elif speed > rate and (in_space or hints.get(i) != Hint.STOPS):
                sigma[i] = -step.v_T[i] / speed
            else:
                resting.add(i)
        motion.phase = ContactModes(closed, frozenset(resting), sigma, wall)
        self.project(closed, frozenset())
        if not closed:
            return True
        state = self.loop.t, self.loop.q, self.loop.v
        found = motion.watched(*state) if self._fast is not None and self._fast.known(*state) else None
        solved = motion.decided(*state) if found is None else found
        assert solved.a is not None
        return self._read_modes(solved.a, solved.lam_N, old, resting)

    def _read_modes(self, a: Vector, lam_N: Vector, old: ContactModes, resting: set[int]) -> bool:
        """Set the phase from the solution of the contact laws; return False if walls change and it must be repeated."""
        motion, phase = self.motion, self.motion.phase
        step = self._whole
        sigma, wall = phase.sigma.copy(), phase.wall.copy()
        closed, sticking = [], set()
        d = coordinate_scale(step.M, step.J)
        inverse, moved, most = d**2, _size(a / d), max(lam_N.tolist())
        again = False
        for place, i in enumerate(phase.closed):
            w = wall[i] * float(step.J_N[i] @ a + step.zeta_N[i])
            # Terms as large as the whole acceleration may cancel in w, so that they determine its rounding error.
            size = _size(step.J_N[i] * d) * moved + abs(float(step.zeta_N[i]))
            mass = 1.0 / float(step.J_N[i] ** 2 @ inverse)
            if lam_N[place] - mass * w < -TOLERANCES.vanishing * (mass * size + most):
                if self.system.two_sided[i]:
                    wall[i], again = -wall[i], True
                    closed.append(i)
                elif i in old.closed:
                    self.loop.note(EventKind.LIFT_OFF, i)
                continue
            closed.append(i)
            if i not in old.closed:
                self.loop.note(EventKind.LANDING, i)
            if i not in resting:
                if i in old.sticking and sigma[i].any():
                    self.loop.note(EventKind.SLIP, i)
                continue
            s = step.J_T[i] @ a + step.zeta_T[i]
            terms = _size((step.J_T[i] * d).ravel()) * moved + float(np.abs(step.zeta_T[i]).max())
            friction = float(step.mu[i]) * most * float((step.J_T[i] ** 2 @ inverse).max())
            slipping = _size(s)
            if slipping <= TOLERANCES.vanishing * (terms + friction):
                sticking.add(i)
                if i not in old.sticking:
                    self.loop.note(EventKind.STICK, i)
            else:
                sigma[i] = -s / slipping
                if old.sigma[i].any():
                    self.loop.note(EventKind.REVERSAL, i)
                else:
                    self.loop.note(EventKind.SLIP, i)
        tried = (tuple(closed), frozenset(sticking)) == (phase.closed, phase.sticking) and (sigma == phase.sigma).all()
        if again or not tried:  # otherwise what is known of the phase stays valid
            motion.phase = ContactModes(tuple(closed), frozenset(sticking), sigma, wall)
        if sticking and not again:
            self.project(tuple(closed), frozenset(sticking))
        return not again

    # -- projection --------------------------------------------------------------------------------------------

    def project(self, closed: tuple[int, ...], sticking: frozenset[int], positions_only: bool = False) -> None:
        """Project the state onto joints, closed gaps and sticking contacts; the correction must be small.

        A slip that no force can change (at a dead centre) is not corrected, as this would change all other velocities.
        """
        loop, held = self.loop, tuple(i for i in sorted(sticking) if self._mobile(i))
        state = closed, held, loop.t, loop.q.tobytes() + loop.v.tobytes()
        if self._projected == state or not (closed or self._whole.m):
            return
        fast, now = self._fast, (loop.t, loop.q, loop.v)
        found = None if fast is None else fast.projected(*now, closed, held, not positions_only)
        if found is None:
            surface = ContactSurface(self.system, self.motion.whole, closed, held)
            project = Projection()
            found = (project.positions(surface, *now), loop.v) if positions_only else project.correct(surface, *now)
        q, v = found
        reached = closed, held, loop.t, q.tobytes() + v.tobytes()
        if not positions_only:
            self._projected = reached
        if reached == state:  # nothing to correct
            return
        moved = max(np.abs(new - x).max() / (1.0 + np.abs(x).max()) for new, x in ((q, loop.q), (v, loop.v)))
        if moved > TOLERANCES.correction:
            raise MotionStopped(
                f"at t = {loop.t:.9g} the state is too far from its closed contacts (a correction of {moved:.2g}); use "
                "smaller steps or tolerances."
            )
        loop.q, loop.v = q, v

    def _mobile(self, i: int) -> bool:
        """Return whether the joints allow contact i to slip."""
        step = self._whole
        row = step.J_T[i]
        if not step.m:
            return bool(row.any())
        moved = np.linalg.norm(row @ eliminate_joints(step.select([])).root)
        return bool(moved > TOLERANCES.mobile * np.linalg.norm(row * coordinate_scale(step.M, step.J)))
