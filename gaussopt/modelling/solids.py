"""Parts of the picture of a mechanism in space: solids fixed to bodies, lines between them, contacts.

A body BODY is where its coordinates x_BODY, y_BODY, z_BODY are, turned by the quaternion e0_BODY to e3_BODY if it has
one; the ground is the body "". Places are in the frame of their body, from its centre of mass, m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaussopt.core.arrays import Matrix, Vector

Place = Sequence[Any]
"""Three numbers, or in a model expressions of its parameters."""


@dataclass(frozen=True)
class Box:
    """A box with its edges (m) along the axes of its body, turned by a quaternion, about a place."""

    edges: Place
    at: Place = (0, 0, 0)
    turn: Place = (1, 0, 0, 0)


@dataclass(frozen=True)
class Ball:
    """A ball about a place."""

    radius: Any
    at: Place = (0, 0, 0)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder from the centre of one end to that of the other."""

    radius: Any
    start: Place
    end: Place


@dataclass(frozen=True)
class Capsule:
    """A cylinder with a half ball on each end; start and end are the centres of the half balls."""

    radius: Any
    start: Place
    end: Place


@dataclass(frozen=True)
class Plane:
    """An unbounded plane, drawn as large as the motion needs."""

    at: Place
    normal: Place


Solid = Box | Ball | Cylinder | Capsule | Plane
SOLIDS: tuple[type, ...] = Solid.__args__
End = tuple[str, Place]
"""A body and a place on it."""


@dataclass(frozen=True)
class Line:
    """A straight line between points of two bodies: "rod", "spring", "damper", or "link" of a body itself."""

    kind: str
    start: End
    end: End


@dataclass(frozen=True)
class FaceContact:
    """The ball of radius R about b, or the point b, on a face of a; the rows of `frame` are n, t1, t2 in a's frame."""

    name: str
    a: str
    frame: Any
    b: End
    radius: Any = 0


@dataclass(frozen=True)
class BallContact:
    """Two balls; t1 is orthogonal to n, from a to b, and to `across`; if that is (), to the axis least along n."""

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
    solids : each with its body
    lines : between points of bodies
    joints : points in which a joint acts, by its name; its rows x, y, z, where it has them, are the force on the body
    contacts : where contact forces act, and their directions
    up : upward direction of the picture, (3,)
    moving : poses of frames and bodies without coordinates of their own, by name: functions of instants (F,) and
        columns of the coordinates by name that return places and quaternions, (F, 7)
    """

    solids: Sequence[tuple[str, Solid]]
    lines: Sequence[Line] = ()
    joints: Mapping[str, End] = field(default_factory=dict)
    contacts: Sequence[FaceContact | BallContact] = ()
    up: Place = (0, 0, 1)
    moving: Mapping[str, Callable[[Vector, Mapping[str, Vector]], Matrix]] = field(default_factory=dict)
