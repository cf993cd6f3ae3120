"""N four-bar linkages in a row: 2 N + 1 equal rods, singular where all rods are in line.

Crank i turns about (i L, 0), i = 0 ... N; the other N rods, the couplers, join the tips of neighbouring cranks. On the
branch of parallelograms, where the cranks turn and the couplers do not,

    theta'' = -g / L ((N + 1) / 2 + N) / ((N + 1) / 3 + N) cos theta,

and at theta = k pi J loses rank: there N + 1 independent velocities are possible instead of one.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from gaussopt.bodies import Model, Revolute
from gaussopt.bodies.mechanism import mechanism
from gaussopt.modelling.parameter import Parameter

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass of each rod"),
    Parameter("L", 1.0, "m", "length of each rod"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("omega0", -1.0, "rad/s", "initial rate of the cranks"),
)


def fill(model: Model, N: int = 2) -> None:
    """Add N four-bars; all cranks start upright."""
    import sympy as sp

    m, L, g, omega0 = model.symbols.values()
    model.gravity, inertia, half = (0, -g), m * L**2 / 12, L / 2
    speed = (-omega0 * L, 0)
    cranks = [
        model.body(f"c{i}", m, inertia, at=(i * L, half), angle=sp.pi / 2, velocity=(speed[0] / 2, 0), spin=omega0)
        for i in range(N + 1)
    ]
    for i, crank in enumerate(cranks):
        model.add(Revolute(f"A{i}", model.ground.at(i * L, 0), crank.at(-half, 0)))
    for i, (left, right) in enumerate(pairwise(cranks)):
        rod = model.body(f"r{i}", m, inertia, at=(i * L + half, L), velocity=speed)
        model.add(Revolute(f"B{i}", left.at(half, 0), rod.at(-half, 0)))
        model.add(Revolute(f"C{i}", right.at(half, 0), rod.at(half, 0)))


problem = mechanism(
    fill,
    name="n-four-bar",
    title="Two four-bars in a row, singular where their rods are in line",
    source="IFToMM benchmark library of multibody systems, problem A02; N = 2 as in OpenSim and Exudyn",
    description="Five rods, fourteen holonomic constraints, one degree of freedom, three at singular positions.",
    parameters=PARAMETERS,
    hold=["theta_c0"],
    bodies=[f"{kind}{i}" for kind in "cr" for i in range(41)],
    variants={f"N={N}": (partial(fill, N=N), f"four-bars in a row: {N}") for N in (1, 3, 40)},
    t_end=0.7,
    dt=1e-3,
)
