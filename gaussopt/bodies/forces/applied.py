"""Given loads: a force between two points (a thruster, air drag), and a torque between two bodies (a motor)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.bodies.body import TIME, End, Vec, column, rate, scalar, total
from gaussopt.bodies.element import Element, angle, offset, turn


class _Applied(Element):
    """An action on b with its reaction on a, given as values or as a function that returns them."""

    def __init__(self, name: str, a: End, b: End, value: Any | Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name, a, b)
        self._given = value
        self.value  # noqa: B018  raises BadInput now if the value is wrong

    @property
    @abstractmethod
    def value(self) -> Any:
        """The force or torque on b."""


class AppliedForce(_Applied):
    """A force on b and its reaction on a, N, in the frame of the ground.

    Parameters
    ----------
    value : dim components, or a function (t, d, d') of SymPy expressions that returns them, with d = r_b - r_a, m
    """

    @property
    def value(self) -> Vec:
        """The force on b, N."""
        found = self.told(self._given, TIME, offset(self.a, self.b), self.b.rate - self.a.rate)
        return column(f"The force {self.name!r}", found, self.a.body.dim)

    def forces(self) -> Mapping[Any, Any]:
        """Return the generalised forces, by virtual work."""
        return total((self.a.pulled_by(-self.value), self.b.pulled_by(self.value)))


class AppliedTorque(_Applied):
    """A torque on b and its reaction on a, N m.

    Parameters
    ----------
    value : a number or an expression (in space three components in the frame of the ground), or a function of SymPy
        expressions that returns them. In the plane it takes (t, angle, rate), with the angle from the axis of a to the
        axis of b, rad; in space (t, R, omega), with the axes R of b in the axes of a, (3, 3), and the angular velocity
        of b relative to a in the frame of the ground, (3, 1), rad/s
    """

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
