"""A knife edge on an inclined plane: x' sin(phi) - y' cos(phi) = 0; the edge spins at a constant rate omega.

x points down the incline. From rest at phi = 0 the edge does not slide down for ever but drifts sideways:
x = g sin(alpha) / (2 omega^2) sin^2(omega t), y = g sin(alpha) / (2 omega^2) (omega t - sin(2 omega t) / 2).
"""

from __future__ import annotations

from gaussopt.bodies import Model, Row
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Blade, Parameters, Point, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("J", 1.0, "kg m^2", "inertia"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("alpha", 0.5235987755982988, "rad", "slope"),
    Parameter("omega", 2.0, "rad/s", "initial rate"),
)


def fill(model: Model) -> None:
    """Add a body, and its constraint as a row at velocity level."""
    import sympy as sp

    m, J, g, alpha, omega = model.symbols.values()
    model.gravity = (g * sp.sin(alpha), 0)
    edge = model.body("edge", m, J, spin=omega)
    vx, vy, _ = edge.v
    model.add(Row("blade", model.ground, edge, vx * sp.sin(edge.angle) - vy * sp.cos(edge.angle), velocity=True))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the blade from above, and its path."""
    x, y, phi = q.tolist()
    return Blade((x, y), 0.2, phi), Point((x, y), trace=True), Point((0.0, 0.0), "O")


problem = mechanism(
    fill,
    name="knife-edge-incline",
    title="Knife edge on an inclined plane",
    source="J. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems, 1972",
    description="Three coordinates, one nonholonomic constraint; the motion is known in closed form.",
    sketch=sketch,
    parameters=PARAMETERS,
    bodies=["edge"],
    t_end=5.0,
    dt=1e-3,
)
