"""Gears: ratio (omega_a) + omega_b = 0, so that b turns against a."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, rate
from gaussopt.bodies.element import Joint


class Gear(Joint):
    """b turns `ratio` times as fast as a and against it, in the plane; a negative ratio is that of a belt."""

    def __init__(self, name: str, a: End, b: End, ratio: Any) -> None:
        super().__init__(name, a, b)
        self.ratio = sp.sympify(ratio)

    def nonholonomic(self) -> Mapping[str, Any]:
        """Mesh."""
        return {"mesh": rate(self.ratio * self.a.body.angle + self.b.body.angle, self.bodies)}
