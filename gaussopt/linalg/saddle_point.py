"""Decide whether the joints and masses of a step determine its acceleration, with factors as the proof.

    M a - J^T lam = f,     J a = gamma

has one solution a for every f exactly if J has full row rank and M is definite on ker J. Where M is definite and the
rows are far from dependent, Cholesky factors prove it; else ranks are read off singular values in balanced units.
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
"""Pivot of J M^-1 J^T, relative to its diagonal, below which singular values decide on the rank of the rows."""


class SaddleFactors(NamedTuple):
    """Cholesky factors of a step whose M is definite and whose rows are independent.

    M = L L^T, B = L^-1 J^T (n, m), B^T B = C C^T; squares of the diagonal of C, and the diagonal of B^T B, (m,).
    """

    L: Matrix
    B: Matrix
    C: Matrix
    pivots: Vector
    diagonal: Vector


def factorise(step: StepData) -> SaddleFactors | None:
    """Return factors of a dense step; None if M is not definite or rows may be dependent."""
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
    # In worse conditioned Gram matrices the digits that distinguish dependent rows are lost.
    return None if len(C) and (pivots < DEPENDENT * diagonal).any() else SaddleFactors(L, B, C, pivots, diagonal)


@dataclass(frozen=True, slots=True)
class Posedness:
    """Verdict on a dense step from its joints and masses.

    Attributes
    ----------
    verdict : solved (one acceleration), infeasible, unbounded or acceleration_not_unique
    forces_unique : whether the multipliers are determined
    singular_mass : whether M is not numerically definite
    space : the step in balanced units with its ranks; None where Cholesky factors decide
    """

    verdict: Status
    forces_unique: bool
    singular_mass: bool
    space: Balanced | None = None


def posedness(step: StepData) -> Posedness:
    """Decide whether a dense step without its contacts has one acceleration; raises BadInput if M is no mass matrix."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        if np.array_equal(step.M, step.M.T) and factorise(step) is not None:
            return Posedness(Status.SOLVED, True, False)
        return careful_posedness(step)


def careful_posedness(step: StepData) -> Posedness:
    """Decide as `posedness` does, but from singular values even if the step has factors."""
    # Coordinates scaled by their masses and rows to unit length: ranks must not depend on units.
    M = check_mass_matrix(step.M)
    data = Balanced.of(step, M)
    verdict = Status.SOLVED
    if data.contradictory():
        verdict = Status.INFEASIBLE
    elif data.free.any():
        verdict = Status.UNBOUNDED if data.pulled() else Status.ACCELERATION_NOT_UNIQUE
    singular = verdict is not Status.SOLVED or cholesky(M) is None
    return Posedness(verdict, data.space.rank == step.m, singular, data)
