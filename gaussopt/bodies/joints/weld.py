"""A rigid connection: r_b = r_a, and all axes stay parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaussopt.bodies.element import Joint, coincide, same_turn, same_way


class Weld(Joint):
    """b does not move against a."""

    moves = ()

    def holonomic(self) -> Mapping[str, Any]:
        """x, y, angle; in space x, y, z, tilt1, tilt2, turn."""
        return coincide(self.a, self.b) | same_turn(self.a, self.b)

    def sides(self) -> Sequence[Any]:
        """Of all axes, in space."""
        return same_way(self.a, self.b, 2)
