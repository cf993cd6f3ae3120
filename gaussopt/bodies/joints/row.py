"""A constraint of one's own: any expression of the coordinates of two bodies that is zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.body import End
from gaussopt.bodies.element import Joint


class Row(Joint):
    """An expression of coordinates, and of velocities where `velocity` says so, that is zero."""

    def __init__(self, name: str, a: End, b: End, expression: Any, velocity: bool = False) -> None:
        super().__init__(name, a, b)
        (self.expression,), self.velocity = self.scalars(expression=expression), velocity

    def holonomic(self) -> Mapping[str, Any]:
        """Row."""
        return {} if self.velocity else {"row": self.expression}

    def nonholonomic(self) -> Mapping[str, Any]:
        """Row."""
        return {"row": self.expression} if self.velocity else {}
