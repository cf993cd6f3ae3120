"""A hinge: r_b = r_a; in space n_a . u_b = 0 beside, so that b turns about the common axis u only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.bodies.element import TURN, Joint, angle, coincide, held, same_axis
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import Bearing, Pin, Shape


class Revolute(Joint):
    """Points a and b stay together, and b turns about the axis of both."""

    moves = (TURN,)

    def holonomic(self) -> Mapping[str, Any]:
        """x, y; in space x, y, z, tilt1, tilt2."""
        return coincide(self.a, self.b) | same_axis(self.a, self.b)

    def displacement(self) -> Any:
        """The angle from the axis of a to that of b, rad."""
        if self.a.body.dim == 3:
            raise BadInput(f"The angle of {self.name!r} is not one function of quaternions; drive joints in the plane.")
        return angle(self.a, self.b)

    def shapes(self) -> Sequence[Shape]:
        """A bearing where one side is at rest, otherwise a pin."""
        return [(Bearing if held(self) else Pin)(tuple(self.a.r), self.name)]
