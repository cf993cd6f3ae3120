"""The stiff flyball governor: two rods with balls on a rotating shaft, joined to a slider by stiff springs and dampers.

psi is the angle of the shaft, beta that of both rods below the horizontal, s the height of the slider, which rotates
with the shaft. The rods are hinged at the height L, at a distance a on either side; springs and dampers of length

    l = sqrt((L/2 cos beta)^2 + (L - L/2 sin beta - s)^2)

join the midpoints of the rods to the sides of the slider. Deviations of l decay at about 5e4 1/s while the balls swing
about once a second: explicit methods need steps of 2e-5 s throughout; radau-projected takes steps of about 2e-3 s.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case, Problem
from gaussopt.modelling.sketch import Bar, Block, Damper, Disk, Parameters, Pin, Point, Shape, Wall

PARAMETERS = (
    Parameter("m", 0.3, "kg", "mass of the shaft and of each rod"),
    Parameter("ms", 3.0, "kg", "mass of the slider, a cube"),
    Parameter("mb", 5.0, "kg", "mass of each ball, a point"),
    Parameter("L", 1.0, "m", "length of shaft and rods"),
    Parameter("d", 0.01, "m", "width of shaft and rods"),
    Parameter("a", 0.05, "m", "distance of the hinges from the axis, half the edge of the slider"),
    Parameter("K", 8e5, "N/m", "stiffness of each spring"),
    Parameter("C", 4e4, "N s/m", "damping beside each spring"),
    Parameter("l0", 0.5, "m", "relaxed length of the springs"),
    Parameter("g", 9.81, "m/s^2", "gravity, downwards"),
    Parameter("beta0", 0.5235987755982988, "rad", "initial angle of the rods"),
    Parameter("omega0", 6.283185307179586, "rad/s", "initial rate of the shaft"),
)


def build() -> AbstractSystem:
    """Derive the equations."""
    import sympy as sp

    q = _, beta, s = sp.symbols("psi beta s")
    v = omega, beta_rate, speed = sp.symbols("omega beta_rate s_rate")
    m, ms, mb, L, d, a, K, C, l0, g = sp.symbols("m ms mb L d a K C l0 g")
    along, across = m * d**2 / 6, m * (L**2 + d**2) / 12
    far, cube = a + L * sp.cos(beta), ms * (2 * a) ** 2 / 6
    rod = m * (a + L / 2 * sp.cos(beta)) ** 2 + along * sp.sin(beta) ** 2 + across * sp.cos(beta) ** 2
    length = sp.sqrt((L / 2 * sp.cos(beta)) ** 2 + (L - L / 2 * sp.sin(beta) - s) ** 2)
    by = [sp.diff(length, x) for x in q]
    damping = -2 * C * (by[1] * beta_rate + by[2] * speed)
    return System.from_lagrangian(
        q,
        v,
        kinetic=(along + cube + 2 * (rod + mb * far**2)) * omega**2 / 2 + ms * speed**2 / 2
        + (across + m * L**2 / 4 + mb * L**2) * beta_rate**2,
        potential=ms * g * s - (m + 2 * mb) * g * L * sp.sin(beta) + K * (length - l0) ** 2,
        forces=[damping * x for x in by],
        parameters={x.name: x.value for x in PARAMETERS},
        name="flyball-governor",
    )  # fmt: skip


def start(p: Parameters) -> tuple[Vector, Vector]:
    """Return the state at the speed omega0 with the slider where the springs are relaxed."""
    half, beta = p["L"] / 2, p["beta0"]
    drop = np.sqrt(p["l0"] ** 2 - (half * np.cos(beta)) ** 2)
    return np.array([0.0, beta, p["L"] - half * np.sin(beta) - drop]), np.array([p["omega0"], 0.0, 0.0])


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the governor in the plane of the rods, which rotates with the shaft."""
    _, beta, s = q.tolist()
    L, a = p["L"], p["a"]
    shapes: list[Shape] = [Wall((-2 * a, 0.0), (2 * a, 0.0)), Bar((0.0, 0.0), (0.0, L)), Block((0.0, s), 2 * a, 2 * a)]
    for sign in (1, -1):
        hinge, far = (sign * a, L), np.array([sign * L * np.cos(beta), -L * np.sin(beta)])
        middle, end = (tuple((hinge + share * far).tolist()) for share in (0.5, 1.0))
        shapes += [Bar(hinge, end), Pin(hinge), Damper((sign * a, s), middle), Disk(end, 0.06), Point(end, trace=True)]
    return tuple(shapes)


problem = Problem(
    name="flyball-governor",
    title="Stiff flyball governor",
    source="IFToMM benchmark library of multibody systems, problem A05",
    description="Three coordinates, no constraints, springs and dampers that make an explicit method slow.",
    build=build,
    start=start,
    sketch=sketch,
    parameters=PARAMETERS,
    units={"psi": "rad", "beta": "rad", "s": "m"},
    cases={"swinging": Case({}, 10.0, "ten seconds, for the stepper radau-projected")},
    t_end=0.01,
    dt=2e-5,
)
