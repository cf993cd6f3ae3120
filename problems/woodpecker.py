"""The woodpecker toy: a sleeve jams on a rod by friction, a bird on a spring swings and strikes the rod with its beak.

y is the height of the sleeve, phi_M its angle and phi_S the angle of the bird, both small, positive anticlockwise. The
sleeve touches the rod with its lower edge or with its upper edge, the bird with its beak. From the start the toy falls
almost periodically: it slides in flight, strikes, jams and swings.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.contacts import Contact
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Bar, ContactPoint, Parameters, Point, Shape, Wall, along

PARAMETERS = (
    Parameter("m_M", 0.0003, "kg", "mass of the sleeve"),
    Parameter("J_M", 5e-9, "kg m^2", "moment of inertia of the sleeve"),
    Parameter("m_S", 0.0045, "kg", "mass of the bird"),
    Parameter("J_S", 7e-7, "kg m^2", "moment of inertia of the bird"),
    Parameter("c", 0.0056, "N m/rad", "stiffness of the spring between sleeve and bird"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("r_0", 0.0025, "m", "radius of the rod"),
    Parameter("r_M", 0.0031, "m", "inner radius of the sleeve"),
    Parameter("h_M", 0.0058, "m", "half of the height of the sleeve"),
    Parameter("l_M", 0.01, "m", "distance from the axis of the sleeve to the spring"),
    Parameter("l_G", 0.015, "m", "distance from the spring to the centre of the bird"),
    Parameter("h_S", 0.02, "m", "height of the beak above the centre of the bird"),
    Parameter("l_S", 0.0201, "m", "distance from the centre of the bird to the beak"),
    Parameter("mu", 0.3, "1", "friction coefficient"),
    Parameter("e_N", 0.5, "1", "normal coefficient of restitution of the beak; the sleeve does not bounce"),
    Parameter("phi_S0", -0.2788, "rad", "initial angle of the bird"),
    Parameter("speed0", -0.3411, "m/s", "initial velocity of the sleeve upwards"),
    Parameter("omega_S0", -7.4583, "rad/s", "initial angular velocity of the bird"),
)


def build() -> AbstractSystem:
    """Derive the equations for small angles, as in the source: M and the rows of the contacts are constant."""
    import sympy as sp

    y, phi_M, phi_S = q = sp.symbols("y phi_M phi_S")
    v, omega_M, omega_S = velocities = sp.symbols("v omega_M omega_S")
    m_M, J_M, m_S, J_S, c, g, r_0, r_M, h_M, l_M, l_G, h_S, l_S, mu, e_N = sp.symbols([p.name for p in PARAMETERS[:15]])
    edge = v + r_M * omega_M
    bird = v + l_M * omega_M + l_G * omega_S
    return System.from_lagrangian(
        q,
        velocities,
        kinetic=(m_M * v**2 + J_M * omega_M**2 + m_S * bird**2 + J_S * omega_S**2) / 2,
        potential=c * (phi_M - phi_S) ** 2 / 2 + m_M * g * y + m_S * g * (y + l_M * phi_M + l_G * phi_S),
        contacts=[
            Contact("beak", gap=l_M + l_G - l_S - r_0 - h_S * phi_S, slip=(bird - l_S * omega_S,), mu=mu, e_N=e_N),
            Contact("lower", gap=r_M - r_0 + h_M * phi_M, slip=(edge,), mu=mu),
            Contact("upper", gap=r_M - r_0 - h_M * phi_M, slip=(edge,), mu=mu),
        ],
        parameters={p.name: p.value for p in PARAMETERS},
        name="woodpecker",
    )


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state in which the sleeve slides on its lower edge, near the periodic motion."""
    q = np.array([0.0, -(p["r_M"] - p["r_0"]) / p["h_M"], p["phi_S0"]])
    return q, np.array([p["speed0"], 0.0, p["omega_S0"]])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the rod's side, sleeve and bird; rigid bars turn fully, contacts are where the small angles put them."""
    y, phi_M, phi_S = q
    r, rM, hM = p["r_0"], p["r_M"], p["h_M"]
    axis, spring = along((0.0, y), rM, phi_M), along((0.0, y), p["l_M"], phi_M)
    low, high = along(axis, hM, phi_M - np.pi / 2), along(axis, hM, phi_M + np.pi / 2)
    bird = along(spring, p["l_G"], phi_S)
    beak = along(along(bird, -p["l_S"], phi_S), p["h_S"], phi_S + np.pi / 2)
    reach, edge = p["l_M"] + p["l_G"] - p["l_S"], y + rM * phi_M
    points = {
        "beak": (reach - p["h_S"] * phi_S, y + p["l_M"] * phi_M + (p["l_G"] - p["l_S"]) * phi_S + p["h_S"]),
        "lower": (rM + hM * phi_M, edge - hM), "upper": (rM - hM * phi_M, edge + hM),
    }  # fmt: skip
    return (
        Wall((r, y + 0.05), (r, y - 0.05)), Bar(low, high), Bar(axis, spring), Bar(spring, bird),
        Bar(bird, beak), Point(bird, "S", trace=True),
        *(ContactPoint(name, at, normal=(1.0, 0.0), tangent=(0.0, 1.0)) for name, at in points.items()),
    )  # fmt: skip


problem = Problem(
    name="woodpecker",
    title="Woodpecker toy",
    source="Ch. Glocker 1995; R. I. Leine, Ch. Glocker and D. H. van Campen 2001, start near the periodic motion",
    description="Three coordinates, three contacts with friction, impacts with and without restitution, jamming.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"y": "m", "phi_M": "rad", "phi_S": "rad"},
    t_end=0.5,
    dt=1e-4,
)
