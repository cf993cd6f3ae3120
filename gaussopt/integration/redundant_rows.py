"""Treatment of redundant rows at states off the constraints: which small singular values of J count as zero.

Rows that are linearly dependent where the constraints hold are dependent elsewhere only up to the position error: with
an error of 2e-10, a singular value that should be zero is, say, 3e-14, which is more than rounding error. If it counted
as nonzero, the contradiction between the rows, about 1e-10, would be divided by 3e-14. Therefore a singular value
counts as zero if it does not exceed the change of J between the state and the nearest state on the constraints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.row_rounding import rounding
from gaussopt.core.step_data import StepData
from gaussopt.core.system import AbstractSystem
from gaussopt.linalg.balance import row_noise
from gaussopt.linalg.dense import equilibrate, rounded

DOUBTFUL = 1e-4
"""Singular value, relative to the largest, below which rows may be redundant."""

AGREES = 0.1
"""A contradiction of rows is due to the position error if at most this fraction remains without that error."""

MARGIN = 4.0
"""Factor by which a singular value must exceed the change of J to count as nonzero."""

Factors: TypeAlias = tuple[Matrix, Vector, Matrix, Vector, Vector, NDArray[np.bool_]]


def agreeing(
    system: AbstractSystem, step: StepData, J: Matrix, r: Vector, *, without_rounding: bool = False,
    factors: Factors | None = None,
) -> tuple[Matrix, Vector] | None:  # fmt: skip
    """Make rows J x = r consistent where a position error made them inconsistent; return J and r, or None if unchanged.

    Parameters
    ----------
    step : StepData, dense, of the state
    J, r : (m, n), (m,), the first m rows of the step, with any right-hand side
    without_rounding : whether singular values at rounding level are removed as well, for callers whose scaling of the
        rows would raise them above that level
    factors : those of J, if they are known
    """
    if not len(J) or step.q is None or step.v is None:
        return None
    U, s, Vt, d, row, tiny = factors or _factors(step, J)
    kept, sure = ~tiny, s > DOUBTFUL * s[0]
    phi = system.position_residual(step.t, step.q)
    if phi is not None and (kept & ~sure).any():
        h = len(phi)
        x, *_ = np.linalg.lstsq((U[:h, sure] * s[sure]) @ Vt[sure], row[:h] * phi, rcond=DOUBTFUL)
        there = system.evaluate(step.t, step.q - d * x, step.v).J[: len(J)]
        change = float(np.linalg.norm((J - there) * d * row[:, None], 2))
        kept = (s > MARGIN * change) & kept | sure
    if (kept if without_rounding else kept | tiny).all():
        return None
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    return (U * s) @ Vt / d / row[:, None], U @ (U.T @ (row * r)) / row


def agreeing_step(system: AbstractSystem, step: StepData) -> StepData:
    """Return the step without the contradictions of redundant rows; the same object if there are none."""
    if step.sparse:
        return step
    factors = _factors(step, step.J)
    found = agreeing(system, step, step.J, step.gamma, factors=factors)
    if found is None:
        gamma = _agreeing_gamma(system, step, factors)
        return step if gamma is None else replace(step, gamma=gamma, arithmetic=None)
    return replace(step, J=found[0], gamma=found[1], arithmetic=None, J_terms=None)


def _agreeing_gamma(system: AbstractSystem, step: StepData, factors: Factors) -> Vector | None:
    """Make gamma of dependent rows consistent where a position error made it inconsistent; return None if unchanged.

    Contradictions arise if the rows are dependent at every state, as in a mechanism with more rows than coordinates.
    """
    assert step.q is not None
    assert step.v is not None
    (U, s, Vt), (d, row) = _without_rounding(factors), factors[3:5]
    r = row * step.gamma
    here = float(np.linalg.norm(r - U @ (U.T @ r)))
    phi = system.position_residual(step.t, step.q)
    if len(s) == step.m or here <= rounding(step.n, step.m) * float(np.linalg.norm(r)) or phi is None:
        return None
    h = len(phi)
    x, *_ = np.linalg.lstsq((U[:h] * s) @ Vt, row[:h] * phi, rcond=DOUBTFUL)
    q = step.q - d * x
    rate = system.velocity_residual(step.t, q, step.v)
    v = step.v if rate is None else step.v - d * (Vt.T @ ((U.T @ (row * rate)) / s))
    there = system.evaluate(step.t, q, v)
    beyond = _factors(there, there.J)
    on, r_there = _without_rounding(beyond)[0], beyond[4] * there.gamma
    if np.linalg.norm(r_there - on @ (on.T @ r_there)) > AGREES * here:
        return None
    return np.asarray(U @ (U.T @ r) / row)


def _factors(step: StepData, J: Matrix) -> Factors:
    """Return U, s, V^T of the scaled J, the scales of columns and rows, and a mask of the s at rounding level."""
    d, row = equilibrate(step.M, J)
    U, s, Vt = np.linalg.svd(J * d * row[:, None], full_matrices=False)
    return U, s, Vt, d, row, rounded(U, s, rounding(step.n, len(J)), row_noise(step, d, row))


def _without_rounding(factors: Factors) -> tuple[Matrix, Vector, Matrix]:
    """Return U, s, V^T for the values s above rounding errors."""
    U, s, Vt, *_, tiny = factors
    return U[:, ~tiny], s[~tiny], Vt[~tiny]


def redundant(step: StepData) -> bool:
    """Return whether the rows of a dense step are linearly dependent, or nearly so; False for a sparse step."""
    if step.sparse or not step.m:
        return False
    d, row = equilibrate(step.M, step.J)
    s = np.linalg.svd(step.J * d * row[:, None], compute_uv=False)
    return len(s) < step.m or bool(s[-1] <= DOUBTFUL * s[0])
