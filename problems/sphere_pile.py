"""Balls that fall onto each other between four walls and come to rest as a pile, with friction but no restitution.

The balls start in layers of four, each rotated relative to the layer below, with small random shifts (fixed seed).
"""

from __future__ import annotations

import numpy as np

from gaussopt.bodies.pile import Pile, piles
from gaussopt.core.arrays import Vector
from gaussopt.modelling.sketch import Disk, Ground, Parameters, Shape, Wall

RADIUS, HALF, MU = 0.05, 0.13, 0.4
"""Radius of the balls and half the distance between opposite walls, m; friction coefficient."""


def pile(number: int) -> Pile:
    """Return balls of 1 kg at rest above the floor, before they fall."""
    found, random = Pile(mu=MU), np.random.default_rng(0)
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        found.wall(-HALF * np.array(normal), normal)
    for i in range(number):
        layer, angle = divmod(i, 4)
        turn = 0.5 * np.pi * angle + 0.8 * layer
        place = 1.5 * RADIUS * np.array([np.cos(turn), np.sin(turn)]) + 0.02 * RADIUS * random.normal(size=2)
        found.ball(1.0, RADIUS, at=(*place, RADIUS * (1.02 + 2.1 * layer)))
    return found


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Draw the pile as seen along the y axis."""
    walls = (Wall((-HALF, 0.3), (-HALF, 0.0)), Wall((HALF, 0.0), (HALF, 0.3)))
    return Ground((0.0, 0.0)), *walls, *(Disk((x, z), RADIUS) for x, z in q.reshape(-1, 7)[:, [0, 2]].tolist())


problem = piles(
    pile,
    usual=5,
    sizes={f"{number} balls": number for number in (2, 5, 10, 20)},
    unit="balls",
    most=20,
    name="sphere-pile",
    title="Five balls that fall and come to rest",
    source="test of the field for many contacts; balls in a box",
    description="Free balls with unit quaternions; each touches the floor, four walls and every other ball.",
    sketch=sketch,
    t_end=0.5,
    dt=2e-3,
)
