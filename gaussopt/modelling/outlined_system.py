"""The picture of a system for which no sketch is given."""

from __future__ import annotations

from collections.abc import Mapping

from gaussopt.core.arrays import Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.sketch import Shape, outlined


class OutlinedSystem:
    """A drawing function that draws the outline of a system, for the parameter values of a motion."""

    def __init__(self, system: AbstractSystem) -> None:
        self.system = system

    def __call__(self, q: Vector, parameters: Mapping[str, float]) -> tuple[Shape, ...]:
        """Return the shapes of the outline at a configuration."""
        known = self.system.parameters
        if known != (asked := {name: parameters.get(name, value) for name, value in known.items()}):
            self.system = self.system.with_parameters(**asked)
        outline = self.system.outline(q)
        return () if outline is None else outlined(outline)
