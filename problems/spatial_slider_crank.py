"""The spatial slider-crank: crank and rod joined by a ball joint, rod and slider by a cardan joint, with quaternions.

The crank turns about the x axis through A, and the slider moves along the x axis. The x axis of the rod points from B
to C; its y axis stays perpendicular to the x axis of the ground.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gaussopt.bodies import Cylinder, Model, Revolute, Slot, Spherical, Universal
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Bearing, Block, Parameters, Point, Shape, Wall

PARAMETERS = (
    Parameter("m1", 0.12, "kg", "mass of the crank, its centre on its axis"),
    Parameter("m2", 0.5, "kg", "mass of the rod"),
    Parameter("m3", 2.0, "kg", "mass of the slider"),
    Parameter("I1", 1e-4, "kg m^2", "inertia of the crank about its axis"),
    Parameter("I2", 4e-4, "kg m^2", "inertia of the rod about itself"),
    Parameter("I3", 4e-3, "kg m^2", "inertia of the rod across itself"),
    Parameter("g", 9.81, "m/s^2", "gravity along -z"),
    Parameter("omega0", 6.0, "rad/s", "initial rate of the crank"),
)
A, CRANK, ROD = (0.0, 0.1, 0.12), 0.08, 0.3
"""The pivot A of the crank, and the lengths of crank and rod, m."""


def fill(model: Model) -> None:
    """Add crank, rod and slider; the crank points upwards at the start."""
    m1, m2, m3, I1, I2, I3, g, omega0 = model.symbols.values()
    model.gravity = (0, 0, -g)
    B, C = np.array([0.0, A[1], A[2] + CRANK]), np.array([(ROD**2 - A[1] ** 2 - (A[2] + CRANK) ** 2) ** 0.5, 0.0, 0.0])
    wheel = (Cylinder(0.025, (-0.01, 0, 0), (0.01, 0, 0)), Cylinder(0.008, (0, 0, 0), (0, 0, CRANK)))
    crank = model.body("crank", m1, (I1, I1, I1), at=A, spin=(omega0, 0, 0), shape=wheel)
    bar = Cylinder(0.008, (-ROD / 2, 0, 0), (ROD / 2, 0, 0))
    rod = model.body("rod", m2, (I2, I3, I3), at=(B + C) / 2, angle=_attitude((C - B) / ROD), shape=bar)
    slider = model.particle("slider", m3, at=C.tolist(), shape=(0.06, 0.04, 0.03))
    model.add(Revolute("A", model.ground.at(*A), crank))
    model.add(Spherical("B", crank.at(0, 0, CRANK), rod.at(-ROD / 2, 0, 0)))
    model.add(Universal("C", slider, rod.at(ROD / 2, 0, 0, axis=(0, 1, 0))))
    model.add(Slot("guide", model.ground, slider))


def _attitude(along: Vector) -> list[float]:
    """Return the quaternion of a frame whose x axis is `along` and whose y axis is normal to the ground's x axis."""
    from scipy.spatial.transform import Rotation

    y = np.cross([1.0, 0.0, 0.0], along)
    y /= np.linalg.norm(y)
    *vector, scalar = Rotation.from_matrix(np.stack((along, y, np.cross(along, y)), axis=1)).as_quat().tolist()
    return [scalar, *vector]


def sketch(q: Vector, p: Parameters) -> Sequence[Shape]:
    """Draw the mechanism as seen along the y axis: the pivot, the ball joint, and the slider on its guide."""
    e0, e1, e2, e3 = q[3:7]
    ball = (A[0] + CRANK * 2 * (e1 * e3 + e0 * e2), A[2] + CRANK * (e0**2 - e1**2 - e2**2 + e3**2))
    return (
        Wall((0.15, -0.01), (0.32, -0.01)), Block((q[14], q[16]), 0.03, 0.02), Bearing((A[0], A[2]), "A"),
        Point(ball, "B", trace=True), Point((q[7], q[9]), trace=True),
    )  # fmt: skip


problem = mechanism(
    fill,
    name="spatial-slider-crank",
    title="Slider-crank in space, with a singular mass matrix",
    source="E. J. Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems, 1989; IFToMM benchmark library",
    description="Two bodies with unit quaternions and a slider, 17 coordinates, 16 holonomic constraints.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    hold=["e1_crank"],
    bodies=["crank", "rod", "slider"],
    t_end=5.0,
    dt=1e-3,
)
