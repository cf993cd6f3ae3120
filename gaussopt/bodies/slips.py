"""Mistakes in a model of bodies: parts that were made but not added, and models in which no motion can begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gaussopt.bodies.body import RigidBody
from gaussopt.bodies.element import Element
from gaussopt.bodies.joints.drive import Drive
from gaussopt.core.arrays import Vector
from gaussopt.core.display import listed
from gaussopt.core.step_data import StepData

FAR = 1.0
"""Distance from a body's guess to its start, relative to the largest distance from the origin, above which to warn."""


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
    """Yield sentences on probable mistakes in `bodies` and `elements`, which are mappings by name.

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
