"""Mistakes in a model of bodies: parts that were made but not added, and models in which no motion can begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from gaussopt.bodies.body import RigidBody
from gaussopt.bodies.element import Element
from gaussopt.bodies.forces.ball_touch import BallTouch
from gaussopt.bodies.forces.touch import Touch
from gaussopt.bodies.joints.drive import Drive
from gaussopt.bodies.overlaps import Shapes
from gaussopt.bodies.space import SpaceBody
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import listed
from gaussopt.core.step_data import StepData
from gaussopt.modelling.solids import Ball, Box

FAR = 1.0
"""Warn if a body starts farther from its guess than this, relative to the largest distance from the origin."""


def _moved(bodies: Mapping[str, RigidBody], guess: Vector, q: Any) -> Iterator[str]:
    """Yield a sentence on the body that was assembled furthest from its guess, if the distance is above `FAR`."""
    names = [str(x) for body in bodies.values() for x in body.new_q]
    if q is None or names != [str(x) for body in bodies.values() for x in body.q] or len(names) != len(guess):
        return  # guesses are given for bodies, not for joint coordinates
    found = dict(zip(names, zip(guess, q, strict=True), strict=True))
    places = {b.name: np.array([found[str(x)] for x in b.q[: b.dim]]).T for b in bodies.values() if b.q}
    size = max((float(np.linalg.norm(at)) for pair in places.values() for at in pair), default=0.0)
    given = {name: np.linalg.norm(b - a) for name, (a, b) in places.items() if a.any()}
    name = max(given, key=lambda x: given[x], default="")
    if name and given[name] > FAR * size:
        guessed, at = (np.array2string(x, precision=4, separator=", ", suppress_small=True) for x in places[name])
        yield (
            f"The body {name!r} was guessed at {guessed} and is assembled at {at}: see whether the start is the one "
            "that is meant, and guess nearer to it if it is not."
        )


def slips(
    bodies: Mapping[str, RigidBody], elements: Mapping[str, Element], gravity: Any, step: StepData,
    guess: Vector,
) -> Iterator[str]:  # fmt: skip
    """Yield sentences on probable mistakes in `bodies` and `elements`, given by their names.

    `step` is the step at the start, `guess` the coordinates from which the start was assembled, (n,).
    """
    for e in {id(e): e for body in bodies.values() for e in body.made}.values():
        if e.name not in elements:
            a, b = (body.name for body in e.bodies)
            yield (
                f"The {type(e).__name__} {e.name!r} between {a!r} and {b!r} was made and not added: give it to "
                "`add` of the model."
            )
    joined = {body.name for e in elements.values() for body in e.bodies}
    alone = [name for name, body in bodies.items() if body.q and name not in joined]
    if alone and joined:
        yield f"Nothing joins {listed(alone)} to the other bodies: no joint, force or contact. Is one missing?"
    moving = step.force.any() or step.gamma.any() or (step.v is not None and step.v.any())
    if not (moving or step.k or any(isinstance(e, Drive) for e in elements.values())):
        none = "The model is at rest" if any(gravity) else "The model has no gravity"
        yield f"{none}, and no force acts at the start: nothing begins to move. Is gravity=(0, -9.81) missing?"
    yield from _moved(bodies, guess, step.q)


def shapes(
    bodies: Mapping[str, RigidBody], elements: Mapping[str, Element], coordinates: Sequence[str]
) -> Callable[[Matrix], str | None] | None:  # fmt: skip
    """Return a function of the motion that warns of overlaps; None without two balls or boxes with contacts in space.

    It tests the shapes given for the bodies and the balls of their contacts, if their sizes are numbers. Bodies with an
    element between them are not tested: the element keeps them together or apart.
    """
    touching = {b.name for e in elements.values() if isinstance(e, Touch | BallTouch) for b in e.bodies}
    place = {x: i for i, x in enumerate(coordinates)}
    met = [b for name, b in bodies.items() if name in touching and isinstance(b, SpaceBody)]
    met = [b for b in met if place.keys() >= {str(x) for x in b.q}]
    if len(met) < 2:
        return None
    solids = {(b.name, solid) for b in met for solid in b.shape or ()}
    for e in elements.values():
        solids |= {x for x in e.in_space() if isinstance(x, tuple)} if isinstance(e, Touch | BallTouch) else set()
    number = {b.name: i for i, b in enumerate(met)}
    found = [
        (number[name], [*s.at, *getattr(s, "turn", (1, 0, 0, 0)), *getattr(s, "edges", (0, 0, 0)),
                        getattr(s, "radius", 0)])
        for name, s in sorted(solids, key=str) if name in number and isinstance(s, Ball | Box)
    ]  # fmt: skip
    known = [(i, row) for i, row in found if not any(sp.sympify(x, strict=True).free_symbols for x in row)]
    if len({i for i, _ in known}) < 2:
        return None
    size = np.array([row for _, row in known], dtype=float)
    ends = (sorted(number.get(b.name, -1) for b in e.bodies) for e in elements.values())
    places = np.array([[place[str(x)] for x in b.q] for b in met])
    of = np.array([i for i, _ in known], dtype=np.intp)
    without = frozenset((i, j) for i, j in ends)
    names, half, radius = [b.name for b in met], size[:, 7:10] / 2, size[:, 10]
    return Shapes(of, names, places, size[:, :3], size[:, 3:7], half, radius, without).sentence
