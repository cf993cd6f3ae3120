"""A guide without turning: n_a . (r_b - r_a) = 0, and the axes of both stay parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.bodies.element import SLIDE, Joint, offset, on_axis, same_turn, same_way


class Prismatic(Joint):
    """b slides along the axis of a and does not turn against a."""

    moves = (SLIDE,)

    def holonomic(self) -> Mapping[str, Any]:
        """across, angle; in space across, across2, tilt1, tilt2, turn."""
        return on_axis(self.a, self.b) | same_turn(self.a, self.b)

    def sides(self) -> Sequence[Any]:
        """Of all axes, in space."""
        return same_way(self.a, self.b, 2)

    def displacement(self) -> Any:
        """How far b is along the axis of a, m."""
        return self.a.axes[0].dot(offset(self.a, self.b))
