"""Joints between rigid bodies, made from rows: coinciding points, parallel axes, a point on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

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
"""New axes, of which the first is the second of the previous axes."""


class Weld(Joint):
    """b does not move relative to a; rows x, y, angle, in space x, y, z, tilt1, tilt2, turn."""

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
        """Return the rows of the point and the row `cross`."""
        return {**super().holonomic(), "cross": self.a.axes[0].dot(self.b.axes[0])}


class Cylindrical(Joint):
    """A shaft in a sleeve: b slides along the axis of a and turns about it; rows across, across2, tilt1, tilt2."""

    only = 3, "Slot"
    keeps, aligned, moves = (on_axis, same_axis), 1, (SLIDE, TURN)


class Slot(Joint):
    """A pin in a slot: b stays on the line through a along its axis, and rotates freely.

    Row across; in space across, across2.
    """

    keeps: tuple[Keeps, ...] = (on_axis,)

    def displacement(self) -> Any:
        """Return the position of b along the axis of a, m."""
        return self.a.axes[0].dot(offset(self.a, self.b))


class Prismatic(Slot):
    """A guide: b slides along the axis of a and does not rotate relative to a.

    Rows across, angle; in space across, across2, tilt1, tilt2, turn.
    """

    keeps, aligned, moves = (on_axis, same_turn), 2, (SLIDE,)


class Revolute(Joint):
    """A hinge: points a and b stay together, and b turns about the axis of both.

    Rows x, y; in space x, y, z, tilt1, tilt2.
    """

    keeps, aligned, moves = (coincide, same_axis), 1, (TURN,)

    def displacement(self) -> Any:
        """Return the angle from the axis of a to that of b, rad."""
        if self.a.body.dim == 3:
            raise BadInput(f"The angle of {self.name!r} in space is not one function of quaternions; ask for `driven`.")
        return angle(self.a, self.b)

    def driven(self, motion: Any) -> Any:
        """Return, in space, 2 tan((s - motion) / 2) for the angle s, from the sine and cosine of s."""
        if self.a.body.dim == 2:
            return super().driven(motion)
        seen, sine, cosine = turn(self.a, self.b), sp.sin(motion), sp.cos(motion)
        return 2 * (seen[2, 1] * cosine - seen[1, 1] * sine) / (1 + seen[1, 1] * cosine + seen[2, 1] * sine)

    def shapes(self) -> Sequence[Shape]:
        """Return a bearing where one side is at rest, otherwise a pin."""
        return [(Bearing if held(self) else Pin)(tuple(self.a.r), self.name)]
