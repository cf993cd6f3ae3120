"""A ball joint: r_b = r_a."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.element import BALL, Joint, coincide


class Spherical(Joint):
    """Points a and b stay together, and b turns freely."""

    only = 3, "Revolute"
    moves = (BALL,)

    def holonomic(self) -> Mapping[str, Any]:
        """x, y, z."""
        return coincide(self.a, self.b)
