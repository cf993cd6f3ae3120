"""A force between two points: F on b, -F on a, such as a load, a thruster, air drag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gaussopt.bodies.body import TIME, End, Vec, column, total
from gaussopt.bodies.element import Element, offset


class AppliedForce(Element):
    """A force on b and its reaction on a, N, in the frame of the ground.

    Parameters
    ----------
    value : dim components, or a function (t, d, d') of SymPy expressions that returns them, with d = r_b - r_a, m
    """

    def __init__(self, name: str, a: End, b: End, value: Any | Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(name, a, b)
        self._given = value
        self.value  # noqa: B018  raises BadInput now if the value is wrong

    @property
    def value(self) -> Vec:
        """The force on b, N."""
        found = self.told(self._given, TIME, offset(self.a, self.b), self.b.rate - self.a.rate)
        return column(f"The force {self.name!r}", found, self.a.body.dim)

    def forces(self) -> Mapping[Any, Any]:
        """Return the generalised forces, by virtual work."""
        return total((self.a.pulled_by(-self.value), self.b.pulled_by(self.value)))
