"""A mass on a spring and a rough floor: it swings about alternating centres in half periods, then sticks.

m x'' + k x = -mu N sgn x' with N = m g; each half swing loses 2 mu N / k of amplitude, and the mass sticks at the
first turning point with |x| <= mu N / k.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Axes, Block, ContactPoint, Ground, Parameters, Shape, Spring, Wall

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("k", 1.0, "N/m", "stiffness"),
    Parameter("g", 10.0, "m/s^2", "gravity", printed=False),
    Parameter("mu", 0.1, "1", "friction coefficient; the source gives mu N = 1 N", printed=False),
    Parameter("x0", 12.0, "m", "initial position"),
    Parameter("speed0", 6.0, "m/s", "initial velocity"),
)


def build() -> AbstractSystem:
    """Derive the equations; the height y is a coordinate so that the floor can carry the weight."""
    import sympy as sp

    x, y = q = sp.symbols("x y")
    vx, vy = v = sp.symbols("vx vy")
    m, k, g, mu = sp.symbols("m k g mu")
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vx**2 + vy**2) / 2,
        potential=k * x**2 / 2 + m * g * y,
        contacts=[Contact("floor", position=(x, y), mu=mu)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="friction-oscillator",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state on the floor at the initial position and speed."""
    return np.array([p["x0"], 0.0]), np.array([p["speed0"], 0.0])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the mass between wall and floor; the spring is relaxed at x = 0."""
    x, y = q
    reach = np.hypot(p["x0"], p["speed0"] * np.sqrt(p["m"] / p["k"])) or 1.0
    side = 0.22 * reach
    wall, middle = -1.7 * reach, y + side / 2
    return (
        Ground((0.0, 0.0)), Wall((wall, 1.6 * side), (wall, 0.0)), Block((x, middle), side, side, 0.0, "m"),
        Spring((wall, middle), (x - side / 2, middle), "k"),
        ContactPoint("floor", (x, y)), Axes((0.0, 2.2 * side), labels=("x", "")),
    )  # fmt: skip


problem = Problem(
    name="friction-oscillator",
    title="Oscillator with dry friction",
    source="Siconos tutorials, FrictionOscillator",
    description="Two coordinates, one contact with friction; stops after eight half swings.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"x": "m", "y": "m"},
    t_end=25.0,
    dt=1e-2,
)
