"""A particle with a constraint that is nonlinear in the velocities: the general case of paper 004."""

from __future__ import annotations

from functools import cache

from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System

BOUNDS = ((-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (0.3, 3.0), (-3.0, 3.0), (0.0, 3.0))
"""Bounds of x, y, z in m, speed in m/s, direction in rad, t in s; the constraint loses its rank at rest."""


@cache
def particle() -> AbstractSystem:
    """Return the system: horizontal speed = (1 + x^2 + sin(t)^2 / 2) vertical speed; omega = speed and direction."""
    import sympy as sp

    x, _, z = q = sp.symbols("x y z")
    vx, vy, vz = v = sp.symbols("vx vy vz")
    m, t = sp.symbols("m t")
    speed = sp.sqrt(vx**2 + vy**2)
    return System.from_lagrangian(
        q, v, kinetic=m * (vx**2 + vy**2 + vz**2) / 2, potential=9.81 * m * z,
        nonholonomic=[speed - (1 + x**2 + sp.sin(t) ** 2 / 2) * vz],
        quasi_velocities=[speed, sp.atan2(vy, vx)], parameters={m: 2.0}, name="nonlinear particle",
    )  # fmt: skip
