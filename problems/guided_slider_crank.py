"""The crank-slider of Yuan & Ge 2016 in a rough guide: joints combined with a contact with friction.

The slider has its height y3 as an eighth coordinate; six rows hold the joints together, and the contact with the guide
carries the slider. The guide has no clearance: one of its walls is always in contact, and the friction is mu |N|.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.sketch import ContactPoint, Parameters, Shape, Sketch, Wall
from gaussopt.problems.crank_slider import PARAMETERS as CRANK
from gaussopt.problems.crank_slider import equations, linkage

PARAMETERS = (
    *CRANK,
    Parameter("mu", 0.3, "1", "friction coefficient of the guide", printed=False),
    Parameter("theta1_0", 0.0, "rad", "initial angle of the crank"),
    Parameter("omega1_0", 0.0, "rad/s", "initial angular velocity of the crank"),
)


def build() -> AbstractSystem:
    """Derive the equations; the contact is on the lower wall, y3 = 0."""
    import sympy as sp

    q = _, y1, _, _, y2, _, x3, y3 = sp.symbols("x1 y1 theta1 x2 y2 theta2 x3 y3")
    v = sp.symbols("vx1 vy1 omega1 vx2 vy2 omega2 vx3 vy3")
    m1, m2, m3, g, mu = sp.symbols("m1 m2 m3 g mu")
    return System.from_lagrangian(
        q,
        v,
        **equations(q, v, g * (m1 * y1 + m2 * y2 + m3 * y3)),
        contacts=[Contact("guide", position=(x3, y3), mu=mu, two_sided=True)],
        parameters={p.name: p.value for p in PARAMETERS},
        name="guided-slider-crank",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state of the closed linkage at the initial crank angle and rate, with the slider in its guide."""
    return at_angle(p["theta1_0"], p["omega1_0"], p)


def at_angle(theta: float, omega: float, p: Parameters) -> tuple[Vector, Vector]:
    """Return the state of the linkage at a crank angle and rate, (8,) and (8,)."""
    l1, l2 = p["l1"], p["l2"]
    s1, c1 = np.sin(theta), np.cos(theta)
    s2 = -l1 * s1 / l2
    c2 = np.sqrt(1 - s2**2)
    w2 = -l1 * c1 * omega / (l2 * c2)
    q = [l1 / 2 * c1, l1 / 2 * s1, theta, l1 * c1 + l2 / 2 * c2, l1 * s1 + l2 / 2 * s2, np.arcsin(s2)]
    v = [-l1 / 2 * s1 * omega, l1 / 2 * c1 * omega, omega, -l1 * s1 * omega - l2 / 2 * s2 * w2]
    v += [l1 * c1 * omega + l2 / 2 * c2 * w2, w2, -l1 * s1 * omega - l2 * s2 * w2, 0.0]
    return np.array([*q, l1 * c1 + l2 * c2, 0.0]), np.array(v)


# -- drawing -----------------------------------------------------------------------------------------------


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the linkage with both walls of the guide; the contact force acts at the wall in contact."""
    l1, l2, x, y = p["l1"], p["l2"], q[6], q[7]
    left, right, half = l2 - l1 - 0.15 * l2, l1 + l2 + 0.15 * l2, 0.09 * l2
    return (
        Wall((left, -half), (right, -half)), Wall((right, half), (left, half)), *linkage(q, p, (x, y)),
        ContactPoint("guide", (x, y - half), other=(x, y + half)),
    )  # fmt: skip


def pose(p: Parameters) -> Vector:
    """Return the configuration of the labelled drawing, with the crank at 55 degrees."""
    return at_angle(float(np.radians(55.0)), 0.0, p)[0]


CASES = {
    "dead-centre": Case({"theta1_0": 0.0, "omega1_0": 0.0}, 2.0, "the source's start: stretched out and at rest"),
    "turning": Case({"theta1_0": -0.5, "omega1_0": -5.0}, 2.0, "turning: the slider slips from the first instant"),
    "free": Case({"tau": 0.0, "theta1_0": -0.5, "omega1_0": 0.0}, 5.0, "without torque, from rest beside the centre"),
}

problem = Problem(
    name="guided-slider-crank",
    title="Crank-slider in a rough guide",
    source="Yuan & Ge 2016 (paper 000), with a slider of two coordinates in a guide with Coulomb friction",
    description="Eight coordinates, six holonomic constraints, one two-sided contact with friction.",
    build=build,
    start=start,
    sketch=Sketch(sketch, pose),
    parameters=PARAMETERS,
    units={"x1": "m", "y1": "m", "x2": "m", "y2": "m", "x3": "m", "y3": "m", "theta1": "rad", "theta2": "rad"},
    t_end=2.0,
    dt=1e-3,
    notes=(
        "The source's guide is smooth; the friction coefficient is our choice. With mu = 0 the motion is that of "
        "crank-slider.",
    ),
    cases=CASES,
)
