"""Animated parts as SVG with SMIL: a single file without scripts or ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from gaussopt.animation import scene as layout
from gaussopt.animation.marks import Mark, Part, Ring, Stroke, Word, mark_svg, page, pair, placed
from gaussopt.animation.playback import CAPTION, FLASH, HOLD
from gaussopt.animation.scene import Scene, Track
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.plotting.colours import INK, NORMAL
from gaussopt.plotting.svg import number

CLOSE = 0.12
"""Largest interpolation error of a mark between key frames, px."""


def animated_svg(scene: Scene, label: str) -> str:
    """Write a scene as an SVG whose animation starts at once and repeats.

    The root carries `data-playback` (seconds until the motion ends; a pause follows before it repeats) and
    `data-speed`.
    """
    clock, end = scene.frames.clock, scene.frames.playback
    film = _Film(clock, end + HOLD)
    axis, left, right, y = layout.timeline(scene)
    body = [
        *(film.path(track) for track in scene.tracks),
        *(film.part(part) for part in scene.parts),
        *(film.flash(at, scene.frames.second(caption.t)) for caption, at in scene.struck),
        *(film.part(part) for part in scene.arrows),
        *(placed(part) for part in (*axis, *layout.words_beside(scene))),
        film.runner(left, right, y, end),
        *(film.words(*words) for words in _timed_words(scene, film.cycle)),
    ]
    extra = f' data-playback="{number(end, 3)}" data-speed="{scene.frames.speed:g}"'
    return page(body, scene.view.width, scene.view.height, label, extra)


def kept(t: Vector, values: Matrix, tolerance: float) -> list[int]:
    """Return the indices of samples, ends included, whose linear interpolation fits all samples within a tolerance."""

    def errors(a: int, b: int) -> Vector:
        inner = slice(a + 1, b)
        share = (t[inner] - t[a]) / (t[b] - t[a]) if t[b] > t[a] else np.zeros(b - a - 1)
        line = values[a] + share[:, None] * (values[b] - values[a])
        return np.asarray(np.abs(values[inner] - line).max(axis=1))

    return _divided(len(t), errors, tolerance)


def thinned(points: Matrix) -> Matrix:
    """Simplify a line, (P, 2): drop points that deviate from the simplified line by less than 0.15 px."""

    def errors(a: int, b: int) -> Vector:
        d = points[b] - points[a]
        size = float(np.hypot(*d))
        away = points[a + 1 : b] - points[a]
        if size > 1e-9:
            share = np.clip(away @ d / size**2, 0.0, 1.0)
            away = away - share[:, None] * d
        return np.asarray(np.hypot(away[:, 0], away[:, 1]))

    return points[_divided(len(points), errors, 0.15)]


def _divided(count: int, errors: Callable[[int, int], Vector], tolerance: float) -> list[int]:
    """Select points by Douglas and Peucker's method; `errors(a, b)` returns those of the points between a and b."""
    keep = {0, count - 1}
    todo = [(0, count - 1)]
    while todo:
        a, b = todo.pop()
        if b - a < 2:
            continue
        error = errors(a, b)
        worst = int(error.argmax())
        if error[worst] > tolerance:
            middle = a + 1 + worst
            keep.add(middle)
            todo += [(a, middle), (middle, b)]
    return sorted(keep)


def outline(track: Track) -> str:
    """Return SVG attributes for drawing the line of a path."""
    return f'd="M{" ".join(pair(x, y) for x, y in thinned(track.points))}" fill="none" stroke="{track.colour}"'


class _Film:
    """Writer of elements whose attributes change at the times `clock`, (F,), of a repeated `cycle`, both in seconds."""

    def __init__(self, clock: Vector, cycle: float) -> None:
        self.clock, self.cycle = clock, cycle
        self.tail = f'dur="{number(cycle, 3)}s" repeatCount="indefinite"'

    def _keys(self, at: Sequence[float]) -> str:
        return ";".join(number(min(max(t / self.cycle, 0.0), 1.0), 5) for t in at)

    def _smooth(self, what: str, rows: Sequence[int], texts: Iterable[str]) -> str:
        """Return an SVG animation that interpolates values at some frames and keeps the last until the cycle ends."""
        keys = self._keys([*(float(self.clock[i]) for i in rows), self.cycle])
        *first, last = texts
        return f'{what} values="{";".join([*first, last, last])}" keyTimes="{keys}" {self.tail}/>'

    def part(self, part: Part) -> str:
        """Return a part, animated if it moves."""
        extent = _extent(part.marks)
        marks = "".join(mark_svg(m) for m in part.marks)
        x, y, angle, sx, sy = (np.broadcast_to(np.asarray(v, dtype=float), len(self.clock)) for v in part.motion)
        digits = 1 if extent <= 2 else 4
        inner = self._move("scale", (sx, sy), CLOSE / extent, digits, marks)
        inner = self._move("rotate", (angle,), float(np.degrees(CLOSE / extent)), 2, inner)
        return self._move("translate", (x, y), CLOSE, 1, inner)

    def _move(self, kind: str, columns: Sequence[Vector], tolerance: float, digits: int, inner: str) -> str:
        """Wrap SVG text in a group with an animated transformation."""
        values = np.stack(columns, axis=1)

        def text(frame: int) -> str:
            return ",".join(number(float(v), digits) for v in values[frame])

        move = ""
        if float(np.abs(values - values[0]).max()) > tolerance:
            rows = kept(self.clock, values, tolerance)
            move = self._smooth(f'<animateTransform attributeName="transform" type="{kind}"', rows, map(text, rows))
        elif np.allclose(values[0], 1.0 if kind == "scale" else 0.0, atol=1e-9):
            return inner
        return f'<g transform="{kind}({text(0)})">{move}{inner}</g>'

    def path(self, track: Track) -> str:
        """Return a path that is drawn as the motion proceeds, over a pale copy of the complete path."""
        steps = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(track.points, axis=0).T))))
        if steps[-1] < 1.0:
            return ""
        left = 1.0 - steps / steps[-1]
        rows = kept(self.clock, left[:, None], 0.5 / steps[-1])
        texts = (number(float(left[i]), 4) for i in rows)
        grow = self._smooth('<animate attributeName="stroke-dashoffset"', rows, texts)
        look = outline(track)
        return (
            f'<path {look} stroke-width="1" opacity="0.3"/>'
            f'<path {look} stroke-width="1.6" pathLength="1" stroke-dasharray="1 1" stroke-dashoffset="1">{grow}</path>'
        )

    def flash(self, at: tuple[float, float], when: float) -> str:
        """Return a ring that appears at the position of an impact and fades."""
        ends = [0.0, when, when, min(when + FLASH, self.cycle), self.cycle]
        fade = f'<animate attributeName="opacity" values="0;0;1;0;0" keyTimes="{self._keys(ends)}" {self.tail}/>'
        ring = f'cx="{number(at[0])}" cy="{number(at[1])}" r="13" fill="none" stroke="{NORMAL}" stroke-width="2.5"'
        return f'<circle {ring} opacity="0">{fade}</circle>'

    def runner(self, left: float, right: float, y: float, end: float) -> str:
        """Return a dot that moves along the time axis."""
        keys = self._keys([0.0, end, self.cycle])
        move = f'<animate attributeName="cx" values="{number(left)};{number(right)};{number(right)}" keyTimes="{keys}"'
        return f'<circle cx="{number(left)}" cy="{number(y)}" r="5" fill="{INK}">{move} {self.tail}/></circle>'

    def words(self, word: Word, begin: float, end: float) -> str:
        """Return an SVG text that is visible from `begin` to `end`, in seconds of the cycle."""
        switches = [(0.0, "hidden")] * (begin > 0) + [(begin, "visible")] + [(end, "hidden")] * (end < self.cycle)
        change = ""
        if len(switches) > 1:
            keys, values = self._keys([t for t, _ in switches]), ";".join(v for _, v in switches)
            how = f'calcMode="discrete" values="{values}" keyTimes="{keys}" {self.tail}'
            change = f'<animate attributeName="visibility" {how}/>'
        opening, _, rest = mark_svg(word).partition(">")
        return f'{opening} visibility="{switches[0][1]}">{change}{rest}'


def _timed_words(scene: Scene, cycle: float) -> Iterator[tuple[Word, float, float]]:
    """Yield the texts of the time and of captions, each with the seconds at which it appears and disappears."""
    times, texts = layout.stamps(scene.frames)
    begins = [scene.frames.second(t) for t in times]
    for text, begin, end in zip(texts, begins, [*begins[1:], cycle], strict=True):
        yield layout.clock_word(text), begin, end
    begins = [scene.frames.second(c.t) for c in scene.captions]
    for caption, begin, end in zip(scene.captions, begins, [*begins, cycle][1:], strict=True):
        yield layout.caption_word(scene, caption), begin, min(end, begin + CAPTION) if end < cycle else cycle


def _extent(marks: Sequence[Mark]) -> float:
    """Return the largest distance of a point of the marks from the part's origin, px."""
    found = [1.0]
    for mark in marks:
        match mark:
            case Stroke():
                found += [abs(c) for line in mark.lines for point in line for c in point]
            case Ring():
                found.append(mark.radius + max(map(abs, mark.centre)))
            case Word():
                found += map(abs, mark.at)
    return max(found)
