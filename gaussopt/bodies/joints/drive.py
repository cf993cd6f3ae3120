"""Prescribed motion of a joint: s - f(t) = 0, with s the angle or displacement that the joint leaves free.

In space the row of an angle is 2 tan((s - f) / 2), whose first and second derivatives at zero are those of s - f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from gaussopt.bodies.body import TIME, RigidBody
from gaussopt.bodies.element import Joint
from gaussopt.core.errors import BadInput

MOMENT = 1e-9
"""Time, relative to 1 s + |instant|, by which the two compared points lie before and after an instant."""

JUMP = 1e-5
"""The motion jumps if the values before and after the instant differ by more than this, relative to 1 + |value|."""


class Drive(Joint):
    """Prescribe the angle (rad) or displacement (m) of a joint as a function of t; the multiplier is the driving force.

    The function and its rate must be continuous: a jump of the velocity would need an impulse, not a finite force.
    """

    def __init__(self, name: str, joint: Joint, motion: Any) -> None:
        if not isinstance(joint, Joint):
            raise BadInput(f"{name!r} drives {joint!r}; give the joint itself, which model.add returns.")
        super().__init__(name, joint.a, joint.b)
        self.joint, (self.motion,) = joint, self.scalars(motion=motion)

    def between(self, built: Mapping[RigidBody, RigidBody]) -> Drive:
        """Return a copy as `Element.between` does, with a copy of the joint."""
        found = super().between(built)
        found.joint = self.joint.between(built)
        return found

    def check(self, symbols: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Raise BadInput if the motion or its velocity jumps where pieces of the motion meet, for these parameters."""
        super().check(symbols, values)
        motion = self.motion.xreplace({symbols[name]: values[name] for name in symbols}).rewrite(sp.Piecewise)
        if motion.free_symbols - {TIME} or not motion.has(sp.Piecewise):
            return
        for instant in _borders(motion):
            moment = MOMENT * (1.0 + abs(instant))
            for what, function in (("position", motion), ("velocity", sp.diff(motion, TIME))):
                before, after = (float(function.subs(TIME, instant + way * moment)) for way in (-1, 1))
                if abs(after - before) > JUMP * (1.0 + abs(before)):  # false for NaN: an undefined value is no jump
                    raise BadInput(
                        f"The {what} that {self.name!r} prescribes jumps from {before:.6g} to {after:.6g} at "
                        f"t = {instant:.6g}, which no finite force does; give a motion whose velocity is continuous."
                    )

    def undefined(self) -> Sequence[tuple[Any, str]]:
        """Return the divisor of the row of an angle in space, which is zero half a turn away from the motion."""
        _, by = sp.fraction(self.holonomic()["motion"])
        if not by.free_symbols:
            return []
        why = (
            f"The joint {self.joint.name!r} starts half a turn away from the motion of {self.name!r}, so that it may "
            "go there either way; guess angles of its bodies that are nearer to the motion."
        )
        return [(by, why)]

    def holonomic(self) -> Mapping[str, Any]:
        """Return the constraint `motion`, which makes the joint follow the function of time."""
        return {"motion": self.joint.driven(self.motion)}


def _borders(motion: Any) -> list[float]:
    """Return instants at which the pieces of a function of time meet, if their conditions are linear in time."""
    found = set()
    for condition in motion.atoms(sp.Rel):
        border = condition.lhs - condition.rhs
        if border.is_polynomial(TIME) and sp.degree(border, TIME) == 1:
            found |= {float(x) for x in sp.solve(border, TIME)}
    return sorted(found)
