"""A spring and a damper between two points: V = 1/2 k (|d| - L0)^2, force -c |d|' d / |d| on b, with d = r_b - r_a."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, rate, total
from gaussopt.bodies.element import Element, coinciding, offset, spot
from gaussopt.modelling.sketch import Damper, Shape
from gaussopt.modelling.sketch import Spring as Coil
from gaussopt.modelling.solids import Line


class SpringDamper(Element):
    """A spring of stiffness k, N/m, relaxed at the length L0, m, and a damper c, N s/m; k or c may be zero."""

    def __init__(self, name: str, a: End, b: End, stiffness: Any = 0, length: Any = 0, damping: Any = 0) -> None:
        super().__init__(name, a, b)
        given = self.scalars(stiffness=stiffness, length=length, damping=damping)
        self.stiffness, self.relaxed, self.damping = given

    @property
    def length(self) -> Any:
        """Length |d|, m."""
        d = offset(self.a, self.b)
        return sp.sqrt(d.dot(d))

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """Return the distance as a divisor, except for a spring of relaxed length zero without damper."""
        return () if self.relaxed == 0 and self.damping == 0 else [coinciding(self.name, self.length)]

    def potential(self) -> Any:
        """Return 1/2 k (|d| - L0)^2; without the square root if L0 is zero."""
        if self.relaxed == 0:
            d = offset(self.a, self.b)
            return self.stiffness * d.dot(d) / 2
        return self.stiffness * (self.length - self.relaxed) ** 2 / 2

    def forces(self) -> Mapping[Any, Any]:
        """Return the generalised forces of the damper."""
        if self.damping == 0:
            return {}
        pull = self.damping * rate(self.length, self.bodies) / self.length * offset(self.a, self.b)
        return total((self.a.pulled_by(pull), self.b.pulled_by(-pull)))

    def measured(self) -> Mapping[str, tuple[Any, str]]:
        """Return the length, and the force k (|d| - L0) + c |d|' with which it pulls its ends together."""
        pull = self.stiffness * (self.length - self.relaxed) + self.damping * rate(self.length, self.bodies)
        return {"length": (self.length, "m"), "force": (pull, "N")}

    def shapes(self) -> Sequence[Shape]:
        """Return a coil spring, or a dashpot if the stiffness is zero."""
        return [(Damper if self.stiffness == 0 else Coil)(tuple(self.a.r), tuple(self.b.r))]

    def in_space(self) -> Sequence[Line]:
        """Return the picture in space: a line between the ends."""
        return [Line("damper" if self.stiffness == 0 else "spring", spot(self.a), spot(self.b))]
