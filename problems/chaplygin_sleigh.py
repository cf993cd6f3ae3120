"""Chaplygin's sleigh: a body on a plane with a blade behind its centre of mass.

The blade at A, at the distance a behind the centre of mass C, moves only along u, the body's axis:
n . r_A' = 0 with r_A = r_C - a u. With v = u . r_A' and omega = theta',
v' = a omega^2 and omega' = -m a v omega / (I + m a^2): the path of the sleigh approaches a straight line.
"""

from __future__ import annotations

from gaussopt.bodies import Model, Row
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Bar, Blade, Parameters, Point, Shape, along

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass"),
    Parameter("I", 0.5, "kg m^2", "inertia about the centre of mass"),
    Parameter("a", 0.3, "m", "from the blade to the centre of mass"),
    Parameter("speed0", 1.0, "m/s", "initial speed along the blade", printed=False),
    Parameter("omega0", 2.0, "rad/s", "initial rate", printed=False),
)


def fill(model: Model) -> None:
    """Add the body; its blade starts at the origin, along the x axis."""
    m, inertia, a, v, w = model.symbols.values()
    body = model.body("body", m, inertia, at=(a, 0), velocity=(v, a * w), spin=w)
    blade = body.at(-a, 0)
    model.add(Row("blade", model.ground, blade, blade.axes[1].dot(blade.rate), velocity=True))


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the body from its blade to its centre, from above."""
    x, y, theta = q.tolist()
    end = along((x, y), -p["a"], theta)
    return Bar(end, (x, y), "a"), Blade(end, 0.15, theta), Point((x, y), "C"), Point(end, "A", trace=True)


problem = mechanism(
    fill,
    name="chaplygin-sleigh",
    title="Chaplygin's sleigh",
    source="A. M. Bloch, Nonholonomic Mechanics and Control, 2003, sec. 1.7",
    description="Three coordinates, one nonholonomic constraint; the velocities are known in closed form.",
    sketch=sketch,
    parameters=PARAMETERS,
    bodies=["body"],
    t_end=5.0,
    dt=1e-3,
)
