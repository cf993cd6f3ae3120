"""Parts that move, as SVG animated by SMIL: one file, no script, no id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gaussopt.core.step_data import Matrix, Vector
from gaussopt.reporting.animation.marks import Mark, Part, Ring, Stroke, Word, mark_svg, number, page, pair, placed
from gaussopt.reporting.animation.playback import CAPTION, HOLD
from gaussopt.reporting.animation.scene import SMALL, Scene, Track, caption_at, stamps, timeline, words_beside
from gaussopt.reporting.colours import INK, NORMAL

CLOSE = 0.12
"""Pixels by which a mark may be off between key frames."""

FLASH = 0.45
"""Seconds for which an impact flashes."""


def animated_svg(scene: Scene, label: str) -> str:
    """Write a scene as an SVG that begins at once and repeats.

    The root carries `data-playback` (seconds until the motion ends; then it rests before it begins again) and
    `data-speed`.
    """
    clock, end = scene.frames.clock, scene.frames.playback
    film = _Film(clock, end + HOLD)
    axis, left, right, y = timeline(scene)
    body = [
        *(film.path(track) for track in scene.tracks),
        *(film.part(part) for part in scene.parts),
        *(film.flash(at, (caption.t - scene.frames.t[0]) / scene.frames.speed) for caption, at in scene.struck),
        *(film.part(part) for part in scene.arrows),
        *(placed(part) for part in (*axis, *words_beside(scene))),
        film.runner(left, right, y, end),
        *film.clock_words(scene),
        *film.captions(scene),
    ]
    extra = f' data-playback="{number(end, 3)}" data-speed="{scene.frames.speed:g}"'
    return page(body, scene.view.width, scene.view.height, label, extra)


def kept(t: Vector, values: Matrix, tolerance: float) -> list[int]:
    """Indices of samples, first and last included, from which the others follow linearly in time, to a tolerance."""

    def errors(a: int, b: int) -> Vector:
        inner = slice(a + 1, b)
        share = (t[inner] - t[a]) / (t[b] - t[a]) if t[b] > t[a] else np.zeros(b - a - 1)
        line = values[a] + share[:, None] * (values[b] - values[a])
        return np.asarray(np.abs(values[inner] - line).max(axis=1))

    return _divided(len(t), errors, tolerance)


def thinned(points: Matrix, tolerance: float = 0.15) -> Matrix:
    """Points (P, 2) of a line without those that deviate less from it than a tolerance, px."""

    def errors(a: int, b: int) -> Vector:
        d = points[b] - points[a]
        size = float(np.hypot(*d))
        away = points[a + 1 : b] - points[a]
        if size > 1e-9:
            share = np.clip(away @ d / size**2, 0.0, 1.0)
            away = away - share[:, None] * d
        return np.asarray(np.hypot(away[:, 0], away[:, 1]))

    return points[_divided(len(points), errors, tolerance)]


def _divided(count: int, errors: Callable[[int, int], Vector], tolerance: float) -> list[int]:
    """Douglas and Peucker's division of `count` points; `errors` of those between two, if these are joined."""
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


class _Film:
    """Writes elements whose attributes follow a clock (F,) in seconds, within a cycle of so many."""

    def __init__(self, clock: Vector, cycle: float) -> None:
        self.clock, self.cycle = clock, cycle
        self.tail = f'dur="{number(cycle, 3)}s" repeatCount="indefinite"'

    def _keys(self, at: Sequence[float]) -> str:
        return ";".join(number(min(max(t / self.cycle, 0.0), 1.0), 5) for t in at)

    def _smooth(self, what: str, rows: Sequence[int], texts: Sequence[str]) -> str:
        """An animation through values at frames; the last one stays until the cycle ends."""
        keys = self._keys([*(float(self.clock[i]) for i in rows), self.cycle])
        return f'{what} values="{";".join([*texts, texts[-1]])}" keyTimes="{keys}" {self.tail}/>'

    def part(self, part: Part) -> str:
        """A part that moves, or stays."""
        extent = _extent(part.marks)
        marks = "".join(mark_svg(m) for m in part.marks)
        x, y, angle, sx, sy, _ = (_column(v, len(self.clock)) for v in
                                  (part.x, part.y, part.angle, part.sx, part.sy, part.shown))  # fmt: skip
        digits = 1 if extent <= 2 else 4
        inner = self._move("scale", np.stack((sx, sy), axis=1), CLOSE / extent, digits, (1.0, 1.0), marks)
        inner = self._move("rotate", angle[:, None], float(np.degrees(CLOSE / max(extent, 1.0))), 2, (0.0,), inner)
        return self._move("translate", np.stack((x, y), axis=1), CLOSE, 1, (0.0, 0.0), inner)

    def _move(
        self, kind: str, values: Matrix, tolerance: float, digits: int, rest: tuple[float, ...], inner: str
    ) -> str:
        """Wrap elements in one layer of a transformation."""

        def text(v: Vector) -> str:
            return number(float(v[0]), digits) if len(v) == 1 else pair(float(v[0]), float(v[1]), digits)

        first = text(values[0])
        if float(np.abs(values - values[0]).max()) <= tolerance:
            still = np.allclose(values[0], rest, atol=1e-9)
            return inner if still else f'<g transform="{kind}({first})">{inner}</g>'
        rows = kept(self.clock, values, tolerance)
        move = self._smooth(
            f'<animateTransform attributeName="transform" type="{kind}"', rows, [text(values[i]) for i in rows]
        )
        return f'<g transform="{kind}({first})">{move}{inner}</g>'

    def path(self, track: Track) -> str:
        """A path that grows with the motion over its pale whole."""
        line = thinned(track.points)
        steps = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(track.points, axis=0).T))))
        if steps[-1] < 1.0:
            return ""
        d = "M" + " ".join(pair(x, y) for x, y in line)
        left = 1.0 - steps / steps[-1]
        rows = kept(self.clock, left[:, None], 0.5 / steps[-1])
        grow = self._smooth(
            '<animate attributeName="stroke-dashoffset"', rows, [number(float(left[i]), 4) for i in rows]
        )
        look = f'd="{d}" fill="none" stroke="{track.colour}"'
        return (
            f'<path {look} stroke-width="1" opacity="0.3"/>'
            f'<path {look} stroke-width="1.6" pathLength="1" stroke-dasharray="1 1" stroke-dashoffset="1">{grow}</path>'
        )

    def flash(self, at: tuple[float, float], when: float) -> str:
        """A ring where an impact happens, which fades."""
        ends = [0.0, when, when, min(when + FLASH, self.cycle), self.cycle]
        fade = f'<animate attributeName="opacity" values="0;0;1;0;0" keyTimes="{self._keys(ends)}" {self.tail}/>'
        ring = f'cx="{number(at[0])}" cy="{number(at[1])}" r="13" fill="none" stroke="{NORMAL}" stroke-width="2.5"'
        return f'<circle {ring} opacity="0">{fade}</circle>'

    def runner(self, left: float, right: float, y: float, end: float) -> str:
        """The point that runs along the axis of time."""
        keys = self._keys([0.0, end, self.cycle])
        move = f'<animate attributeName="cx" values="{number(left)};{number(right)};{number(right)}" keyTimes="{keys}"'
        return f'<circle cx="{number(left)}" cy="{number(y)}" r="5" fill="{INK}">{move} {self.tail}/></circle>'

    def clock_words(self, scene: Scene) -> list[str]:
        """The time, as one text for each of its values, of which one is visible."""
        times, texts = stamps(scene.frames)
        begins = [float((t - scene.frames.t[0]) / scene.frames.speed) for t in times]
        return [
            self._while(Word((14, 22), text, "start", SMALL, INK, letter=False), a, b)
            for text, a, b in zip(texts, begins, [*begins[1:], self.cycle], strict=True)
        ]

    def captions(self, scene: Scene) -> list[str]:
        """Captions of the events, each visible when it happens."""
        begins = [(c.t - float(scene.frames.t[0])) / scene.frames.speed for c in scene.captions]
        found = []
        for caption, a, b in zip(scene.captions, begins, [*begins, self.cycle][1:], strict=True):
            colour = NORMAL if caption.impacts else INK
            word = Word(caption_at(scene), caption.text, "start", SMALL, colour, letter=False)
            found.append(self._while(word, a, min(b, a + CAPTION) if b < self.cycle else self.cycle))
        return found

    def _while(self, word: Word, begin: float, end: float) -> str:
        """A text that is visible from one second of the cycle to another."""
        switches = [(0.0, "hidden")] if begin > 0 else []
        switches += [(begin, "visible")] + ([(end, "hidden")] if end < self.cycle else [])
        text = mark_svg(word)
        opening = text.index(">")
        shown = switches[0][1]
        if len(switches) > 1:
            keys, values = self._keys([t for t, _ in switches]), ";".join(v for _, v in switches)
            how = f'calcMode="discrete" values="{values}" keyTimes="{keys}" {self.tail}'
            change = f'<animate attributeName="visibility" {how}/>'
        else:
            change = ""
        return f'{text[:opening]} visibility="{shown}">{change}{text[opening + 1 :]}'


def _column(value: Vector | float, length: int) -> Vector:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (length,))


def _extent(marks: Sequence[Mark]) -> float:
    """Largest distance of a mark from the part's origin, px."""
    found = [1.0]
    for mark in marks:
        if isinstance(mark, Stroke):
            found += [max(abs(x), abs(y)) for line in mark.lines for x, y in line]
        elif isinstance(mark, Ring):
            found.append(mark.radius + max(map(abs, mark.centre)))
        else:
            found.append(max(map(abs, mark.at)))
    return max(found)
