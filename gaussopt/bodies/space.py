"""Bodies in space: q = (x, y, z, e0, e1, e2, e3) with a unit quaternion e.

    omega = 2 E e',   omega_B = 2 G e' in the frame of the body,   R = E G^T,   e . e - 1 = 0
    E = [-e1  e0 -e3  e2]    G = [-e1  e0  e3 -e2]    T = 1/2 m r'^2 + 1/2 omega_B^T I omega_B
        [-e2  e3  e0 -e1]        [-e2 -e3  e0  e1]
        [-e3 -e2  e1  e0]        [-e3  e2 -e1  e0]

The mass matrix of e is 4 G^T I G. Its rank is 3, because G e = 0.

References
----------
F. E. Udwadia, A. D. Schutte, J. Appl. Mech. 77, 2010 (unit quaternions with a regular mass matrix).
P. E. Nikravesh, Computer-Aided Analysis of Mechanical Systems, 1988, ch. 6 (Euler parameters).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.bodies.body import RigidBody, column, scalar
from gaussopt.core.errors import BadInput

ROUNDING = 1e-6
"""A moment of inertia may exceed the sum of the other two by this fraction because of rounding errors."""


class SpaceFrame(RigidBody):
    """The ground, or a frame without mass whose position is a function of time."""

    dim = 3

    def __init__(self, name: str, at: Sequence[Any] = (0, 0, 0)) -> None:
        super().__init__(name)
        self.r = column(f"at of {name!r}", at, 3)

    @property
    def kinetic(self) -> Any:
        return sp.Integer(0)

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        return {}


class SpaceBody(RigidBody):
    """A body of mass m and inertia I, (3,) or (3, 3), about its centre in the body frame.

    A `quaternion_mass` c, kg m^2, adds to T the term 2 c (e . e')^2. It is zero in every motion but makes M regular,
    with the quaternion block 4 (G^T I G + c e e^T). Only the multiplier of e . e = 1 changes.
    """

    dim = 3

    def __init__(self, name: str, mass: Any, inertia: Any, quaternion_mass: Any = 0) -> None:
        super().__init__(name, ("x", "y", "z", "e0", "e1", "e2", "e3"))
        self.mass, self.inertia = scalar(f"mass of {name!r}", mass), tensor(name, inertia)
        self.quaternion_mass = scalar(f"quaternion_mass of {name!r}", quaternion_mass)
        self.r, e, rates = sp.Matrix(self.q[:3]), sp.Matrix(self.q[3:]), sp.Matrix(self.v[3:])
        E, G = matrices(e)
        self.R, self._E = E * G.T, E
        self.spin, self.own_spin = 2 * E * rates, 2 * G * rates

    @property
    def quaternion(self) -> tuple[Any, ...]:
        return self.q[3:]

    @property
    def kinetic(self) -> Any:
        turning = (self.own_spin.T * self.inertia * self.own_spin)[0]
        return (self.mass * sum(v**2 for v in self.v[:3]) + turning) / 2 + self.stretch

    @property
    def stretch(self) -> Any:
        """The term 2 c (e . e')^2 added to the kinetic energy, J."""
        return 2 * self.quaternion_mass * sum(e * rate for e, rate in zip(self.q[3:], self.v[3:], strict=True)) ** 2

    def holonomic(self) -> dict[str, Any]:
        return {"unit": sum(e**2 for e in self.q[3:]) - 1}

    def turned_by(self, torque: Any) -> dict[Any, Any]:
        return dict(zip(self.q[3:], 2 * self._E.T * torque, strict=True))


def matrices(e: Any) -> tuple[Any, Any]:
    """Return E and G of a quaternion, (3, 4) each."""
    e0, e1, e2, e3 = e
    return (
        sp.Matrix([[-e1, e0, -e3, e2], [-e2, e3, e0, -e1], [-e3, -e2, e1, e0]]),
        sp.Matrix([[-e1, e0, e3, -e2], [-e2, -e3, e0, e1], [-e3, e2, -e1, e0]]),
    )


def tensor(name: str, inertia: Any) -> Any:
    """Return an inertia tensor from three principal moments or a matrix; raises BadInput."""
    try:
        found = sp.Matrix(inertia)
    except (TypeError, ValueError):
        found = sp.Matrix()
    found = sp.Matrix(*found.shape, [scalar(f"An entry of the inertia of {name!r}", x) for x in found])
    found = sp.diag(*found) if found.shape == (3, 1) else found
    if found.shape != (3, 3) or found != found.T:
        raise BadInput(f"inertia of {name!r} is no symmetric tensor; give three principal moments or a 3 x 3 matrix.")
    if not found.free_symbols:
        moments = np.linalg.eigvalsh(np.array(found, dtype=float))
        if moments[2] > (moments[0] + moments[1]) * (1 + ROUNDING):
            shown = ", ".join(f"{x:.6g}" for x in moments)
            raise BadInput(
                f"The principal moments of inertia of {name!r} are {shown} kg m^2: no body has one that is larger than "
                "the other two together. Correct them."
            )
    return found
