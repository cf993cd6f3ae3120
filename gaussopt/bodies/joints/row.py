"""A constraint given by the user: an expression of the coordinates of two bodies that is zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussopt.bodies.body import End, RigidBody, rate
from gaussopt.bodies.element import Joint
from gaussopt.core.errors import BadInput


class Row(Joint):
    """A constraint: an expression of coordinates, and of velocities if `velocity` is set, that must be zero."""

    def __init__(self, name: str, a: End, b: End, expression: Any, velocity: bool = False) -> None:
        super().__init__(name, a, b)
        (self.expression,), self.velocity = self.scalars(expression=expression), velocity

    def between(self, built: Mapping[RigidBody, RigidBody]) -> Row:
        """Return a copy with the bodies' coordinates (in space, only positions) expressed by joint coordinates.

        Raises BadInput if the expression holds the quaternion of a body that has none in joint coordinates.
        """
        found = super().between(built)
        known: dict[Any, Any] = {}
        for body in self.bodies:
            at = built.get(body, body)
            if at is not body:
                place = [*at.r, at.angle][:3]
                known |= dict(zip(body.q, place, strict=False))
                known |= dict(zip(body.v, [rate(x, [at]) for x in place], strict=False))
                gone = self.expression.free_symbols & {*body.q, *body.v} - {*known, *at.q, *at.v}
                if gone:
                    raise BadInput(
                        f"{self.name!r} holds {min(map(str, gone))!r}, but in joint coordinates {body.name!r} has no "
                        "quaternion; take coordinates='maximal'."
                    )
        found.expression = self.expression.subs(known, simultaneous=True)
        return found

    def holonomic(self) -> Mapping[str, Any]:
        """Return the expression as a position constraint, if it contains no velocities."""
        return {} if self.velocity else {"row": self.expression}

    def nonholonomic(self) -> Mapping[str, Any]:
        """Return the expression as a velocity constraint, if it contains velocities."""
        return {"row": self.expression} if self.velocity else {}
