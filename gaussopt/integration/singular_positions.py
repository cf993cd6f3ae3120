"""Detection of singular positions close to a motion: positions where rows of the constraints become dependent.

At a singular position several branches of a mechanism may meet; the equations of motion do not determine on which of
them the motion continues, and a step of any method may jump between branches while every residual is small. Therefore
the distance of each row from the span of the preceding rows is monitored: at every step of an interpreted motion, at
every recorded state of a compiled motion, and within every compiled step of an adaptive method. It is measured as the
sine of an angle (`Certificate.independence`), and relative to its usual value in the motion, because rows may vanish.
Close to a singular position the distance falls and rises almost linearly in time: the line through the last two states
before it and the line through the next two states meet near zero. If the rows change so much over a step (by their
values or rates at both ends) that a singular position may lie within an interpreted step, or a compiled step of an
adaptive method, states within the step are examined, too, and more states next to a nearly singular one. In a compiled
motion with constant steps, it is missed if the motion approaches or leaves it in less than two recorded intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput, NotAccepted
from gaussopt.core.step_data import StepData
from gaussopt.linalg.dense import coordinate_scale

SINGULAR = 0.01
"""Independence of rows below which a position counts as nearly singular: an angle of 0.6 degrees."""

NEAR = 0.3
"""Independence of the rows at a recorded state, below which it is also estimated between the recorded states."""

REDUNDANT = 1e-7
"""A row is redundant if its usual distance from the span of the others is below this, relative to the largest."""

STOPPED = (
    "at t = {:.6g} the motion comes close to a singular position, the rows of J are independent to {:.2g} only, and "
    "on_singular is 'stop'."
)

LOOKS, MOST_LOOKS = 16, 400
"""Smallest and largest number of parts into which a long step is divided; the rows are examined at their ends."""

CLOSER = 8
"""Number of parts into which a part of a long step is divided again next to a nearly singular state."""

UNEVEN = 4.0
"""Factor by which the change of the rows over one part of a step may exceed the average over all parts; at a position
within the part the rows differ from the rows at the nearer end by at most half of that change."""

TURN = 0.2
"""Intended change of unit rows over a part of a long step, which determines the number of parts."""

MOMENT = 1e-3
"""Fraction of a step over which a difference quotient gives the rate of the rows at the end of the step."""

APART = 20.0
"""Nearly singular states further apart than this number of median steps belong to different passages."""

MOST_INSTANTS = 8
"""Largest number of instants that a sentence names."""

SAMPLES = 101
"""Number of evenly spaced instants at which distances of a row are computed; their median is its usual distance."""

ABRUPT = 1.0
"""Change of velocity within one step, relative to the largest velocity of the motion, that causes a warning."""


class SingularWatch:
    """Collects the distance of each row of J from the span of the preceding rows, while a motion is computed.

    As in certificates, reciprocal squares are stored: at each state, of the smallest sine of all rows, (N,), and of all
    distances, (N, m). If `stop` is true, the motion ends at a nearly singular state. If `idle` is true, no warning is
    needed, and no states within steps are examined.
    """

    def __init__(self, stop: bool = False) -> None:
        self.stop, self.idle = stop, False
        self._rows: list[tuple[float, float, Vector]] = []
        self._blocks: list[tuple[Vector, Vector, Matrix]] = []
        self._first: Vector | None = None
        self._before: tuple[float, Vector, Vector, float, Matrix, float] | None = None
        self._step: tuple[float, float, tuple[Vector, Vector], tuple[Vector, Vector], int, float]
        self._longest, self._farthest = np.zeros(0), np.zeros(0)

    @np.errstate(divide="ignore", invalid="ignore")
    def distance(self, independence: float, closeness: Vector | None) -> float:
        """Return the least ratio of a row's distance to its largest so far, or `independence` if that is smaller."""
        if closeness is None or not len(closeness):
            return math.inf
        known = self._farthest if len(self._farthest) == len(closeness) else closeness
        self._farthest = np.fmin(known, closeness)
        counted = np.where(self._farthest < REDUNDANT**-2 * self._farthest.min(), self._farthest, np.inf)
        return min(independence, float(beside_usual(closeness[None, :], counted)[0]))

    def note(self, t: float, independence: float, closeness: Vector | None) -> None:
        """Store the independence of rows at a state, unless it is unknown or was just stored for this instant."""
        if closeness is None or not len(closeness) or (self._rows and self._rows[-1][0] == t):
            return
        self._rows.append((t, independence**-2 if independence > 0.0 else math.inf, closeness))
        if self.stop:
            self._end(np.array([t]), np.array([self._rows[-1][1]]), closeness[None, :])

    def extend(self, times: Vector, angles: Vector, closeness: Matrix) -> None:
        """Store the independence of the rows at several recorded states."""
        if closeness.shape[1]:
            self._pack()
            self._blocks.append((times, angles, closeness))
            if self.stop:
                self._end(times, angles, closeness)

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _end(self, times: Vector, angles: Vector, closeness: Matrix) -> None:
        """Raise NotAccepted if one of the given states is nearly singular, relative to the first of the motion."""
        if self._first is None:
            self._first = np.where(closeness[0] < REDUNDANT**-2 * closeness[0].min(), closeness[0], np.inf)
        distances = np.fmin(angles**-0.5, beside_usual(closeness, self._first))
        near = np.flatnonzero(distances < SINGULAR)
        if len(near):
            raise NotAccepted(STOPPED.format(times[near[0]], distances[near[0]]))

    def _pack(self) -> None:
        if self._rows:
            times, angles, closeness = zip(*self._rows, strict=True)
            m = max(len(x) for x in closeness)
            same = [x if len(x) == m else np.full(m, np.nan) for x in closeness]
            self._blocks.append((np.array(times), np.array(angles), np.array(same)))
            self._rows = []

    def between(
        self, step: StepData, independence: float, earlier: Callable[[float, Vector, Vector], StepData] | None = None
    ) -> list[tuple[float, Vector, Vector]]:
        """Return states (t, q, v) within the step from the previous state to `step`; [] if no state can be singular.

        The states lie on the Hermite cubic between the ends. No state can be singular if the rows change too little,
        since singular values change by no more than the rows. `earlier` evaluates a state shortly before `step`, for
        the rate of the rows: after a whole turn of a mechanism, the rows have the same values as before the step.
        """
        assert step.q is not None
        assert step.v is not None
        rows, least = self._in_proportion(step)
        least = min(independence, least)
        t, q, v, before = step.t, step.q, step.v, self._before
        if before is None or not t > before[0]:
            again = before is not None and t == before[0]  # same instant, corrected state: keep the rate
            self._before = t, q, v, least, rows, before[-1] if before is not None and again else 0.0
            return []
        t0, q0, v0, s0, rows0, speed0 = before
        h, speed = t - t0, 0.0
        if earlier is not None:
            moment = MOMENT * h
            with suppress(BadInput):  # the equations may be undefined at the earlier state
                past, _ = self._in_proportion(earlier(t - moment, q - moment * v, v))
                speed = float(np.linalg.norm(rows - past)) / moment
        self._before = t, q, v, least, rows, speed
        change = max(float(np.linalg.norm(rows - rows0)), h * speed, h * speed0)
        if not min(s0, least) < change:
            return []
        parts = int(min(max(change / TURN, LOOKS), MOST_LOOKS))
        self._step = t0, h, (q0, v0), (q, v), parts, min(NEAR, SINGULAR + UNEVEN * change / parts / 2)
        return self._within(np.arange(1, parts) / parts)

    def closer(self, distances: Sequence[float]) -> list[tuple[float, Vector, Vector]]:
        """Return more states within the step, near those states of `between` whose `distances` are small."""
        *_, parts, small = self._step
        parts *= CLOSER
        middles = CLOSER * (1 + np.flatnonzero(np.array(distances) < small))
        beside = np.unique(middles[:, None] + np.arange(1 - CLOSER, CLOSER))
        return self._within(beside[beside % CLOSER != 0] / parts)

    def _within(self, parts: Vector) -> list[tuple[float, Vector, Vector]]:
        t0, h, before, after, *_ = self._step
        return [(t0 + x * h, *within_step(h, before, after, x)) for x in parts]

    def _in_proportion(self, step: StepData) -> tuple[Matrix, float]:
        """Return the rows divided by their largest lengths so far, and the smallest ratio of these two lengths."""
        # If only masses scaled the rows, a mass that is a rounding error would change their directions at every step.
        scaled = step.J * coordinate_scale(step.M, step.J)
        lengths = np.linalg.norm(scaled, axis=1)
        known = self._longest if len(self._longest) == len(lengths) else np.zeros(len(lengths))
        self._longest = longest = np.maximum(known, lengths)
        counted = longest > REDUNDANT * longest.max(initial=0.0)
        whole = np.where(counted, longest, np.inf)
        return scaled / whole[:, None], float((lengths[counted] / longest[counted]).min(initial=1.0))

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def sentence(self) -> str | None:
        """Return a warning if the motion came close to a singular position; None otherwise."""
        self._pack()
        if not self._blocks:
            return None
        t, angles, closeness = (
            self._blocks[0] if len(self._blocks) == 1 else map(np.concatenate, zip(*self._blocks, strict=True))
        )
        t, first = np.unique(t, return_index=True)  # sorted: states within a step may be stored after its end
        angles, closeness = angles[first], closeness[first]
        usual = usual_closeness(t, closeness)
        # For most motions this quick test of the largest values suffices.
        if angles.max() < NEAR**-2 and (closeness.max(axis=0) < NEAR**-2 * usual).all():
            return None
        return singular_sentence(t, np.fmin(angles**-0.5, beside_usual(closeness, usual)))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def near(t: Vector, angles: Vector, closeness: Matrix) -> NDArray[np.bool_]:
    """Return which of N states of a motion are close to a singular position, (N,)."""
    order = t.argsort(kind="stable")
    usual = usual_closeness(t[order], closeness[order])
    return np.asarray(np.fmin(angles**-0.5, beside_usual(closeness, usual)) < NEAR)


def within_step(h: Any, before: tuple[Any, Any], after: tuple[Any, Any], x: float) -> tuple[Any, Any]:
    """Return q by cubic Hermite and v by linear interpolation at the fraction x of a step of length h."""
    (q0, v0), (q, v) = before, after
    place = q0 + h * x * v0 + (3 * (q - q0) - h * (2 * v0 + v)) * x**2 + (2 * (q0 - q) + h * (v0 + v)) * x**3
    return place, (1 - x) * v0 + x * v


def usual_closeness(t: Vector, closeness: Matrix) -> Vector:
    """Return the median in time of `closeness`, (m,); infinite for rows that are redundant throughout the motion."""
    even = np.searchsorted(t, np.linspace(t[0], t[-1], SAMPLES)).clip(0, len(t) - 1)
    middle = np.sort(closeness[even], axis=0)[SAMPLES // 2]  # np.sort puts NaN last
    return np.where(middle < REDUNDANT**-2 * middle.min(), middle, np.inf)


def beside_usual(closeness: Matrix, usual: Vector) -> Vector:
    """Return the smallest ratio of a row's distance to its usual distance, for each of N states, (N,).

    Unlike the sine, the ratio detects a row that vanishes. Rows that are always redundant do not count.
    """
    counted = np.isfinite(usual)
    return np.asarray(np.fmin.reduce((usual[counted] / closeness[:, counted]) ** 0.5, axis=1, initial=np.inf))


def singular_sentence(t: Vector, independence: Vector) -> str | None:
    """Return a warning if `independence` (NaN if unknown) comes near zero at instants t, (N,); None otherwise."""
    known = np.isfinite(independence)
    t, s = t[known], independence[known]
    if not len(s) or not s.min() < NEAR:
        return None
    found = [(float(s.min()), float(t[int(s.argmin())]))]
    found += [_between(t, s, int(k)) for k in np.flatnonzero(np.minimum(s[1:], s[:-1]) < NEAR)]
    least, instant = min(found)
    if least >= SINGULAR:
        return None
    return (
        f"Near t = {instant:.6g} the motion passes a singular position, or comes close to one: the rows of J are "
        f"independent to {least:.2g} only (in unit masses, beside their usual length).{_others(found, instant)} "
        "Mechanisms may have several branches there, and the motion may have left its own: compute it again with "
        "smaller steps and compare."
    )


def _others(found: list[tuple[float, float]], worst: float) -> str:
    """Return a sentence on other passages near singular positions, from pairs (independence, instant)."""
    instants: list[float] = []
    usual = float(np.median(np.diff(sorted(t for _, t in found)))) if len(found) > 1 else 0.0
    for s, t in sorted(found):
        if s < SINGULAR and all(abs(t - other) > APART * usual for other in (*instants, worst)):
            instants.append(t)
    if not instants:
        return ""
    named = ", ".join(f"{t:.6g}" for t in sorted(instants)[:MOST_INSTANTS])
    more = f" and {len(instants) - MOST_INSTANTS} more" if len(instants) > MOST_INSTANTS else ""
    return f" It does so near t = {named}{more}, too."


def _between(t: Vector, s: Vector, k: int) -> tuple[float, float]:
    """Return where the lines through points k-1, k and k+1, k+2 meet, (s, t); s = inf if t is not between them."""
    if k < 1 or k + 2 >= len(s) or not (t[k - 1] < t[k] < t[k + 1] < t[k + 2]):
        return math.inf, float(t[k])
    down, up = (s[k] - s[k - 1]) / (t[k] - t[k - 1]), (s[k + 2] - s[k + 1]) / (t[k + 2] - t[k + 1])
    if not (down < 0.0 < up):
        return math.inf, float(t[k])
    x = (s[k] - s[k + 1] + up * (t[k + 1] - t[k])) / (up - down)
    if not 0.0 <= x <= t[k + 1] - t[k]:
        return math.inf, float(t[k])
    return max(0.0, float(s[k] + down * x)), float(t[k] + x)


def abrupt_sentence(t: Vector, v: Matrix, a: Matrix, rest: float = 0.0, fastest: float = 0.0) -> str | None:
    """Return a warning if an acceleration exceeds `rest` and is too large for the step size; None otherwise.

    If not all steps are given, `fastest` is the largest speed at the ends of the steps left out.
    """
    if len(t) < 2:
        return None
    intervals = np.diff(t)
    most, least = math.sqrt(a.shape[1]) * max(float(a.max()), -float(a.min())), max(float(v.max()), -float(v.min()))
    if most * float(intervals.max()) <= ABRUPT * least:
        return None
    sizes: NDArray[np.float64] = np.linalg.norm(a, axis=1)
    steps = np.minimum(np.append(intervals, np.inf), np.append(np.inf, intervals))
    k, fastest = int((sizes * steps).argmax()), max(fastest, float(np.linalg.norm(v, axis=1).max()))
    if not fastest > 0.0 or sizes[k] <= rest or not sizes[k] * steps[k] > ABRUPT * fastest:
        return None
    return (
        f"At t = {t[k]:.6g} the acceleration is {sizes[k]:.3g} and would change the velocities by more than their "
        "largest known value within one step: no step follows it. Compute the motion again with smaller steps, and "
        "compare."
    )
