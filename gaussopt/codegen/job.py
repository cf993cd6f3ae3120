"""The input of a generated loop: model, method, orders of pivots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen import step as source
from gaussopt.codegen.pivot_order import elimination_order
from gaussopt.core.errors import NotCompiled
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stepper
from gaussopt.symbolic.model import SymbolicModel

MOST_LINES = 2500
"""Number of lines of a step above which unrolled code takes too long to compile."""


@dataclass(frozen=True)
class Orders:
    """Orders of pivots: of a `step` and of the projection of velocities, and that of the projection of `positions`."""

    step: tuple[int, ...]
    positions: tuple[int, ...]

    @classmethod
    def of(cls, model: SymbolicModel, constant: tuple[NDArray[np.bool_], NDArray[np.bool_]], step: StepData) -> Orders:
        """Choose orders by the numbers of a sample step and the constant entries of M and J; or raise NotCompiled."""
        M, J = constant
        found = [
            _order(_saddle(step.M, step.J[:rows], 0.0).tobytes(), _saddle(M, J[:rows], True).tobytes())
            for rows in (step.m, len(model.holonomic))
        ]
        if found[0] is None or found[1] is None:
            raise NotCompiled("its equations have no fixed order of pivots (dependent rows, or rows on massless parts)")
        return cls(found[0], found[1])


@lru_cache(maxsize=256)
def _order(K: bytes, constant: bytes) -> tuple[int, ...] | None:
    """Return the order for matrices given by their bytes: motions of one system start from few states."""
    varying = np.frombuffer(constant, dtype=bool)
    N = math.isqrt(len(varying))
    return elimination_order(np.frombuffer(K).reshape(N, N), varying.reshape(N, N))


def _saddle(M: NDArray[Any], J: NDArray[Any], corner: Any) -> NDArray[Any]:
    """Return [[M, J^T], [J, corner]]."""
    n, N = len(M), len(M) + len(J)
    K = np.full((N, N), corner)
    K[:n, :n], K[:n, n:], K[n:, :n] = M, J.T, J
    return K


@dataclass(frozen=True)
class LoopJob:
    """A method for a model.

    `projected` tells whether every step ends with a projection onto the constraints.
    """

    model: SymbolicModel
    method: Stepper
    orders: Orders
    projected: bool

    @property
    def label(self) -> str:
        """What distinguishes the generated functions from others of the same model."""
        return self.method.name

    def acceleration(self) -> tuple[source.Lines, source.Lines, source.Lines | None]:
        """Return the lines of accelerations, of their check, and of a projection if any; NotCompiled if too long."""
        step, check = source.acceleration(self.model, self.orders.step, True)
        return within_limit(step), check, self.correction()

    def correction(self) -> source.Lines | None:
        """Return the lines of a projection, None without one."""
        orders = self.orders.positions, self.orders.step
        return source.projection(self.model, orders, True) if self.projected else None


def within_limit(lines: source.Lines) -> source.Lines:
    """Return the lines, if they are not too many; raises NotCompiled."""
    if (length := len(lines.once) + len(lines.body)) > MOST_LINES:
        raise NotCompiled(f"its step has {length} generated lines, more than {MOST_LINES}")
    return lines
