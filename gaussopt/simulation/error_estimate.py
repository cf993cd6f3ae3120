"""Estimate of the error of a computed motion, by comparison with the same motion with other steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.status import Status
from gaussopt.core.stepper import Control
from gaussopt.integration.looks import Differences, Steps
from gaussopt.integration.loop import MotionLoop, Progress
from gaussopt.simulation.engine import choose_engine
from gaussopt.simulation.leaps import PROBES, missed_in_time
from gaussopt.simulation.settings import LEAST_RTOL, NEVER, RunSettings

BOUND = 0.01
"""Error of a coordinate, relative to its amplitude, above which a motion carries a warning."""

HARDLY = 1e-3
"""Lower bound of the amplitude of a coordinate, relative to the largest amplitude, in the mass norm."""

TENFOLD = 10.0
"""Factor between the tolerances of an adaptive motion and those of the motion that it is compared with."""

REST = 1e-4
"""Range of a coordinate, relative to its largest value, below which a motion is near rest."""

SAFETY = 1.5
"""Safety factor on the error that follows from the order of a method: errors need not fall by exactly that order."""

ALIKE = 0.9
"""Ratio of numbers of steps above which an adaptive motion with looser tolerances counts as taking the same steps."""

FEWEST = 64
"""Least number of steps of the motion used for comparison if tolerances do not determine the steps."""

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class MotionError:
    """Estimated error of a motion.

    Attributes
    ----------
    largest : (n,), of each coordinate over the compared instants; NaN where not known
    instants : number of compared instants
    compared : the motions used for comparison, in words
    extent : (2, n), the smallest and the largest value of each coordinate at all steps
    leaps : whether the steps of an adaptive motion were determined by something other than its tolerances
    end : estimated error of the instant of the event that ended the motion, s; zero without such an event
    """

    largest: Vector
    instants: int
    compared: tuple[str, ...]
    extent: Matrix
    leaps: bool = False
    end: float = 0.0


def unknown(settings: RunSettings) -> MotionError:
    """Return the error, all NaN, of a motion whose estimate was interrupted."""
    n = len(settings.start.q)
    return MotionError(np.full(n, math.nan), 0, (), np.zeros((2, n)))


def amplitudes(q: Matrix, mass: Vector) -> Vector:
    """Return the amplitude of each coordinate of a motion, (n,): its largest minus its smallest value in q, (N, n).

    The result is at least a thousandth of the largest amplitude, compared in the mass norm (as plain numbers for a
    coordinate without mass); for this, an amplitude counts as at least a ten-thousandth of the largest value of its
    coordinate. `mass` is the diagonal of M, (n,).
    """
    ranges = np.ptp(q, axis=0)
    reach = np.maximum(ranges, REST * np.abs(q).max(axis=0))
    weights = np.sqrt(np.abs(mass))
    least = np.full(len(ranges), float(reach.max()))
    heavy = weights > 0
    least[heavy] = float((weights * reach).max()) / weights[heavy]
    found: Vector = np.maximum(ranges, HARDLY * least)
    return found


@dataclass(frozen=True)
class _Difference:
    """Differences of coordinates and end from another motion, number of compared instants, steps of that motion."""

    largest: Vector
    end: float = 0.0
    count: int = 0
    taken: int = 0

    @property
    def all(self) -> Vector:
        """Differences of the coordinates and of the instant, (n + 1,)."""
        return np.append(self.largest, self.end)


def estimated(
    settings: RunSettings, start: tuple[float, Vector, Vector], loop: MotionLoop, columns: Columns,
    progress: Progress | None,
) -> MotionError:  # fmt: skip
    """Estimate the error of the time steps of a motion that reached its end; `loop` kept the positions at all steps.

    The same motion is computed with steps (tolerances of an adaptive method) that are twice (ten times) as large. The
    error follows from the difference by the order of the method; with adaptive methods it is the difference itself and
    mostly overestimated. If the difference exceeds `BOUND`, the order proves nothing, and a motion with finer steps
    decides. It also decides where an adaptive method takes the same steps with larger tolerances: their length had
    another cause, such as the first step or the end, and equal steps show no difference. Where the equations change in
    time between the instants of the steps (`leaps`), steps that are short enough for the change decide.

    Motions are compared at all common instants of their steps, or at all steps of an adaptive one, and at the end.
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
    # Factor by which finer steps or tolerances reduced the error, limited to at least 2 and at most 2^order or 10.
    rough = coarse.all
    known = np.divide(rough, fine.all, out=np.full(len(rough), 2.0), where=(fine.all > 0) & np.isfinite(rough))
    gain = np.clip(known, 2.0, TENFOLD if method.adaptive else order)
    return found(fine.all * gain / (gain - 1.0), fine, alike)


class _Mine:
    """The motion whose error is estimated.

    Attributes
    ----------
    end, span : instant of its end, and its length, s
    extent : (2, n), smallest and largest values at all steps
    event : name of the event that ended it, or None
    resolution : length of the step in which that event lies, s; zero if the event is located within the step
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
        self.extent = np.vstack((q, loop.advance.looks.low, loop.advance.looks.high))
        self.extent = np.array([self.extent.min(axis=0), self.extent.max(axis=0)])

    def compared(self, given: RunSettings, progress: Progress | None) -> _Difference:
        """Return differences from the same motion by other settings; NaN where that motion does not reach its end."""
        n = len(self._last)
        failed = _Difference(np.full(n, math.nan), math.nan)
        try:
            loop = choose_engine(given, progress)
            differences = loop.advance.looks = self._differences(n)
            status, _ = loop.integrate(*self._start)
            differences.flush()
        except Exception:  # the motion itself is kept; the failed comparison is reported
            return failed
        if status is not Status.SOLVED:
            return replace(failed, taken=loop.advance.steps)
        its = loop.advance.recorder.arrays(n)
        # Where an event ended both motions at different instants, the other is extrapolated to the end of this one.
        late = self.end - float(its["t"][-1])
        there = its["q"][-1] + late * (its["v"][-1] + 0.5 * late * its["a"][-1]) if late else its["q"][-1]
        largest = np.maximum(differences.largest, np.abs(there - self._last))
        return _Difference(largest, abs(late), differences.count + 1, loop.advance.steps)

    def _differences(self, n: int) -> Differences:
        """Return the comparison with the kept positions, or with those of the motion computed once more."""
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
    """Return settings for the same engine, without recording, integrals and the search for singular positions."""
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
    """Return settings of the same motion with other steps, which ends at the same instant or with the same event.

    If `steps` is given, no step is longer than the duration divided by `steps`, at whose multiples steps end.
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
        # Where the motion is shorter than one step, half a step is half of the motion.
        control = replace(control, dt=factor * min(control.dt, mine.span))
    return _unseen(settings, loop, control)


def _steps(settings: RunSettings) -> str:
    control = settings.control
    if settings.method.adaptive:
        return f"rtol {control.rtol:.3g} and atol {control.atol:.3g}"
    return f"steps of {control.dt:.6g} s"


def _part(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return the progress function of a part of the work."""
    return None if progress is None else lambda done: progress(begin + (end - begin) * done)


def of_motion(progress: Progress | None) -> Progress | None:
    """Return the progress function of a motion whose error is estimated."""
    return _part(progress, 0.0, 2 / 3)
