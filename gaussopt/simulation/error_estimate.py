"""Estimate of the error of a computed motion, by comparison with the same motion computed with other steps."""

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
    largest : (n,), largest error of each coordinate over the compared instants; NaN if unknown
    instants : number of compared instants
    compared : descriptions of the motions used for comparison
    extent : (2, n), smallest and largest value of each coordinate at all steps
    leaps : whether steps may miss short changes: equations change within steps, or tolerances do not limit the steps
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


def amplitudes(q: Matrix, mass: Vector) -> Vector:
    """Return the amplitude of each coordinate, (n,): its largest minus its smallest value in q, (N, n).

    No result is below a thousandth of the largest amplitude, where amplitudes are compared after multiplication by
    sqrt(mass) (without it for a coordinate without mass), and count as at least a ten-thousandth of the largest value
    of their coordinate. `mass` is the diagonal of M, (n,).
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
    """Difference from another motion: of coordinates and final instant; number of compared instants; its steps."""

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
    If the equations change in time within steps (`gaussopt.simulation.leaps`), much shorter steps are compared.

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
    # `gain` is the factor by which finer steps or tolerances reduced the error, limited to 2 ... 2^order, or 2 ... 10.
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
        self.extent = np.vstack((q, loop.advance.looks.low, loop.advance.looks.high))
        self.extent = np.array([self.extent.min(axis=0), self.extent.max(axis=0)])

    def compared(self, given: RunSettings, progress: Progress | None) -> _Difference:
        """Return differences from the same motion with other settings; NaN if that motion does not reach its end."""
        n = len(self._last)
        failed = _Difference(np.full(n, math.nan), math.nan)
        try:
            loop = choose_engine(given, progress)
            differences = loop.advance.looks = self._differences(n)
            status, _ = loop.integrate(*self._start)
            differences.flush()
        except Exception:  # a failed comparison is reported, and the motion is kept
            return failed
        if status is not Status.SOLVED:
            return replace(failed, taken=loop.advance.steps)
        its = loop.advance.recorder.arrays(n)
        # If an event ended both motions, at different instants, the other one is extrapolated to the end of this one.
        late = self.end - float(its["t"][-1])
        there = its["q"][-1] + late * (its["v"][-1] + 0.5 * late * its["a"][-1]) if late else its["q"][-1]
        largest = np.maximum(differences.largest, np.abs(there - self._last))
        return _Difference(largest, abs(late), differences.count + 1, loop.advance.steps)

    def _differences(self, n: int) -> Differences:
        """Return a comparison with the stored positions; if they were too many to store, compute the motion again."""
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
    """Return settings of the same motion with other steps; it ends at the same instant or by the same event.

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
    """Return the progress function for a part of the work, from the fraction `begin` to the fraction `end`."""
    return None if progress is None else lambda done: progress(begin + (end - begin) * done)


def of_motion(progress: Progress | None) -> Progress | None:
    """Return the progress function for a motion whose error will be estimated afterwards."""
    return _part(progress, 0.0, 2 / 3)
