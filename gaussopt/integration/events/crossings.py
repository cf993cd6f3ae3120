"""Search for the first event within a step: the watched functions that fall through zero first, and the instant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Vector
from gaussopt.core.endings import together
from gaussopt.core.stepper import Control, Integration, Stepper
from gaussopt.integration.events.between import GOLDEN, StepInterior
from gaussopt.integration.events.functions import EventFunction, PhaseFunctions, Sample, Watched
from gaussopt.integration.events.modes import TOLERANCES
from gaussopt.integration.events.turning import Angles, Turning, turning_of
from gaussopt.integration.steppers.base import FixedStep

At = Callable[[float], Sample]
"""A function that returns the end of a step of the method that is shortened to the given length."""


Bracket = tuple[float, float, float, float]
Locate = Callable[[Sample, EventFunction, Bracket, float, float], tuple[float, Vector, Vector] | None]
"""See `gaussopt.integration.events.segments.FastForward.locate`."""


class Crossings:
    """Finds the first event of each step of a motion; `locate` may search a bracket in machine code, or return None."""

    def __init__(
        self, functions: PhaseFunctions, method: Stepper, control: Control, locate: Locate = lambda *bracket: None
    ) -> None:
        self._functions, self._method, self._control, self._locate = functions, method, control, locate
        self._motion, self._system = functions.motion, functions.motion.system
        self._origin = control.origin or 0.0
        self._turning: Turning | None = None
        self._known: tuple[Sample, Angles] | None = None

    def repeat(self, before: Sample, s: float, least_tolerance: float = 0.0) -> tuple[float, Vector, Vector]:
        """Return the state at a time s after `before`, computed anew by the same method.

        A step of constant length takes exactly s, which `before.t + s` rounds at late times.
        """
        if isinstance(self._method, FixedStep):
            return before.t + s, *self._method.step(self._motion, before.t, before.q, before.v, s)
        end = before.t + s
        rtol, atol = (max(x, least_tolerance) for x in (self._control.rtol, self._control.atol))
        control = Control(end, None, rtol, atol, first_step=s)
        integration = self._method.start(self._motion, before.t, before.q, before.v, control)
        t, q, v = before.t, before.q, before.v
        while t < end:
            t, q, v = integration.advance()
        return t, q, v

    def first(
        self, watches: Sequence[EventFunction], live: NDArray[np.bool_], before: Sample, after: Sample,
        integration: Integration, steps: int,
    ) -> tuple[list[int], Sample, str | None]:  # fmt: skip
        """Find the first event of a step.

        Parameters
        ----------
        watches, live : the watched functions, and which of them may fall through zero right from the beginning
        before, after : samples at the ends of the step
        integration : Integration that took the step
        steps : number of earlier steps; it selects a further instant of the step at which the gaps are checked

        Returns
        -------
        hits : numbers of the functions that fall through zero first, together
        reached : sample at that instant; `after` if there are no hits
        pierced : message if a contact is inside its obstacle although no event was found, otherwise None
        """
        h = after.t - before.t
        known: dict[float, Sample] = {0.0: before, h: after}

        def at(s: float) -> Sample:
            if s not in known:
                known[s] = self._functions.sample(watches, *self.repeat(before, s))
            return known[s]

        step = self._interior(before, after, integration)
        inner = self._inner(watches, step)
        roots: dict[int, float] = {}
        for j in range(len(watches)):
            interval = self._interval(j, watches[j], bool(live[j]), step, inner, at)
            if interval is not None:
                roots[j] = self._root(j, watches, interval, before, after, at, known)
        if not roots:
            return [], after, self._pierced(watches, step, steps, at)
        first = min(roots.values())
        same = together(before.t, self._origin)
        reached = at(first)
        hits = [j for j, s in roots.items() if s <= first + same]
        # Redundant contacts start to slip together, although the limits of their shares may be exceeded one by one.
        if any(watches[j].kind is Watched.STICK for j in hits):
            loose = reached.values <= np.maximum(1e3 * reached.noise, 0.0)
            hits = sorted({*hits, *(j for j, w in enumerate(watches) if w.kind is Watched.STICK and loose[j])})
        return hits, reached, None

    def _interior(self, before: Sample, after: Sample, integration: Integration) -> StepInterior:
        """Return the search within a step; the angles at its end are stored for the next step."""
        if self._turning is None:
            self._turning = turning_of(self._system, before.t, before.q)
        turning, known = self._turning, self._known
        begin = known[1] if known is not None and known[0] is before else turning.at(before.t, before.q, before.v)
        end = turning.at(after.t, after.q, after.v)
        self._known = after, end
        return StepInterior(
            self._system, turning, (begin, end), before, after, integration.within, self._method.adaptive
        )

    def _inner(self, watches: Sequence[EventFunction], step: StepInterior) -> list[Sample]:
        """Return samples at the ends of the step, or of all its pieces if forces, slips or definiteness are watched."""
        if step.number == 1 or all(watch.kind in (Watched.GAP, Watched.USER) for watch in watches):
            return [step.before, step.after]
        instants = (i / step.number * step.h for i in range(1, step.number))
        between = [self._functions.sample(watches, step.before.t + s, *step.state(s)) for s in instants]
        return [step.before, *between, step.after]

    def _interval(
        self, j: int, watch: EventFunction, live: bool, step: StepInterior, inner: list[Sample], at: At
    ) -> tuple[float, float] | None:
        """Return the first interval of a step in which watched function j falls through zero; None if there is none."""
        if watch.kind is Watched.GAP:
            return step.closing(j, watch.index, at)
        if watch.kind is Watched.USER:
            i, functions = watch.index, self._functions
            return step.happening(j, lambda *state: functions.user_value(i, *state), live, functions.events[i].name, at)
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
        self, j: int, watches: Sequence[EventFunction], interval: tuple[float, float], before: Sample, after: Sample,
        at: At, known: dict[float, Sample],
    ) -> float:  # fmt: skip
        """Return the instant at which watched function j falls through zero, as a time after `before`."""
        low, high = interval
        value, level = float(at(low).values[j]), 0.0
        noise = max(before.noise[j], after.noise[j])
        sticking = sum(watch.kind is Watched.STICK for watch in watches)
        shared = watches[j].kind is Watched.STICK and sticking > 1
        if shared and -noise <= value <= noise and after.values[j] < -2.0 * noise:
            # Redundant contacts share friction arbitrarily, so that a contact may be at its limit long before it slips:
            # the event is the instant at which its friction exceeds the limit, possibly the beginning of the step.
            level = -2.0 * noise
        if value <= level:
            return low
        beyond = float(at(high).values[j])
        if beyond >= level:
            # The function does not fall below `level`, or falls below it only after `high`.
            if after.values[j] >= level:
                return high
            high, beyond = after.t - before.t, float(after.values[j])
        accuracy = TOLERANCES.instant * (1.0 + abs(before.t - self._origin))
        found = self._locate(before, watches[j], (low, value - level, high, beyond - level), level, accuracy)
        if found is not None:
            root, q, v = found
            if root not in known:
                known[root] = self._functions.sample(watches, before.t + root, q, v)
        else:
            from scipy.optimize import brentq  # imported only for events: it takes a third of a second

            root = float(brentq(lambda s: float(at(s).values[j]) - level, low, high, xtol=accuracy, rtol=8.9e-16))
        at_once = level < 0.0 and at(0.5 * (low + root)).values[j] < TOLERANCES.leaving * level
        return low if at_once else root

    def _pierced(self, watches: Sequence[EventFunction], step: StepInterior, steps: int, at: At) -> str | None:
        """Return a message if a contact is inside its obstacle within a step without events; otherwise None."""
        gaps = [(j, watch.index) for j, watch in enumerate(watches) if watch.kind is Watched.GAP]
        found = step.pierced(steps * GOLDEN % 1.0, gaps, at)
        if found is None:
            return None
        contact, s, gap = found
        t = step.before.t
        return (
            f"Stopped at t = {t:.9g}: within the step that follows, at t = {t + s:.9g}, contact "
            f"{self._system.contact_names[contact]!r} was {-gap:.3g} inside its obstacle, and its impact was not "
            "found; limit the steps by dt."
        )


def bracket(
    before: Sample, after: Sample, j: int, h: float, at: Callable[[float], Sample]
) -> tuple[float, float] | None:
    """Return an interval of a step of length h in which watched function j first falls through zero, or None.

    If the rates of the function are known, it is interpolated by a cubic, so that a dip below zero between the ends is
    detected, and the first of several zeros is found. `at` returns the sample at a time after `before`.
    """
    y0, y1, r0, r1 = before.values[j], after.values[j], before.rates[j], after.rates[j]
    noise = max(before.noise[j], after.noise[j])
    if not math.isfinite(r0 + r1):
        return (0.0, h) if y1 < -noise else None
    start = max(y0, 0.0)
    low = 0.0
    if start <= noise and r0 > 0:
        # A function that starts at zero and rises cannot fall through zero before its peak.
        low = before.culmination(j, h)
    if y1 >= -noise and not (r0 < 0 < r1 and min(y0 + h * r0 / 3.0, y1 - h * r1 / 3.0) < -noise):
        return None  # a cubic lies above the least of its Bernstein coefficients
    if y1 < -noise and low == 0.0 and max(h * r0, 3.0 * (y1 - start) - h * (r0 + r1), h * r1) < 0.0:
        return 0.0, h  # the cubic falls monotonically
    high = h
    crossing = _first_fall(start, h * r0, y1, h * r1, low / h)
    if crossing is not None and at(h * crossing).values[j] < 0:
        high = h * crossing
    elif y1 >= -noise:
        return None
    while low > 1e-12 * h and (low >= high or at(low).values[j] <= 0):
        low *= 0.5
    return (low if low > 1e-12 * h else 0.0), high


def _first_fall(y0: float, r0: float, y1: float, r1: float, beyond: float) -> float | None:
    """Return the middle of the first interval in (beyond, 1] where the Hermite cubic is negative, or None."""
    cubic = np.polynomial.Polynomial((y0, r0, 3 * (y1 - y0) - 2 * r0 - r1, 2 * (y0 - y1) + r0 + r1))
    roots = cubic.roots()
    real = np.sort(roots.real[np.abs(roots.imag) < 1e-9])
    ends = [*(float(x) for x in real if beyond < x < 1.0), 1.0]
    for left, right in pairwise(ends):
        middle = 0.5 * (left + right)
        if cubic(middle) < 0:
            return float(middle)
    return None
