"""A shaft in a sleeve: n_a . (r_b - r_a) = 0 and n_a . u_b = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.bodies.element import SLIDE, TURN, Joint, on_axis, same_axis, same_way


class Cylindrical(Joint):
    """b slides along the axis of a and turns about it."""

    only = 3, "Slot"
    moves = SLIDE, TURN

    def holonomic(self) -> Mapping[str, Any]:
        """across, across2, tilt1, tilt2."""
        return on_axis(self.a, self.b) | same_axis(self.a, self.b)

    def sides(self) -> Sequence[Any]:
        """Of the axes, in space."""
        return same_way(self.a, self.b, 1)
