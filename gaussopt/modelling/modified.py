"""A system whose step data are changed on the way out: how a misprint is shown without deriving it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.system import AbstractSystem, Energy
from gaussopt.modelling.callables import System

Change = Callable[[StepData, Mapping[str, float]], StepData]
"""(step of the regular system, parameter values) -> changed step."""


@System.register
class ModifiedSystem(AbstractSystem):
    """The regular system with other step data; gaps, energies and residuals stay the regular ones.

    Parameters
    ----------
    regular : AbstractSystem
    change : callable (step, parameters) -> step
    """

    def __init__(self, regular: AbstractSystem, change: Change) -> None:
        self.name = regular.name
        self.regular = regular
        self.change = change

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        return self.regular.parameters

    def with_parameters(self, /, **values: float) -> ModifiedSystem:
        """The same change of the system with other parameter values."""
        return ModifiedSystem(self.regular.with_parameters(**values), self.change)

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Names of the n coordinates."""
        return self.regular.coordinates(n)

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> StepData:
        """Changed step data of the state."""
        step = self.regular.evaluate(t, q, v)
        changed = self.change(step, self.parameters)
        smooth = ("M", "h", "Q", "J", "gamma")
        same = all(getattr(changed, name) is getattr(step, name) for name in smooth)
        # The generated certificate reads the regular step.
        return changed if same else replace(changed, arithmetic=None)

    def position_residual(self, t: float, q: Vector) -> Vector | None:
        """Holonomic constraint functions of the regular system."""
        return self.regular.position_residual(t, q)

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Jacobian of the holonomic constraints of the regular system."""
        return self.regular.position_jacobian(t, q)

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector | None:
        """Constraint residuals at velocity level of the regular system."""
        return self.regular.velocity_residual(t, q, v)

    def energy(self, t: float, q: Vector, v: Vector) -> Energy | None:
        """Energies of the regular system."""
        return self.regular.energy(t, q, v)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts."""
        return self.regular.contact_names

    @property
    def two_sided(self) -> tuple[bool, ...]:
        """Which contacts are guides without clearance."""
        return self.regular.two_sided

    def gaps(self, t: float, q: Vector) -> Vector:
        """Gaps of the regular system, (k,)."""
        return self.regular.gaps(t, q)

    def gap_rates(self, t: float, q: Vector, v: Vector) -> Vector:
        """Gap rates of the regular system, (k,)."""
        return self.regular.gap_rates(t, q, v)
