"""Marks on a picture, and parts: groups of marks that move together. Unit: pixels, x to the right and y down.

A part is drawn once and then placed: shifted, turned and stretched, at every frame. One frame makes a still picture,
many make an animation. Nothing here has an id, a script or a reference, so that pictures may share a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

import numpy as np

from gaussopt.core.step_data import Vector
from gaussopt.reporting.colours import INK, WHITE

Pixels = tuple[float, float]

LETTER = 17.0
"""Size of the letters of formulas."""


# -- marks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stroke:
    """Lines, or areas where `fill` is given; `rigid` lines keep their width when the part is stretched."""

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
    """A text; what follows an underscore is a subscript, up to the next space. `anchor`: start, middle or end."""

    at: Pixels
    text: str
    anchor: str = "middle"
    size: float = LETTER
    colour: str = INK
    letter: bool = True

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """Parts of the text and whether they are subscripts."""
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
    marks : in pixels of the part
    x, y : (F,) or float
        Where the part's origin is at each frame.
    angle : (F,) or float
        Clockwise on the screen, degrees.
    sx, sy : (F,) or float
        Stretching along the part's own axes.
    shown : (F,) or float
        1 where it is drawn, 0 where it is not.
    """

    marks: tuple[Mark, ...]
    x: Vector | float = 0.0
    y: Vector | float = 0.0
    angle: Vector | float = 0.0
    sx: Vector | float = 1.0
    sy: Vector | float = 1.0
    shown: Vector | float = 1.0

    def at(self, frame: int) -> tuple[float, float, float, float, float, float]:
        """x, y, angle, sx, sy and shown of a frame."""
        values = (self.x, self.y, self.angle, self.sx, self.sy, self.shown)
        return tuple(float(v if np.ndim(v) == 0 else np.asarray(v)[frame]) for v in values)  # type: ignore[return-value]


def fixed(*marks: Mark) -> Part:
    """Marks that stay where they are."""
    return Part(marks)


# -- SVG -----------------------------------------------------------------------------------------------------


def number(value: float, digits: int = 1) -> str:
    """Format a number to so many decimals, without trailing zeros."""
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


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
    """Escape a text for elements and attributes, with its quotes, so that a picture may stand in an attribute."""
    return escape(text, {'"': "&quot;", "'": "&#39;"})


def _word_svg(word: Word) -> str:
    style = 'font-family="serif" font-style="italic"' if word.letter else 'font-family="sans-serif"'
    pieces = []
    drop = 0.0
    for text, below in word.pieces():
        if below:
            drop = 0.28 * word.size
            small = number(0.7 * word.size)
            pieces.append(f'<tspan dy="{number(drop)}" font-size="{small}">{_escaped(text)}</tspan>')
        elif text and drop:
            pieces.append(f'<tspan dy="{number(-drop)}">{_escaped(text)}</tspan>')
            drop = 0.0
        elif text:
            pieces.append(_escaped(text))
    x, y = word.at
    # A white rim keeps letters readable over lines.
    return (
        f'<text x="{number(x)}" y="{number(y)}" {style} font-size="{number(word.size)}" text-anchor="{word.anchor}" '
        f'fill="{word.colour}" stroke="{WHITE}" stroke-width="3" stroke-linejoin="round" paint-order="stroke">'
        f"{''.join(pieces)}</text>"
    )


def placed(part: Part, frame: int = 0) -> str:
    """Write a part at one frame as SVG; "" where it is not drawn."""
    x, y, angle, sx, sy, shown = part.at(frame)
    if not shown or sx == 0 or sy == 0:
        return ""
    moves = [f"translate({pair(x, y)})"] if x or y else []
    moves += [f"rotate({number(angle, 2)})"] if angle else []
    moves += [f"scale({pair(sx, sy, 3)})"] if (sx, sy) != (1.0, 1.0) else []
    marks = "".join(mark_svg(m) for m in part.marks)
    return f'<g transform="{" ".join(moves)}">{marks}</g>' if moves else marks


def page(body: Sequence[str], width: float, height: float, label: str, extra: str = "") -> str:
    """A whole SVG file on white, with its text alternative."""
    size = f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{_escaped(label)}"{extra}>'
    ground = f'<rect width="{number(width)}" height="{number(height)}" fill="{WHITE}"/>'
    return "\n".join([head, ground, *(b for b in body if b), "</svg>"]) + "\n"


# -- from metres to pixels -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class View:
    """Map from the plane (m) to the picture (px): pixels per metre, and the place of the origin."""

    scale: float
    x0: float
    y0: float
    width: float
    height: float
    clear: tuple[float, float] = field(default=(0.0, 0.0))
    """Rows of pixels above and below that grounds leave free."""

    def px(self, x: Vector) -> Vector:
        """Columns of abscissae, px."""
        return np.asarray(self.x0 + self.scale * np.asarray(x))

    def py(self, y: Vector) -> Vector:
        """Rows of ordinates, px."""
        return np.asarray(self.y0 - self.scale * np.asarray(y))

    def pixels(self, place: tuple[float, float]) -> Pixels:
        """Column and row of a point (m), px."""
        return float(self.px(np.float64(place[0]))), float(self.py(np.float64(place[1])))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Margins:
    """Pixels around what is drawn."""

    left: float
    top: float
    right: float
    bottom: float


def fit(
    places: np.ndarray, size: tuple[float, float], margins: Margins, more: np.ndarray | None = None,
    least: float = 0.0,
) -> View:  # fmt: skip
    """Choose a view in which all points lie within the margins, as large as a size (px) allows.

    Parameters
    ----------
    places : (P, 2), m
    more : (P, 4), optional
        Points that lie a fixed number of pixels from others: x, y in m and right, down in px.
    least : float
        Least width of the picture, px.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.maximum(high - low, 1e-12 * max(1.0, float(np.abs(places).max())))
    scale = float(min(size[0] / span[0], size[1] / span[1]))
    if more is not None and len(more):
        x = np.concatenate((scale * places[:, 0], scale * more[:, 0] + more[:, 2]))
        y = np.concatenate((-scale * places[:, 1], -scale * more[:, 1] + more[:, 3]))
    else:
        x, y = scale * places[:, 0], -scale * places[:, 1]
    width = margins.left + float(x.max() - x.min()) + margins.right
    pad = max(0.0, (least - width) / 2)
    return View(
        scale, margins.left + pad - float(x.min()), margins.top - float(y.min()), float(np.ceil(width + 2 * pad)),
        float(np.ceil(margins.top + float(y.max() - y.min()) + margins.bottom)), (margins.top, margins.bottom),
    )  # fmt: skip
