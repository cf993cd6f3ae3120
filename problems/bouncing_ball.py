"""A ball that falls on a floor and bounces with Newton's restitution: infinitely many impacts in a finite time.

The height y above the floor starts at y0, at rest. The impacts accumulate at sqrt(2 y0 / g) (1 + e) / (1 - e).
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import ContactPoint, Disk, Ground, Length, Parameters, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("e", 0.9, "1", "coefficient of restitution"),
    Parameter("y0", 1.0, "m", "initial height"),
    Parameter("speed0", 0.0, "m/s", "initial velocity upwards"),
)


def build() -> AbstractSystem:
    """Derive the equations: one coordinate, one contact without friction."""
    import sympy as sp

    y, vy, m, g, e = sp.symbols("y vy m g e")
    return System.from_lagrangian(
        [y],
        [vy],
        kinetic=m * vy**2 / 2,
        potential=m * g * y,
        contacts=[Contact("floor", gap=y, e_N=e)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="bouncing-ball",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state at the initial height with the initial velocity."""
    return np.array([p["y0"]]), np.array([p["speed0"]])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the ball over its floor; y is the height of its lowest point, and only the drawing has a radius."""
    y, r = float(q[0]), 0.07 * max(p["y0"], 1e-3)
    return (
        Ground((0.0, 0.0)), Disk((0.0, y + r), r, np.pi / 2), ContactPoint("floor", (0.0, y)),
        Length((-2.0 * r, 0.0), (-2.0 * r, y), "y"),
    )  # fmt: skip


problem = Problem(
    name="bouncing-ball",
    title="Bouncing ball",
    source="Siconos tutorials, BouncingBallTS and BouncingBallED",
    description="One coordinate, one contact without friction, impacts that accumulate.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"y": "m"},
    t_end=10.0,
    dt=5e-3,
)
