"""A sphere thrown along a rough floor with spin about any axis: it slides along a parabola, then rolls.

The slip u of the contact point keeps its direction, u' = -7/2 mu g u / |u|, so that the centre has the constant
acceleration -mu g u0 / |u0| until t = 2 |u0| / (7 mu g); then it rolls straight with the velocity v0 - 2/7 u0.
The spin about the vertical is constant.
"""

from __future__ import annotations

from gaussopt.bodies import Model, Touch
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Disk, Length, Parameters, Point, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("r", 0.1, "m", "radius"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("mu", 0.2, "1", "friction coefficient"),
    Parameter("vx0", 3.0, "m/s", "initial velocity along x"),
    Parameter("vy0", 0.0, "m/s", "initial velocity along y"),
    Parameter("wx0", -20.0, "rad/s", "initial spin about x"),
    Parameter("wy0", 0.0, "rad/s", "initial spin about y"),
    Parameter("wz0", 5.0, "rad/s", "initial spin about the vertical"),
)


def fill(model: Model) -> None:
    """Add the sphere, which touches the plane z = 0 at the origin."""
    m, r, g, mu, vx0, vy0, wx0, wy0, wz0 = model.symbols.values()
    model.gravity, inertia = (0, 0, -g), 2 * m * r**2 / 5
    ball = model.body(
        "ball", m, (inertia,) * 3, at=(0, 0, r), velocity=(vx0, vy0, 0), spin=(wx0, wy0, wz0), quaternion_mass=inertia,
    )  # fmt: skip
    model.add(Touch("floor", model.ground.at(0, 0, 0, axis=(0, 0, 1)), ball, mu=mu, radius=r))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the sphere as seen from above."""
    x, y = q[:2].tolist()
    r = p["r"]
    return Disk((x, y), r), Length((x, y), along((x, y), r, 0.8), "r", 1.25 * r), Point((x, y), trace=True)


problem = mechanism(
    fill,
    name="spinning-sphere",
    title="Sphere with spin, from sliding to rolling in space",
    source="textbook; Coulomb friction in closed form",
    description="A body with unit quaternions on one contact with a friction cone, which ends in rolling.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["ball"],
    t_end=1.0,
    dt=5e-3,
)
