"""Estimate of the error of a computed motion, by comparison with the same motion computed with other steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control, Stepper
from gaussopt.core.system import AbstractSystem
from gaussopt.integration.looks import Differences, Steps
from gaussopt.integration.loop import MotionLoop, Progress
from gaussopt.simulation.engine import choose_engine
from gaussopt.simulation.settings import LEAST_RTOL, NEVER, RunSettings

BOUND = 0.01
"""Error of a coordinate, relative to its amplitude, above which a motion carries a warning."""

HARDLY = 1e-3
"""Smallest amplitude that is used for a coordinate, relative to the largest amplitude, in the mass norm."""

TENFOLD = 10.0
"""Factor between the tolerances of an adaptive motion and those of the motion that it is compared with."""

REST = 1e-4
"""Range of a coordinate, relative to its largest value, below which a motion is near rest."""

SAFETY = 1.5
"""Safety factor on errors predicted from the order of a method, because real errors follow it only roughly."""

ALIKE = 0.9
"""Ratio of the numbers of steps of two adaptive motions from which on they count as having taken the same steps."""

FEWEST = 64
"""Least number of steps of the motion used for comparison if tolerances do not determine the steps."""

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class MotionError:
    """Estimated error of a motion.

    Attributes
    ----------
    largest : (n,), largest error of each coordinate over the compared instants; NaN if unknown
    instants : number of compared instants
    compared : descriptions of the motions used for comparison
    extent : (2, n), smallest and largest value of each coordinate at all steps
    leaps : whether steps may miss short changes, since equations change within steps or tolerances do not limit steps
    end : estimated error of the instant of the event that ended the motion, s; zero without such an event
    """

    largest: Vector
    instants: int
    compared: tuple[str, ...]
    extent: Matrix
    leaps: bool = False
    end: float = 0.0


def unknown(settings: RunSettings) -> MotionError:
    """Return an error of NaN, for a motion whose estimate was interrupted."""
    n = len(settings.start.q)
    return MotionError(np.full(n, math.nan), 0, (), np.zeros((2, n)))


def peaks(x: Matrix) -> Vector:
    """Return the largest |x| of each column, (n,), for x (N, n); along rows of memory NumPy is ten times as fast."""
    found: Vector = np.abs(np.ascontiguousarray(x.T)).max(axis=1, initial=0.0)
    return found


def amplitudes(q: Matrix, mass: Vector) -> Vector:
    """Return the amplitude of each coordinate, (n,): its largest minus its smallest value in q, (N, n).

    Every result is at least a thousandth of the largest amplitude. For this, amplitudes are compared after
    multiplication by sqrt(mass), if the coordinate has mass, and count as at least a ten-thousandth of their
    coordinate's largest value. `mass` is the diagonal of M, (n,).
    """
    ranges = np.ptp(np.ascontiguousarray(q.T), axis=1)
    reach = np.maximum(ranges, REST * peaks(q))
    weights = np.sqrt(np.abs(mass))
    least = np.full(len(ranges), float(reach.max()))
    heavy = weights > 0
    least[heavy] = float((weights * reach).max()) / weights[heavy]
    found: Vector = np.maximum(ranges, HARDLY * least)
    return found


@dataclass(frozen=True)
class _Difference:
    """Differences between two motions in coordinates and final instant, and numbers of compared instants and steps."""

    largest: Vector
    end: float = 0.0
    count: int = 0
    taken: int = 0

    @property
    def all(self) -> Vector:
        """Differences of the coordinates and of the final instant, (n + 1,)."""
        return np.append(self.largest, self.end)


def estimated(
    settings: RunSettings, start: tuple[float, Vector, Vector], loop: MotionLoop, columns: Columns,
    progress: Progress | None,
) -> MotionError:  # fmt: skip
    """Estimate the error due to time steps of a motion that reached its end; `loop` has stored its positions.

    The same motion is computed again with steps twice as large, or with tolerances ten times as large if the method is
    adaptive. The error follows from the difference and the order of the method; for adaptive methods it is the
    difference itself, mostly an overestimate. If the difference exceeds `BOUND`, the order is not reliable, and the
    motion is compared with finer steps instead. This is also done if an adaptive method takes equal steps with larger
    tolerances, since equal steps show no difference: something else limited them, such as the first step or the end.
    If the equations change in time within steps (`missed_in_time`), much shorter steps are compared.

    Motions are compared at all common instants of their steps, with adaptive methods at all steps, and at the end.
    """
    method, mine = settings.method, _Mine(settings, start, loop, columns)
    tried: list[str] = []
    if not mine.span > 0.0:
        return MotionError(np.zeros(len(start[1])), 0, (), mine.extent)
    order = 2.0 ** max(method.order, 1)
    bound = np.append(BOUND * amplitudes(mine.extent, settings.first.M.diagonal()), BOUND * mine.span)

    def other(factor: float, share: tuple[float, float], steps: int = 0) -> _Difference:
        given = _other(settings, loop, mine, factor, steps)
        tried.append(_steps(given))
        return mine.compared(given, _part(progress, *share))

    def found(error: Vector, by: _Difference, leaps: bool = False) -> MotionError:
        late = mine.resolution if mine.event is not None else 0.0
        return MotionError(error[:-1], by.count, tuple(tried), mine.extent, leaps, float(error[-1]) + late)

    missed = 0.0 if settings.first.sparse else missed_in_time(settings.system, method, *start[:2], mine.steps)
    if missed > BOUND / 2:
        often = other(0.5, (2 / 3, 1.0), PROBES)
        if not np.isnan(often.all).any():
            return found(often.all, often, leaps=True)
    coarse = other(2.0, (2 / 3, 1.0))
    alike = method.adaptive and coarse.taken >= ALIKE * loop.advance.steps
    if coarse.largest.any() and (coarse.all <= bound).all() and not alike:
        return found(coarse.all if method.adaptive else SAFETY * coarse.all / (order - 1.0), coarse)
    fine = other(0.5, (3 / 7, 1.0), max(2 * loop.advance.steps, FEWEST) if alike else 0)
    if np.isnan(fine.all).any():
        return found(coarse.all, coarse, alike)
    # Factor by which finer steps or tolerances reduced the error, limited to [2, 2^order] or [2, 10].
    rough = coarse.all
    known = np.divide(rough, fine.all, out=np.full(len(rough), 2.0), where=(fine.all > 0) & np.isfinite(rough))
    gain = np.clip(known, 2.0, TENFOLD if method.adaptive else order)
    return found(fine.all * gain / (gain - 1.0), fine, alike)


class _Mine:
    """The motion whose error is estimated.

    Attributes
    ----------
    end, span : final instant, s, and duration, s
    extent : (2, n), smallest and largest values at all steps
    event : name of the event that ended it, or None
    resolution : length of the step that contains that event, s; zero if the event is located within the step
    """

    def __init__(
        self, settings: RunSettings, start: tuple[float, Vector, Vector], loop: MotionLoop, columns: Columns
    ) -> None:
        assert isinstance(loop.advance.looks, Steps)
        self._settings, self._start, self._loop, self.steps = settings, start, loop, loop.advance.looks
        t, q = columns["t"], columns["q"]
        self.end, self.span, self._last = float(t[-1]), float(t[-1]) - start[0], q[-1]
        last = loop.advance.events[-1] if loop.advance.events else None
        terminal = last is not None and last.details.get("terminal") and last.t >= self.end
        self.event = last.kind if terminal and last is not None else None
        self.resolution = settings.control.dt or 0.0 if settings.method.loop else 0.0
        loop.advance.looks.rows(t[-1:], q[-1:])
        loop.advance.looks.flush()
        self.extent = np.vstack((q, loop.advance.looks.low, loop.advance.looks.high))
        self.extent = np.array([self.extent.min(axis=0), self.extent.max(axis=0)])

    def compared(self, given: RunSettings, progress: Progress | None) -> _Difference:
        """Return the differences from the motion with other settings; NaN if that motion does not reach its end."""
        n = len(self._last)
        failed = _Difference(np.full(n, math.nan), math.nan)
        try:
            loop = choose_engine(given, progress)
            differences = loop.advance.looks = self._differences(n)
            status, _ = loop.integrate(*self._start)
            differences.flush()
        except Exception:  # the caller reports a failed comparison, and keeps the motion
            return failed
        if status is not Status.SOLVED:
            return replace(failed, taken=loop.advance.steps)
        its = loop.advance.recorder.arrays(n)
        # If an event ended both motions at different instants, extrapolate the other motion to the end of this one.
        late = self.end - float(its["t"][-1])
        there = its["q"][-1] + late * (its["v"][-1] + 0.5 * late * its["a"][-1]) if late else its["q"][-1]
        largest = np.maximum(differences.largest, np.abs(there - self._last))
        return _Difference(largest, abs(late), differences.count + 1, loop.advance.steps)

    def _differences(self, n: int) -> Differences:
        """Return a comparison with the stored positions; if they were too many to store, the motion is repeated."""
        settings = self._settings
        if self.steps.whole:
            return Differences(self.steps, n, settings.method.adaptive)
        again = choose_engine(_unseen(settings, self._loop, settings.control), None)
        again.advance.looks = ahead = Steps()
        again.enter(*self._start)

        def more() -> bool:
            return again.advance.t < self.end and again.forward() is None

        return Differences(ahead, n, settings.method.adaptive, more)


def _unseen(settings: RunSettings, loop: MotionLoop, control: Control) -> RunSettings:
    """Return settings with the same engine, but without recording, integrals and search for singular positions."""
    rules = replace(settings.rules, integrals=())
    return replace(
        settings,
        control=control,
        record_every=NEVER,
        engine=loop.advance.engine,
        continued=None,
        watched=False,
        rules=rules,
    )


def _other(settings: RunSettings, loop: MotionLoop, mine: _Mine, factor: float, steps: int = 0) -> RunSettings:
    """Return the settings that repeat a motion, to the same end or event, with other step sizes.

    If `steps` is given, no step is longer than the duration divided by `steps`, and steps end at its multiples.
    """
    control = settings.control if mine.event is not None else replace(settings.control, t_end=mine.end)
    if settings.method.adaptive:
        scale = TENFOLD if factor > 1 else 1 / TENFOLD
        rtol = max(control.rtol * scale, LEAST_RTOL)
        control = replace(control, rtol=rtol, atol=control.atol * scale)
    if steps and not settings.method.adaptive:
        assert control.dt is not None
        control = replace(control, dt=control.dt / math.ceil(steps * control.dt / mine.span))
    elif steps:
        even = np.linspace(mine.end - mine.span, mine.end, steps + 1)[1:-1]
        control = replace(control, dt=None, instants=tuple(even.tolist()))
    elif control.dt is not None:
        # In a motion shorter than one step, half a step is half of the motion.
        control = replace(control, dt=factor * min(control.dt, mine.span))
    return _unseen(settings, loop, control)


def _steps(settings: RunSettings) -> str:
    control = settings.control
    if settings.method.adaptive:
        return f"rtol {control.rtol:.3g} and atol {control.atol:.3g}"
    return f"steps of {control.dt:.6g} s"


def _part(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return a progress function for the part of the work between the fractions `begin` and `end`."""
    return None if progress is None else lambda done: progress(begin + (end - begin) * done)


def of_motion(progress: Progress | None) -> Progress | None:
    """Return the progress function for the motion alone: two thirds of the work, as its error is estimated next."""
    return _part(progress, 0.0, 2 / 3)


PROBES = 2048
"""Approximate number of instants of evaluation; enough to find a pulse as short as a thousandth of the motion."""

_Step = tuple[float, float, Vector, Vector]
"""Start time and length of a step, s, its mean position and its mean velocity."""

ENOUGH = 1024
"""Largest number of steps for which `missed_in_time` is computed; more steps evaluate the equations densely."""


def missed_in_time(system: AbstractSystem, method: Stepper, begin: float, q0: Vector, steps: Steps) -> float:
    """Return the velocity change that the steps miss because the equations change in time, over the largest velocity.

    Two motions that both step over a short pulse agree, so that their difference does not show the error. Therefore the
    equations are also evaluated within the steps, at one fixed state per step: their change with time is integrated by
    two quadratures, with the nodes at which the method evaluates them and with many more nodes.

    Changes due to forces are measured in the mass norm, and those due to rows along the row; `begin` (s) and q0 (n,)
    are the start. The result is also zero if it cannot be computed, or if the motion has very many steps.
    """
    if not (system.depends_on_time and steps.whole):
        return 0.0
    t, q = steps.states()
    t, q = np.append(begin, t), np.vstack((q0, q))
    spans = np.diff(t)
    kept = spans > 0
    if not kept.any() or len(t) > ENOUGH:
        return 0.0
    starts, spans = t[:-1][kept], spans[kept]
    v, middle = np.diff(q, axis=0)[kept] / spans[:, None], 0.5 * (q[:-1] + q[1:])[kept]
    fast = np.abs(v).max(axis=0)
    nodes = _simpson(2 * math.ceil(PROBES / len(spans) / 2) + 2)
    seen = _lobatto(3 if method.stages <= 4 else method.stages + 1)
    total, worst = np.zeros(0), 0.0
    try:
        for there in zip(starts, spans, middle, v, strict=True):
            missed = _changes(system, there, *nodes) - _changes(system, there, *seen)
            total = total + missed if len(total) else missed
            if missed.any():
                worst = max(worst, _share(system, total, fast, there))
    except GaussoptError:
        return 0.0  # the equations may be undefined at the mean position of a step
    return worst


def _changes(system: AbstractSystem, there: _Step, nodes: Vector, weights: Vector) -> Vector:
    """Return the integral over a step of (Q - h, gamma) minus its initial value, at a fixed state, (n + m,)."""
    begin, h, q, v = there
    found = [system.evaluate(float(begin + h * x), q, v) for x in nodes]
    values = np.array([np.concatenate((step.Q - step.h, step.gamma)) for step in found])
    change: Vector = h * (weights @ (values - values[0]))
    return change


def _share(system: AbstractSystem, missed: Vector, fast: Vector, there: _Step) -> float:
    """Return the largest velocity change due to the neglected impulses `missed`, relative to the largest velocity."""
    begin, _, q, v = there
    step = system.evaluate(float(begin), q, v)
    mass = np.sqrt(np.maximum(step.M.diagonal(), 0.0))
    heavy, size = mass > 0, float((mass * fast).max())
    pushed = float((np.abs(missed[: step.n][heavy]) / mass[heavy]).max(initial=0.0))
    driven, along = np.abs(missed[step.n :]), np.abs(step.J) @ fast
    of_rows = float(np.divide(driven, along, out=np.zeros(step.m), where=along > 0).max(initial=0.0))
    return max(pushed / size if size > 0 else 0.0, of_rows)


@cache
def _simpson(parts: int) -> tuple[Vector, Vector]:
    """Return nodes and weights of Simpson's rule on the unit interval in `parts` equal parts, an even number."""
    weights = np.full(parts + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(0.0, 1.0, parts + 1), weights / (3.0 * parts)


@cache
def _lobatto(count: int) -> tuple[Vector, Vector]:
    """Return the Chebyshev extrema on the unit interval, and weights exact for polynomials of degree below `count`."""
    nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
    powers = np.vander(2.0 * nodes - 1.0, increasing=True).T
    moments = [0.0 if k % 2 else 1.0 / (k + 1) for k in range(count)]
    weights: Vector = np.linalg.solve(powers, np.array(moments))
    return nodes, weights
