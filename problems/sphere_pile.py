"""Balls that fall onto each other between four walls and come to rest as a pile, by friction and without restitution.

The balls start in layers of four, each layer turned against the one below, with small random shifts of a given seed.
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
from gaussopt.modelling.sketch import Disk, Ground, Parameters, Shape, Wall
from gaussopt.modelling.solids import SpacePicture
from gaussopt.modelling.variant import Variant

RADIUS, HALF, MU = 0.05, 0.13, 0.4
"""Radius of the balls and half the distance of the walls, m; friction coefficient."""

NUMBERS = (2, 5, 10, 20)


@cache
def pile(number: int) -> Problem:
    """So many balls of 1 kg over the floor."""
    found, random = Pile(mu=MU), np.random.default_rng(0)
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
        found.wall(-HALF * np.array(normal), normal)
    for i in range(number):
        layer, angle = divmod(i, 4)
        turn = 0.5 * np.pi * angle + 0.8 * layer
        place = 1.5 * RADIUS * np.array([np.cos(turn), np.sin(turn)]) + 0.02 * RADIUS * random.normal(size=2)
        found.ball(1.0, RADIUS, at=(*place, RADIUS * (1.02 + 2.1 * layer)))
    return found.problem(t_end=0.5, dt=2e-3, name="sphere-pile")


def build(number: int = 5) -> AbstractSystem:
    """The system of a pile."""
    return pile(number).system


def start(p: Mapping[str, float], number: int = 5) -> tuple[Vector, Vector]:
    """At rest, before they fall."""
    return pile(number).q0, pile(number).v0


def in_space(p: Mapping[str, float], variant: str) -> SpacePicture:
    """All balls, the floor and the walls."""
    found = pile(int(variant.split()[0]) if variant else 5).in_space
    assert found is not None
    return found(p, variant)


def sketch(q: Vector, p: Parameters) -> tuple[Shape, ...]:
    """Seen along the y axis."""
    walls = (Wall((-HALF, 0.3), (-HALF, 0.0)), Wall((HALF, 0.0), (HALF, 0.3)))
    return Ground((0.0, 0.0)), *walls, *(Disk((x, z), RADIUS) for x, z in q.reshape(-1, 7)[:, [0, 2]].tolist())


problem = Problem(
    name="sphere-pile",
    title="Five balls that fall and come to rest",
    source="test of the field for many contacts; balls in a box",
    description="Free balls with unit quaternions; each touches the floor, four walls and every other ball.",
    build=build,
    in_space=in_space,
    start=start,
    sketch=sketch,
    parameters=(),
    units=units(*map(str, range(1, 21))),
    t_end=0.5,
    dt=2e-3,
    variants={f"{number} balls": Variant(partial(build, number), f"{number} balls") for number in NUMBERS},
    starts={f"{number} balls": partial(start, number=number) for number in NUMBERS},
    sketches=dict.fromkeys((f"{number} balls" for number in NUMBERS), sketch),
)
