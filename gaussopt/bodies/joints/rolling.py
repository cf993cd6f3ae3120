"""Rolling without slip.

In the plane, a disk of radius R about b on the line through a along its axis u, with the normal n:

    n . (r_b - r_a) - R = 0,   d/dt (u . (r_b - r_a)) + R (omega_b - omega_a) = 0.

In space, a thin disk about b, with the axis of b, rolls on the plane through a, whose normal n is the axis of a.
The plane is at rest or has a prescribed motion without rotation.
The unit vector e points upwards in the disk, normal to its axis; rho = -R e leads from the centre to the contact:

    e = (n - (n . u_b) u_b) / |n - (n . u_b) u_b|,   n . (r_b + rho - r_a) = 0,   t . (r_b' - r_a' + omega_b x rho) = 0

for the two directions t normal to n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, rate
from gaussopt.bodies.element import Joint, angle, offset, plane
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import Disk, Shape
from gaussopt.modelling.solids import Cylinder, Solid

THICKNESS = 0.1
"""Thickness of a disk in a picture in space, relative to its radius."""


class Rolling(Joint):
    """A disk of the given radius (m) about b rolls on the line or the plane of a."""

    positive = ("radius",)

    def __init__(self, name: str, a: End, b: End, radius: Any) -> None:
        super().__init__(name, a, b)
        (self.radius,) = self.scalars(radius=radius)
        if self.a.body.dim == 3 and self.a.body.q:
            raise BadInput(
                f"{name!r} rolls on the moving body {self.a.body.name!r}; in space the plane is at rest, or "
                "moves as prescribed."
            )

    @property
    def arm(self) -> Any:
        """In space, the vector from the centre of the disk to its lowest point, m."""
        n, u = self.a.axes[0], self.b.axes[0]
        up = n - u * n.dot(u)
        return -self.radius * up / sp.sqrt(1 - n.dot(u) ** 2)

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """Return the divisor in space: the squared sine of the angle between the disk's axis and the plane's normal."""
        if self.a.body.dim == 2:
            return ()
        why = (
            f"The disk of {self.name!r} lies flat on its plane, so that it has no lowest point; the axis given with b "
            "is that of the disk, and the one given with a is the normal of the plane."
        )
        return [(1 - self.a.axes[0].dot(self.b.axes[0]) ** 2, why)]

    def holonomic(self) -> Mapping[str, Any]:
        """Return the constraint `height`, which keeps the disk on the line or plane."""
        if self.a.body.dim == 2:
            return {"height": self.a.axes[1].dot(offset(self.a, self.b)) - self.radius}
        n, u = self.a.axes[0], self.b.axes[0]
        return {"height": n.dot(offset(self.a, self.b)) - self.radius * sp.sqrt(1 - n.dot(u) ** 2)}

    def nonholonomic(self) -> Mapping[str, Any]:
        """Return the constraints that exclude slip: `roll`; in space roll1, roll2."""
        a, b = self.a, self.b
        if a.body.dim == 2:
            along = a.axes[0].dot(offset(a, b))
            return {"roll": rate(along + self.radius * angle(a, b), self.bodies)}
        velocity = b.rate - a.rate + b.body.spin.cross(self.arm)
        return {f"roll{i}": t.dot(velocity) for i, t in enumerate(a.axes[1:], 1)}

    def shapes(self) -> Sequence[Shape]:
        """Return the picture in the plane: a disk with a mark."""
        return [Disk(tuple(self.b.r), self.radius, self.b.body.angle)]

    def in_space(self) -> Sequence[tuple[str, Solid]]:
        """Return the picture in space: the plane and a thin disk."""
        aside = self.b.A[:, 0] * self.radius * THICKNESS / 2
        disk = Cylinder(self.radius, tuple(self.b.s - aside), tuple(self.b.s + aside))
        return [*plane(self.a), (self.b.body.name, disk)]
