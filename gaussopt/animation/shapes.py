"""Parts of a picture from the shapes of a sketch, over one or several frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.animation.marks import LETTER, Mark, Part, Pixels, Ring, Stroke, View, Word, fixed
from gaussopt.animation.notes import NOTES
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.modelling import sketch
from gaussopt.plotting.colours import BODY, EDGE, INK, WHITE

HATCH = 9.0
"""Distance between hatching lines, px."""

BAR = 9.0
"""Width of a bar, px."""

COILS = 7

FIXED = sketch.Ground | sketch.Wall | sketch.Bearing
"""Shapes that do not move."""

LETTERED = sketch.Bar | sketch.Block | sketch.Disk | sketch.Blade | sketch.Spring | sketch.Damper
"""Shapes whose labels an animation omits."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colours of bodies, and whether labels are drawn."""

    fill: str = BODY
    edge: str = EDGE
    letters: bool = True


def column(shapes: Sequence[Any], name: str) -> Any:
    """Return an attribute of a shape over all frames: (F,) or (F, 2)."""
    return np.array([getattr(s, name) for s in shapes], dtype=np.float64)


def over_frames(frames: Sequence[Sequence[sketch.Shape]], owner: str) -> list[list[Any]]:
    """Collect the states of each shape over all frames; raise BadInput if the number or kinds of shapes change."""
    kinds = [[type(s) for s in frame] for frame in frames]
    for i, own in enumerate(kinds, 1):
        if own != kinds[0]:
            raise BadInput(
                f"The sketch of {owner} returns other shapes at frame {i} than at the first; number and kinds must "
                "stay the same."
            )
    return [list(shape) for shape in zip(*frames, strict=True)]


def parts_of(tracks: Sequence[Sequence[Any]], view: View, look: Look) -> list[Part]:
    """Return all parts, from the back to the front, with labels last."""
    found: list[Part] = []
    letters: list[Part] = []
    for layer in LAYERS:
        for track in tracks:
            build = layer.get(type(track[0]))
            for part in build(track, view, look) if build else ():
                (letters if all(isinstance(m, Word) for m in part.marks) else found).append(part)
    return found + (letters if look.letters else [])


# -- placing -------------------------------------------------------------------------------------------------


def _direction(track: Sequence[Any], view: View) -> tuple[tuple[Vector, Vector], Vector, Vector]:
    """Return start (px), angle (degrees, clockwise) and length (px) of a shape with two ends, each (F,)."""
    d = column(track, "end") - column(track, "start")
    return _moving(track, view, "start"), turn(np.arctan2(d[:, 1], d[:, 0])), view.scale * np.hypot(d[:, 0], d[:, 1])


def turn(angle: Vector) -> Vector:
    """Return clockwise angles in degrees, without jumps, from anticlockwise angles in rad."""
    return np.asarray(-np.degrees(np.unwrap(angle)))


def _moving(track: Sequence[Any], view: View, name: str) -> tuple[Vector, Vector]:
    x, y = view.points(column(track, name)).T
    return x, y


def _labelled(track: Sequence[Any], at: Pixels, x: Vector, y: Vector, anchor: str = "middle") -> list[Part]:
    """Return the label of a shape, if it has one, at an offset from (x, y)."""
    return [Part((Word(at, track[0].label, anchor),), x, y)] if track[0].label else []


def _joint(track: Sequence[Any], view: View, marks: tuple[Mark, ...], gap: float) -> list[Part]:
    """Return the marks of a joint at a point, and its label on the side that the sketch states."""
    x, y = _moving(track, view, "at")
    dx, dy = sketch.SIDES[track[0].side]
    norm = math.hypot(dx, dy)
    anchor = {1: "start", 0: "middle", -1: "end"}[dx]
    return [Part(marks, x, y), *_labelled(track, (gap * dx / norm, -gap * dy / norm + 0.3 * LETTER), x, y, anchor)]


# -- bodies ------------------------------------------------------------------------------------------------


def _bar(track: Sequence[sketch.Bar], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    size = max(float(length.max()), 1e-9)
    line = (((0.0, 0.0), (size, 0.0)),)
    marks = (Stroke(line, look.edge, BAR, round=True), Stroke(line, look.fill, BAR - 2.6, round=True))
    sx = np.where(np.abs(length - size) < 0.05, 1.0, length / size)
    x, y = view.points((column(track, "start") + column(track, "end")) / 2).T
    # The label is placed above the bar in its position at the first frame.
    a = math.radians(angle[0])
    up = (math.sin(a), -math.cos(a)) if math.cos(a) >= -1e-9 else (-math.sin(a), math.cos(a))
    letter = _labelled(track, (15 * up[0], 15 * up[1] + 0.3 * LETTER), x, y)
    return [Part(marks, *start, angle, sx), *letter]


def _block(track: Sequence[sketch.Block], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    w, h = view.scale * track[0].width / 2, view.scale * track[0].height / 2
    outline = ((-w, -h), (w, -h), (w, h), (-w, h))
    body = Part((Stroke((outline,), look.edge, 1.8, look.fill, closed=True),), x, y, turn(column(track, "angle")))
    # The label is next to the centre, as contact forces may pass through the centre.
    return [body, *_labelled(track, (-0.5 * w, 0.32 * LETTER), x, y)]


def _disk(track: Sequence[sketch.Disk], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    r = view.scale * track[0].radius
    marks = (
        Ring((0.0, 0.0), r, look.edge, 1.8, look.fill),
        Stroke((((0.25 * r, 0.0), (r, 0.0)),), look.edge, 1.8),
        Ring((0.0, 0.0), min(2.0, 0.2 * r), look.edge, 1.0, look.edge),
    )
    return [Part(marks, x, y, turn(column(track, "angle"))), *_labelled(track, (-0.45 * r, 0.32 * LETTER), x, y)]


def _blade(track: Sequence[sketch.Blade], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    half = view.scale * track[0].length / 2
    lens = ((-half, 0.0), (-0.6 * half, -2.2), (0.6 * half, -2.2), (half, 0.0), (0.6 * half, 2.2), (-0.6 * half, 2.2))
    return [Part((Stroke((lens,), INK, 1.0, INK, closed=True, round=True),), x, y, turn(column(track, "angle")))]


# -- joints and ground -------------------------------------------------------------------------------------


def _pin(track: Sequence[sketch.Pin], view: View, look: Look) -> list[Part]:
    return _joint(track, view, (Ring((0.0, 0.0), 3.6, look.edge, 1.6, WHITE),), 11.0)


def _bearing(track: Sequence[sketch.Bearing], view: View, look: Look) -> list[Part]:
    foot = (((0.0, 0.0), (-9.0, 16.0), (9.0, 16.0)),)
    ground = hatching((-15.0, 16.0), (15.0, 16.0), 6.0)
    marks = (Stroke(foot, look.edge, 1.5, WHITE, closed=True, round=True), *ground,
             Ring((0.0, 0.0), 3.6, look.edge, 1.6, WHITE))  # fmt: skip
    return _joint(track, view, marks, 13.0)


def _spring(track: Sequence[sketch.Spring], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    size = max(float(length.max()), 1e-9)
    ends, amplitude = 0.12, 6.5
    coil = [(ends + (1 - 2 * ends) * (i + 0.5) / (2 * COILS), amplitude * (-1) ** i) for i in range(2 * COILS)]
    line = ((0.0, 0.0), (ends * size, 0.0), *((size * s, d) for s, d in coil), ((1 - ends) * size, 0.0), (size, 0.0))
    marks = (Stroke((line,), look.edge, 1.5, round=True, rigid=True),)
    return [Part(marks, *start, angle, length / size), *_beside(track, view, -17.0)]


def _beside(track: Sequence[Any], view: View, away: float) -> list[Part]:
    """Return the label of a spring or damper, below its middle at the first frame, above it if `away` is negative."""
    (x, y), angle, length = _direction(track, view)
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    away = math.copysign(away, away * c[0])
    return _labelled(track, (0.0, 0.3 * LETTER), x + length / 2 * c - away * s, y + length / 2 * s + away * c)


def _damper(track: Sequence[sketch.Damper], view: View, look: Look) -> list[Part]:
    (x, y), angle, length = _direction(track, view)
    low, high = float(length.min()), float(length.max())
    # The piston does not leave its cylinder at any length of the damper, if that is possible.
    rod = min(0.92 * low, 0.65 * high)
    cup, stub, half = high - rod + 0.06 * high, 0.5 * (low - rod), 6.5
    cylinder = Stroke((((0.0, 0.0), (stub, 0.0)), ((cup, -half), (stub, -half), (stub, half), (cup, half))),
                      look.edge, 1.5)  # fmt: skip
    piston = Stroke((((0.0, 0.0), (-rod, 0.0)), ((-rod, -half + 2.0), (-rod, half - 2.0))), look.edge, 1.5)
    end = x + length * np.cos(np.radians(angle)), y + length * np.sin(np.radians(angle))
    return [Part((cylinder,), x, y, angle), Part((piston,), *end, angle), *_beside(track, view, 18.0)]


def hatching(start: Pixels, end: Pixels, depth: float = 9.0) -> tuple[Stroke, Stroke]:
    """Return a line and its hatching, on the right-hand side of the line's direction as seen on the screen."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    if length == 0:
        return Stroke((), INK), Stroke((), INK)
    u, n = (dx / length, dy / length), (-dy / length, dx / length)
    lines = []
    for s in np.arange(int(length // HATCH) + 1) * HATCH + min(HATCH / 2, length / 2):
        if s <= length:
            foot = (start[0] + s * u[0], start[1] + s * u[1])
            lines.append((foot, (foot[0] + depth * (n[0] - u[0]), foot[1] + depth * (n[1] - u[1]))))
    return Stroke(((start, end),), EDGE, 1.8), Stroke(tuple(lines), EDGE, 0.8)


def _wall(track: Sequence[sketch.Wall], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    return [Part(hatching((0.0, 0.0), (float(length[0]), 0.0)), *start, angle)]


def _ground(track: Sequence[sketch.Ground], view: View, look: Look) -> list[Part]:
    """Draw the ground, which does not move, up to the edge of the picture."""
    x, y = view.pixels(track[0].at)
    u = (math.cos(track[0].angle), -math.sin(track[0].angle))
    low, high = -math.inf, math.inf
    border = 6.0
    box = ((x, u[0], border, view.width - border), (y, u[1], view.clear[0] / 2, view.height - view.clear[1] / 2))
    for here, rate, least, most in box:
        if abs(rate) > 1e-12:
            a, b = sorted(((least - here) / rate, (most - here) / rate))
            low, high = max(low, a), min(high, b)
    if low >= high:
        return []
    start, end = ((x + s * u[0], y + s * u[1]) for s in (low, high))
    return [fixed(*hatching(start, end))]


def _point(track: Sequence[sketch.Point], view: View, look: Look) -> list[Part]:
    return _joint(track, view, (Ring((0.0, 0.0), 2.2, look.edge, 1.0, look.edge),), 9.0)


def _note(track: Sequence[Any], view: View, look: Look) -> list[Part]:
    """Draw a note; its place in the first frame applies to all frames."""
    return NOTES[type(track[0])](track[0], view)


LAYERS: tuple[dict[type, Callable[[Sequence[Any], View, Look], list[Part]]], ...] = (
    {sketch.Ground: _ground, sketch.Wall: _wall},
    {sketch.Spring: _spring, sketch.Damper: _damper},
    {sketch.Block: _block, sketch.Disk: _disk},
    {sketch.Bar: _bar},
    {sketch.Blade: _blade},
    {sketch.Bearing: _bearing},
    {sketch.Pin: _pin},
    {sketch.Point: _point},
    dict.fromkeys(NOTES, _note),
)
"""Functions that draw each shape, in layers from the back to the front."""
