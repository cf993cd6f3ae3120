"""A shaft in a sleeve: n_a . (r_b - r_a) = 0 and n_a . u_b = 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.element import SLIDE, TURN, Joint, on_axis, same_axis


class Cylindrical(Joint):
    """b slides along the axis of a and turns about it."""

    only = 3, "Slot"
    moves = SLIDE, TURN

    def holonomic(self) -> Mapping[str, Any]:
        """across, across2, tilt1, tilt2."""
        return on_axis(self.a, self.b) | same_axis(self.a, self.b)
