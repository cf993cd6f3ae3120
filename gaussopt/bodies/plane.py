"""Bodies in the plane: q = (x, y, theta), R = [[cos theta, -sin theta], [sin theta, cos theta]]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import RigidBody, column, scalar


class PlaneFrame(RigidBody):
    """The ground, or a frame without mass whose position and angle are functions of time."""

    def __init__(self, name: str, at: Sequence[Any] = (0, 0), angle: Any = 0) -> None:
        super().__init__(name)
        self.r, self.angle = column(f"at of {name!r}", at, 2), scalar(f"angle of {name!r}", angle)
        self.R = turn(self.angle)

    @property
    def kinetic(self) -> Any:
        return sp.Integer(0)

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        return {}


class PlaneBody(RigidBody):
    """A body of mass m and inertia I about its centre: T = 1/2 m (x'^2 + y'^2) + 1/2 I theta'^2."""

    def __init__(self, name: str, mass: Any, inertia: Any) -> None:
        super().__init__(name, ("x", "y", "theta"))
        self.mass, self.inertia = scalar(f"mass of {name!r}", mass), scalar(f"inertia of {name!r}", inertia)
        x, y, self.angle = self.q
        self.r, self.R = sp.Matrix([x, y]), turn(self.angle)

    @property
    def kinetic(self) -> Any:
        vx, vy, omega = self.v
        return (self.mass * (vx**2 + vy**2) + self.inertia * omega**2) / 2

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        return {self.angle: torque}


class Particle(RigidBody):
    """A body that does not rotate: q = (x, y), or (x, y, z) in space."""

    def __init__(self, name: str, mass: Any, dim: int) -> None:
        self.dim = dim
        super().__init__(name, "xyz"[:dim])
        self.mass = scalar(f"mass of {name!r}", mass)
        self.r = sp.Matrix(self.q)

    @property
    def kinetic(self) -> Any:
        return self.mass * sum(v**2 for v in self.v) / 2

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        return {}


def turn(angle: Any) -> Any:
    """Return the matrix of a rotation in the plane."""
    c, s = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([[c, -s], [s, c]])
