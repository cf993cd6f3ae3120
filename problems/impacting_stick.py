"""A falling stick that strikes a rough floor with one end: Newton's restitution with friction can gain energy.

x, y is the centre, phi the angle from the vertical; the end (x + l/2 sin phi, y - l/2 cos phi) strikes the floor. As
in the source, slip to the left is positive.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Angle, Bar, ContactPoint, Ground, Parameters, Point, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("l", 1.0, "m", "length"),
    Parameter("g", 10.0, "m/s^2", "gravity"),
    Parameter("mu", 0.01, "1", "friction coefficient"),
    Parameter("e_N", 1.0, "1", "normal coefficient of restitution"),
    Parameter("e_T", 0.0, "1", "tangential coefficient of restitution"),
    Parameter("phi0", float(np.pi / 4), "rad", "initial angle from the vertical"),
    Parameter("gap0", 0.01, "m", "initial height of the end"),
    Parameter("vx0", -0.5, "m/s", "initial velocity to the right"),
    Parameter("vy0", 0.1, "m/s", "initial velocity upwards"),
    Parameter("omega0", 0.1, "rad/s", "initial angular velocity"),
)


def build() -> AbstractSystem:
    """Derive the equations; gap and slip are as in the source."""
    import sympy as sp

    _, y, phi = q = sp.symbols("x y phi")
    vx, vy, w = v = sp.symbols("vx vy omega")
    m, l, g, mu, e_N, e_T = sp.symbols("m l g mu e_N e_T")
    end = Contact("end", gap=y - l / 2 * sp.cos(phi), slip=(-vx - l / 2 * sp.cos(phi) * w,), mu=mu, e_N=e_N, e_T=e_T)
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2 + m * l**2 * w**2 / 24,
        potential=m * g * y,
        contacts=[end],
        parameters={p.name: p.value for p in PARAMETERS},
        name="impacting-stick",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state with the end above the floor."""
    half = p["l"] / 2
    q = np.array([half * np.sin(p["phi0"]), half * np.cos(p["phi0"]) + p["gap0"], p["phi0"]])
    return q, np.array([p["vx0"], p["vy0"], p["omega0"]])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the stick over its floor; the slip, and with it the friction, is positive to the left."""
    x, y, phi = q
    up = phi + np.pi / 2
    end, top = along((x, y), -p["l"] / 2, up), along((x, y), p["l"] / 2, up)
    return (
        Ground((end[0], 0.0)), Bar(end, top, "l"), Point((x, y)), Point(end, trace=True), Point(top, trace=True),
        ContactPoint("end", end, tangent=(-1.0, 0.0)), Angle(end, np.pi / 2, up, "φ"),
    )  # fmt: skip


problem = Problem(
    name="impacting-stick",
    title="Impacting stick with friction",
    source="Siconos tutorials, ImpactingStick",
    description="Three coordinates, one contact with friction and restitution.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"x": "m", "y": "m", "phi": "rad"},
    t_end=0.2,
    dt=1e-4,
)
