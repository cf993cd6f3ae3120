"""A particle with y' = z x'; from the origin with velocity (1, 0, 1): x = asinh t, y = sqrt(1 + t^2) - 1, z = t."""

from __future__ import annotations

from gaussopt.bodies import Model, Row
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Axes, Disk, Parameters, Point, Shape

PARAMETERS = (Parameter("m", 1.0, "kg", "mass"),)


def fill(model: Model) -> None:
    """Add a particle, and its constraint as a row at velocity level."""
    mass = model.particle("mass", model.symbols["m"], velocity=(1, 0, 1))
    (_, _, z), (vx, vy, _) = mass.q, mass.v
    model.add(Row("rule", model.ground, mass, vy - z * vx, velocity=True))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the particle as seen along the z axis."""
    x, y, _ = q.tolist()
    return Axes((0.0, 0.0)), Disk((x, y), 0.03), Point((x, y), trace=True), Point((0.0, 0.0), "O")


problem = mechanism(
    fill,
    name="nonholonomic-particle",
    title="Particle with a nonholonomic constraint",
    source="L. A. Pars, A Treatise on Analytical Dynamics, 1965; the constraint y' = z x'",
    description="Three coordinates, one nonholonomic constraint, no force; the motion is known in closed form.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["mass"],
    t_end=5.0,
    dt=1e-3,
)
