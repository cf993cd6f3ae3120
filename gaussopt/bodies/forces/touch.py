"""A contact: a point or a disk of b on the line of a, in space a point or a ball on the plane of a.

With u along and n normal to the line, d = r_b - r_a and the radius R (0 for a point or a corner):

    g_N = n . d - R >= 0,   v_T = d/dt (u . d) + R (omega_b - omega_a).

If the line belongs to a moving body, these are gap and slip in the frame of that body. In space a point or a
ball of b touches the plane whose normal n is the axis of a, with two tangents t normal to n:

    g_N = n . d - R >= 0,   v_T = d/dt (t . d) - t . (omega_b - omega_a) x R n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, rate
from gaussopt.bodies.element import Element, angle, offset, plane, spot
from gaussopt.core.contacts import Contact
from gaussopt.modelling.sketch import ContactPoint, Disk, Ground, Shape
from gaussopt.modelling.solids import Ball, FaceContact, Solid


class Touch(Element):
    """The point b, or a disk about it, stays left of the line of a, with friction mu and restitution e_N, e_T.

    With `two_sided`, b stays on the line, between two walls without clearance; friction acts at the wall in contact.
    """

    not_negative = ("radius",)

    def __init__(
        self, name: str, a: End, b: End, mu: Any = 0, e_N: Any = 0, e_T: Any = 0, radius: Any = 0,
        two_sided: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name, a, b)
        self.two_sided = two_sided
        self.mu, self.e_N, self.e_T, self.radius = self.scalars(mu=mu, e_N=e_N, e_T=e_T, radius=radius)

    def contacts(self) -> Sequence[Contact]:
        """Return the contact, with gap and slip as expressions."""
        d = offset(self.a, self.b)
        if self.a.body.dim == 2:
            u, n = self.a.axes
            slip = [rate(u.dot(d) + self.radius * angle(self.a, self.b), self.bodies)]
        else:
            n, *across = self.a.axes
            turned = (self.b.body.spin - self.a.body.spin).cross(-self.radius * n)
            slip = [rate(t.dot(d), self.bodies) + t.dot(turned) for t in across]
        gap = n.dot(d) - self.radius
        return [Contact(self.name, None, gap, slip, self.mu, self.e_N, self.e_T, self.two_sided)]

    def shapes(self) -> Sequence[Shape]:
        """Return the picture in the plane: the ground, the disk if it has a radius, and the contact point."""
        if self.a.body.dim == 3:
            return ()
        u, n = self.a.axes
        at = tuple(self.b.r - self.radius * n)
        line = [] if self.a.body.q else [Ground(tuple(self.a.r), sp.atan2(u[1], u[0]))]
        disk = [Disk(tuple(self.b.r), self.radius, self.b.body.angle)] if self.radius != 0 else []
        return [*line, *disk, ContactPoint(self.name, at, tuple(n), tuple(u))]

    def in_space(self) -> Sequence[tuple[str, Solid] | FaceContact]:
        """Return the picture in space: the plane, the ball if it has a radius, and the contact."""
        (a, _), b = spot(self.a), spot(self.b)
        ball = [(b[0], Ball(self.radius, b[1]))] if self.radius != 0 else []
        return [*plane(self.a), *ball, FaceContact(self.name, a, self.a.A.T, b, self.radius)]
