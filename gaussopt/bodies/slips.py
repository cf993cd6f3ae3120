"""Slips in a model of bodies: parts that were made but not added, and models in which no motion can begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gaussopt.bodies.body import RigidBody
from gaussopt.bodies.element import Element
from gaussopt.bodies.joints.drive import Drive
from gaussopt.core.display import listed
from gaussopt.core.step_data import StepData


def slips(
    bodies: Mapping[str, RigidBody], elements: Mapping[str, Element], gravity: Any, step: StepData
) -> Iterator[str]:
    """Yield sentences on probable mistakes in the bodies and elements, by name; `step` is the step at the start."""
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
