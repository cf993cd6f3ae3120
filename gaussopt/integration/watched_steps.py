"""Events and integrals that a user requests for a motion without contacts.

Both are evaluated on an interpolant within each step of the method, recorded or not, and do not change the motion. The
interpolant is the quintic through positions, velocities and accelerations at the ends of the step or, if the step is
too long for the quintic, the dense output of the method. Integrals are computed by Gauss-Legendre quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.event import Event
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.events.between import StepInterior
from gaussopt.integration.events.functions import Sample
from gaussopt.integration.events.modes import TOLERANCES

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(4)
"""Points and weights of Gauss's rule of order 8, on (-1, 1)."""

NONE = np.zeros(0)
Dense = Callable[[], Callable[[float], Vector] | None]


@dataclass(frozen=True, slots=True)
class Crossing:
    """An instant with events within a step: its state, indices of the events, and whether one ends the motion."""

    t: float
    q: Vector
    v: Vector
    events: Sequence[int]
    terminal: bool


class _Straight:
    """A `Turning` without angles, because there are no contacts."""

    least, periodic = 1, 0

    def angles(self, t: Any, q: Any, v: Any) -> Any:
        return np.zeros((0, len(q))), np.zeros((0, len(q)))

    def at(self, t: float, q: Vector, v: Vector) -> Any:
        return [], []


class WatchedSteps:
    """Finds events and computes integrals in the steps of one motion.

    Parameters
    ----------
    system : AbstractSystem
    events : gaussopt.Event
    integrals : functions of (t, q, v), integrated along the motion
    adaptive : whether the method controls its step size

    Attributes
    ----------
    sums : (number of integrals,), the integrals up to the beginning of the latest step
    """

    def __init__(
        self, system: AbstractSystem, events: Sequence[Event], integrals: Sequence[Event], adaptive: bool
    ) -> None:
        self._system, self._events, self._integrals, self._adaptive = system, events, integrals, adaptive
        self._sides = [0.0] * len(events)
        self.sums = np.zeros(len(integrals))
        self._rest = np.zeros(len(integrals))
        self._live = np.zeros(len(events), dtype=bool)
        self._step: StepInterior | None = None
        self._last: Sample | None = None

    def begin(self, t: float, q: Vector, v: Vector, a: Vector) -> None:
        """Start the motion, with the present sign of each event function: an event is a change of this sign."""
        for integral in self._integrals:
            integral.value(t, q, v)
        self._sides = [math.copysign(1.0, event.value(t, q, v)) for event in self._events]
        self._last = self._sample(t, q, v, a)
        self._live = self._last.values > 0

    def memory(self) -> dict[str, Any]:
        """Return the data, for `recall`, on which later steps depend besides the state."""
        return {"sides": list(self._sides), "live": self._live.copy(), "sums": self.sums + self._rest}

    def recall(self, memory: Any, t: float, q: Vector, v: Vector, a: Vector) -> None:
        """Restore the sides of the events and the integrals that `memory` returned at this state."""
        self._sides = list(memory["sides"])
        self._last, self._live = self._sample(t, q, v, a), np.array(memory["live"], dtype=bool)
        self.sums = np.array(memory["sums"], dtype=np.float64)

    def _value(self, i: int, t: float, q: Vector, v: Vector) -> float:
        """Return the function of event i, negated if need be, so that it falls through zero at the event."""
        event = self._events[i]
        return (-event.direction or self._sides[i]) * event.value(t, q, v)

    def _sample(self, t: float, q: Vector, v: Vector, a: Vector) -> Sample:
        values = np.array([self._value(i, t, q, v) for i in range(len(self._events))])
        return Sample(t, q, v, a, values, NONE, NONE, np.zeros(len(values)))

    def take(self, t: float, q: Vector, v: Vector, a: Vector, dense: Dense) -> list[Crossing]:
        """Process a step to this state; return its event crossings in order, up to one that ends the motion."""
        assert self._last is not None
        before, after = self._last, self._sample(t, q, v, a)
        self.sums = self.sums + self._rest
        self._step = self._interior(before, after, dense)
        self._rest = self._between(0.0, t - before.t)
        found = self._crossings(before, after) if self._events else []
        self._last = self._sample(t, q, v, a) if found else after
        self._live |= self._last.values > 0
        return found

    def sum_at(self, t: float) -> Vector:
        """Return the integrals from the start of the motion to an instant in the latest step."""
        step = self._step
        if step is None:
            return self.sums
        return self.sums + (self._rest if t >= step.after.t else self._between(0.0, t - step.before.t))

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return q and v, interpolated, at an instant in the latest step."""
        assert self._step is not None
        return self._step.state(t - self._step.before.t)

    def _between(self, begin: float, end: float) -> Vector:
        assert self._step is not None
        total = np.zeros(len(self._integrals))
        if len(total):
            half = 0.5 * (end - begin)
            for x, weight in zip(POINTS, WEIGHTS, strict=True):
                s = begin + half * (1.0 + x)
                q, v = self._step.state(s)
                total += half * weight * np.array([f.value(self._step.before.t + s, q, v) for f in self._integrals])
        return total

    def _interior(self, before: Sample, after: Sample, dense: Dense) -> StepInterior:
        return StepInterior(self._system, _Straight(), (([], []), ([], [])), before, after, dense, self._adaptive)

    def _crossings(self, begin: Sample, after: Sample) -> list[Crossing]:
        found: list[Crossing] = []
        whole, before = self._step, begin
        assert whole is not None
        n = len(begin.q)

        def path(t: float) -> Vector:
            return np.concatenate(whole.state(t - begin.t))

        while True:
            step = self._interior(before, after, lambda: path)
            root = self._first(step)
            if root is None:
                return found
            s, hits = root
            t = before.t + s
            y = path(t)
            for i in hits:
                self._sides[i] = -self._sides[i]
            terminal = any(self._events[i].terminal for i in hits)
            found.append(Crossing(t, y[:n], y[n:], hits, terminal))
            if terminal or s >= step.h:
                return found
            before, after = (self._sample(t, y[:n], y[n:], begin.a), self._sample(after.t, after.q, after.v, after.a))
            self._live = before.values > 0
            self._live[hits] = False

    def _first(self, step: StepInterior) -> tuple[float, list[int]] | None:
        """Return the first events, as the time after the start of the step and their indices; None if there is none."""

        def at(s: float) -> Sample:
            return self._sample(step.before.t + s, *step.state(s), step.before.a)

        roots: dict[int, float] = {}
        for i, event in enumerate(self._events):

            def value(t: float, q: Vector, v: Vector, i: int = i) -> float:
                return self._value(i, t, q, v)

            interval = step.happening(i, value, bool(self._live[i]), event.name, at)
            if interval is not None:
                roots[i] = self._root(i, interval, at, step.before.t)
        if not roots:
            return None
        first = min(roots.values())
        same = 1e-12 * (1.0 + abs(step.before.t))
        return first, [i for i, s in roots.items() if s <= first + same]

    @staticmethod
    def _root(i: int, interval: tuple[float, float], at: Callable[[float], Sample], t: float) -> float:
        low, high = interval
        if float(at(low).values[i]) <= 0.0:
            return low
        if float(at(high).values[i]) >= 0.0:
            return high
        from scipy.optimize import brentq  # imported only for events: it takes a third of a second

        accuracy = TOLERANCES.instant * (1.0 + abs(t))
        return float(brentq(lambda s: float(at(s).values[i]), low, high, xtol=accuracy, rtol=8.9e-16))
