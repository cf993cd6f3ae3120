"""Prescribed motion of a joint: s - f(t) = 0, with s the angle or the displacement that the joint leaves.

In space the row of an angle is 2 tan((s - f) / 2), a function of quaternions with the same derivatives where it is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import RigidBody
from gaussopt.bodies.element import Joint
from gaussopt.core.errors import BadInput


class Drive(Joint):
    """The angle (rad) or displacement (m) of a joint is a function of the time symbol t; its multiplier drives it."""

    def __init__(self, name: str, joint: Joint, motion: Any) -> None:
        if not isinstance(joint, Joint):
            raise BadInput(f"{name!r} drives {joint!r}; give the joint itself, which model.add returns.")
        super().__init__(name, joint.a, joint.b)
        self.joint, (self.motion,) = joint, self.scalars(motion=motion)

    def between(self, built: Mapping[RigidBody, RigidBody]) -> Drive:
        """With its joint."""
        found = super().between(built)
        found.joint = self.joint.between(built)
        return found

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """What the row of an angle in space is divided by, zero half a turn away."""
        _, by = sp.fraction(self.holonomic()["motion"])
        if not by.free_symbols:
            return []
        why = (
            f"The joint {self.joint.name!r} starts half a turn away from the motion of {self.name!r}, so that it may "
            "go there either way; guess angles of its bodies that are nearer to the motion."
        )
        return [(by, why)]

    def holonomic(self) -> Mapping[str, Any]:
        """Motion."""
        return {"motion": self.joint.driven(self.motion)}
