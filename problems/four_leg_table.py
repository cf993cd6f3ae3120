"""A table with four legs, pulled by F: it rests if F <= mu m g, otherwise slides with acceleration F / m - mu g.

The distribution of weight and friction over the legs is not unique. If one leg has another friction coefficient, the
motion depends on the distribution: a continuum of motions satisfies the contact laws, and different methods find
different motions. The pull acts at the height of the floor, along the angle `direction`.
"""

from __future__ import annotations

from gaussopt.bodies import AppliedForce, Box, Cylinder, Model, Touch
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case
from gaussopt.modelling.sketch import Bar, Block, Ground, Parameters, Shape

PARAMETERS = (
    Parameter("m", 10.0, "kg", "mass"),
    Parameter("a", 0.6, "m", "half the distance of the legs along x"),
    Parameter("b", 0.4, "m", "half the distance of the legs along y"),
    Parameter("height", 0.7, "m", "height of the centre of mass"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("mu", 0.4, "1", "friction coefficient of three legs"),
    Parameter("mu1", 0.4, "1", "friction coefficient of the first leg"),
    Parameter("F", 50.0, "N", "pull"),
    Parameter("direction", 0.3, "rad", "its angle from the x axis"),
)


def fill(model: Model) -> None:
    """Add the table, which stands on the plane z = 0."""
    import sympy as sp

    m, a, b, height, g, mu, mu1, F, direction = model.symbols.values()
    model.gravity = (0, 0, -g)
    inertia = (m * b**2 / 3, m * a**2 / 3, m * (a**2 + b**2) / 3)
    feet = [(x, y, -height) for x, y in ((-a, -b), (a, -b), (a, b), (-a, b))]
    shape = [Box((2.1 * a, 2.1 * b, 0.04)), *(Cylinder(0.03, (x, y, 0), (x, y, z)) for x, y, z in feet)]
    table = model.body("table", m, inertia, at=(0, 0, height), quaternion_mass=m * b**2 / 3, shape=shape)
    pull = (F * sp.cos(direction), F * sp.sin(direction), 0)
    model.add(AppliedForce("pull", model.ground, table.at(0, 0, -height), pull))
    floor = model.ground.at(0, 0, 0, axis=(0, 0, 1))
    for i, foot in enumerate(feet, 1):
        model.add(Touch(f"leg {i}", floor, table.at(*foot), mu=mu1 if i == 1 else mu))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the table as seen along the y axis."""
    x, _, z = q[:3].tolist()
    legs = [Bar((x + side * p["a"], z), (x + side * p["a"], z - p["height"])) for side in (-1, 1)]
    return Ground((0.0, 0.0)), Block((x, z), 2.2 * p["a"], 0.05), *legs


problem = mechanism(
    fill,
    name="four-leg-table",
    title="Table on four legs, pulled over the floor",
    source="classical statically indeterminate support; Coulomb friction in closed form",
    description="A body with unit quaternions on four contacts with friction cones, whose forces are not unique.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["table"],
    t_end=1.0,
    dt=1e-2,
    cases={
        "holds": Case({"F": 30.0}, 1.0, "pulled by less than mu m g: at rest"),
        "unequal legs": Case({"mu1": 0.2}, 1.0, "the motion depends on how the legs share the weight"),
    },
)
