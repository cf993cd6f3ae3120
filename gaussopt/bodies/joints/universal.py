"""A cardan joint: r_b = r_a, u_a . u_b = 0 for the axes of its cross."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from gaussopt.bodies.element import TURN, Joint, coincide

CROSS = sp.Matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
"""Axes whose first is the second of those before."""


class Universal(Joint):
    """Points a and b stay together, and the axis of b stays at a right angle to that of a."""

    only = 3, "Revolute"
    moves = TURN, CROSS, TURN

    def holonomic(self) -> Mapping[str, Any]:
        """x, y, z, cross."""
        return coincide(self.a, self.b) | {"cross": self.a.axes[0].dot(self.b.axes[0])}
