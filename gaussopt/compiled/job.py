"""What a generated loop is written for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.compiled import source
from gaussopt.compiled.elimination import elimination_order
from gaussopt.compiled.loops import Parts, Shape
from gaussopt.equations import Model
from gaussopt.stepdata import Matrix, StepData
from gaussopt.stepper import Stepper

MOST_LINES = 1500
"""Lines of a step beyond which unrolled code takes too long to compile."""


class NotCompiled(Exception):
    """Why a motion has no generated loop, as a part of a sentence."""


@dataclass(frozen=True)
class Orders:
    """Orders of pivots for the systems of a step.

    Attributes
    ----------
    step : accelerations and multipliers; also the projection of velocities
    positions : the projection of positions, with the holonomic rows alone
    """

    step: tuple[int, ...]
    positions: tuple[int, ...]

    @classmethod
    def of(cls, step: StepData, holonomic: int) -> Orders:
        """Chosen from the numbers of a sample step.

        Raises
        ------
        NotCompiled
        """
        found = [elimination_order(_matrix(step, rows)) for rows in (step.m, holonomic)]
        if found[0] is None or found[1] is None:
            raise NotCompiled("its equations have no fixed order of pivots (dependent rows, or rows on massless parts)")
        return cls(found[0], found[1])


def _matrix(step: StepData, rows: int) -> Matrix:
    J = step.J[:rows]
    return np.block([[step.M, J.T], [J, np.zeros((rows, rows))]])


@dataclass(frozen=True)
class Job:
    """A method for a model.

    Attributes
    ----------
    model : Model
    method : Stepper
    orders : Orders
    projected : whether every step ends with a projection onto the constraints
    lanes : motions side by side
    fast : whether numba will compile it, which wants sines written out
    """

    model: Model
    method: Stepper
    orders: Orders
    projected: bool
    lanes: int
    fast: bool

    @property
    def shape(self) -> Shape:
        """Where entries lie."""
        return Shape(self.model, self.lanes)

    def parts(self) -> Parts:
        """The lines of a step, of its check, and of a projection if there is one.

        Raises
        ------
        NotCompiled
            If the step is too long.
        """
        step = within_limit(source.acceleration(self.model, self.orders.step, self.fast))
        return Parts(step, source.residuals(self.model, self.fast), self.correction())

    def correction(self) -> source.Lines | None:
        """The lines of a projection, None without one."""
        orders = self.orders.positions, self.orders.step
        return source.projection(self.model, orders, self.fast) if self.projected else None


def within_limit(lines: source.Lines) -> source.Lines:
    """The lines, if they are not too many.

    Raises
    ------
    NotCompiled
    """
    if (length := len(lines.once) + len(lines.body)) > MOST_LINES:
        raise NotCompiled(f"its step has {length} generated lines, more than {MOST_LINES}")
    return lines
