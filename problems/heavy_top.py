"""A heavy symmetric top that spins fast about a fixed tip, with unit quaternions and their singular mass matrix.

With the angular momentum L3 = Ia spin about the axis of the top and the transverse inertia I = It + m l^2 about the
tip, the unit vector p of the axis satisfies

    I p x p'' + L3 p' = -m g l p x e_z.
"""

from __future__ import annotations

from gaussopt.bodies import Model, Spherical
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Bearing, Disk, Parameters, Point, Shape

PARAMETERS = (
    Parameter("m", 15.0, "kg", "mass"),
    Parameter("l", 1.0, "m", "distance of the centre of mass from the tip"),
    Parameter("Ia", 0.46875, "kg m^2", "inertia about the axis of the top"),
    Parameter("It", 0.234375, "kg m^2", "inertia across it, about the centre of mass"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("spin", 150.0, "rad/s", "initial rate about the axis"),
    Parameter("turn", -4.61538, "rad/s", "initial rate about the vertical"),
)


def fill(model: Model) -> None:
    """Add the top, which lies along the y axis at the start."""
    m, l, Ia, It, g, spin, turn = model.symbols.values()
    model.gravity = (0, 0, -g)
    top = model.body("top", m, (It, Ia, It), at=(0, l, 0), velocity=(-turn * l, 0, 0), spin=(0, spin, turn))
    model.add(Spherical("tip", model.ground, top.at(0, -l, 0)))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw tip and centre of mass, seen along the y axis."""
    x, _, z = q[:3].tolist()
    return Bearing((0.0, 0.0), "tip"), Disk((x, z), p["l"] / 20), Point((x, z), "C", trace=True)


problem = mechanism(
    fill,
    name="heavy-top",
    title="Fast heavy top, with a singular mass matrix",
    source="M. Geradin, A. Cardona, Flexible Multibody Dynamics, 2001; M. Arnold, O. Bruels, A. Cardona, Numer. Math. "
    "129, 2015",
    description="Seven coordinates, four holonomic constraints, three degrees of freedom.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["top"],
    t_end=0.2,
    dt=1e-4,
)
