"""A contact of two balls, or of two disks in the plane, with centres a and b.

With d = r_b - r_a, n = d / |d| and two tangents t normal to n, the first also normal to the direction `across`:

    g_N = |d| - R_a - R_b >= 0,   v_T = t . (r_b' - r_a' - (R_b omega_b + R_a omega_a) x n).

In the plane t is n rotated clockwise by a right angle, and v_T = t . (r_b' - r_a') + R_b omega_b + R_a omega_a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, Vec, column, rate
from gaussopt.bodies.element import Element, coinciding, offset, spot
from gaussopt.core.contacts import Contact
from gaussopt.core.errors import BadInput
from gaussopt.modelling.sketch import ContactPoint, Disk, Shape
from gaussopt.modelling.solids import Ball, BallContact, Solid


class BallTouch(Element):
    """A contact of two balls or disks, with friction mu and restitution e_N, e_T; a ball of radius zero is a point.

    Parameters
    ----------
    radii : two lengths, m, about a and about b
    across : in space, three numbers: a direction in the frame of the ground to which n must never be parallel
    """

    not_negative = ("radii",)

    def __init__(
        self, name: str, a: End, b: End, radii: Sequence[Any], mu: Any = 0, e_N: Any = 0, e_T: Any = 0,
        across: Sequence[Any] = (1, 0, 0),
    ) -> None:  # fmt: skip
        super().__init__(name, a, b)
        self.radii = column(f"radii of {name!r}", radii, 2)
        self.across = column(f"across of {name!r}", across, 3)
        self.mu, self.e_N, self.e_T = self.scalars(mu=mu, e_N=e_N, e_T=e_T)

    def check(self, symbols: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Raise BadInput for radii that are negative or both zero, as two points in contact have no normal."""
        super().check(symbols, values)
        if not any(x.xreplace({symbols[name]: values[name] for name in symbols}) for x in self.radii):
            raise BadInput(f"Both radii of {self.name!r} are zero, and two points do not touch; give one that is not.")

    def contacts(self) -> Sequence[Contact]:
        """Return the contact, with gap and slip as expressions."""
        distance, n = self._apart
        gap = distance - self.radii[0] - self.radii[1]
        if self.a.body.dim == 2:
            turning = sum(R * rate(x.angle, [x]) for R, x in zip(self.radii, self.bodies, strict=True))
            slip = [sp.Matrix([n[1], -n[0]]).dot(self.b.rate - self.a.rate) + turning]
            return [Contact(self.name, gap=gap, slip=slip, mu=self.mu, e_N=self.e_N, e_T=self.e_T)]
        first = self.across.cross(n)
        first = first / sp.sqrt(first.dot(first))
        turned = (self.radii[0] * self.a.body.spin + self.radii[1] * self.b.body.spin).cross(n)
        velocity = self.b.rate - self.a.rate - turned
        slip = [t.dot(velocity) for t in (first, n.cross(first))]
        return [Contact(self.name, gap=gap, slip=slip, mu=self.mu, e_N=self.e_N, e_T=self.e_T)]

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """Return the divisors: the distance |d| of the centres and, in space, |across x d|."""
        ends = [coinciding(self.name, self._apart[0])]
        if self.a.body.dim == 2:
            return ends
        aside = self.across.cross(offset(self.a, self.b))
        why = f"The centres of {self.name!r} lie in the direction across = {tuple(self.across)}; give another one."
        return [*ends, (sp.sqrt(aside.dot(aside)), why)]

    @property
    def _apart(self) -> tuple[Any, Vec]:
        """The distance of the centres, m, and the direction from a to b."""
        d = offset(self.a, self.b)
        distance = sp.sqrt(d.dot(d))
        return distance, d / distance

    def shapes(self) -> Sequence[Shape]:
        """Return the picture in the plane: the disks and the contact point."""
        if self.a.body.dim == 3:
            return ()
        n, ends = self._apart[1], zip(self.radii, (self.a, self.b), strict=True)
        disks = [Disk(tuple(end.r), R, end.body.angle) for R, end in ends if R != 0]
        at = tuple(self.b.r - self.radii[1] * n)
        return [*disks, ContactPoint(self.name, at, tuple(n), (n[1], -n[0]))]

    def in_space(self) -> Sequence[tuple[str, Solid] | BallContact]:
        """Return the picture in space: the balls and the contact."""
        a, b = spot(self.a), spot(self.b)
        balls = [(body, Ball(R, place)) for R, (body, place) in zip(self.radii, (a, b), strict=True)]
        return [*balls, BallContact(self.name, a, b, self.radii[1], tuple(self.across))]
