"""How far a computed motion is from the exact one: it is compared with the same motion by other steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.integration.loops import MotionLoop, Progress
from gaussopt.integration.stabilisation import Projection
from gaussopt.simulation.engine import choose_engine
from gaussopt.simulation.settings import LEAST_RTOL, RunSettings

BOUND = 0.01
"""Error of a coordinate, relative to its amplitude, beyond which a motion carries a warning."""

HARDLY = 1e-3
"""Part of the largest amplitude, in the mass norm, that every coordinate counts for at least."""

TENFOLD = 10.0
"""Factor between the tolerances of an adaptive motion and those of the motion that it is compared with."""

MOST_INSTANTS = 256
"""Recorded instants that are compared, about; of an adaptive motion without a recording interval an eighth of them."""

BALANCED, HELD = 1e-12, 1e-8
"""Part of the accelerations that forces would cause one by one which rounding leaves where they balance, and which the
tolerances of a method leave."""

REST = 1e-4
"""Way of a coordinate, relative to its largest value, below which a motion is near rest."""

SOME_DRIFT = 1e-8
"""Largest constraint residual up to which nobody asks how far the state is from the constraints."""

SMALL_DRIFT = 1e-4
"""Residual of positions, relative to the least amplitude of a coordinate, below which the same holds."""

SAFETY = 1.5
"""Of what the order of a method makes of two motions: an error need not fall by exactly that order."""

ALIKE = 0.9
"""Part of its steps that an adaptive motion takes at least where looser tolerances do not change them."""

FEWEST = 64
"""Steps, at least, of a motion that is compared with one whose steps its tolerances do not decide."""

LEAP = (
    "its tolerances do not decide its steps, which may leap over what lasts shorter than they do: take a stepper of "
    "constant steps, such as rk4 with a small dt."
)

SLIVER = 1e-3
"""Part of an interval between two landings below which they are one."""

SAME = 1e-13
"""Difference of equal instants, relative to 1 s + the instant: a motion that is continued counts from another one."""

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class MotionError:
    """Estimated error of a motion.

    Attributes
    ----------
    largest : (n,), of each coordinate over the compared instants; NaN where nothing is known
    instants : how many were compared
    compared : the motions that it was compared with, in words
    leaps : whether something else than its tolerances decided the steps of an adaptive motion
    """

    largest: Vector
    instants: int
    compared: tuple[str, ...]
    leaps: bool = False


def unknown(settings: RunSettings) -> MotionError:
    """Of a motion whose estimate was interrupted."""
    return MotionError(np.full(len(settings.start.q), math.nan), 0, ())


def amplitudes(columns: Columns, mass: Vector) -> Vector:
    """Amplitude of each coordinate of a recorded motion, (n,): its largest minus its smallest value.

    A coordinate that hardly moves counts for a thousandth of the motion: of the largest amplitude, compared in the
    mass norm (where it has no mass, as plain numbers). A motion that hardly moves at all counts for a ten-thousandth of
    the largest coordinate. `mass` is the diagonal of M, (n,).
    """
    ranges = np.ptp(columns["q"], axis=0)
    reach = np.maximum(ranges, REST * np.abs(columns["q"]).max(axis=0))
    weights = np.sqrt(np.abs(mass))
    least = np.full(len(ranges), float(reach.max()))
    heavy = weights > 0
    least[heavy] = float((weights * reach).max()) / weights[heavy]
    found: Vector = np.maximum(ranges, HARDLY * least)
    return found


def estimated(
    settings: RunSettings, start: tuple[float, Vector, Vector], loop: MotionLoop, columns: Columns,
    progress: Progress | None,
) -> MotionError:  # fmt: skip
    """The error of the time steps of a motion that got to its end.

    The same motion goes with steps (tolerances of an adaptive method) that are twice (ten times) as large. From the
    difference the order of the method tells the error; that of adaptive methods is the difference itself, which is
    mostly larger. If the difference exceeds `BOUND`, the order proves nothing, and finer steps decide. So they do where
    an adaptive motion takes the same steps with larger tolerances: what decided their length was something else, such
    as the first step or the end, and the same motion twice has no difference.
    """
    method, n = settings.method, columns["q"].shape[1]
    order = 2.0 ** max(method.order, 1)
    bound = BOUND * amplitudes(columns, settings.first.M.diagonal())
    tried: list[str] = []

    def other(factor: float, share: tuple[float, float], steps: int = 0) -> tuple[Vector, int, int]:
        given = _other(settings, loop, columns["t"], factor, steps)
        tried.append(_steps(given))
        found, taken = _motion(given, start, _part(progress, *share))
        return *(_compared(columns, found) or (np.full(n, math.nan), 0)), taken

    coarse, count, taken = other(2.0, (2 / 3, 1.0))
    alike = method.adaptive and taken >= ALIKE * loop.steps
    if coarse.any() and (coarse <= bound).all() and not alike:
        return MotionError(coarse if method.adaptive else SAFETY * coarse / (order - 1.0), count, tuple(tried))
    fine, finer, _ = other(0.5, (3 / 7, 1.0), max(2 * loop.steps, FEWEST) if alike else 0)
    if np.isnan(fine).any():
        return MotionError(coarse, count, tuple(tried), alike)
    # By which factor halving the steps improved the motion, between what any method does and what its order says.
    known = np.divide(coarse, fine, out=np.full(n, 2.0), where=(fine > 0) & np.isfinite(coarse))
    gain = np.clip(known, 2.0, TENFOLD if method.adaptive else order)
    return MotionError(fine * gain / (gain - 1.0), finer, tuple(tried), alike)


def _other(settings: RunSettings, loop: MotionLoop, t: Vector, factor: float, steps: int = 0) -> RunSettings:
    """Settings of the same motion with other steps, which records some of the same instants t.

    An adaptive motion lands on so many more, evenly spaced, so that none of its steps is longer.
    """
    control, every, adaptive = settings.control, 1, settings.method.adaptive
    if adaptive:
        scale = TENFOLD if factor > 1 else 1 / TENFOLD
        rtol = max(control.rtol * scale, LEAST_RTOL)
        control = replace(control, rtol=rtol, atol=control.atol * scale)
    if control.dt is None or steps:
        # An event happens near the same instant again; no step should end beside it.
        quiet = np.setdiff1d(t, [t[0], t[-1], *(event.t for event in loop.events)])
        landed = quiet[:: 1 + 8 * len(quiet) // MOST_INSTANTS]
        if steps:
            even = np.linspace(t[0], t[-1], steps + 1)[1:-1]
            near = np.abs(even[:, None] - landed).min(axis=1, initial=math.inf)
            landed = np.sort(np.concatenate((landed, even[near > SLIVER * (t[-1] - t[0]) / steps])))
        control = replace(control, dt=None, instants=tuple(landed.tolist()))
    else:
        # Where the motion is shorter than one step, half a step is half of the motion.
        control = replace(control, dt=factor * min(control.dt, float(t[-1] - t[0])))
        stride = settings.record_every * max(1, len(t) // MOST_INSTANTS)
        every = max(1, round((stride + stride % 2) / factor))
    return replace(settings, control=control, record_every=every, engine=loop.engine, continued=None, watched=False)


def _steps(settings: RunSettings) -> str:
    control = settings.control
    if settings.method.adaptive:
        return f"rtol {control.rtol:.3g} and atol {control.atol:.3g}"
    return f"steps of {control.dt:.6g} s"


def _part(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Progress of a part of the work."""
    return None if progress is None else lambda done: progress(begin + (end - begin) * done)


def of_motion(progress: Progress | None) -> Progress | None:
    """Progress of a motion whose error is estimated."""
    return _part(progress, 0.0, 2 / 3)


def _motion(
    settings: RunSettings, start: tuple[float, Vector, Vector], progress: Progress | None
) -> tuple[Columns | None, int]:  # fmt: skip
    """What is recorded of a motion, and its steps; None where it does not get to its end, for whatever reason."""
    try:
        loop = choose_engine(settings, progress)
        status, _ = loop.integrate(*start)
    except Exception:  # the motion itself stands; that nothing compares is told
        return None, 0
    return (loop.recorder.arrays(len(start[1])) if status is Status.SOLVED else None), loop.steps


def _compared(columns: Columns, other: Columns | None) -> tuple[Vector, int] | None:
    """Largest differences of the coordinates, (n,), at common instants and at the end, and how many instants."""
    if other is None:
        return None
    t, its = columns["t"], other["t"]
    near = np.minimum(np.searchsorted(t, its - SAME * (1.0 + np.abs(its))), len(t) - 1)
    same = np.flatnonzero(np.abs(t[near] - its) <= SAME * (1.0 + np.abs(its)))
    mine, its = np.append(near[same], -1), np.append(same, -1)
    return np.abs(columns["q"][mine] - other["q"][its]).max(axis=0), len(same)


# -- what is said of it ------------------------------------------------------------------------------------


def error_sentence(settings: RunSettings, columns: Columns, error: MotionError) -> str | None:
    """What a person is told where the estimate exceeds its bound or is not known; None where all is well."""
    if not error.compared:
        return "The error of the motion is unknown: its estimate was interrupted."
    if np.isnan(error.largest).any():
        return (
            f"The error of the motion is unknown: the same motion with {' and with '.join(error.compared)} does not "
            f"get to its end; {_remedy(settings)}."
        )
    noise = BALANCED * free_acceleration(settings.first) * float(columns["t"][-1] - columns["t"][0]) ** 2
    i, share = _worst(error.largest, np.maximum(amplitudes(columns, settings.first.M.diagonal()), noise))
    if share <= BOUND:
        return None
    drift = columns["position_drift"].max(initial=0.0)
    more = f" at a constraint drift of {drift:.2g}" if drift > SOME_DRIFT else ""
    return (
        f"The motion is inexact: the estimated error of {_name(settings, i)} is {error.largest[i]:.2g}, "
        f"{100 * share:.2g} % of its amplitude (bound: {100 * BOUND:g} %){more}; "
        + (LEAP if error.leaps else f"{_remedy(settings)}.")
    )


def drift_sentence(settings: RunSettings, columns: Columns) -> str | None:
    """What a person is told where the state is too far from the constraints; None where it is not.

    The distance is that to the nearest positions on the constraints, and to the nearest velocities that they allow
    there, in the mass metric, at the instants of the largest drifts.
    """
    first, system = settings.first, settings.system
    moved = amplitudes(columns, first.M.diagonal())
    fastest = np.abs(columns["v"]).max(axis=0, initial=0.0)
    small = min(SOME_DRIFT, SMALL_DRIFT * float(moved.min(initial=1.0)))
    for at, what, unit, most in ((0, "position", moved, small), (1, "velocity", fastest, SOME_DRIFT)):
        drift = columns[f"{what}_drift"]
        if not (len(drift) and np.nanmax(drift, initial=0.0) > most):
            continue
        k = int(np.nanargmax(drift))
        state = columns["q"][k], columns["v"][k]
        t, projection = float(columns["t"][k]), Projection()
        try:
            near = (projection.positions, projection.velocities)[at](system, t, *state)
        except (GaussoptError, np.linalg.LinAlgError):
            continue
        i, share = _worst(np.abs(near - state[at]), np.maximum(unit, HARDLY * unit.max(initial=0.0)))
        if share > BOUND:
            size = "its amplitude" if at == 0 else "its largest value"
            rate = "" if at == 0 else "the velocity of "
            return (
                f"The motion leaves its constraints ({what} drift {drift[k]:.2g}): {rate}{_name(settings, i)} is off "
                f"by {100 * share:.2g} % of {size} (bound: {100 * BOUND:g} %); {_remedy(settings)}."
            )
    return None


def free_acceleration(first: StepData) -> float:
    """Largest acceleration that the forces at the start would cause without constraints, about."""
    mass, force = first.M.diagonal(), first.force
    heavy = mass > 0
    return float((np.abs(force[heavy]) / mass[heavy]).max(initial=0.0))


def _worst(error: Vector, unit: Vector) -> tuple[int, float]:
    """The coordinate of the largest error in units of its own, and that."""
    share = np.divide(error, unit, out=np.where(error > 0, math.inf, 0.0), where=unit > 0)
    i = int(np.argmax(share))
    return i, float(share[i])


def _name(settings: RunSettings, i: int) -> str:
    return settings.system.coordinates(len(settings.start.q))[i]


def _remedy(settings: RunSettings) -> str:
    """What to do for a more exact motion."""
    method, first = settings.method, settings.first
    found = ["smaller rtol and atol" if method.adaptive else "a smaller dt"]
    if not (method.adaptive or method.loop):
        found.append("the stepper dop853")
    if first.m and not method.loop and not isinstance(settings.stabiliser, Projection):
        found.append("the stabilisation projection")
    return f"take {' or '.join((', '.join(found[:-1]), found[-1])) if len(found) > 1 else found[0]}"
