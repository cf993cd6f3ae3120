"""A cube that slides over a rough floor and stops, with its four lower corners as contacts in space.

By Coulomb's law it stays on the floor: it moves along a line, decelerates by mu g, and stops after speed0 / (mu g).
The convex relaxation of the law (`coulomb-ccp`) opens sliding contacts at the rate mu |u_T| and so lifts the cube.
"""

from __future__ import annotations

from gaussopt.bodies import Model, Touch
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Block, Force, Ground, Parameters, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("edge", 0.1, "m", "length of the edges"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("mu", 0.5, "1", "friction coefficient"),
    Parameter("speed0", 6.0, "m/s", "initial velocity"),
    Parameter("direction", 0.5, "rad", "its angle from the x axis"),
)


def fill(model: Model) -> None:
    """Add the cube, which lies on the plane z = 0 with its edges along the axes."""
    import sympy as sp

    m, edge, g, mu, speed0, direction = model.symbols.values()
    model.gravity, half, inertia = (0, 0, -g), edge / 2, m * edge**2 / 6
    cube = model.body(
        "cube", m, (inertia,) * 3, at=(0, 0, half), quaternion_mass=inertia,
        velocity=(speed0 * sp.cos(direction), speed0 * sp.sin(direction), 0),
    )  # fmt: skip
    floor = model.ground.at(0, 0, 0, axis=(0, 0, 1))
    for i, (x, y) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), 1):
        model.add(Touch(f"corner {i}", floor, cube.at(x * half, y * half, -half), mu=mu))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the cube as seen along the y axis."""
    x, _, z = q[:3].tolist()
    return Ground((0.0, 0.0)), Block((x, z), p["edge"], p["edge"]), Force((x, z), 0.0, "v")


problem = mechanism(
    fill,
    name="sliding-cube",
    title="Cube sliding over a floor in space",
    source="textbook; Coulomb friction in closed form",
    description="A body with unit quaternions on four contacts with friction cones.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["cube"],
    t_end=1.5,
    dt=1e-2,
)
