"""A bushing: springs and dampers along and about the axes of a, which pull b towards a.

With the displacement d = A_a^T R_a^T (r_b - r_a) along the axes of a, and the rotation S = (R_a A_a)^T R_b A_b,

    V = 1/2 sum k_i d_i^2 + 1/2 sum kappa_i (1 + 2 S_ii - tr S),   forces -c_i d_i',   torques -gamma_i omega_i.

A term of the second sum is kappa_i (2 sin(theta / 2) u_i)^2 for a rotation by theta about u, which is kappa_i theta_i^2
for small angles. In the plane the sum is kappa phi^2 with the angle phi from the axis of a to the axis of b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import End, Vec, column, rate, total
from gaussopt.bodies.element import Element, angle, offset, spot, turn
from gaussopt.modelling.sketch import Shape, Spring
from gaussopt.modelling.solids import Line


class Bushing(Element):
    """Stiffness and damping along and about each axis of a; the springs are relaxed where points and axes coincide.

    Parameters
    ----------
    stiffness, damping : dim numbers, N/m and N s/m
    torsion, torsion_damping : N m/rad and N m s/rad; in the plane a number, in space three, where the torque about an
        axis is torsion times the sine of the angle
    """

    def __init__(
        self, name: str, a: End, b: End, stiffness: Sequence[Any], damping: Sequence[Any] | None = None,
        torsion: Any = None, torsion_damping: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(name, a, b)
        dim, turns = self.a.body.dim, 1 if self.a.body.dim == 2 else 3
        given = {"stiffness": (stiffness, dim), "damping": (damping, dim), "torsion": (torsion, turns)}
        given["torsion_damping"] = torsion_damping, turns
        self.stiffness, self.damping, self.torsion, self.torsion_damping = (
            column(f"{key} of {name!r}", (0,) * size if value is None else value, size)
            for key, (value, size) in given.items()
        )

    @property
    def _displacement(self) -> Vec:
        """Displacement of b along the axes of a, m."""
        return (self.a.body.R * self.a.A).T * offset(self.a, self.b)

    def potential(self) -> Any:
        """Return the potential energy of the springs, J."""
        along = sum(k * d**2 for k, d in zip(self.stiffness, self._displacement, strict=True)) / 2
        if self.a.body.dim == 2:
            return along + self.torsion[0] * angle(self.a, self.b) ** 2 / 2
        S = turn(self.a, self.b)
        return along + sum(k * (1 + 2 * S[i, i] - S.trace()) for i, k in enumerate(self.torsion)) / 2

    def forces(self) -> Mapping[Any, Any]:
        """Return the generalised forces of the dampers."""
        a, b = self.bodies
        d = self._displacement
        parts = [
            {q: -c * rate(x, self.bodies) * sp.diff(x, q) for q in dict.fromkeys((*a.pose, *b.pose))}
            for c, x in zip(self.damping, d, strict=True) if c != 0
        ]  # fmt: skip
        if any(self.torsion_damping):
            if a.dim == 2:
                torque = -self.torsion_damping[0] * rate(angle(self.a, self.b), self.bodies)
            else:
                axes = a.R * self.a.A
                torque = -axes * sp.diag(*self.torsion_damping) * axes.T * (b.spin - a.spin)
            parts += [a.turned_by(-torque), b.turned_by(torque)]
        return total(parts)

    def shapes(self) -> Sequence[Shape]:
        """Return the picture in the plane: a coil spring."""
        return [Spring(tuple(self.a.r), tuple(self.b.r))]

    def in_space(self) -> Sequence[Line]:
        """Return the picture in space: a line between the points."""
        return [Line("spring", spot(self.a), spot(self.b))]
