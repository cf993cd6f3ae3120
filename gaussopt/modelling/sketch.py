"""Shapes for the picture of a mechanism at one configuration.

A sketch is a function of the coordinates and the parameters that returns shapes, in metres, x to the right and y up:

    def sketch(q, p):
        tip = along((0.0, 0.0), p["l"], q[0])
        return Bearing((0.0, 0.0), "O"), Bar((0.0, 0.0), tip, "l"), Point(tip, "A", trace=True)

The number and kinds of shapes are the same at all configurations. Labels are symbols as in formulas; text after
an underscore is a subscript. `Angle`, `Length`, `Force`, `Torque` and `Axes` belong to the labelled drawing only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput, UnknownName, one_line
from gaussopt.core.system import Outline

Place = tuple[float, float]
"""A point of the plane, m."""

SIDES = {
    "e": (1, 0), "ne": (1, 1), "n": (0, 1), "nw": (-1, 1), "w": (-1, 0), "sw": (-1, -1), "s": (0, -1), "se": (1, -1),
}  # fmt: skip
"""Vectors from a point to its label, x to the right and y up."""


def along(start: Place, length: float, angle: float) -> Place:
    """Return the point at a distance (m) from `start`, in a direction (rad, from the x axis)."""
    return start[0] + length * math.cos(angle), start[1] + length * math.sin(angle)


def between(a: Place, b: Place, share: float = 0.5) -> Place:
    """Return the point at a fraction `share` of the way from a to b, by default the midpoint."""
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


# -- bodies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """A straight rigid link; the label is next to its middle."""

    start: Place
    end: Place
    label: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangular body with a given centre, rotated by an angle (rad)."""

    centre: Place
    width: float
    height: float
    angle: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """A round body with a mark that shows its angle (rad)."""

    centre: Place
    radius: float
    angle: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Blade:
    """A knife edge, seen from above; the body can move only along it."""

    centre: Place
    length: float
    angle: float
    label: str = ""


# -- joints and supports -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pin:
    """A hinge between bodies."""

    at: Place
    label: str = ""
    side: str = "ne"


@dataclass(frozen=True, slots=True)
class Bearing:
    """A hinge on the ground."""

    at: Place
    label: str = ""
    side: str = "nw"


@dataclass(frozen=True, slots=True)
class Spring:
    """A coil spring."""

    start: Place
    end: Place
    label: str = ""


@dataclass(frozen=True, slots=True)
class Damper:
    """A dashpot; its cylinder is at the start."""

    start: Place
    end: Place
    label: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """An unbounded straight surface through a point, at an angle (rad); solid on its right in that direction."""

    at: Place
    angle: float = 0.0


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight surface from start to end; solid on the right of this direction."""

    start: Place
    end: Place


# -- points ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """A point with a label; `trace` draws its path."""

    at: Place
    label: str = ""
    side: str = "ne"
    trace: bool = False


@dataclass(frozen=True, slots=True)
class ContactPoint:
    """The point at which a contact's forces act on the body: lam_N along `normal`, lam_T along `tangent`.

    Attributes
    ----------
    name : name of the contact in the system
    at : Place
    normal, tangent : unit vectors; the normal points from the ground into the body
    other : Place, optional, for a two-sided contact: the point on the opposite wall, where the force acts if lam_N < 0
    """

    name: str
    at: Place
    normal: Place = (0.0, 1.0)
    tangent: Place = (1.0, 0.0)
    other: Place | None = None


# -- shapes of the labelled drawing only -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Angle:
    """An angle about a point, from one direction to another (rad), drawn as an arrow."""

    at: Place
    start: float
    end: float
    label: str


@dataclass(frozen=True, slots=True)
class Length:
    """A dimension line between two points, offset by `aside` (m) to the left of the direction from first to second."""

    start: Place
    end: Place
    label: str
    aside: float = 0.0


@dataclass(frozen=True, slots=True)
class Force:
    """An arrow that starts at a point: a force, a weight, a velocity; `angle` in rad."""

    at: Place
    angle: float
    label: str


@dataclass(frozen=True, slots=True)
class Torque:
    """A circular arrow about a point, anticlockwise."""

    at: Place
    label: str


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of the coordinates; `angle` (rad) is that between the horizontal and the first axis."""

    at: Place
    angle: float = 0.0
    labels: tuple[str, str] = ("x", "y")


Shape = (
    Bar | Block | Disk | Blade | Pin | Bearing | Spring | Damper | Ground | Wall | Point | ContactPoint
    | Angle | Length | Force | Torque | Axes
)  # fmt: skip
KINDS: tuple[type, ...] = Shape.__args__
NOTES = (Angle, Length, Force, Torque, Axes)
"""Shapes that only the labelled drawing shows."""

SIZES = ("radius", "width", "height", "length")
"""Attributes of shapes that must not be negative, m."""

Parameters = Mapping[str, float]
Draw = Callable[[Vector, Parameters], Sequence[Shape]]


def chain(origin: Place, *links: tuple[float, float], labels: str = "") -> tuple[Shape, ...]:
    """Return bars hinged end to end, the first on a bearing, with the path of the last end.

    Parameters
    ----------
    origin : Place of the bearing
    links : (length in m, angle in rad from the x axis) of each bar
    labels : labels of the hinges and of the end, in order; none if not given
    """
    names = [*labels, *[""] * (len(links) + 1 - len(labels))]
    bars: list[Shape] = []
    joints: list[Shape] = [Bearing(origin, names[0])]
    here = origin
    for i, (length, angle) in enumerate(links):
        there = along(here, length, angle)
        bars.append(Bar(here, there))
        last = i + 1 == len(links)
        joints.append(Point(there, names[i + 1], trace=True) if last else Pin(there, names[i + 1]))
        here = there
    return *bars, *joints


def outlined(outline: Outline) -> tuple[Shape, ...]:
    """Return the shapes of a system without a sketch: floor, rods, bearings, pins, contact points, paths of points."""
    floor: list[Shape] = [Ground((0.0, 0.0))] if outline.contacts else []
    return (
        *floor, *(Bar(a, b) for a, b in outline.rods), *(Bearing(at) for at in outline.bearings),
        *(Pin(at) for at in outline.pins), *(Point(at, trace=True) for at in outline.points),
        *(ContactPoint(name, at) for name, at in outline.contacts.items()),
    )  # fmt: skip


# -- the sketch of a problem -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sketch:
    """The picture of a mechanism as a function of its configuration.

    Attributes
    ----------
    draw : (q, parameters) -> shapes
    pose : parameters -> q, optional, the configuration of the labelled drawing; by default the start of the problem
    """

    draw: Draw
    pose: Callable[[Parameters], Vector] | None = None

    def shapes(self, q: Vector, parameters: Parameters, owner: str = "the problem") -> tuple[Shape, ...]:
        """Return the shapes at a configuration.

        Raises BadInput if the function fails, returns nothing, or returns anything but finite shapes.
        """
        try:
            found = tuple(self.draw(q, parameters))
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            text = one_line(error).rstrip(".")
            said = f"{type(error).__name__}: {text}" if text else type(error).__name__
            raise BadInput(f"The sketch of {owner} raised {said}.") from error
        if not found:
            raise BadInput(f"The sketch of {owner} returned no shapes; return what there is to see, such as a Disk.")
        return tuple(_checked(shape, owner) for shape in found)


def as_sketch(given: Any) -> Sketch:
    """Return `given`, a sketch or a drawing function, as a Sketch; raises BadInput."""
    if isinstance(given, Sketch):
        return given
    if not callable(given):
        raise BadInput(f"sketch is a {type(given).__name__}; give a function of (q, parameters) that returns shapes.")
    return Sketch(given)


_ENTRIES = {kind: tuple((entry.name, str(entry.type)) for entry in fields(kind)) for kind in KINDS}
"""Names and annotations of the fields of each kind of shape."""


def _checked(shape: Any, owner: str) -> Any:
    """Return a shape with all numbers as floats and all points as pairs of floats; raise BadInput for anything else."""
    kind = next((kind for kind in (type(shape), *KINDS) if kind in _ENTRIES and isinstance(shape, kind)), None)
    if kind is None:
        raise BadInput(
            f"The sketch of {owner} returned a {type(shape).__name__}; "
            "it must return shapes of gaussopt.modelling.sketch."
        )
    where = f"of a {type(shape).__name__} in the sketch of {owner}"
    plain: dict[str, Any] = {}
    for name, annotation in _ENTRIES[kind]:
        value = getattr(shape, name)
        if "str" in annotation:
            if not all(isinstance(text, str) for text in (value if annotation.startswith("tuple") else (value,))):
                raise BadInput(f"{name} {where} is no text.")
            if name == "side" and value not in SIDES:
                raise UnknownName("side of a label", value, SIDES)
        elif value is not None:
            number = _numbers(value, "Place" in annotation)
            if number is None:
                expected = "two finite numbers" if "Place" in annotation else "a finite number"
                raise BadInput(f"{name} {where} is {value!r}; expected {expected}.")
            if name in SIZES and number < 0:
                raise BadInput(f"{name} {where} is {value!r}; it must not be negative.")
            if number is not value:
                plain[name] = number
    return replace(shape, **plain) if plain else shape


def _numbers(value: Any, pair: bool) -> Any:
    """Return a value as a finite float or, if `pair`, a pair of finite floats; None if that is impossible."""
    if pair and isinstance(value, tuple) and len(value) == 2:
        found = tuple(_numbers(x, False) if isinstance(x, float) else None for x in value)
        if None not in found:
            return value
    elif isinstance(value, float):
        return value if not pair and math.isfinite(value) else None
    try:
        number = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if number.shape != ((2,) if pair else ()) or not np.isfinite(number).all():
        return None
    return tuple(number.tolist()) if pair else float(number)


def segments(shape: Shape) -> tuple[Place, ...]:
    """Return the points that a picture must contain to show the shape, m."""
    match shape:
        case Bar() | Spring() | Damper() | Wall():
            return shape.start, shape.end
        case Length():
            (x, y), (u, v) = shape.start, shape.end
            size = math.hypot(u - x, v - y) or 1.0
            dx, dy = -shape.aside * (v - y) / size, shape.aside * (u - x) / size
            return (x + dx, y + dy), (u + dx, v + dy)
        case Block():
            c, s, w, h = math.cos(shape.angle), math.sin(shape.angle), shape.width / 2, shape.height / 2
            x, y = shape.centre
            return tuple((x + a * w * c - b * h * s, y + a * w * s + b * h * c) for a in (-1, 1) for b in (-1, 1))
        case Disk():
            (x, y), r = shape.centre, shape.radius
            return (x - r, y - r), (x + r, y + r)
        case Blade():
            return tuple(along(shape.centre, side * shape.length / 2, shape.angle) for side in (-1, 1))
        case _:
            return (shape.at,)


def words(label: str) -> str:
    """Return a label without underscores, for use in a sentence."""
    return label.replace("_", "")
