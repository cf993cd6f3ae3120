"""A sphere or disc that is thrown along a rough floor: it slides, then it rolls.

x, y is the centre, phi the angle of rotation, positive for rolling to the right. Friction slows the centre and spins
up the body until v = r omega; without initial spin this happens at t = speed0 / (mu g (1 + 1 / inertia)).
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.sketch import ContactPoint, Disk, Force, Ground, Length, Parameters, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("r", 0.1, "m", "radius"),
    Parameter("inertia", 0.4, "1", "moment of inertia over m r^2: 2/5 for a sphere, 1/2 for a disc"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("mu", 0.2, "1", "friction coefficient"),
    Parameter("speed0", 3.0, "m/s", "initial velocity"),
    Parameter("omega0", 0.0, "rad/s", "initial spin"),
)


def build() -> AbstractSystem:
    """Derive the equations; gap and slip are given explicitly, because the contact point moves over the body."""
    import sympy as sp

    q = _, y, _ = sp.symbols("x y phi")
    vx, vy, w = v = sp.symbols("vx vy omega")
    m, r, inertia, g, mu = sp.symbols("m r inertia g mu")
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2 + inertia * m * r**2 * w**2 / 2,
        potential=m * g * y,
        contacts=[Contact("floor", gap=y - r, slip=(vx - r * w,), mu=mu)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="sliding-to-rolling",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state on the floor at x = 0 with the initial speed and spin."""
    return np.array([0.0, p["r"], 0.0]), np.array([p["speed0"], 0.0, p["omega0"]])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the body on its floor; phi is clockwise."""
    x, y, phi = q
    r = p["r"]
    return (
        Ground((0.0, 0.0)), Disk((x, y), r, -phi), ContactPoint("floor", (x, y - r)), Force((x, y), 0.0, "v"),
        Length((x, y), along((x, y), r, np.pi / 2), "r", 1.25 * r),
    )  # fmt: skip


CASES = {
    "sphere": Case({"inertia": 0.4}, 1.0, "sphere: rolls from 2 speed0 / (7 mu g) on"),
    "disc": Case({"inertia": 0.5}, 1.0, "disc: rolls from speed0 / (3 mu g) on"),
}

problem = Problem(
    name="sliding-to-rolling",
    title="From sliding to rolling",
    source="textbook; Coulomb friction in closed form",
    description="Three coordinates, one contact with friction that ends in rolling.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"x": "m", "y": "m", "phi": "rad"},
    t_end=1.0,
    dt=1e-3,
    cases=CASES,
)
