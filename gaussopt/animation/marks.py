"""Marks of a picture, and parts, which are groups of marks that move together, in pixels, x right and y down.

A part is drawn once and then translated, rotated and stretched at every frame. A single frame makes a still picture,
many frames make an animation. Marks have no ids, scripts or references, so that pictures can share a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.plotting.colours import INK, WHITE
from gaussopt.plotting.svg import number

Pixels = tuple[float, float]

OUTLINE = f' stroke="{WHITE}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
"""Attributes of text: a white outline keeps it readable over lines."""

LETTER, SMALL, INDEX = 17.0, 13.0, 0.8
"""Font sizes of formula symbols and of words, and that of an index relative to its symbol."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """Lines, or areas if `fill` is given; `rigid` lines keep their width when the part is stretched."""

    lines: tuple[tuple[Pixels, ...], ...]
    colour: str = INK
    width: float = 1.5
    fill: str = ""
    closed: bool = False
    dash: str = ""
    round: bool = False
    rigid: bool = False


@dataclass(frozen=True, slots=True)
class Ring:
    """A circle."""

    centre: Pixels
    radius: float
    colour: str = INK
    width: float = 1.5
    fill: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """A text; an underscore begins a subscript that ends at the next space. `anchor`: start, middle or end."""

    at: Pixels
    text: str
    anchor: str = "middle"
    size: float = LETTER
    colour: str = INK
    letter: bool = True

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """Yield pairs: a piece of the text, and whether it is a subscript."""
        for i, word in enumerate(self.text.split(" ")):
            head, _, tail = word.partition("_")
            yield (" " if i else "") + head, False
            if tail:
                yield tail, True


Mark = Stroke | Ring | Word


@dataclass(frozen=True)
class Part:
    """Marks that move together.

    Attributes
    ----------
    marks : in pixels relative to the origin of the part
    x, y : (F,) or float, position of that origin at each frame
    angle : (F,) or float, clockwise on the screen, degrees
    sx, sy : (F,) or float, scale factors along the part's own axes
    """

    marks: tuple[Mark, ...]
    x: Vector | float = 0.0
    y: Vector | float = 0.0
    angle: Vector | float = 0.0
    sx: Vector | float = 1.0
    sy: Vector | float = 1.0

    @property
    def motion(self) -> tuple[Vector | float, ...]:
        """The tuple x, y, angle, sx, sy."""
        return self.x, self.y, self.angle, self.sx, self.sy

    def at(self, frame: int) -> tuple[float, ...]:
        """Return x, y, angle, sx, sy at a frame."""
        return tuple(float(v if np.ndim(v) == 0 else np.asarray(v)[frame]) for v in self.motion)


def fixed(*marks: Mark) -> Part:
    """Return a part that does not move."""
    return Part(marks)


def plain(at: Pixels, text: str, anchor: str = "start", colour: str = INK) -> Word:
    """Return a text in small upright letters."""
    return Word(at, text, anchor, SMALL, colour, letter=False)


def pair(x: float, y: float, digits: int = 1) -> str:
    """Format two numbers with a comma between them."""
    return f"{number(x, digits)},{number(y, digits)}"


def mark_svg(mark: Mark) -> str:
    """Write a mark as an SVG element."""
    if isinstance(mark, Ring):
        cx, cy = mark.centre
        where = f'<circle cx="{number(cx)}" cy="{number(cy)}" r="{number(mark.radius)}"'
        return f"{where}{_paint(mark.fill, mark.colour, mark.width)}/>"
    if isinstance(mark, Word):
        return _word_svg(mark)
    end = "z" if mark.closed else ""
    digits = 3 if max((abs(c) for line in mark.lines for p in line for c in p), default=9) <= 2 else 1
    path = "".join(f"M{' '.join(pair(x, y, digits) for x, y in line)}{end}" for line in mark.lines)
    extra = f' stroke-dasharray="{mark.dash}"' if mark.dash else ""
    extra += ' stroke-linecap="round" stroke-linejoin="round"' if mark.round else ""
    extra += ' vector-effect="non-scaling-stroke"' if mark.rigid else ""
    return f'<path d="{path}"{_paint(mark.fill, mark.colour, mark.width)}{extra}/>'


def _paint(fill: str, colour: str, width: float) -> str:
    line = f' stroke="{colour}" stroke-width="{number(width)}"' if width and colour else ""
    return f' fill="{fill or "none"}"{line}'


def _escaped(text: str) -> str:
    """Escape a text for XML, quotes included, so that it may stand in an attribute."""
    return escape(text, {'"': "&quot;", "'": "&#39;"})


def _word_svg(word: Word) -> str:
    style = 'font-family="serif" font-style="italic"' if word.letter else 'font-family="sans-serif"'
    pieces = []
    drop = 0.0
    for text, below in word.pieces():
        if below:
            drop = 0.28 * word.size
            small = number(INDEX * word.size)
            pieces.append(f'<tspan dy="{number(drop)}" font-size="{small}">{_escaped(text)}</tspan>')
        elif text and drop:
            pieces.append(f'<tspan dy="{number(-drop)}">{_escaped(text)}</tspan>')
            drop = 0.0
        elif text:
            pieces.append(_escaped(text))
    x, y = word.at
    return (
        f'<text x="{number(x)}" y="{number(y)}" {style} font-size="{number(word.size)}" text-anchor="{word.anchor}" '
        f'fill="{word.colour}"{OUTLINE}>'
        f"{''.join(pieces)}</text>"
    )


def placed(part: Part, frame: int = 0) -> str:
    """Return a part at a frame as SVG; "" if its size is zero."""
    x, y, angle, sx, sy = part.at(frame)
    if sx == 0 or sy == 0:
        return ""
    moves = [f"translate({pair(x, y)})"] if x or y else []
    moves += [f"rotate({number(angle, 2)})"] if angle else []
    moves += [f"scale({pair(sx, sy, 3)})"] if (sx, sy) != (1.0, 1.0) else []
    marks = "".join(mark_svg(m) for m in part.marks)
    return f'<g transform="{" ".join(moves)}">{marks}</g>' if moves else marks


def page(body: Sequence[str], width: float, height: float, label: str, extra: str = "") -> str:
    """Return a complete SVG file that shows `body` on a white background, with a text alternative."""
    size = f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{_escaped(label)}"{extra}>'
    ground = f'<rect width="{number(width)}" height="{number(height)}" fill="{WHITE}"/>'
    return "\n".join([head, ground, *(b for b in body if b), "</svg>"]) + "\n"


@dataclass(frozen=True, slots=True)
class View:
    """Map from the plane (m) to the picture (px): pixels per metre, and the position of the origin."""

    scale: float
    x0: float
    y0: float
    width: float
    height: float
    clear: tuple[float, float]
    """Heights of the strips at the top and bottom, px, into which grounds do not extend."""

    def points(self, places: Matrix) -> Matrix:
        """Return the positions in the picture, (P, 2), px, of points (P, 2), m."""
        return np.stack((self.x0 + self.scale * places[:, 0], self.y0 - self.scale * places[:, 1]), axis=1)

    def pixels(self, place: tuple[float, float]) -> Pixels:
        """Return the position of a point, given in m, in the picture, px."""
        return float(self.x0 + self.scale * place[0]), float(self.y0 - self.scale * place[1])


Margins = tuple[float, float, float, float]
"""Margins around the drawing, px: left, top, right, bottom."""


def fit(places: Matrix, more: Matrix, size: tuple[float, float], margins: Margins, least: float) -> View:
    """Return a view in which all points lie within the margins, as large as `size`, px, allows.

    The points are `places`, (P, 2), m, and `more`, (R, 4): each row is a point (x, y), m, and an offset (right, down),
    px. The picture is at least `least` pixels wide.
    """
    left, top, right, bottom = margins
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.maximum(high - low, 1e-12 * max(1.0, float(np.abs(places).max())))
    scale = float(min(size[0] / span[0], size[1] / span[1]))
    x = np.concatenate((scale * places[:, 0], scale * more[:, 0] + more[:, 2]))
    y = np.concatenate((-scale * places[:, 1], -scale * more[:, 1] + more[:, 3]))
    width = left + float(x.max() - x.min()) + right
    height = top + float(y.max() - y.min()) + bottom
    pad = max(0.0, (least - width) / 2)
    origin = left + pad - float(x.min()), top - float(y.min())
    return View(scale, *origin, float(np.ceil(width + 2 * pad)), float(np.ceil(height)), (top, bottom))
