"""Treat contacts that stay closed or sticking as equality constraints of a system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem


class ContactSurface(AbstractSystem):
    """A system whose closed and sticking contacts are equality constraints, as its joints are.

    Parameters
    ----------
    system : AbstractSystem
    whole : (t, q, v) -> StepData with all contacts
    closed, sticking : numbers of the closed and of the sticking contacts
    """

    def __init__(
        self, system: AbstractSystem, whole: Callable[[float, Vector, Vector], StepData], closed: tuple[int, ...],
        sticking: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self.system, self._whole, self.closed, self.sticking = system, whole, list(closed), list(sticking)
        self.name = system.name

    def coordinates(self, n: int) -> tuple[str, ...]:
        """Return the names of the coordinates."""
        return self.system.coordinates(n)

    def evaluate(self, t: float, q: Any, v: Any) -> StepData:
        """Return step data with the contacts as equality rows; J is the Jacobian of `velocity_residual` by v."""
        step = self._whole(t, q, v)
        J = np.vstack((step.J, step.J_N[self.closed], step.J_T[self.sticking].reshape(-1, step.n)))
        gamma = np.concatenate((step.gamma, -step.zeta_N[self.closed], -step.zeta_T[self.sticking].ravel()))
        return StepData.smooth(step.M, step.h, step.Q, J, gamma, t, q, v)

    def position_residual(self, t: float, q: Vector) -> Vector:
        """Return residuals of holonomic constraints and closed gaps."""
        phi = self.system.position_residual(t, q)
        gaps = self.system.gaps(t, q)[self.closed]
        return gaps if phi is None else np.concatenate((phi, gaps))

    def position_jacobian(self, t: float, q: Vector) -> Matrix:
        """Return the Jacobian of `position_residual`."""
        step = self.system.evaluate(t, q, np.zeros(len(q)))
        rows = [self.system.position_jacobian(t, q)] if self.system.position_residual(t, q) is not None else []
        return np.vstack([*rows, step.J_N[self.closed]])

    def velocity_residual(self, t: float, q: Vector, v: Vector) -> Vector:
        """Return velocity residuals of the joints, gap rates of closed contacts, and slips of sticking contacts."""
        rate = self.system.velocity_residual(t, q, v)
        step = self._whole(t, q, v)
        if step.gdot_N is None:
            raise BadInput(f"{self.system.name!r} gives no gap rates.")
        parts = [step.gdot_N[self.closed], step.v_T[self.sticking].ravel()]
        return np.concatenate(parts if rate is None else [rate, *parts])
