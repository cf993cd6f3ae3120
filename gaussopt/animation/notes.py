"""Draw the annotations of a picture (forces, torques, angles, lengths, axes) as parts of its SVG."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaussopt.animation.marks import LETTER, Part, Pixels, Stroke, View, Word, fixed
from gaussopt.modelling import sketch
from gaussopt.plotting.colours import AXIS, INK, LOAD, PALE

HEAD = (11.0, 4.2)
"""Length and half width of the head of an arrow, px."""

FORCE = 46.0
"""Length of the arrow of a force in the labelled drawing, px."""


def arrow_head(at: Pixels, angle: float, colour: str = INK, size: float = 1.0) -> Stroke:
    """Return the head of an arrow with its tip at a point; the angle is clockwise, rad."""
    length, half = HEAD[0] * size, HEAD[1] * size
    c, s = math.cos(angle), math.sin(angle)
    back = [(-length, -half), (-0.75 * length, 0.0), (-length, half)]
    outline = (at, *((at[0] + c * a - s * b, at[1] + s * a + c * b) for a, b in back))
    return Stroke((outline,), colour, 0.0, colour, closed=True)


def arrow(start: Pixels, end: Pixels, colour: str = INK, width: float = 1.6, size: float = 1.0) -> tuple[Stroke, ...]:
    """Return a straight arrow."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    neck = (end[0] - 0.7 * HEAD[0] * size * math.cos(angle), end[1] - 0.7 * HEAD[0] * size * math.sin(angle))
    return Stroke(((start, neck),), colour, width), arrow_head(end, angle, colour, size)


def room(shape: sketch.Shape) -> list[tuple[float, float, float, float]]:
    """Return the extreme points of a note, each as a point (x, y), m, and an offset (right, down), px."""
    match shape:
        case sketch.Force():
            angles, reach = [shape.angle], FORCE + 22
        case sketch.Axes():
            angles, reach = [angle for angle, _ in _axes_of(shape)], 62.0
        case sketch.Angle():
            angles, reach = [shape.start, shape.end], 62.0
        case sketch.Torque():
            return [(*shape.at, sx * 32.0, sy * 32.0) for sx in (-1.6, 1.0) for sy in (-1.0, 1.0)]
        case sketch.Bearing():
            return [(*shape.at, 0.0, 24.0)]
        case _:
            return []
    return [(*shape.at, reach * math.cos(a), -reach * math.sin(a)) for a in angles]


def _force(shape: sketch.Force, view: View) -> list[Part]:
    x, y = view.pixels(shape.at)
    u = (math.cos(shape.angle), -math.sin(shape.angle))
    tip = (x + FORCE * u[0], y + FORCE * u[1])
    right, down, anchor = (13, 0.32 * LETTER, "start") if abs(u[0]) < 0.7 else (4, -6, "middle")
    word = Word((tip[0] + 4 * u[0] + right, tip[1] + 10 * u[1] + down), shape.label, anchor)
    return [fixed(*arrow((x, y), tip, LOAD, 1.9)), fixed(word)]


def _torque(shape: sketch.Torque, view: View) -> list[Part]:
    x, y = view.pixels(shape.at)
    r = 30.0
    arc = tuple((x + r * math.cos(a), y + r * math.sin(a)) for a in np.radians(np.arange(115.0, -71.0, -6.0) + 180))
    a0, a1 = arc[-2], arc[-1]
    head = arrow_head(a1, math.atan2(a1[1] - a0[1], a1[0] - a0[0]), LOAD, 0.9)
    return [fixed(Stroke((arc[:-1],), LOAD, 1.9), head), fixed(Word((x - r - 5, y - 6), shape.label, "end"))]


def _angle(shape: sketch.Angle, view: View) -> list[Part]:
    x, y = view.pixels(shape.at)
    r = 44.0
    sweep = shape.end - shape.start
    steps = max(2, math.ceil(abs(sweep) / 0.08))
    angles = [shape.start + sweep * i / steps for i in range(steps + 1)]
    arc = [(x + r * math.cos(a), y - r * math.sin(a)) for a in angles]
    ray = ((x, y), (x + (r + 20) * math.cos(shape.start), y - (r + 20) * math.sin(shape.start)))
    marks = [Stroke((ray,), PALE, 1.0, dash="7 3 2 3"), Stroke((tuple(arc),), INK, 1.1)]
    if r * abs(sweep) > 12:
        # The head follows the arc: it points along a chord about as long as the head.
        back = shape.end - math.copysign(0.8 * HEAD[0] / r, sweep)
        tail = (x + r * math.cos(back), y - r * math.sin(back))
        marks.append(arrow_head(arc[-1], math.atan2(arc[-1][1] - tail[1], arc[-1][0] - tail[0]), INK, 0.75))
    # In a narrow angle the symbol has no space between the legs, so it is drawn before the first leg.
    narrow = abs(sweep) <= 0.5
    middle = shape.start - math.copysign(0.25, sweep) if narrow else (shape.start + shape.end) / 2
    reach = r + 15
    at = (x + reach * math.cos(middle), y - reach * math.sin(middle) + 0.3 * LETTER)
    return [fixed(*marks), fixed(Word(at, shape.label))]


def _length(shape: sketch.Length, view: View) -> list[Part]:
    a, b = view.pixels(shape.start), view.pixels(shape.end)
    d = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    u = ((b[0] - a[0]) / d, (b[1] - a[1]) / d)
    n = (u[1], -u[0])  # the normal to the left of u, as seen on the screen
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


def _axes(shape: sketch.Axes, view: View) -> list[Part]:
    x, y = view.pixels(shape.at)
    parts = []
    for angle, label in _axes_of(shape):
        u = (math.cos(angle), -math.sin(angle))
        parts.append(fixed(*arrow((x, y), (x + 44 * u[0], y + 44 * u[1]), PALE, 1.2, 0.8)))
        at = (x + 55 * u[0], y + 55 * u[1] + 0.3 * LETTER)
        parts.append(fixed(Word(at, label, colour=AXIS)))
    return parts


def _axes_of(shape: sketch.Axes) -> list[tuple[float, str]]:
    """Return the directions and labels of the axes that have a label."""
    directions = (shape.angle, shape.angle + math.pi / 2)
    return [(angle, label) for angle, label in zip(directions, shape.labels, strict=True) if label]


NOTES: dict[type, Callable[[Any, View], list[Part]]] = {
    sketch.Force: _force, sketch.Torque: _torque, sketch.Angle: _angle, sketch.Length: _length, sketch.Axes: _axes,
}  # fmt: skip
"""Functions that draw each kind of note."""
