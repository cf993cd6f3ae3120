"""A cardan joint: r_b = r_a, u_a . u_b = 0 for the axes of its cross."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.element import Joint, coincide


class Universal(Joint):
    """Points a and b stay together, and the axis of b stays at a right angle to that of a."""

    only = 3, "Revolute"

    def holonomic(self) -> Mapping[str, Any]:
        """x, y, z, cross."""
        return coincide(self.a, self.b) | {"cross": self.a.axes[0].dot(self.b.axes[0])}
