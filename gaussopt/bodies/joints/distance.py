"""A massless rod between two points: (d . d - L^2) / (2 L) = 0 with d = r_b - r_a."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End
from gaussopt.bodies.element import Joint, offset, spot
from gaussopt.modelling.sketch import Bar, Bearing, Pin, Shape
from gaussopt.modelling.solids import Line


class Distance(Joint):
    """Points a and b keep the distance L, m; the multiplier is the force in the rod, N, positive in compression."""

    positive = ("length",)

    def __init__(self, name: str, a: End, b: End, length: Any) -> None:
        super().__init__(name, a, b)
        (self.length,) = self.scalars(length=length)

    def holonomic(self) -> Mapping[str, Any]:
        """Return the constraint `length`, which keeps the distance of the points."""
        d = offset(self.a, self.b)
        return {"length": (d.dot(d) - self.length**2) / (2 * self.length)}

    def shapes(self) -> Sequence[Shape]:
        """Return a bar of the length L from a towards b, with its hinges."""
        d, start = offset(self.a, self.b), self.a.r
        ends = [(Pin if end.body.q else Bearing)(tuple(end.r)) for end in (self.a, self.b)]
        return [Bar(tuple(start), tuple(start + d * self.length / sp.sqrt(d.dot(d)))), *ends]

    def in_space(self) -> Sequence[Line]:
        """Return the picture in space: a rod between the ends."""
        return [Line("rod", spot(self.a), spot(self.b))]
