"""Quantities that a motion of a model can record besides its coordinates: of points, springs, joints and contacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.bodies.body import End, RigidBody, marker, names_of, rate
from gaussopt.bodies.element import Element, Joint
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.core.motion import RecordedMotion
from gaussopt.core.output import Output
from gaussopt.symbolic.of_state import of_state

TORQUES = "angle", "tilt", "turn"
"""Beginnings of the names of rows whose multipliers are torques."""


class Observed:
    """Outputs of a model for `simulate(..., outputs=...)`; they are exact functions of the recorded states."""

    dim: int
    ground: RigidBody
    bodies: dict[str, RigidBody]
    elements: dict[str, Element]

    def built(self) -> Any:
        """Return bodies and elements in the model's coordinates, and the names of the joints that need no rows."""
        raise NotImplementedError

    def point(self, end: End | str) -> Output:
        """Return position and velocity of a point in the frame of the ground: x, y and v_x, v_y; in space z, v_z too.

        Parameters
        ----------
        end : a body, or a point of one, such as `body.at(0.5, 0)`; or the name of a body or of a point of one body

        Raises
        ------
        UnknownName
            If no body and no point of a body has that name; BadInput if points of several bodies have it.
        """
        point = marker(self._named(end) if isinstance(end, str) else end)
        of_bodies = dict(zip(self.bodies.values(), self.built()[0], strict=True))
        point = replace(point, body=of_bodies.get(point.body, point.body))
        parts = {x: (r, "m") for x, r in zip("xyz", point.r, strict=False)}
        parts |= {f"v_{x}": (v, "m/s") for x, v in zip("xyz", point.rate, strict=False)}
        return _output(parts, [point.body])

    def force(self, name: str) -> Output:
        """Return the forces of an element: for a spring its length, m, and the force, N, with which it pulls its ends.

        For a torsion spring these are its angle, rad, and torque, N m; for a joint the multipliers of its rows, as in
        `motion.reaction`; for a contact its normal and friction forces, as in `Output.contact`.

        Raises UnknownName if no element has this name, BadInput if the element has none of these quantities.
        """
        element = self._element(name)
        if parts := element.measured():
            return _output(parts, element.bodies)
        if rows := [*element.holonomic(), *element.nonholonomic()]:
            units = {row: "N m" if row.startswith(TORQUES) else "N" for row in rows}
            return Output(units, lambda motion: motion.reaction(name).T[: len(rows)])
        if element.contacts():
            return Output.contact(name)
        raise BadInput(f"{name!r} has no length, rows or contacts to record; take the points of its ends.")

    def displacement(self, name: str) -> Output:
        """Return the angle, rad, or the displacement, m, that a joint leaves free, and its rate.

        The angle of a hinge in space is found from the axes of its bodies and is continuous in time, if it changes by
        less than half a turn between recorded instants.

        Raises UnknownName if no element has this name, BadInput if it does not leave exactly one of them free.
        """
        joint = self._element(name)
        if not isinstance(joint, Joint):
            raise BadInput(f"{name!r} is no joint, so that it leaves no angle or displacement free.")
        free, unit = joint.free()
        turns = unit == "rad"
        speed = rate(free, joint.bodies), f"{unit}/s"
        found = _output({"angle" if turns else "along": (free, unit), "rate": speed}, joint.bodies)
        if not turns:
            return found

        def values(motion: RecordedMotion) -> list[Any]:
            angle, speed = found.values(motion)
            return [np.unwrap(np.broadcast_to(angle, len(motion.t))), speed]

        return Output(found.units, values)

    def _named(self, name: str) -> Any:
        if name in self.bodies:
            return self.bodies[name]
        owners = [body for body in self.bodies.values() if name in body.points]
        if len(owners) > 1:
            raise BadInput(f"{len(owners)} bodies have a point {name!r}; give that of one, as body[{name!r}].")
        if not owners:
            points = [x for body in self.bodies.values() for x in body.points]
            raise UnknownName("body or point", name, [*self.bodies, *points])
        return owners[0][name]

    def _element(self, name: str) -> Element:
        if name not in self.elements:
            raise UnknownName("element", name, self.elements)
        found: dict[str, Element] = dict(zip(self.elements, self.built()[1], strict=True))
        return found[name]


def _output(parts: Mapping[str, tuple[Any, str]], bodies: Iterable[RigidBody]) -> Output:
    """Return the output of expressions in the poses of bodies, with units, by the names of the parts."""
    names = names_of(bodies)

    def values(motion: RecordedMotion) -> Any:
        expressions = [x for x, _ in parts.values()]
        numbers = of_state(expressions, motion.coordinates, motion.parameters, "An output", recursion=names)
        return numbers(motion.t, motion.q.T, motion.v.T)

    return Output({part: unit for part, (_, unit) in parts.items()}, values)
