"""Gears: ratio omega_a + omega_b = 0, so that a and b turn in opposite directions, in space about their axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.body import End, rate
from gaussopt.bodies.element import Joint
from gaussopt.bodies.plane import Particle
from gaussopt.core.errors import BadInput


class Gear(Joint):
    """Two wheels: b turns `ratio` times as fast as a, in the opposite direction; a belt has a negative ratio.

    The rates are relative to the ground, so the axes of both wheels must be at rest there. For a planet gear,
    write the rates relative to its carrier as a `Row` of velocities.
    """

    def __init__(self, name: str, a: End, b: End, ratio: Any) -> None:
        super().__init__(name, a, b)
        for end in (self.a, self.b):
            if isinstance(end.body, Particle):
                raise BadInput(f"{name!r} joins the particle {end.body.name!r}, which does not turn; give a body.")
        (self.ratio,) = self.scalars(ratio=ratio)

    def nonholonomic(self) -> Mapping[str, Any]:
        """Return the constraint `mesh` between the angular velocities of both wheels."""
        if self.a.body.dim == 3:
            turning = [end.body.spin.dot(end.axes[0]) for end in (self.a, self.b)]
            return {"mesh": self.ratio * turning[0] + turning[1]}
        return {"mesh": rate(self.ratio * self.a.body.angle + self.b.body.angle, self.bodies)}
