"""A torsion spring: V = 1/2 k (phi - phi_0)^2 with phi the angle from the axis of a to the axis of b, in the plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.body import End
from gaussopt.bodies.element import Element, angle


class Torsion(Element):
    """A torsion spring of stiffness k, N m/rad, relaxed at phi_0, rad."""

    only = 2, "Bushing"

    def __init__(self, name: str, a: End, b: End, stiffness: Any, relaxed: Any = 0) -> None:
        super().__init__(name, a, b)
        self.stiffness, self.relaxed = self.scalars(stiffness=stiffness, relaxed=relaxed)

    def potential(self) -> Any:
        """Return 1/2 k (phi - phi_0)^2."""
        return self.stiffness * (angle(self.a, self.b) - self.relaxed) ** 2 / 2

    def measured(self) -> Mapping[str, tuple[Any, str]]:
        """Return the angle phi, and the torque k (phi - phi_0) that the spring exerts on b towards phi_0."""
        turned = angle(self.a, self.b)
        return {"angle": (turned, "rad"), "torque": (self.stiffness * (turned - self.relaxed), "N m")}
