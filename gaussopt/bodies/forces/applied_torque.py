"""A torque between two bodies: tau on b, -tau on a, such as a motor, friction, a torsion spring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.bodies.body import TIME, End, column, rate, scalar, total
from gaussopt.bodies.element import Element, angle, turn


class AppliedTorque(Element):
    """A torque on b and its reaction on a, N m.

    Parameters
    ----------
    value : a number or an expression (in space three components in the frame of the ground), or a function of SymPy
        expressions that returns them. In the plane it takes (t, angle, rate), with the angle from the axis of a to the
        axis of b, rad; in space (t, R, omega), with the axes R of b in the axes of a, (3, 3), and the angular velocity
        of b relative to a in the frame of the ground, (3, 1), rad/s
    """

    def __init__(self, name: str, a: End, b: End, value: Any | Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name, a, b)
        self._given = value
        self.value  # noqa: B018  raises BadInput now if the value is wrong

    @property
    def value(self) -> Any:
        """The torque on b, N m."""
        if self.a.body.dim == 2:
            turned = angle(self.a, self.b)
            found = self.told(self._given, TIME, turned, rate(turned, self.bodies))
            return scalar(f"The torque {self.name!r}", found)
        first, second = self.bodies
        found = self.told(self._given, TIME, turn(self.a, self.b), second.spin - first.spin)
        return column(f"The torque {self.name!r}", found, 3)

    def forces(self) -> Mapping[Any, Any]:
        """Return the generalised forces, by virtual work."""
        return total((self.a.body.turned_by(-self.value), self.b.body.turned_by(self.value)))
