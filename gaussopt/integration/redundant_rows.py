"""Redundant rows beside their constraints: which of them a state counts follows from how far it is off.

Rows that say the same on the constraints do so beside them only to the error of the position: where that is 2e-10, a
singular value that should be zero is 3e-14, no rounding any more. Who takes the row for independent divides what it
contradicts the others by, some 1e-10, by 3e-14. So rows whose singular values are no larger than the change of J over
the way back to the constraints are counted as the dependent rows that they are there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.core.system import AbstractSystem
from gaussopt.linalg.balance import rounding
from gaussopt.linalg.dense import equilibrate

DOUBTFUL = 1e-4
"""Singular value, relative to the largest, below which rows may be redundant."""

MARGIN = 4.0
"""Changes of J that a singular value must exceed to count."""


def agreeing(system: AbstractSystem, step: StepData, J: Matrix, r: Vector) -> tuple[Matrix, Vector] | None:
    """Rows J x = r of a state without what they say only because it is off the constraints; None if there is nothing.

    Parameters
    ----------
    step : StepData, of the state; dense
    J, r : (m, n), (m,), its first rows, and any right-hand side of them
    """
    if not len(J) or step.q is None or step.v is None:
        return None
    d, row = equilibrate(step.M, J)
    U, s, Vt = np.linalg.svd(J * d * row[:, None], full_matrices=False)
    rounded = s <= rounding(step.n, len(J)) * s[0]
    if not ((s <= DOUBTFUL * s[0]) & ~rounded).any():
        return None
    phi = system.position_residual(step.t, step.q)
    if phi is None:
        return None
    h, sure = len(phi), s > DOUBTFUL * s[0]
    x, *_ = np.linalg.lstsq((U[:h, sure] * s[sure]) @ Vt[sure], row[:h] * phi, rcond=DOUBTFUL)
    there = system.evaluate(step.t, step.q - d * x, step.v).J[: len(J)]
    change = float(np.linalg.norm((J - there) * d * row[:, None], 2))
    kept = (s > MARGIN * change) & ~rounded | sure
    if (kept | rounded).all():
        return None
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    return (U * s) @ Vt / d / row[:, None], U @ (U.T @ (row * r)) / row


def agreeing_step(system: AbstractSystem, step: StepData) -> StepData:
    """The step with such rows; itself where they are as they should be."""
    found = None if step.sparse else agreeing(system, step, step.J, step.gamma)
    return step if found is None else replace(step, J=found[0], gamma=found[1], arithmetic=None)


def redundant(step: StepData) -> bool:
    """Whether rows of a dense step are or may be redundant."""
    if step.sparse or not step.m:
        return False
    d, row = equilibrate(step.M, step.J)
    s = np.linalg.svd(step.J * d * row[:, None], compute_uv=False)
    return len(s) < step.m or bool(s[-1] <= DOUBTFUL * s[0])
