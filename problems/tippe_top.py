"""The tippe top: a ball with an eccentric centre of mass that spins fast; friction turns it upside down.

For any contact force, Jellett's integral is constant: the scalar product of the angular momentum about the centre of
mass and the vector from the contact point to that centre. Without friction the mean tilt would stay the same.
"""

from __future__ import annotations

from gaussopt.bodies import Model, Touch
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Disk, Ground, Parameters, Point, Shape

PARAMETERS = (
    Parameter("m", 0.02, "kg", "mass"),
    Parameter("r", 0.02, "m", "radius"),
    Parameter("offset", 0.006, "m", "distance of the centre of mass below the centre of the ball"),
    Parameter("Ia", 3.2e-6, "kg m^2", "inertia about the axis of the top"),
    Parameter("It", 2.994e-6, "kg m^2", "inertia across it, about the centre of mass"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("mu", 0.1, "1", "friction coefficient"),
    Parameter("tilt", 0.1, "rad", "initial tilt of the axis"),
    Parameter("spin", 155.0, "rad/s", "initial spin about the axis"),
)


def fill(model: Model) -> None:
    """Add the top; its z axis, the axis of symmetry, is tilted about x; the centre of the ball is above the origin."""
    import sympy as sp

    m, r, offset, Ia, It, g, mu, tilt, spin = model.symbols.values()
    model.gravity = (0, 0, -g)
    axis = sp.Matrix([0, -sp.sin(tilt), sp.cos(tilt)])
    omega = spin * axis
    centre = sp.Matrix([0, 0, r]) - offset * axis
    top = model.body(
        "top", m, (It, It, Ia), at=list(centre), angle=(sp.cos(tilt / 2), sp.sin(tilt / 2), 0, 0), spin=list(omega),
        quaternion_mass=It,
    )  # fmt: skip
    floor = model.ground.at(0, 0, 0, axis=(0, 0, 1))
    model.add(Touch("floor", floor, top.at(0, 0, offset), mu=mu, radius=r))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the top as seen along the y axis: the ball, its centre of mass and the end of its stem."""
    x, _, z, e0, e1, e2, e3 = q.tolist()
    axis = (2 * (e1 * e3 + e0 * e2), e0**2 - e1**2 - e2**2 + e3**2)
    centre = (x + p["offset"] * axis[0], z + p["offset"] * axis[1])
    stem = (centre[0] + 1.4 * p["r"] * axis[0], centre[1] + 1.4 * p["r"] * axis[1])
    return Ground((0.0, 0.0)), Disk(centre, p["r"]), Point((x, z), "S"), Point(stem)


problem = mechanism(
    fill,
    name="tippe-top",
    title="Tippe top, turned upside down by friction",
    source="R. J. Cohen, Amer. J. Phys. 45, 1977; S. Rauch-Wojciechowski, Regul. Chaotic Dyn. 13, 2008",
    description="A body with unit quaternions on one contact with a friction cone.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["top"],
    t_end=1.0,
    dt=5e-4,
)
