"""Warnings about a motion as a whole: large errors, drift, steps that are too long, a state that diverges."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.time_step import SteppedSystem
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.looks import Steps
from gaussopt.integration.loop import MotionLoop
from gaussopt.integration.singular_positions import ABRUPT, abrupt_sentence
from gaussopt.integration.stabilisation import Projection
from gaussopt.modelling.assembly import mobility
from gaussopt.simulation.error_estimate import BOUND, HARDLY, Columns, MotionError, amplitudes, peaks
from gaussopt.simulation.settings import RunSettings

BALANCED, HELD = 1e-12, 1e-8
"""Accelerations up to this, relative to those that the forces would cause without constraints, may in equilibrium be
due to rounding errors (BALANCED) or to the tolerances of a method (HELD)."""

SOME_DRIFT = 1e-8
"""Constraint residuals up to this are small: the distance of the state from the constraints is not computed."""

SMALL_DRIFT = 1e-4
"""The distance from the constraints is not computed if residuals are below this, relative to the least amplitude."""

LEAP = (
    "its steps may leap over what lasts shorter than they do: take a stepper of constant steps, such as rk4, with a dt "
    "shorter than that."
)

LONGER = 1e-9
"""Because of rounding, a single step for a whole motion may be longer than the motion by this fraction."""

RUNAWAY = 1e10
"""Factor by which a state may exceed the prediction from the start before the motion gets a warning."""

MOVED = 0.1
"""A start may be moved by this change of a coordinate, relative to 1 + the largest, without a warning."""

UNSEEN = 1.5
"""Factor by which velocities between recorded states may exceed recorded ones; unstable steps exceed it."""

NOTHING = 1e-10
"""Size of the prediction from the start, in its units, up to which it may be a rounding error."""


def dead_centre_sentence(settings: RunSettings, columns: Columns, status: Status) -> str:
    """Return a sentence with a leading space if the constraints contradict each other at a dead centre, else ""."""
    if status is not Status.INFEASIBLE or not len(columns["t"]) or settings.first.sparse:
        return ""
    found = mobility(settings.system, columns["q"][-1], t=float(columns["t"][-1]))
    return f" {found.dead_centre()}" if found.only_here else ""


def error_sentence(settings: RunSettings, columns: Columns, error: MotionError) -> str | None:
    """Return a warning if the estimated error exceeds its bound or is unknown; None otherwise."""
    if not error.compared:
        # Nothing is compared if the motion has no steps, and hence no error, or if Ctrl-C interrupted the estimate.
        unknown = np.isnan(error.largest).any()
        return "The error of the motion is unknown: its estimate was interrupted." if unknown else None
    if np.isnan(error.largest).any():
        return (
            f"The error of the motion is unknown: the same motion with {' and with '.join(error.compared)} does not "
            f"get to its end; {_remedy(settings)}."
        )
    least = HELD if isinstance(settings.system, SteppedSystem) else BALANCED
    noise = least * free_acceleration(settings.first) * float(columns["t"][-1] - columns["t"][0]) ** 2
    i, share = _worst(error.largest, np.maximum(amplitudes(error.extent, settings.first.M.diagonal()), noise))
    late = error.end / max(float(columns["t"][-1] - columns["t"][0]), error.end)
    if share <= BOUND and late <= BOUND:
        return None
    if share <= BOUND:
        return (
            f"The motion is inexact: the estimated error of the instant at which it ends is {error.end:.2g} s, "
            f"{100 * late:.2g} % of its length (bound: {100 * BOUND:g} %); {_remedy(settings)}."
        )
    drift = columns["position_drift"].max(initial=0.0)
    more = f" at a constraint drift of {drift:.2g}" if drift > SOME_DRIFT else ""
    return (
        f"The motion is inexact: the estimated error of {_name(settings, i)} is {error.largest[i]:.2g}, "
        f"{100 * share:.2g} % of its amplitude (bound: {100 * BOUND:g} %){more}; "
        + (LEAP if error.leaps else f"{_remedy(settings)}.")
    )


def drift_sentence(settings: RunSettings, columns: Columns) -> str | None:
    """Return a warning if the state is too far from the constraints; None otherwise.

    At the instants of the largest drifts, positions are compared with the nearest positions on the constraints, in the
    mass metric, and velocities with the nearest velocities that the constraints allow.
    """
    first, system = settings.first, settings.system
    moved = amplitudes(columns["q"], first.M.diagonal())
    fastest = peaks(columns["v"])
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


def step_sentence(settings: RunSettings, loop: MotionLoop, columns: Columns) -> str | None:
    """Return a warning if steps are longer than the motion or, without contacts, too long for its accelerations.

    If not all states are recorded, only the state before the last step is examined; the last step may be shorter.
    """
    t, v, a, mark, dt = columns["t"], columns["v"], columns["a"], loop.kept, settings.control.dt
    span = settings.control.t_end - settings.first.t
    if dt is not None and dt > span * (1.0 + LONGER):
        return f"dt = {dt:g} s is longer than the motion of {span:g} s, which is one step then: give a smaller dt."
    rest, between = HELD * free_acceleration(settings.first), settings.method.adaptive and dt is not None
    if settings.with_contacts or between:
        return None
    if settings.record_every == 1:
        return abrupt_sentence(t, v, a, rest)
    if dt is None or mark is None or not t[0] < mark.t < t[-1]:
        return None
    fastest = UNSEEN * float(np.linalg.norm(v, axis=1).max())
    if isinstance(loop.advance.looks, Steps):
        loop.advance.looks.flush()
        fastest = max(loop.advance.looks.fastest, fastest / UNSEEN)
    if not loop.advance.may_exceed(max(rest, ABRUPT * fastest / dt), mark.t, mark.q, mark.v):
        return None
    try:
        there = loop.advance.acceleration(mark.t, mark.q, mark.v)
    except GaussoptError:
        return None
    twice = np.array([mark.v, mark.v]), np.array([there, there])
    return abrupt_sentence(np.array([mark.t, mark.t + dt]), *twice, rest, fastest)


def start_sentence(settings: RunSettings, columns: Columns) -> str | None:
    """Return a warning if the start was moved far to reach the constraints; None otherwise."""
    q, found = settings.start.q, columns["q"]
    if not len(found) or columns["t"][0] != settings.first.t or len(q) != found.shape[1]:
        return None
    moved = np.abs(found[0] - q)
    i = int(moved.argmax()) if len(moved) else 0
    if not len(moved) or moved[i] <= MOVED * (1.0 + float(np.abs(q).max())):
        return None
    name = settings.system.coordinates(len(q))[i]
    return (
        f"The start was far off the constraints: the projection moved {name} by {found[0, i] - q[i]:.3g}, to "
        f"{found[0, i]:.6g}. See whether q0 is the state that is meant."
    )


def growth_sentence(settings: RunSettings, columns: Columns) -> str | None:
    """Return a warning if the state grows by ten orders of magnitude; None otherwise.

    Growth is relative to a prediction from the start, the largest entry of |q|, |v| T and |a| T^2 for a motion of
    duration T, or relative to 1 if that prediction is a rounding error.
    """
    t = columns["t"]
    span = float(t[-1] - t[0]) if len(t) else 0.0
    sizes = (
        [float(np.abs(np.nan_to_num(columns[name][0])).max(initial=0.0)) for name in ("q", "v", "a")] if span else []
    )
    for what, name, parts in (("", "q", sizes), ("the velocity of ", "v", sizes[1:])):
        start = max((x * span**i for i, x in enumerate(parts)), default=math.inf)
        most = peaks(columns[name])
        i = int(most.argmax()) if len(most) else 0
        if len(most) and most[i] > RUNAWAY * (start if start > NOTHING else 1.0):
            return (
                f"The motion runs away: {what}{_name(settings, i)} grows to {most[i]:.2g}, ten orders of magnitude "
                f"beyond what its start would make of it; {_remedy(settings)}, or look for what feeds it."
            )
    return None


def free_acceleration(first: StepData) -> float:
    """Estimate the largest acceleration that the forces at the start would cause without constraints."""
    mass, force = first.M.diagonal(), first.force
    heavy = mass > 0
    return float((np.abs(force[heavy]) / mass[heavy]).max(initial=0.0))


def _worst(error: Vector, unit: Vector) -> tuple[int, float]:
    """Return the index of the coordinate with the largest ratio of its error to `unit`, and this ratio."""
    share = np.divide(error, unit, out=np.where(error > 0, math.inf, 0.0), where=unit > 0)
    i = int(np.argmax(share))
    return i, float(share[i])


def _name(settings: RunSettings, i: int) -> str:
    return settings.system.coordinates(len(settings.start.q))[i]


def _remedy(settings: RunSettings) -> str:
    """Return advice on how to compute the motion more accurately."""
    method, first = settings.method, settings.first
    found = ["smaller rtol and atol" if method.adaptive else "a smaller dt"]
    if not (method.adaptive or method.loop):
        found.append("the stepper dop853")
    if first.m and not method.loop and not isinstance(settings.stabiliser, Projection):
        found.append("the stabilisation projection")
    return f"take {' or '.join((', '.join(found[:-1]), found[-1])) if len(found) > 1 else found[0]}"


def loose_sentence(worst: Mapping[str, float], status: Status) -> str | None:
    """Return a warning if accelerations are less accurate than the default tolerance demands; None otherwise."""
    if status is not Status.SOLVED or not worst["relative_error"] > DEFAULT_TOLERANCE:
        return None
    return (
        f"Accelerations are inexact: their relative error is up to {worst['relative_error']:.2g}, which the tolerance "
        "allows and the estimated error of the motion does not see."
    )
