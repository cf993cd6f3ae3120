"""A wall of boxes in running bond that stands by friction, each row one box shorter than the row below.

Boxes of the same row do not touch. Many contact forces are not unique, but the wall is certain to stand. The lowest
row carries the whole weight.
"""

from __future__ import annotations

import numpy as np

from gaussopt.bodies.pile import Pile, piles
from gaussopt.core.arrays import Vector
from gaussopt.modelling.sketch import Block, Ground, Parameters, Shape

EDGES, PITCH = (0.2, 0.1, 0.1), 0.21
"""Edges of a box, and distance between the centres of boxes in a row, m."""

MU = 0.6


def wall(rows: int) -> Pile:
    """Return a wall of boxes of 1 kg, with as many rows as there are boxes in the lowest row."""
    pile = Pile(mu=MU)
    for level in range(rows):
        for i in range(rows - level):
            pile.box(1.0, EDGES, at=(PITCH * (i + level / 2), 0.0, EDGES[2] * (level + 0.5)))
    return pile


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the wall as seen along the y axis; boxes are drawn with their rotation about this axis."""
    blocks = []
    for x, _, z, e0, e1, e2, e3 in q.reshape(-1, 7).tolist():
        angle = np.arctan2(2 * (e1 * e3 - e0 * e2), e0**2 + e1**2 - e2**2 - e3**2)
        blocks.append(Block((x, z), EDGES[0], EDGES[2], float(angle)))
    return Ground((0.0, 0.0)), *blocks


problem = piles(
    wall,
    usual=2,
    sizes={"1 box": 1, "3 boxes": 2, "6 boxes": 3, "10 boxes": 4},
    unit="rows",
    most=10,
    name="box-wall",
    title="Wall of three boxes held by friction",
    source="test of the field for redundant contacts (low wall, box stacks of the FCLIB collection)",
    description="Free boxes with unit quaternions, four contacts between each two that touch.",
    sketch=sketch,
    t_end=1.0,
    dt=1e-2,
)
