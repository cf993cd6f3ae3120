"""A thin disc that rolls without slip on a plane: a coin, nearly upright, that is set spinning about the vertical.

With the axis a of the disc, n = omega . a and the angle al between a and the vertical, steady precession at rate Om
obeys (Ia + m r^2) n Om sin(al) = It Om^2 sin(al) cos(al) - m g r cos(al).
"""

from __future__ import annotations

from gaussopt.bodies import Model, Rolling
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Disk, Ground, Parameters, Point, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("r", 0.01, "m", "radius"),
    Parameter("Ia", 5e-5, "kg m^2", "inertia about the axis of the disc"),
    Parameter("It", 2.5e-5, "kg m^2", "inertia about a diameter"),
    Parameter("g", 9.81, "m/s^2", "gravity"),
    Parameter("tilt", 0.017453292519943295, "rad", "initial tilt of the disc from upright"),
    Parameter("spin", 31.41592653589793, "rad/s", "initial rate about the vertical"),
)


def fill(model: Model) -> None:
    """Add the disc, which touches the plane at the origin; its axis is its x axis.

    The `quaternion_mass` makes M regular and does not change the motion.
    """
    import sympy as sp

    m, r, Ia, It, g, tilt, spin = model.symbols.values()
    model.gravity, half = (0, 0, -g), tilt / 2
    centre = (r * sp.sin(tilt), 0, r * sp.cos(tilt))
    disc = model.body(
        "disc", m, (Ia, It, It), at=centre, angle=(sp.cos(half), 0, sp.sin(half), 0),
        velocity=(0, spin * r * sp.sin(tilt), 0), spin=(0, 0, spin), quaternion_mass=It,
    )  # fmt: skip
    model.add(Rolling("plane", model.ground.at(0, 0, 0, axis=(0, 0, 1)), disc, r))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the centre above the plane, as seen along the y axis."""
    x, _, z = q[:3].tolist()
    return Ground((0.0, 0.0)), Disk((x, z), p["r"] / 10), Point((x, z), "C", trace=True)


problem = mechanism(
    fill,
    name="rolling-disc",
    title="Rolling disc in unit quaternions",
    source="G. Rill, T. Schaeffer, Grundlagen und Methodik der Mehrkoerpersimulation, 2010, p. 59; Exudyn, "
    "rollingCoinTest",
    description="Seven coordinates, two holonomic and two nonholonomic constraints, three degrees of freedom.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=["disc"],
    t_end=0.5,
    dt=1e-4,
)
