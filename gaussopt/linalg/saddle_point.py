"""Decide whether the constraints and masses of a step determine its acceleration, with factors as the proof.

    M a - J^T lam = f,     J a = gamma

has a unique solution for every f and gamma if and only if J has full row rank and M is definite on ker J. If M is
definite and the rows are far from dependent, Cholesky factors prove it; otherwise singular values decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Matrix, Vector, check_mass_matrix
from gaussopt.core.row_rounding import may_be_rounding
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.linalg.balance import Balanced
from gaussopt.linalg.dense import cholesky, gram_factor, solve_lower

DEPENDENT = 1e-8
"""If a pivot of J M^-1 J^T, relative to its diagonal, is below this, singular values give the rank of the rows."""


class SaddleFactors(NamedTuple):
    """Cholesky factors of a step whose M is definite and whose rows are independent.

    M = L L^T, B = L^-1 J^T, (n, m), B^T B = C C^T; `pivots`, (m,), is diag(C)^2, and `diagonal`, (m,), diag(B^T B).
    """

    L: Matrix
    B: Matrix
    C: Matrix
    pivots: Vector
    diagonal: Vector


def factorise(step: StepData) -> SaddleFactors | None:
    """Return the factors of a dense step; None if M is not definite or rows may be dependent."""
    if step.J_terms is not None and may_be_rounding(step.J, step.J_terms):
        return None
    L = cholesky(step.M)
    if L is None:
        return None
    B = solve_lower(L, step.J.T)
    G = B.T @ B
    C, diagonal = gram_factor(G), G.diagonal()
    if C is None:
        return None
    pivots = C.diagonal() ** 2
    # With smaller pivots, rounding hides whether rows are dependent.
    return None if len(C) and (pivots < DEPENDENT * diagonal).any() else SaddleFactors(L, B, C, pivots, diagonal)


@dataclass(frozen=True, slots=True)
class Posedness:
    """Verdict on a dense step, derived from its constraints and masses.

    Attributes
    ----------
    verdict : solved (the acceleration is unique), infeasible, unbounded or acceleration_not_unique
    forces_unique : whether the multipliers are unique
    singular_mass : whether M is not numerically definite
    space : the step in scaled units, with its ranks; None if Cholesky factors gave the verdict
    """

    verdict: Status
    forces_unique: bool
    singular_mass: bool
    space: Balanced | None = None


def posedness(step: StepData) -> Posedness:
    """Decide whether a dense step, without its contacts, has a unique acceleration; raises BadInput if M is invalid."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        if np.array_equal(step.M, step.M.T) and factorise(step) is not None:
            return Posedness(Status.SOLVED, True, False)
        return careful_posedness(step)


def careful_posedness(step: StepData) -> Posedness:
    """Decide as `posedness` does, but always from singular values."""
    M = check_mass_matrix(step.M)
    data = Balanced.of(step, M)
    verdict = Status.SOLVED
    if data.contradictory():
        verdict = Status.INFEASIBLE
    elif data.free.any():
        verdict = Status.UNBOUNDED if data.pulled() else Status.ACCELERATION_NOT_UNIQUE
    singular = verdict is not Status.SOLVED or cholesky(M) is None
    return Posedness(verdict, data.space.rank == step.m, singular, data)
