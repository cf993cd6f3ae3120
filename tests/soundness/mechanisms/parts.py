"""What a mechanism is for the judge: bodies, points with axes, joints, forces, and a state of all bodies.

All numbers are fixed-point ones (`fixed`). Bodies of the plane are bodies of space that keep their plane: their
velocities have the components x, y and the turn about z only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import mpmath as mp
import numpy as np

from .fixed import BITS, ONE, Array, cross, dot, floats, identity, rotation, unit, zeros

mp.mp.prec = BITS
GROUND = -1
SPACE = {
    "revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "spherical": 3, "weld": 0, "slot": 4,
    "distance": 5, "rolling": 3, "gear": 5, "row": 5, "drive": 5,
    "free": 6,
}  # fmt: skip
"""Joints of space and the freedoms that each leaves."""
PLANE = {
    "revolute": 1, "prismatic": 1, "slot": 2, "weld": 0, "distance": 2, "rolling": 1, "gear": 2, "row": 2, "drive": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Body:
    """Mass and inertia about the centre of mass, (3, 3), in the frame of the body."""

    mass: int
    inertia: Array
    particle: bool = False


@dataclass(frozen=True)
class Point:
    """A point of a body with axes, columns of A (3, 3), both in the frame of the body."""

    body: int
    s: Array
    A: Array


@dataclass(frozen=True)
class Joint:
    """`kind` of `SPACE` or `PLANE`; `number` is a length, a radius, a ratio; `more` what else a kind takes."""

    kind: str
    name: str
    a: Point
    b: Point
    number: int = 0
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Force:
    """A force element between two points, with its constants by name."""

    kind: str
    name: str
    a: Point
    b: Point
    constants: dict[str, Any]


@dataclass
class State:
    """Places (k, 3), unit quaternions (k, 4), velocities of the centres and angular velocities (k, 3), time."""

    r: Array
    e: Array
    v: Array
    w: Array
    t: int = 0
    turns: tuple[int, ...] = ()
    """In the plane, full turns of each body beside its quaternion; none where not given."""

    def __post_init__(self) -> None:
        self.turns = self.turns or (0,) * len(self.r)
        self.R = [rotation(e) for e in self.e]


@dataclass
class Mechanism:
    """Bodies, joints, forces, gravity (3,) and the state for which it was made."""

    dim: int
    bodies: list[Body]
    joints: list[Joint]
    forces: list[Force]
    gravity: Array
    state: State
    dials: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[int]:
        """The components of all velocities that bodies have."""
        each = (0, 1, 5) if self.dim == 2 else range(6)
        return [6 * i + k for i, body in enumerate(self.bodies) for k in each if not (body.particle and k > 2)]

    def at(self, state: State) -> Mechanism:
        return replace(self, state=state)


NOWHERE = zeros(3)


class Seen:
    """A point in a state: place, arm from the centre, axes, velocity and the part of the acceleration without rates."""

    def __init__(self, point: Point, state: State) -> None:
        self.body, self.A = point.body, point.A
        if point.body == GROUND:
            self.p, self.arm, self.axes = point.s, point.s, point.A.T
            self.v = self.w = self.bias = NOWHERE
            return
        R, self.state = state.R[point.body], state
        self.arm = dot(R, point.s)
        self.p = state.r[point.body] + self.arm
        self.axes = dot(R, point.A).T
        self.w = state.w[point.body]
        turning = cross(self.w, self.arm)
        self.v = state.v[point.body] + turning
        self.bias = cross(self.w, turning)

    def rate(self, axis: Array) -> Array:
        """Of an axis."""
        return cross(self.w, axis)

    @property
    def turned(self) -> int:
        """In the plane, the angle of the first axis, counted from that of the body through full turns."""
        own = 0 if self.body == GROUND else turned(self.state, self.body)
        return own + of_tangent(self.A[1, 0], self.A[0, 0])


FULL = int(mp.floor(mp.ldexp(2 * mp.pi, BITS)))
"""A full turn."""


def turned(state: State, body: int) -> int:
    """The angle of a body in the plane, with its full turns."""
    return 2 * of_tangent(state.e[body][3], state.e[body][0]) + FULL * state.turns[body]


def of_tangent(y: int, x: int) -> int:
    """The angle of a direction of the plane, in (-pi, pi]."""
    return int(mp.floor(mp.ldexp(mp.atan2(mp.mpf(y), mp.mpf(x)), BITS)))


def axes(first: Array, second: Array) -> Array:
    """Axes by the direction of the first and one that the second is near, as columns."""
    first = unit(first)
    second = unit(second - (first * int(dot(first, second)) >> 256))
    return np.array([first, second, cross(first, second)], dtype=object).T


def point_of(state: State, body: int, place: Array, frame: Array) -> Point:
    """The point of a body that is at a place of the ground, with axes that are those columns there."""
    if body == GROUND:
        return Point(body, place, frame)
    back = state.R[body].T
    return Point(body, dot(back, place - state.r[body]), dot(back, frame))


__all__ = ["ONE", "PLANE", "SPACE", "Body", "Force", "Joint", "Mechanism", "Point", "Seen", "State", "floats",
           "identity", "of_tangent", "turned"]  # fmt: skip
