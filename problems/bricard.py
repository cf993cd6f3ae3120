"""Bricard's mechanism: five rods and the ground along cube edges, hinged at right angles; one constraint is redundant.

A ring of six rods of length 1 and six hinges generally cannot move. Here, where each hinge is perpendicular to both
its rods and neighbouring hinges are at right angles, it has one degree of freedom, and one constraint row follows from
the others in every position.
"""

from __future__ import annotations

import numpy as np

from gaussopt.bodies import Model, Revolute
from gaussopt.bodies.mechanism import mechanism
from gaussopt.core.arrays import Vector
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.sketch import Bearing, Parameters, Point, Shape

PARAMETERS = (
    Parameter("m", 1.0, "kg", "mass of each rod"),
    Parameter("L", 1.0, "m", "length of each rod"),
    Parameter("d", 0.1, "m", "edge of the square section of each rod"),
    Parameter("g", 9.81, "m/s^2", "gravity along -y"),
)
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)])
"""Corners of the cube, where the hinges are at the start; the ground is the edge from the last corner to the first."""
EDGES = np.roll(CORNERS, -1, axis=0) - CORNERS
AXES = np.cross(np.roll(EDGES, 1, axis=0), EDGES)


def fill(model: Model) -> None:
    """Add the rods: rod k goes from corner k to the next; at the start all frames have the axes of the ground."""
    import sympy as sp

    m, L, d, g = model.symbols.values()
    model.gravity, along, across = (0, -g, 0), m * d**2 / 6, m * (L**2 + d**2) / 12
    half = sp.Rational(1, 2)
    rods = [
        model.body(
            f"r{k + 1}", m, [along if x else across for x in EDGES[k]],
            at=[L * half * x for x in CORNERS[k] + CORNERS[k + 1]],
        )
        for k in range(5)
    ]  # fmt: skip
    ends = [
        (rod.at(*(-L * half * x for x in EDGES[k]), axis=AXES[k].tolist()),
         rod.at(*(L * half * x for x in EDGES[k]), axis=AXES[k + 1].tolist()))
        for k, rod in enumerate(rods)
    ]  # fmt: skip
    first, last = (model.ground.at(*(L * x for x in CORNERS[k]), axis=AXES[k].tolist()) for k in (0, 5))
    sides = [first, *(side for pair in ends for side in pair), last]
    for k in range(6):
        model.add(Revolute("ABCDEF"[k], sides[2 * k], sides[2 * k + 1]))


def sketch(q: Vector, p: Parameters) -> list[Shape]:
    """Draw the hinges, seen along the z axis."""
    from scipy.spatial.transform import Rotation

    places = [p["L"] * CORNERS[5]]
    for k in range(5):
        x, e = q[7 * k : 7 * k + 3], q[7 * k + 3 : 7 * k + 7]
        places.append(x - Rotation.from_quat([*e[1:], e[0]]).as_matrix() @ EDGES[k] * p["L"] / 2)
    (f, a, *others) = [(float(x), float(y)) for x, y, _ in places]
    return [Bearing(f, "F"), Bearing(a, "A"), *(Point(c, n, trace=True) for c, n in zip(others, "BCDE", strict=True))]


problem = mechanism(
    fill,
    name="bricard",
    title="Bricard's mechanism, with a row that is redundant in any position",
    source="R. Bricard 1897; IFToMM benchmark library of multibody systems, problem A04, start as in Exudyn",
    description="Five rods in unit quaternions, 35 coordinates, 35 holonomic constraints, one degree of freedom.",
    sketch=sketch,
    parameters=PARAMETERS,
    dim=3,
    bodies=[f"r{k}" for k in range(1, 6)],
    t_end=0.3,
    dt=5e-3,
)
