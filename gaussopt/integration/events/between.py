"""Search, within one step of a motion with contacts, for zeros of the gaps and of the users' event functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import MotionStopped
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.events.functions import Sample
from gaussopt.integration.events.scanning import SHALLOW, CrossingSearch, Function, HermitePoint, above
from gaussopt.integration.events.turning import MOST, TURN, Angles, Turning, turn
from gaussopt.integration.looks import Looks

OFTEN = 4
"""Smallest number of pieces of an adaptive step at whose ends and middles a user's event function is evaluated."""

NEIGHBOURS = 1e-5
"""Step, relative to the length of the time step, of difference quotients for the rate of a user's function."""

FIRST = 1e-12
"""Times after the beginning of a step up to this fraction of its length count as its beginning."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
"""The golden ratio minus 1; the fractional parts of its multiples are evenly spread and never midpoints."""

State = Callable[[float], tuple[Vector, Vector]]
Dense = Callable[[], Callable[[float], Vector] | None]
At = Callable[[float], Sample]
Value = Callable[[float, Vector, Vector], float]


class QuinticPath:
    """Quintic interpolant within a step, with the given positions, velocities and accelerations at both ends."""

    def __init__(self, before: Sample, after: Sample) -> None:
        h = self._h = after.t - before.t
        first, second = h * before.v, 0.5 * h**2 * before.a
        x = after.q - before.q - first - second
        y, z = h * after.v - first - 2.0 * second, 0.5 * h**2 * after.a - second
        self._q = np.array([before.q, first, second, 10 * x - 4 * y + z, -15 * x + 7 * y - 2 * z, 6 * x - 3 * y + z])
        self._v = np.arange(1, 6)[:, None] * self._q[1:] / h

    def __call__(self, s: float) -> tuple[Vector, Vector]:
        """Return q and v at a time s after the beginning of the step."""
        u = s / self._h
        powers = np.array((1.0, u, u**2, u**3, u**4, u**5))
        return powers @ self._q, powers[:5] @ self._v


def look_between(looks: Looks, before: Sample, after: Sample, end: float, dense: Dense) -> None:
    """Interpolate positions at the instants of a step, up to `end`, that `looks` requests, and pass them to it."""
    due = looks.due(end).tolist()
    if due:
        n, exact, path = len(before.q), dense(), QuinticPath(before, after)
        for t in due:
            looks.at(t, path(t - before.t)[0] if exact is None else exact(t)[:n])


class StepInterior:
    """The search for zeros within one step, given the sampled states at its ends.

    Parameters
    ----------
    turning, angles : the angles on which the gaps depend nonlinearly, and their values and rates at both ends
    dense : function that returns the interpolant of the method, t -> (q, v) in one array, or None to use a quintic
    adaptive : whether the method chooses the length of the step

    Attributes
    ----------
    number : number of equal pieces of the step such that no angle turns by more than `TURN` in any piece

    Raises MotionStopped if more than `MOST` pieces were needed.
    """

    def __init__(
        self, system: AbstractSystem, turning: Turning, angles: tuple[Angles, Angles], before: Sample, after: Sample,
        dense: Dense, adaptive: bool,
    ) -> None:  # fmt: skip
        self.system, self.before, self.after, self.h = system, before, after, after.t - before.t
        self._dense, self._adaptive = dense, adaptive
        self._path: State | None = None
        self._seen: dict[float, tuple[list[float], list[float]]] = {}
        self.coarse = turning.least if adaptive else 1
        turned = turn(turning, self.h, *angles)
        if turned > MOST * TURN:
            raise MotionStopped(
                f"the step from t = {before.t:.9g} to {after.t:.9g} is too long to see its contacts: the gaps turn by "
                f"{turned:.3g} rad; limit the steps by dt."
            )
        self.number = max(1, math.ceil(turned / TURN))

    @cached_property
    def size(self) -> float:
        """Depth up to which a dip of a gap may be missed."""
        return SHALLOW * (1.0 + float(max(np.abs(self.before.q).max(), np.abs(self.after.q).max())))

    def state(self, s: float) -> tuple[Vector, Vector]:
        """Return q and v at a time s after the beginning of the step."""
        if self._path is None:
            dense = self._dense()
            self._path = QuinticPath(self.before, self.after) if dense is None else self._halves(dense)
        return self._path(s)

    def _halves(self, dense: Callable[[float], Vector]) -> State:
        n = len(self.before.q)

        def path(s: float) -> tuple[Vector, Vector]:
            y = dense(self.before.t + s)
            return y[:n], y[n:]

        return path

    def gaps(self, s: float) -> tuple[list[float], list[float]]:
        """Return gaps and their rates at a time s after the beginning of the step."""
        if s not in self._seen:
            q, v = self.state(s)
            t = self.before.t + s
            self._seen[s] = self.system.gaps(t, q).tolist(), self.system.gap_rates(t, q, v).tolist()
        return self._seen[s]

    # -- gaps ------------------------------------------------------------------------------------------------------

    def open(self, j: int) -> bool:
        """Return whether the data at both ends of the step prove that a gap, watched function j, stays positive."""
        before, after = self.before, self.after
        if self.number > 1:
            return False
        curvature = max(abs(before.accelerations[j]), abs(after.accelerations[j]))
        return bool(above(*self._ends(j), curvature, max(before.noise[j], after.noise[j])))

    def _ends(self, j: int) -> tuple[HermitePoint, HermitePoint]:
        before, after = self.before, self.after
        return (
            HermitePoint(0.0, float(before.values[j]), float(before.rates[j])),
            HermitePoint(self.h, float(after.values[j]), float(after.rates[j])),
        )

    def closing(self, j: int, i: int, at: At) -> tuple[float, float] | None:
        """Return the first interval in which gap i, watched function j, falls through zero; None if there is none.

        Raises MotionStopped if the gap is too rough for the search.
        """
        if self.open(j):
            return None

        def gap(s: float) -> tuple[float, float]:
            values, rates = self.gaps(s)
            return values[i], rates[i]

        begin, end = self._ends(j)
        noise = float(max(self.before.noise[j], self.after.noise[j]))
        name = f"The gap of contact {self.system.contact_names[i]!r} near t = {self.before.t:.9g}"
        found = self._confirmed(j, gap, begin, end, max(self.number, self.coarse), (self.size, noise), name, at)
        if found is None:
            return None
        low, high = found
        if low == 0.0 and begin.value <= noise and begin.rate > 0:
            # A gap that starts at zero and rises cannot fall through zero before its peak.
            low = min(self.before.culmination(j, self.h), 0.5 * high)
        while low > FIRST * self.h and at(low).values[j] <= 0:
            low *= 0.5
        return (low if low > FIRST * self.h else 0.0), high

    def _confirmed(
        self, j: int, function: Function, begin: HermitePoint, end: HermitePoint, number: int,
        small: tuple[float, float], name: str, at: At,
    ) -> tuple[float, float] | None:  # fmt: skip
        """Return the first interval in which watched function j falls through zero; None if there is none.

        It is sought on the interpolant `function` and confirmed by a step `at`. `small` is (depth, noise).
        """
        depth, noise = small
        fallen, above = end.value < -noise, 0.0
        while True:
            found = CrossingSearch(function, self.h, max(depth, noise), noise, name).first(begin, end, number)
            if found is None:
                # The function surely falls below zero by the end of the step, where it is not interpolated.
                return (above, self.h) if fallen else None
            if found[1] >= self.h:
                return found
            own = float(at(found[1]).values[j])
            if own < 0:
                return found
            # The value by the method is positive here: its difference from `function` is an interpolation error.
            noise, above = 2.0 * (own - function(found[1])[0]), found[1]

    def pierced(self, fraction: float, watches: list[tuple[int, int]], at: At) -> tuple[int, float, float] | None:
        """Return a contact whose gap is negative at this fraction of the step, as a check independent of the search.

        `watches` holds (watched function, contact) for open contacts. The result is (contact, time, gap), or None.
        """
        near = [(j, i) for j, i in watches if not self.open(j)]
        if not near:
            return None
        s = fraction * self.h
        values = self.gaps(s)[0]
        for j, i in near:
            if values[i] < -self.size and at(s).values[j] < -self.size:
                return i, s, float(at(s).values[j])
        return None

    # -- a user's functions ----------------------------------------------------------------------------------------

    def happening(self, j: int, value: Value, live: bool, name: str, at: At) -> tuple[float, float] | None:
        """Return the first interval in which a user's function, watched function j, falls through zero, or None.

        `live` says whether the function is positive at the beginning; if not, it must become positive first.
        """
        delta = NEIGHBOURS * self.h

        def of(s: float) -> float:
            return value(self.before.t + s, *self.state(s))

        def down(s: float) -> tuple[float, float]:
            here, side = of(s), delta if s + 2.0 * delta <= self.h else -delta
            # The difference quotient (second order) is one-sided: the function may be undefined beyond the step.
            return here, (4.0 * of(s + side) - of(s + 2.0 * side) - 3.0 * here) / (2.0 * side)

        def up(s: float) -> tuple[float, float]:
            height, rate = down(s)
            return -height, -rate

        number = max(self.number, OFTEN if self._adaptive else 1)
        depth = SHALLOW * max(abs(float(self.before.values[j])), abs(float(self.after.values[j])))
        title = f"The event {name!r} near t = {self.before.t:.9g}"
        begin = HermitePoint(0.0, *down(0.0))
        end = HermitePoint(self.h, float(self.after.values[j]), down(self.h)[1])
        if not live:
            risen = CrossingSearch(up, self.h, depth, 0.0, title).first(
                HermitePoint(0.0, *up(0.0)), HermitePoint(self.h, -end.value, -end.rate), number
            )
            if risen is None or risen[1] >= self.h:
                return None
            begin = HermitePoint(risen[1], *down(risen[1]))
        return self._confirmed(j, down, begin, end, number, (depth, 0.0), title, at)
