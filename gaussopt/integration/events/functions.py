"""Functions that are watched during a phase; the phase ends where any of them falls through zero.

    the gap of an open contact                                -> it closes, with an impact if it approaches,
    lam_N - m w of a closed contact                           -> it opens (a two-sided contact changes walls),
    the slip of a sliding contact along its direction         -> it sticks or reverses,
    mu lam_N - |lam_T| - m |s| of a sticking contact          -> it starts to slip,
    the smallest eigenvalue of the scaled sym(delassus)       -> uniqueness is no longer guaranteed,
    a user's own functions

w and s are the accelerations of gap and slip; the effective mass m of the contact turns them into forces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.event import Event
from gaussopt.core.step_data import StepData
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.integration.events.scanning import unmoved
from gaussopt.linalg.dense import coordinate_scale
from gaussopt.solving.answer import Answer


class Watched(Enum):
    """Kinds of watched functions."""

    GAP = auto()
    NORMAL = auto()
    SLIP = auto()
    STICK = auto()
    DEFINITE = auto()
    USER = auto()


@dataclass(frozen=True, slots=True)
class EventFunction:
    """Identifies a watched function by its kind and the number of its contact or user's event."""

    kind: Watched
    index: int


def first_column(watch: EventFunction) -> int:
    """Return the column of a contact's function in `WatchedValues.values`, where its `Value` begins."""
    return 0 if watch.kind in (Watched.GAP, Watched.NORMAL) else 4


@dataclass(frozen=True, slots=True)
class Sample:
    """A state with the watched functions' values and noise levels, and their first and second derivatives if known.

    a is the acceleration; lam_T holds the friction forces of the closed contacts in a motion with contacts.
    """

    t: float
    q: Vector
    v: Vector
    a: Vector
    values: Vector
    rates: Vector
    accelerations: Vector
    noise: Vector
    lam_T: Matrix | None = None

    def culmination(self, j: int, h: float) -> float:
        """Estimate the time after which function j, which rises from zero, has its peak; return at most h / 2."""
        rate, acceleration = self.rates[j], self.accelerations[j]
        if math.isfinite(acceleration) and acceleration < 0:
            return float(min(-rate / acceleration, 0.5 * h))
        return 0.5 * h


Value = tuple[float, float, float, float]
"""Value, rate and acceleration (NaN where unknown), and noise."""


class PhaseFunctions:
    """The watched functions of a motion, among them the functions of `events`, which the user defined."""

    def __init__(self, motion: ContactAccelerations, events: Sequence[Event]) -> None:
        self.motion, self.events = motion, events
        self._sides = [0.0] * len(events)
        self._just: set[int] = set()

    def begin(self, t: float, q: Vector, v: Vector) -> None:
        """Start a motion: every user's event waits until its function changes its present sign."""
        self._sides = [math.copysign(1.0, event.value(t, q, v)) for event in self.events]

    def passed(self, indices: Sequence[int]) -> None:
        """Reverse the signs of users' events that have just occurred, so that they wait for the opposite change."""
        self._just = set(indices)
        for i in indices:
            self._sides[i] = -self._sides[i]

    def memory(self) -> dict[str, Any]:
        """Return the signs of the users' events, and the numbers of the events that have just occurred."""
        return {"sides": list(self._sides), "just": set(self._just)}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what `memory` returned."""
        self._sides, self._just = list(memory["sides"]), set(memory["just"])

    def side(self, i: int) -> float:
        """Return the factor, 1 or -1, that makes the function of user's event i positive before the event."""
        return -self.events[i].direction or self._sides[i]

    def user_value(self, i: int, t: float, q: Vector, v: Vector) -> float:
        """Return the function of user's event i multiplied by `side`: the product falls through zero at the event."""
        return self.side(i) * self.events[i].value(t, q, v)

    def quiet(self, t: Vector, q: Matrix, v: Matrix) -> int:
        """Return the number of steps before the first in which a user's function comes near zero.

        t, (N + 1,), q and v, (N + 1, n), are the states at the ends of N steps.
        """
        values = [self.side(i) * event.values(t, q, v) for i, event in enumerate(self.events)]
        return unmoved(np.array(values)) if values else len(t) - 1

    def friction_direction(self, i: int, *samples: Sample) -> Vector:
        """Return the direction of friction at closed contact i in the first sample where it has friction; else zero."""
        place = self.motion.phase.closed.index(i)
        for sample in samples:
            assert sample.lam_T is not None
            force = sample.lam_T[place]
            size = float(np.linalg.norm(force))
            if size > 0:
                return np.asarray(force / size)
        return np.asarray(force)

    def of_phase(self, t: float, q: Vector, v: Vector) -> list[EventFunction]:
        """Return the functions to watch in the present modes."""
        phase, step = self.motion.phase, self.motion.whole(t, q, v)
        found = []
        for i in range(step.k):
            if i not in phase.closed:
                found.append(EventFunction(Watched.GAP, i))
                continue
            found.append(EventFunction(Watched.NORMAL, i))
            if i in phase.sticking:
                found.append(EventFunction(Watched.STICK, i))
            elif step.mu[i] > 0:
                found.append(EventFunction(Watched.SLIP, i))
        if phase.closed and not phase.sticking and step.mu[list(phase.closed)].any():
            found.append(EventFunction(Watched.DEFINITE, 0))
        return found + [EventFunction(Watched.USER, j) for j in range(len(self.events))]

    def live(self, watches: Sequence[EventFunction], start: Sample) -> NDArray[np.bool_]:
        """Return which functions may fall through zero right after the start of a phase; the others must rise first.

        A gap, force or slip that starts at zero counts as positive, because a contact has just opened, for example.
        Definiteness and users' functions must rise first if they are not positive, or their event has just occurred.
        """
        live = np.array([w.kind not in (Watched.DEFINITE, Watched.USER) for w in watches]) | (start.values > 0)
        live &= np.array([w.kind is not Watched.USER or w.index not in self._just for w in watches])
        self._just.clear()
        return live

    def sample(self, watches: Sequence[EventFunction], t: float, q: Vector, v: Vector) -> Sample:
        """Evaluate the watched functions at a state, which requires the solution of a step."""
        motion, known = self.motion, self.motion.watched(t, q, v)
        if known is not None:
            found = [self._known(watch, t, q, v, known.values) for watch in watches]
            return _sample(t, q, v, known.a, found, known.lam_T)
        step, answer = motion.whole(t, q, v), motion.answer(t, q, v)
        assert answer.a is not None
        sizes = [TOLERANCES.noise * (1.0 + float(np.abs(x).max())) for x in (q, v)]
        at = _Instant(t, q, v, step, answer, step.J_N @ answer.a + step.zeta_N, step.J_T @ answer.a + step.zeta_T,
                      coordinate_scale(step.M, step.J) ** 2, *sizes)  # fmt: skip
        rows = [self._value(watch, at) for watch in watches]
        return _sample(t, q, v, answer.a, rows, answer.lam_T)

    def _known(self, watch: EventFunction, t: float, q: Vector, v: Vector, values: Matrix) -> Sequence[float]:
        """Return the `Value` of a watched function from the values that machine code has found at this state."""
        if watch.kind is Watched.USER:
            return self.user_value(watch.index, t, q, v), math.nan, math.nan, 0.0
        if watch.kind is Watched.DEFINITE:
            smallest = float(values[0, 8])
            known = smallest if math.isfinite(smallest) else self.motion.definiteness(t, q, v)
            return known, math.nan, math.nan, 0.0
        first = first_column(watch)
        found: list[float] = values[watch.index, first : first + 4].tolist()
        return found

    def _value(self, watch: EventFunction, at: _Instant) -> Value:
        i, step, v = watch.index, at.step, at.v
        if watch.kind is Watched.USER:
            return self.user_value(i, at.t, at.q, v), math.nan, math.nan, 0.0
        if watch.kind is Watched.GAP:
            assert step.g_N is not None
            assert step.gdot_N is not None
            return float(step.g_N[i]), float(step.gdot_N[i]), float(at.w[i]), at.gap_noise
        if watch.kind is Watched.DEFINITE:
            return self.motion.definiteness(at.t, at.q, v), math.nan, math.nan, 0.0
        if watch.kind is not Watched.SLIP:
            return self._of_forces(watch, at)
        sigma = self.motion.phase.sigma[i]
        if step.v_T.shape[1] > 1:
            # In space sigma is fixed at the last step while the slip turns, so that no rate is given.
            return float(-sigma @ step.v_T[i]), math.nan, math.nan, 0.0
        return float(-sigma @ step.v_T[i]), float(-sigma @ at.s[i]), math.nan, at.slip_noise

    def _of_forces(self, watch: EventFunction, at: _Instant) -> Value:
        """Return lam_N - m w of a closed contact, or mu lam_N - |lam_T| - m |s| of a sticking contact."""
        i, step, answer, phase = watch.index, at.step, at.answer, self.motion.phase
        place = phase.closed.index(i)
        # Redundant contacts share forces arbitrarily; a contact whose share is zero must not seem to open.
        noise = TOLERANCES.unshared * float(np.abs(answer.lam_N).max())
        if watch.kind is Watched.NORMAL:
            pull = phase.wall[i] * at.w[i] / (step.J_N[i] ** 2 @ at.inverse)
            return float(answer.lam_N[place] - pull), math.nan, math.nan, noise
        friction = float(np.linalg.norm(answer.lam_T[place]))
        bound = float(step.mu[i] * answer.lam_N[place])
        slipping = float(np.linalg.norm(at.s[i]) / (step.J_T[i] ** 2 @ at.inverse).max())
        return bound - friction - slipping, math.nan, math.nan, noise


def _sample(t: float, q: Vector, v: Vector, a: Vector, rows: Sequence[Sequence[float]], lam_T: Matrix) -> Sample:
    values, rates, accelerations, noise = np.array(rows).reshape(-1, 4).T
    return Sample(t, q, v, a, values, rates, accelerations, noise, lam_T)


class _Instant(NamedTuple):
    """A solved state, with accelerations w of gaps, (k,), and s of slips, (k, d), and 1 / M_ii (1 without mass), (n,).

    Gaps below `gap_noise` and slips below `slip_noise` are rounding errors.
    """

    t: float
    q: Vector
    v: Vector
    step: StepData
    answer: Answer
    w: Vector
    s: Matrix
    inverse: Vector
    gap_noise: float
    slip_noise: float
