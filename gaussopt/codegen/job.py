"""The specification of a generated loop: model, stepping method, and order of elimination for the equations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen import step as source
from gaussopt.codegen.pivot_order import Elimination, elimination
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import NotCompiled
from gaussopt.core.step_data import StepData
from gaussopt.core.stepper import Stepper
from gaussopt.linalg.quaternions import spin_rows
from gaussopt.symbolic.model import SymbolicModel

QUICK_LINES, MOST_LINES = 3000, 12000
"""Numbers of lines of a step up to which unrolled code compiles in seconds, and in less than a minute."""

ZERO = 1e-14
"""Entries up to this part of the sum of their terms are zeros with rounding errors."""


@dataclass(frozen=True)
class Orders:
    """Eliminations for two systems: `step` solves steps and projects velocities, `positions` projects positions."""

    step: Elimination
    positions: Elimination

    @classmethod
    def of(cls, model: SymbolicModel, constant: tuple[NDArray[np.bool_], NDArray[np.bool_]], step: StepData) -> Orders:
        """Choose eliminations from a sample step and masks of the constant entries of M and J; raises NotCompiled."""
        found, q, positions = {}, np.zeros(step.n) if step.q is None else step.q, len(model.holonomic)
        for rows in {step.m, positions}:
            known = reduced(model, q, (step.M, step.J[:rows]), (constant[0], constant[1][:rows]))
            found[rows] = _elimination(*(x.tobytes() for x in known), len(known[0]))
        if (first := found[step.m]) is None or (second := found[positions]) is None:
            raise NotCompiled("no order of pivots is safe at the first state (its rows are nearly dependent, say)")
        return cls(first, second)


def reduced(
    model: SymbolicModel, q: Vector, step: tuple[Matrix, Matrix], constant: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> tuple[NDArray[Any], ...]:
    """Return S^T M S and J S without the rows and beta of `turns`, see `gaussopt.symbolic.rotations`, and their masks.

    `step` holds M and J; the masks, like `constant`, mark the entries that are the same at every state.
    """
    turns = model.turns
    if not turns:
        return *step, *constant
    n, T, (M, J) = len(step[0]), np.eye(len(step[0])), step
    for turn in turns:
        e, at = list(turn.e), q[list(turn.e)]
        T[np.ix_(e, e[:3])] = spin_rows(at[None])[0].T / (2 * at @ at)
    kept = np.delete(np.arange(n), [turn.e[3] for turn in turns])
    rows = np.delete(np.arange(len(J)), [turn.row for turn in turns])
    T = T[:, kept]
    heavy, across = T.T @ M @ T, J[rows] @ T
    (none, same), (gone, fixed) = model.turned.masks
    heavy[none[np.ix_(kept, kept)] | (np.abs(heavy) <= ZERO * (np.abs(T.T) @ np.abs(M) @ np.abs(T)))] = 0.0
    across[gone[np.ix_(rows, kept)] | (np.abs(across) <= ZERO * (np.abs(J[rows]) @ np.abs(T)))] = 0.0
    return heavy, across, same[np.ix_(kept, kept)], fixed[np.ix_(rows, kept)]


@lru_cache(maxsize=256)
def _elimination(M: bytes, J: bytes, fixed: bytes, fixed_rows: bytes, n: int) -> Elimination | None:
    """Return the elimination for matrices given as bytes; it is cached, as many motions start from the same state."""
    constant = (np.frombuffer(x, dtype=bool).reshape(-1, n) for x in (fixed, fixed_rows))
    return elimination(
        np.frombuffer(M).reshape(n, n), np.frombuffer(J).reshape(-1, n), (next(constant), next(constant))
    )


@dataclass(frozen=True)
class LoopJob:
    """A stepping method applied to a model.

    If `projected`, every step ends with a projection onto the constraints. A step with more than `most` generated lines
    is not compiled.
    """

    model: SymbolicModel
    method: Stepper
    orders: Orders
    projected: bool
    most: int = QUICK_LINES

    @property
    def label(self) -> str:
        """A name that distinguishes the generated functions from others of the same model."""
        return self.method.name

    def acceleration(self) -> tuple[source.Lines, source.Lines, source.Lines | None]:
        """Return the lines of accelerations, of their check, and of the projection, if any; raises NotCompiled."""
        step, check = source.acceleration(self.model, self.orders.step, True)
        return within_limit(step, self.most), check, self.correction()

    def correction(self) -> source.Lines | None:
        """Return the lines of a projection, None if there is none."""
        orders = self.orders.positions, self.orders.step
        return source.projection(self.model, orders, True) if self.projected else None


def within_limit(lines: source.Lines, most: int = QUICK_LINES) -> source.Lines:
    """Return the lines; raises NotCompiled if there are more than `most`."""
    if (length := len(lines.once) + len(lines.body)) > most:
        longer = f"; the engine 'compiled', and longer motions, take up to {MOST_LINES}" if most < MOST_LINES else ""
        raise NotCompiled(
            f"its step has {length} generated lines, more than {most} (joint coordinates often have fewer{longer})"
        )
    return lines
