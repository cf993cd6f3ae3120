"""Parts of the picture of a mechanism in space: solids fixed to bodies, lines between bodies, contacts.

A body BODY is at its coordinates x_BODY, y_BODY, z_BODY, rotated by its quaternion e0_BODY to e3_BODY if it has one;
the ground is the body "". Points are given in the frame of their body, from its centre of mass, m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaussopt.core.arrays import Matrix, Vector

Place = Sequence[Any]
"""Three numbers, or, in a model, three expressions of its parameters."""


@dataclass(frozen=True)
class Box:
    """A box with centre `at`; its `edges` (m) are along the axes of its body, rotated by the quaternion `turn`."""

    edges: Place
    at: Place = (0, 0, 0)
    turn: Place = (1, 0, 0, 0)


@dataclass(frozen=True)
class Ball:
    """A ball centred at `at`."""

    radius: Any
    at: Place = (0, 0, 0)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder between the centres of its ends."""

    radius: Any
    start: Place
    end: Place


@dataclass(frozen=True)
class Capsule:
    """A cylinder with a hemisphere at each end; start and end are the centres of the hemispheres."""

    radius: Any
    start: Place
    end: Place


@dataclass(frozen=True)
class Plane:
    """An unbounded plane, drawn as large as the motion requires."""

    at: Place
    normal: Place


Solid = Box | Ball | Cylinder | Capsule | Plane
SOLIDS: tuple[type, ...] = Solid.__args__
End = tuple[str, Place]
"""A body and a point fixed to it."""


@dataclass(frozen=True)
class Line:
    """A line between points: a "rod", "spring" or "damper" connects two bodies, a "link" lies within one body."""

    kind: str
    start: End
    end: End


@dataclass(frozen=True)
class FaceContact:
    """A contact of a ball or a point b with a face of a; the rows of `frame` are n, t1, t2 in the frame of a."""

    name: str
    a: str
    frame: Any
    b: End
    radius: Any = 0


@dataclass(frozen=True)
class BallContact:
    """A contact of two balls: n points from a to b; t1 is normal to n and to `across`, or to any axis if it is ()."""

    name: str
    a: End
    b: End
    radius: Any
    across: Place = ()


@dataclass(frozen=True)
class SpacePicture:
    """A mechanism in space as it is drawn.

    Attributes
    ----------
    solids : pairs of a body's name and a solid
    lines : lines between points of bodies
    joints : for each joint, by name, the body and point on which the multipliers of its rows x, y, z act
    contacts : where contact forces act, and their directions
    up : upward direction of the picture, (3,)
    moving : for each frame or body without coordinates, by name, a function that takes the instants (F,) and a mapping
        of coordinate names to their values (F,), and returns positions and quaternions, (F, 7)
    """

    solids: Sequence[tuple[str, Solid]]
    lines: Sequence[Line] = ()
    joints: Mapping[str, End] = field(default_factory=dict)
    contacts: Sequence[FaceContact | BallContact] = ()
    up: Place = (0, 0, 1)
    moving: Mapping[str, Callable[[Vector, Mapping[str, Vector]], Matrix]] = field(default_factory=dict)
