"""A torque between two bodies: tau on b, -tau on a; a motor, a friction, a torsion spring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from gaussopt.bodies.body import TIME, End, column, rate, total
from gaussopt.bodies.element import Element, angle


class AppliedTorque(Element):
    """A torque on b against a, N m.

    Parameters
    ----------
    value : a number or an expression; in the plane also a function (t, angle, rate) of SymPy expressions that returns
        one, the angle from the axis of a to that of b, rad; in space three components in the frame of the ground
    """

    def __init__(self, name: str, a: End, b: End, value: Any | Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name, a, b)
        turned = angle(self.a, self.b) if callable(value) else 0
        found = value(TIME, turned, rate(turned, self.bodies)) if callable(value) else value
        self.value = sp.sympify(found) if self.a.body.dim == 2 else column(f"The torque {name!r}", found, 3)

    def forces(self) -> Mapping[Any, Any]:
        """By virtual work."""
        return total((self.a.body.turned_by(-self.value), self.b.body.turned_by(self.value)))
