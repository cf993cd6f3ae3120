"""Replace the regular model of a mechanism by a variant for special cases, or change its step data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.callables import System


@dataclass(frozen=True)
class Variant:
    """Another model of a mechanism: the function that builds its system, and a description of how it differs."""

    build: Callable[[], AbstractSystem]
    description: str

    def __call__(self) -> AbstractSystem:
        """Return the system of this model."""
        return self.build()


Change = Callable[[StepData, Mapping[str, float]], StepData]
"""A function that receives step data of the regular system and parameter values, and returns changed step data."""


def _method_of_regular(name: str) -> Callable[..., Any]:
    return lambda self, *arguments: getattr(self.regular, name)(*arguments)


def _property_of_regular(name: str) -> Any:
    return property(lambda self: getattr(self.regular, name))


@System.register
class ModifiedSystem(AbstractSystem):
    """A system whose step data are changed after evaluation; gaps, energies and residuals are those of `regular`."""

    def __init__(self, regular: AbstractSystem, change: Change) -> None:
        self.name = regular.name
        self.regular = regular
        self.change = change

    def with_parameters(self, /, **values: float) -> ModifiedSystem:
        """Return the system for other parameter values, with its step data changed by the same function."""
        return ModifiedSystem(self.regular.with_parameters(**values), self.change)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Return the changed step data of the state."""
        step = self.regular.evaluate(t, q, v)
        changed = self.change(step, self.parameters)
        smooth = ("M", "h", "Q", "J", "gamma")
        same = all(getattr(changed, name) is getattr(step, name) for name in smooth)
        # The generated certificate reads the regular step, so a changed step must not use it.
        return changed if same else replace(changed, arithmetic=None)

    parameters, contact_names, two_sided, size, quaternions = map(
        _property_of_regular, ("parameters", "contact_names", "two_sided", "size", "quaternions")
    )
    outline, coordinates, position_residual, position_jacobian, velocity_residual, energy, gaps, gap_rates = map(
        _method_of_regular,
        (
            "outline", "coordinates", "position_residual", "position_jacobian", "velocity_residual", "energy", "gaps",
            "gap_rates",
        ),
    )  # fmt: skip
