"""A wall of boxes in running bond that stands by friction, each row one box shorter.

Boxes of a row do not touch. Forces are many times undetermined; that the wall stands is not. The lowest row carries the
whole weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial

import numpy as np

from gaussopt.bodies.model import units
from gaussopt.bodies.pile import Pile
from gaussopt.core.arrays import Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.sketch import Block, Ground, Parameters, Shape
from gaussopt.modelling.solids import SpacePicture
from gaussopt.modelling.variant import Variant

EDGES, PITCH = (0.2, 0.1, 0.1), 0.21
"""Edges of a box, and distance of their centres in a row, m."""

MU = 0.6
ROWS = {"1 box": 1, "3 boxes": 2, "6 boxes": 3, "10 boxes": 4}


@cache
def wall(rows: int) -> Problem:
    """Rows of boxes of 1 kg; the lowest has as many boxes as there are rows."""
    pile = Pile(mu=MU)
    for level in range(rows):
        for i in range(rows - level):
            pile.box(1.0, EDGES, at=(PITCH * (i + level / 2), 0.0, EDGES[2] * (level + 0.5)))
    return pile.problem(t_end=1.0, dt=1e-2, name="box-wall")


def build(rows: int = 2) -> AbstractSystem:
    """The system of a wall."""
    return wall(rows).system


def start(p: Mapping[str, float], rows: int = 2) -> tuple[Vector, Vector]:
    """At rest."""
    return wall(rows).q0, wall(rows).v0


def in_space(p: Mapping[str, float], variant: str) -> SpacePicture:
    """All boxes."""
    found = wall(ROWS.get(variant, 2)).in_space
    assert found is not None
    return found(p, variant)


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Seen along the y axis; boxes are drawn by their turn about it."""
    blocks = []
    for x, _, z, e0, e1, e2, e3 in q.reshape(-1, 7).tolist():
        angle = np.arctan2(2 * (e1 * e3 - e0 * e2), e0**2 + e1**2 - e2**2 - e3**2)
        blocks.append(Block((x, z), EDGES[0], EDGES[2], float(angle)))
    return Ground((0.0, 0.0)), *blocks


problem = Problem(
    name="box-wall",
    title="Wall of three boxes held by friction",
    source="test of the field for redundant contacts (low wall, box stacks of the FCLIB collection)",
    description="Free boxes with unit quaternions, four contacts between each two that touch.",
    build=build,
    in_space=in_space,
    start=start,
    sketch=sketch,
    parameters=(),
    units=units(*map(str, range(1, 11))),
    t_end=1.0,
    dt=1e-2,
    variants={name: Variant(partial(build, rows), f"{rows} rows") for name, rows in ROWS.items()},
    starts={name: partial(start, rows=rows) for name, rows in ROWS.items()},
    sketches=dict.fromkeys(ROWS, sketch),
)
