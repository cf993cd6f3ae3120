"""A mass point on a rod in Cartesian coordinates: x^2 + y^2 = L^2, released at (L, 0)."""

from __future__ import annotations

from gaussopt.bodies import Distance, Model
from gaussopt.bodies.mechanism import mechanism
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Case

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("L", 1.0, "m", "length of the rod"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
)


def fill(model: Model) -> None:
    """Add a particle at a constant distance from a point of the ground."""
    m, L, g = model.symbols.values()
    model.gravity = (0, -g)
    mass = model.particle("mass", m, at=(L, 0))
    model.add(Distance("rod", model.ground, mass, L))


problem = mechanism(
    fill,
    name="pendulum",
    title="Pendulum in Cartesian coordinates",
    source="IFToMM benchmark library of multibody systems, problem A01; SUNDIALS example cvPendulum_dns",
    description="Two coordinates, one holonomic constraint; the motion is known in elliptic functions.",
    parameters=PARAMETERS,
    bodies=["mass"],
    t_end=10.0,
    dt=1e-3,
    cases={"period-2": Case({"g": 13.7503716360407456549801915596}, 30.0, "the period is 2 s")},
)
