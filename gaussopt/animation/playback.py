"""Playback of a motion: its speed, frames, forces and events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.motion import RecordedMotion

SHORTEST, LONGEST = 4.0, 12.0
"""Shortest and longest playback, s."""

RATE = 100.0
"""Frames per second of playback, enough for linear interpolation of fast rotations; superfluous frames are dropped when
the picture is written."""

HOLD = 1.0
"""Seconds for which the last frame is shown before the animation repeats."""

SAME = 1e-12
"""Two instants count as the two sides of an event if they differ by less than this, relative to 1 + t."""

TOGETHER = 0.25
"""Events that are at most this many seconds of playback apart share a caption."""

CAPTION, FLASH = 1.6, 0.45
"""Longest display of a caption (except the last), and duration of the flash at an impact, s of playback."""


def nice_below(value: float) -> float:
    """Return the largest number not above `value` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value) + 1e-12)
    return next(f * power for f in (5.0, 2.0, 1.0) if f * power <= value * (1 + 1e-9))


def speed_of(span: float) -> float:
    """Return the playback speed for `span` seconds: 1, 2 or 5 times a power of ten, and as close to 1 as possible.

    Playback takes 4 to 12 s at that speed; a single instant has speed 1.
    """
    if span <= 0:
        return 1.0
    least, most = span / LONGEST * (1 - 1e-9), span / SHORTEST * (1 + 1e-9)
    powers = range(math.floor(math.log10(least)), 2 + math.ceil(math.log10(most)))
    known = (f * 10.0**k for k in powers for f in (1, 2, 5))
    return min((f for f in known if least <= f <= most), key=lambda f: abs(math.log(f)))


@dataclass(frozen=True)
class Caption:
    """Text that describes the events at an instant, s; `impacts` names the contacts with impacts."""

    t: float
    text: str
    impacts: tuple[str, ...]


@dataclass(frozen=True)
class Frames:
    """A motion as frames of an animation.

    Attributes
    ----------
    t : (F,), s, instants of the frames; each side of an event has its own frame
    q : (F, n)
    lam_N : (F, k), N, normal forces
    friction : (F, k, d), N, along the tangents
    lam : (F, m), multipliers of the equality rows
    speed : seconds of motion per second of playback
    """

    t: Vector
    q: Matrix
    lam_N: Matrix
    friction: NDArray[np.float64]
    lam: Matrix
    speed: float

    @property
    def lam_T(self) -> Matrix:
        """Friction along the first tangent, (F, k), N."""
        return np.asarray(self.friction[:, :, 0])

    @property
    def span(self) -> float:
        """Duration of the motion, s."""
        return float(self.t[-1] - self.t[0])

    @property
    def playback(self) -> float:
        """Duration of the playback, s; a single instant is shown for SHORTEST."""
        return self.span / self.speed if self.span > 0 else SHORTEST

    @property
    def clock(self) -> Vector:
        """Instants of the frames in seconds of playback, (F,)."""
        return np.asarray((self.t - self.t[0]) / self.speed)

    def second(self, t: float) -> float:
        """Return the playback time of an instant t, s."""
        return float((t - self.t[0]) / self.speed)


def usable(trajectory: RecordedMotion) -> int:
    """Return the number of instants before the first state that is not finite; raise BadInput if there is none."""
    finite = np.asarray(np.isfinite(trajectory.q).all(axis=1) & np.isfinite(trajectory.v).all(axis=1))
    rows = len(finite) if finite.all() else int(np.argmin(finite))
    if not rows:
        raise BadInput(f"The motion has no instant that could be drawn; it ended so: {trajectory.message}")
    return rows


def frames_of(trajectory: RecordedMotion, t_end: float | None = None, rate: float = RATE) -> Frames:
    """Return the frames of a motion, about `rate` per second of playback.

    Between recorded instants coordinates are interpolated by cubics from coordinates and velocities, forces linearly.
    """
    rows = usable(trajectory)
    t = trajectory.t[:rows]
    start, last = float(t[0]), float(t[-1]) if t_end is None else min(float(t[-1]), t_end)
    speed = speed_of(last - start)
    count = max(2, round((last - start) / speed * rate) + 1)
    return sampled(trajectory, np.linspace(start, last, count), speed)


def sampled(trajectory: RecordedMotion, grid: Vector, speed: float) -> Frames:
    """Return frames at the instants of `grid`, (G,), and at both ends of every longer phase between events."""
    from scipy.interpolate import CubicHermiteSpline  # imported here, since only drawing needs it

    rows = usable(trajectory)
    t = trajectory.t[:rows]
    blocks = trajectory.lam_N, trajectory.lam_T, trajectory.lam
    table = np.nan_to_num(np.concatenate([x[:rows].reshape(rows, -1) for x in blocks], axis=1))
    times, places, forces = [], [], []
    begins = np.flatnonzero(np.diff(t) <= SAME * (1 + np.abs(t[1:]))) + 1
    for first, behind in zip([0, *begins], [*begins, rows], strict=True):
        own = t[first:behind]
        if own[0] > grid[-1] + SAME:
            break
        inner = grid[(grid > own[0]) & (grid < own[-1])]
        ends = [x for x in (own[0], own[-1]) if x <= grid[-1] + SAME]
        long = own[-1] - own[0] >= speed / RATE or first == 0 or behind == rows
        at = np.concatenate((ends[:1], inner, ends[1:])) if long else inner
        if len(own) == 1:
            at = own if long else own[:0]
        times.append(at)
        q, v = trajectory.q[first:behind], trajectory.v[first:behind]
        places.append(CubicHermiteSpline(own, q, v)(at) if len(own) > 1 else np.repeat(q, len(at), axis=0))
        forces.append(np.reshape([np.interp(at, own, c) for c in table[first:behind].T], (table.shape[1], len(at))).T)
    force = np.concatenate(forces)
    k, both = trajectory.lam_N.shape[1], table.shape[1] - trajectory.lam.shape[1]
    friction = force[:, k:both].reshape(len(force), *trajectory.lam_T.shape[1:])
    return Frames(np.concatenate(times), np.concatenate(places), force[:, :k], friction, force[:, both:], speed)


def captions_of(trajectory: RecordedMotion, frames: Frames) -> tuple[Caption, ...]:
    """Return captions of the events; events too close together to be read share a caption."""
    groups: list[list[Mapping[str, Any]]] = []
    for event in trajectory.events:
        t = float(event["t"])
        if t > frames.t[-1] + SAME * (1 + abs(t)):
            continue
        if not groups or t - float(groups[-1][0]["t"]) > TOGETHER * frames.speed:
            groups.append([])
        groups[-1].append(event)
    struck = [dict.fromkeys(c for e in g if e["kind"] == "impact" for c in _who(e)) for g in groups]
    return tuple(Caption(float(g[0]["t"]), event_words(g), tuple(s)) for g, s in zip(groups, struck, strict=True))


def event_words(events: Sequence[Mapping[str, Any]]) -> str:
    """Return events in words: "landing of A and C, impact of A and C"."""
    by: dict[str, list[str]] = {}
    for event in events:
        by.setdefault(str(event["kind"]).replace("lift_off", "lift-off").replace("_", " "), []).extend(_who(event))
    said = []
    for kind, who in by.items():
        names = list(dict.fromkeys(who))
        often = max((who.count(n) for n in names), default=1)
        said.append(kind + (f" of {_listed(names)}" if names else "") + (f" ({often} times)" if often > 1 else ""))
    return ", ".join(said)


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _who(event: Mapping[str, Any]) -> list[str]:
    return [str(c) for c in event.get("contacts") or ([event["contact"]] if "contact" in event else [])]


def told(value: float, nothing: float = 1e-12) -> str:
    """Format a number; a number of absolute value at most `nothing`, a tolerance, becomes "0"."""
    return f"{value + 0.0:.3g}" if abs(value) > nothing else "0"


def speed_words(speed: float) -> str:
    """Return the playback speed in words."""
    return "real time" if speed == 1 else f"{speed:g} × real time"
