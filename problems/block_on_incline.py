"""A block on a rough incline: it slides, stops, and then sticks or slides back.

s is measured down the slope, n is the height above it. The block decelerates by g (mu cos alpha - sin alpha) on its way
down, by g (mu cos alpha + sin alpha) on its way up, and sticks after stopping if mu >= tan alpha.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.sketch import Angle, Axes, Block, ContactPoint, Ground, Parameters, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("alpha", float(np.radians(20.0)), "rad", "slope"),
    Parameter("mu", 0.5, "1", "friction coefficient"),
    Parameter("speed0", 2.0, "m/s", "initial velocity, down the slope where positive"),
)


def build() -> AbstractSystem:
    """Derive the equations in coordinates along and normal to the slope."""
    import sympy as sp

    s, n = q = sp.symbols("s n")
    vs, vn = v = sp.symbols("vs vn")
    m, g, alpha, mu = sp.symbols("m g alpha mu")
    return System.from_lagrangian(
        q,
        v,
        kinetic=m * (vs**2 + vn**2) / 2,
        potential=m * g * (n * sp.cos(alpha) - s * sp.sin(alpha)),
        contacts=[Contact("slope", position=(s, n), mu=mu)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="block-on-incline",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state on the slope at s = 0 with the initial speed."""
    return np.zeros(2), np.array([p["speed0"], 0.0])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the block on its slope, which falls to the right."""
    a, size = p["alpha"], 0.4 * p["speed0"] ** 2 / p["g"] or 0.1
    foot = along(along((0.0, 0.0), q[0], -a), q[1], np.pi / 2 - a)
    return (
        Ground((0.0, 0.0), -a), Block(along(foot, 0.3 * size, np.pi / 2 - a), size, 0.6 * size, -a, "m"),
        ContactPoint("slope", foot, (np.sin(a), np.cos(a)), (np.cos(a), -np.sin(a))),
        Angle(along((0.0, 0.0), 3.0 * size, -a), np.pi, np.pi - a, "α"),
        Axes(along((0.0, 0.0), 1.5 * size, np.pi / 2 - a), -a, ("s", "n")),
    )  # fmt: skip


CASES = {
    "down": Case({"mu": 0.5, "speed0": 2.0}, 2.0, "slides down, stops and sticks"),
    "up": Case({"mu": 0.5, "speed0": -2.0}, 1.0, "slides up, stops and sticks"),
    "up-low-mu": Case({"mu": 0.2, "speed0": -2.0}, 1.0, "slides up, turns and slides back"),
}

problem = Problem(
    name="block-on-incline",
    title="Block on a rough incline",
    source="textbook; Coulomb friction in closed form",
    description="Two coordinates, one contact with friction.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"s": "m", "n": "m"},
    t_end=2.0,
    dt=1e-3,
    cases=CASES,
)
