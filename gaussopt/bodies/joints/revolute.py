"""A hinge: r_b = r_a; in space n_a . u_b = 0 beside, so that b turns about the common axis u only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.element import TURN, Joint, angle, coincide, held, same_axis, same_way, turn
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import Bearing, Pin, Shape


class Revolute(Joint):
    """Points a and b stay together, and b turns about the axis of both."""

    moves = (TURN,)

    def holonomic(self) -> Mapping[str, Any]:
        """x, y; in space x, y, z, tilt1, tilt2."""
        return coincide(self.a, self.b) | same_axis(self.a, self.b)

    def sides(self) -> Sequence[Any]:
        """Of the axes, in space."""
        return same_way(self.a, self.b, 1)

    def displacement(self) -> Any:
        """The angle from the axis of a to that of b, rad."""
        if self.a.body.dim == 3:
            raise BadInput(f"The angle of {self.name!r} in space is not one function of quaternions; ask for `driven`.")
        return angle(self.a, self.b)

    def driven(self, motion: Any) -> Any:
        """In space 2 tan((s - motion) / 2) with the angle s, by its sine and cosine."""
        if self.a.body.dim == 2:
            return super().driven(motion)
        seen, sine, cosine = turn(self.a, self.b), sp.sin(motion), sp.cos(motion)
        return 2 * (seen[2, 1] * cosine - seen[1, 1] * sine) / (1 + seen[1, 1] * cosine + seen[2, 1] * sine)

    def shapes(self) -> Sequence[Shape]:
        """A bearing where one side is at rest, otherwise a pin."""
        return [(Bearing if held(self) else Pin)(tuple(self.a.r), self.name)]
