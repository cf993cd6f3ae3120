"""Joints between rigid bodies, made from rows: coinciding points, parallel axes, a point on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, rate
from gaussopt.bodies.element import (
    BALL,
    SLIDE,
    TURN,
    Joint,
    Keeps,
    angle,
    coincide,
    held,
    offset,
    on_axis,
    same_axis,
    same_turn,
    turn,
)
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import Bearing, Pin, Shape

CROSS = sp.Matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
"""Rotation of the axes by 90 degrees about the third axis: the second axis becomes the first."""


class Weld(Joint):
    """Body b does not move relative to a; rows x, y, angle; in space x, y, z, tilt1, tilt2, turn."""

    keeps, aligned, moves = (coincide, same_turn), 2, ()


class Spherical(Joint):
    """Points a and b stay together, and b rotates freely; rows x, y, z."""

    only = 3, "Revolute"
    keeps, moves = (coincide,), (BALL,)


class Universal(Joint):
    """Points a and b stay together, and their axes stay at right angles, u_a . u_b = 0; rows x, y, z, cross."""

    only = 3, "Revolute"
    keeps, moves = (coincide,), (TURN, CROSS, TURN)

    def holonomic(self) -> Mapping[str, Any]:
        """Return the constraints x, y, z and `cross`, which keeps the two axes at a right angle."""
        return {**super().holonomic(), "cross": self.a.axes[0].dot(self.b.axes[0])}


class Cylindrical(Joint):
    """A shaft in a sleeve: b slides along the axis of a and turns about it; rows across, across2, tilt1, tilt2."""

    only = 3, "Slot"
    keeps, aligned, moves = (on_axis, same_axis), 1, (SLIDE, TURN)


class Slot(Joint):
    """A pin in a slot: b stays on the line through a along its axis, and rotates freely.

    Its row is across; in space across, across2. In the plane `mu` is the coefficient of friction between the slot and
    the pin, a point; with friction, across is a two-sided contact with |lam_T| <= mu |lam_N|.
    """

    keeps: tuple[Keeps, ...] = (on_axis,)

    def __init__(self, name: str, a: End, b: End, mu: Any = 0) -> None:
        super().__init__(name, a, b)
        self.rub(mu)

    def walls(self) -> Mapping[str, tuple[Any, Any]]:
        """Return the gap and the slip of the pin at the wall of the slot."""
        return {"across": (self.a.axes[1].dot(offset(self.a, self.b)), rate(self.displacement(), self.bodies))}

    def displacement(self) -> Any:
        """Return the position of b along the axis of a, m."""
        return self.a.axes[0].dot(offset(self.a, self.b))


class Prismatic(Slot):
    """A guide: b slides along the axis of a and does not rotate relative to a.

    Rows: across, angle; in space across, across2, tilt1, tilt2, turn. In the plane `mu` is the coefficient of friction
    between slider and guide. If `length` is positive, the slider touches the guide at length / 2 behind and ahead of b,
    where across and angle become two-sided contacts, so that a moment on the slider adds to the friction and may jam
    it. If `length` is zero, only across is a contact, with |lam_T| <= mu |lam_N|, and the moment causes no friction.
    """

    keeps, aligned, moves = (on_axis, same_turn), 2, (SLIDE,)
    not_negative = ("length",)

    def __init__(self, name: str, a: End, b: End, mu: Any = 0, length: Any = 0) -> None:
        super().__init__(name, a, b)
        self.rub(mu)
        (self.length,) = self.scalars(length=length)

    def walls(self) -> Mapping[str, tuple[Any, Any]]:
        """Return the gap and the slip of the slider at b, or at each of its two ends."""
        if self.length == 0:
            return super().walls()
        (u, n), d, half = self.a.axes, offset(self.a, self.b), self.length / 2 * self.b.axes[0]
        ends = {"across": d - half, "angle": d + half}
        return {name: (n.dot(x), rate(u.dot(x), self.bodies)) for name, x in ends.items()}


class Revolute(Joint):
    """A hinge: points a and b stay together, and b turns about the axis of both.

    The rows are named x, y; in space x, y, z, tilt1, tilt2. In the plane `mu` is the coefficient of friction between a
    pin of `radius`, m, and two pairs of pads, one pair along each axis of a: the torque is at most mu radius (|F_x| +
    |F_y|) for the joint force F in the axes of a. The limit of a round bearing, mu radius |F|, is the same for a force
    along an axis of a, and down to 1/sqrt(2) times as large for other directions.
    """

    keeps, aligned, moves = (coincide, same_axis), 1, (TURN,)

    def __init__(self, name: str, a: End, b: End, mu: Any = 0, radius: Any = 0) -> None:
        super().__init__(name, a, b)
        self.rub(mu)
        (self.radius,) = self.scalars(radius=radius)
        if self.mu != 0 and self.radius == 0:
            raise BadInput(f"Revolute {name!r} has friction and no radius; give radius=..., that of its pin in m.")

    def walls(self) -> Mapping[str, tuple[Any, Any]]:
        """Return the gap of the pin at each pair of pads, and the slip of its rim there."""
        slip = self.radius * rate(angle(self.a, self.b), self.bodies)
        return {k: (x.dot(offset(self.a, self.b)), slip) for k, x in zip("xy", self.a.axes, strict=True)}

    def displacement(self) -> Any:
        """Return the angle from the axis of a to the axis of b, rad."""
        if self.a.body.dim == 3:
            raise BadInput(f"The angle of {self.name!r} in space is not one function of quaternions; ask for `driven`.")
        return angle(self.a, self.b)

    def free(self) -> tuple[Any, str]:
        """Return the angle from the axes of a to the axes of b; in space up to full turns."""
        if self.a.body.dim == 2:
            return self.displacement(), "rad"
        seen = turn(self.a, self.b)
        return sp.atan2(seen[2, 1], seen[1, 1]), "rad"

    def driven(self, motion: Any) -> Any:
        """Return a row that is zero where the angle is `motion`; in space it is 2 tan((angle - motion) / 2)."""
        if self.a.body.dim == 2:
            return super().driven(motion)
        seen, sine, cosine = turn(self.a, self.b), sp.sin(motion), sp.cos(motion)
        return 2 * (seen[2, 1] * cosine - seen[1, 1] * sine) / (1 + seen[1, 1] * cosine + seen[2, 1] * sine)

    def shapes(self) -> Sequence[Shape]:
        """Return a bearing if the body at either end has no coordinates, such as the ground, else a pin."""
        return [(Bearing if held(self) else Pin)(tuple(self.a.r), self.name)]
