"""From the shapes of a sketch, over one frame or many, to the parts of a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import Matrix, Vector
from gaussopt.modelling.sketch import (
    SIDES,
    Angle,
    Axes,
    Bar,
    Bearing,
    Blade,
    Block,
    ContactPoint,
    Damper,
    Disk,
    Force,
    Ground,
    Length,
    Pin,
    Point,
    Shape,
    Spring,
    Torque,
    Wall,
)  # fmt: skip
from gaussopt.reporting.animation.marks import (
    BODY,
    EDGE,
    INK,
    LETTER,
    PALE,
    Part,
    Pixels,
    Ring,
    Stroke,
    View,
    Word,
    fixed,
)  # fmt: skip

HATCH = 9.0
"""Distance of the lines of a hatching, px."""

BAR = 9.0
"""Width of a bar, px."""

COILS = 7
HEAD = (11.0, 4.2)
"""Length and half width of the head of an arrow, px."""


@dataclass(frozen=True, slots=True)
class Look:
    """How bodies are painted, and whether letters and notes are drawn."""

    fill: str = BODY
    edge: str = EDGE
    letters: bool = True
    notes: bool = False


LAYERS: tuple[type | tuple[type, ...], ...] = (
    (Ground, Wall), (Spring, Damper), (Block, Disk), Bar, Blade, Bearing, Pin, Point,
    (Axes, Angle, Length, Force, Torque),
)  # fmt: skip
"""From the back to the front."""


def column(shapes: Sequence[Any], name: str) -> Any:
    """One entry of a shape over all frames: (F,) or (F, 2)."""
    return np.array([getattr(s, name) for s in shapes], dtype=np.float64)


def over_frames(frames: Sequence[Sequence[Shape]], owner: str) -> list[list[Any]]:
    """The frames of each shape.

    Raises
    ------
    BadInput
        If number or kinds of the shapes change on the way.
    """
    kinds = [type(s) for s in frames[0]]
    for i, frame in enumerate(frames):
        if [type(s) for s in frame] != kinds:
            raise BadInput(
                f"The sketch of {owner} returns other shapes at frame {i + 1} than at the first; number and kinds must "
                "stay the same."
            )
    return [list(shape) for shape in zip(*frames, strict=True)]


def parts_of(tracks: Sequence[Sequence[Any]], view: View, look: Look) -> list[Part]:
    """All parts, from the back to the front, letters last."""
    found: list[Part] = []
    letters: list[Part] = []
    for layer in LAYERS:
        for track in tracks:
            if isinstance(track[0], layer):
                for part in _BUILDERS[type(track[0])](track, view, look):
                    (letters if all(isinstance(m, Word) for m in part.marks) else found).append(part)
    return found + (letters if look.letters else [])


# -- placing -------------------------------------------------------------------------------------------------


def _direction(shapes: Sequence[Any], view: View) -> tuple[Matrix, Vector, Vector]:
    """Start on the picture (F, 2), angle clockwise in degrees (F,), and length in px (F,) of what has two ends."""
    a, b = column(shapes, "start"), column(shapes, "end")
    d = b - a
    start = np.stack((view.px(a[:, 0]), view.py(a[:, 1])), axis=1)
    return start, turn(np.arctan2(d[:, 1], d[:, 0])), view.scale * np.hypot(d[:, 0], d[:, 1])


def turn(angle: Vector) -> Vector:
    """Angles anticlockwise in rad as continuous angles on the screen in degrees."""
    return np.asarray(-np.degrees(np.unwrap(angle)))


def _moving(track: Sequence[Any], view: View, name: str = "at") -> tuple[Vector, Vector]:
    place = column(track, name)
    return view.px(place[:, 0]), view.py(place[:, 1])


def _letter(track: Sequence[Any], view: View, x: Vector, y: Vector, gap: float = 11.0) -> list[Part]:
    label = track[0].label
    if not label:
        return []
    dx, dy = SIDES[getattr(track[0], "side", "e")]
    norm = math.hypot(dx, dy)
    anchor = {1: "start", 0: "middle", -1: "end"}[dx]
    at = (gap * dx / norm, -gap * dy / norm + 0.3 * LETTER)
    return [Part((Word(at, label, anchor),), x, y)]


# -- bodies ------------------------------------------------------------------------------------------------


def _bar(track: Sequence[Bar], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    size = max(float(length.max()), 1e-9)
    line = (((0.0, 0.0), (size, 0.0)),)
    marks = (Stroke(line, look.edge, BAR, round=True), Stroke(line, look.fill, BAR - 2.6, round=True))
    sx = np.where(np.abs(length - size) < 0.05, 1.0, length / size)
    parts = [Part(marks, start[:, 0], start[:, 1], angle, sx)]
    if track[0].label:
        middle = (column(track, "start") + column(track, "end")) / 2
        # Above the bar as it is drawn first.
        a = math.radians(angle[0])
        up = (math.sin(a), -math.cos(a)) if math.cos(a) >= -1e-9 else (-math.sin(a), math.cos(a))
        at = (15 * up[0], 15 * up[1] + 0.3 * LETTER)
        parts.append(Part((Word(at, track[0].label),), view.px(middle[:, 0]), view.py(middle[:, 1])))
    return parts


def _block(track: Sequence[Block], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    w, h = view.scale * track[0].width / 2, view.scale * track[0].height / 2
    outline = ((-w, -h), (w, -h), (w, h), (-w, h))
    body = Part((Stroke((outline,), look.edge, 1.8, look.fill, closed=True),), x, y, turn(column(track, "angle")))
    # Beside the middle, which a contact force may cross.
    label = track[0].label
    return [body, *([Part((Word((-0.5 * w, 0.32 * LETTER), label),), x, y)] if label else [])]


def _disk(track: Sequence[Disk], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    r = view.scale * track[0].radius
    marks = (
        Ring((0.0, 0.0), r, look.edge, 1.8, look.fill),
        Stroke((((0.25 * r, 0.0), (r, 0.0)),), look.edge, 1.8),
        Ring((0.0, 0.0), min(2.0, 0.2 * r), look.edge, 1.0, look.edge),
    )
    letters = [Part((Word((-0.45 * r, 0.32 * LETTER), track[0].label),), x, y)] if track[0].label else []
    return [Part(marks, x, y, turn(column(track, "angle"))), *letters]


def _blade(track: Sequence[Blade], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view, "centre")
    half = view.scale * track[0].length / 2
    lens = ((-half, 0.0), (-0.6 * half, -2.2), (0.6 * half, -2.2), (half, 0.0), (0.6 * half, 2.2), (-0.6 * half, 2.2))
    return [Part((Stroke((lens,), INK, 1.0, INK, closed=True, round=True),), x, y, turn(column(track, "angle")))]


# -- joints and ground -------------------------------------------------------------------------------------


def _pin(track: Sequence[Pin], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view)
    return [Part((Ring((0.0, 0.0), 3.6, look.edge, 1.6, "#fff"),), x, y), *_letter(track, view, x, y)]


def _bearing(track: Sequence[Bearing], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view)
    foot = (((0.0, 0.0), (-9.0, 16.0), (9.0, 16.0)),)
    ground = hatching((-15.0, 16.0), (15.0, 16.0), 6.0)
    marks = (Stroke(foot, look.edge, 1.5, "#fff", closed=True, round=True), *ground,
             Ring((0.0, 0.0), 3.6, look.edge, 1.6, "#fff"))  # fmt: skip
    return [Part(marks, x, y), *_letter(track, view, x, y, 13.0)]


def _spring(track: Sequence[Spring], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    size = max(float(length.max()), 1e-9)
    ends, amplitude = 0.12, 6.5
    coil = [(ends + (1 - 2 * ends) * (i + 0.5) / (2 * COILS), amplitude * (-1) ** i) for i in range(2 * COILS)]
    line = ((0.0, 0.0), (ends * size, 0.0), *((size * s, d) for s, d in coil), ((1 - ends) * size, 0.0), (size, 0.0))
    marks = (Stroke((line,), look.edge, 1.5, round=True, rigid=True),)
    part = Part(marks, start[:, 0], start[:, 1], angle, length / size)
    return [part, *_beside(track, start, angle, length, -17.0)]


def _beside(track: Sequence[Any], start: Matrix, angle: Vector, length: Vector, away: float) -> list[Part]:
    """The letter of a spring or damper, below its middle as it is drawn first, or above it if `away` is negative."""
    if not track[0].label:
        return []
    a = np.radians(angle)
    away = math.copysign(away, away * math.cos(a[0]))
    x = start[:, 0] + length / 2 * np.cos(a) - away * np.sin(a)
    y = start[:, 1] + length / 2 * np.sin(a) + away * np.cos(a)
    return [Part((Word((0.0, 0.3 * LETTER), track[0].label),), x, y)]


def _damper(track: Sequence[Damper], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    low, high = float(length.min()), float(length.max())
    # The piston stays in its cylinder at all lengths, where there is room for that.
    rod = min(0.92 * low, 0.65 * high)
    cup, stub, half = high - rod + 0.06 * high, 0.5 * (low - rod), 6.5
    cylinder = Stroke((((0.0, 0.0), (stub, 0.0)), ((cup, -half), (stub, -half), (stub, half), (cup, half))),
                      look.edge, 1.5)  # fmt: skip
    piston = Stroke((((0.0, 0.0), (-rod, 0.0)), ((-rod, -half + 2.0), (-rod, half - 2.0))), look.edge, 1.5)
    a = np.radians(angle)
    end = start + np.stack((length * np.cos(a), length * np.sin(a)), axis=1)
    parts = [Part((cylinder,), start[:, 0], start[:, 1], angle), Part((piston,), end[:, 0], end[:, 1], angle)]
    return [*parts, *_beside(track, start, angle, length, 18.0)]


def hatching(start: Pixels, end: Pixels, depth: float = 9.0, step: float = HATCH) -> tuple[Stroke, Stroke]:
    """A surface and its hatching on the right-hand side of the direction, as seen on the screen."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    if length == 0:
        return Stroke((), INK), Stroke((), INK)
    u, n = (dx / length, dy / length), (-dy / length, dx / length)
    lines = []
    for i in range(int(length // step) + 1):
        s = i * step + min(step / 2, length / 2)
        if s > length:
            break
        foot = (start[0] + s * u[0], start[1] + s * u[1])
        lines.append((foot, (foot[0] + depth * (n[0] - u[0]), foot[1] + depth * (n[1] - u[1]))))
    return Stroke(((start, end),), EDGE, 1.8), Stroke(tuple(lines), EDGE, 0.8)


def _wall(track: Sequence[Wall], view: View, look: Look) -> list[Part]:
    start, angle, length = _direction(track, view)
    return [Part(hatching((0.0, 0.0), (float(length[0]), 0.0)), start[:, 0], start[:, 1], angle)]


def _ground(track: Sequence[Ground], view: View, look: Look) -> list[Part]:
    """Cut where the picture ends; it does not move."""
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
    ends = [(x + s * u[0], y + s * u[1]) for s in (low, high)]
    return [fixed(*hatching(ends[0], ends[1]))]


def _point(track: Sequence[Point], view: View, look: Look) -> list[Part]:
    x, y = _moving(track, view)
    return [Part((Ring((0.0, 0.0), 2.2, look.edge, 1.0, look.edge),), x, y), *_letter(track, view, x, y, 9.0)]


# -- notes of the labelled drawing -----------------------------------------------------------------------------


def arrow_head(at: Pixels, angle: float, colour: str = INK, size: float = 1.0) -> Stroke:
    """A head whose tip is at a point; the angle is clockwise in rad."""
    length, half = HEAD[0] * size, HEAD[1] * size
    c, s = math.cos(angle), math.sin(angle)
    back = [(-length, -half), (-0.75 * length, 0.0), (-length, half)]
    outline = (at, *((at[0] + c * a - s * b, at[1] + s * a + c * b) for a, b in back))
    return Stroke((outline,), colour, 0.0, colour, closed=True)


def arrow(start: Pixels, end: Pixels, colour: str = INK, width: float = 1.6, size: float = 1.0) -> tuple[Stroke, ...]:
    """A straight arrow."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    neck = (end[0] - 0.7 * HEAD[0] * size * math.cos(angle), end[1] - 0.7 * HEAD[0] * size * math.sin(angle))
    return Stroke(((start, neck),), colour, width), arrow_head(end, angle, colour, size)


def room(shape: Shape) -> list[tuple[float, float, float, float]]:
    """What a note needs beside its point: x, y in m, and right, down in px."""
    if isinstance(shape, Force):
        reach = FORCE + 22
        return [(*shape.at, reach * math.cos(shape.angle), -reach * math.sin(shape.angle))]
    if isinstance(shape, Torque):
        return [(*shape.at, sx * 26.0, sy * 26.0) for sx in (-1.6, 1.0) for sy in (-1.0, 1.0)]
    if isinstance(shape, Axes):
        ends = [(shape.angle + turned, label) for turned, label in zip((0, math.pi / 2), shape.labels, strict=True)]
        return [(*shape.at, 62 * math.cos(a), -62 * math.sin(a)) for a, label in ends if label]
    if isinstance(shape, Angle):
        return [(*shape.at, 62 * math.cos(a), -62 * math.sin(a)) for a in (shape.start, shape.end)]
    if isinstance(shape, Bearing):
        return [(*shape.at, 0.0, 24.0)]
    return []


FORCE = 46.0
"""Length of the arrow of a force in the labelled drawing, px."""


def _force(track: Sequence[Force], view: View, look: Look) -> list[Part]:
    x, y = view.pixels(track[0].at)
    u = (math.cos(track[0].angle), -math.sin(track[0].angle))
    tip = (x + FORCE * u[0], y + FORCE * u[1])
    side = 13 if abs(u[0]) < 0.7 else 4
    word = Word((tip[0] + 4 * u[0] + side, tip[1] + 10 * u[1] + (0.32 * LETTER if side == 13 else -6)),
                track[0].label, "start" if side == 13 else "middle")  # fmt: skip
    return [fixed(*arrow((x, y), tip, "#9c2f00", 1.9)), fixed(word)]


def _torque(track: Sequence[Torque], view: View, look: Look) -> list[Part]:
    x, y = view.pixels(track[0].at)
    r = 24.0
    arc = tuple((x + r * math.cos(a), y + r * math.sin(a)) for a in np.radians(np.arange(115.0, -101.0, -6.0) + 180))
    a0, a1 = arc[-2], arc[-1]
    head = arrow_head(a1, math.atan2(a1[1] - a0[1], a1[0] - a0[0]), "#9c2f00", 0.9)
    return [fixed(Stroke((arc[:-1],), "#9c2f00", 1.9), head), fixed(Word((x - r - 5, y - 6), track[0].label, "end"))]


def _angle(track: Sequence[Angle], view: View, look: Look) -> list[Part]:
    shape: Angle = track[0]
    x, y = view.pixels(shape.at)
    r = 44.0
    sweep = shape.end - shape.start
    steps = max(2, math.ceil(abs(sweep) / 0.08))
    angles = [shape.start + sweep * i / steps for i in range(steps + 1)]
    arc = [(x + r * math.cos(a), y - r * math.sin(a)) for a in angles]
    ray = ((x, y), (x + (r + 20) * math.cos(shape.start), y - (r + 20) * math.sin(shape.start)))
    marks = [Stroke((ray,), PALE, 1.0, dash="7 3 2 3"), Stroke((tuple(arc),), INK, 1.1)]
    if r * abs(sweep) > 12:
        # The head follows the arc: it points along the chord of its own length.
        back = shape.end - math.copysign(0.8 * HEAD[0] / r, sweep)
        tail = (x + r * math.cos(back), y - r * math.sin(back))
        marks.append(arrow_head(arc[-1], math.atan2(arc[-1][1] - tail[1], arc[-1][0] - tail[0]), INK, 0.75))
    middle = (shape.start + shape.end) / 2
    reach = r + (15 if abs(sweep) > 0.5 else 28)
    at = (x + reach * math.cos(middle), y - reach * math.sin(middle) + 0.3 * LETTER)
    return [fixed(*marks), fixed(Word(at, shape.label))]


def _length(track: Sequence[Length], view: View, look: Look) -> list[Part]:
    shape: Length = track[0]
    a, b = view.pixels(shape.start), view.pixels(shape.end)
    d = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    u = ((b[0] - a[0]) / d, (b[1] - a[1]) / d)
    n = (u[1], -u[0])  # to the left, as seen on the screen
    off = view.scale * shape.aside
    p, q = ((c[0] + off * n[0], c[1] + off * n[1]) for c in (a, b))
    marks = [Stroke(((p, q),), INK, 1.0)]
    if off:
        reach = off + math.copysign(5.0, off)
        marks.append(Stroke(tuple((c, (c[0] + reach * n[0], c[1] + reach * n[1])) for c in (a, b)), PALE, 0.9))
    angle = math.atan2(u[1], u[0])
    marks += [arrow_head(q, angle, INK, 0.75), arrow_head(p, angle + math.pi, INK, 0.75)]
    side = math.copysign(12.0, off) if off else 12.0
    at = ((p[0] + q[0]) / 2 + side * n[0], (p[1] + q[1]) / 2 + side * n[1] + 0.3 * LETTER)
    return [fixed(*marks), fixed(Word(at, shape.label))]


def _axes(track: Sequence[Axes], view: View, look: Look) -> list[Part]:
    shape: Axes = track[0]
    x, y = view.pixels(shape.at)
    parts = []
    for angle, label in ((shape.angle, shape.labels[0]), (shape.angle + math.pi / 2, shape.labels[1])):
        if not label:
            continue
        u = (math.cos(angle), -math.sin(angle))
        parts.append(fixed(*arrow((x, y), (x + 44 * u[0], y + 44 * u[1]), PALE, 1.2, 0.8)))
        at = (x + 55 * u[0], y + 55 * u[1] + 0.3 * LETTER)
        parts.append(fixed(Word(at, label, colour="#56616c")))
    return parts


def _nothing(track: Sequence[Any], view: View, look: Look) -> list[Part]:
    return []


_BUILDERS: dict[type, Callable[[Sequence[Any], View, Look], list[Part]]] = {
    Bar: _bar, Block: _block, Disk: _disk, Blade: _blade, Pin: _pin, Bearing: _bearing, Spring: _spring,
    Damper: _damper, Ground: _ground, Wall: _wall, Point: _point, ContactPoint: _nothing, Force: _force,
    Torque: _torque, Angle: _angle, Length: _length, Axes: _axes,
}  # fmt: skip
