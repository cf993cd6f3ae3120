"""Iterative refinement for formulations that begin with M^-1.

Such formulations add M^-1 (Q - h) and the effect of the constraints to obtain a. If M is nearly singular and the
constraints hold directions of little mass, both terms are large and cancel, so that digits of their sum are lost,
although the step is well-conditioned. The residual of the answer in the equations

    M a - J^T lam = Q - h,   J a = gamma

is small and known, and the same elimination of M, with the residual as right-hand side, gives the correction.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.program import Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.linalg.balance import Balanced
from gaussopt.linalg.dense import cholesky, norm, row_space, solve_lower, solve_lower_transposed

PASSES = 3

ROUNDING = 1e-12
"""Largest residual of the program, relative to its terms, at an answer of an exact solver."""


class MassEliminating(Formulation):
    """A formulation that multiplies by M^-1 first; its answers can be refined."""

    def refined(self, step: StepData, program: Program, x: Vector, found: Candidate) -> Candidate | None:
        """Return the refined acceleration of `found`, and the multipliers.

        Return None if M is singular, if the step has contacts, or if the solver's residual exceeds rounding error: only
        exact solutions of the program are refined.
        """
        if step.k or not np.isfinite(found.a).all() or not _solves(program, x):
            return None
        data = Balanced.of(step)
        L = cholesky(data.M)
        if L is None:
            return None
        B = solve_lower(L, data.J.T)
        size = np.linalg.norm(B, axis=0)
        size[size == 0.0] = 1.0
        inverse = row_space((B / size).T).pinv
        a, lam = found.a / data.d, np.zeros(step.m)
        for _ in range(PASSES):
            u = solve_lower(L, data.f - data.M @ a + data.J.T @ lam)
            held = inverse @ ((data.g - data.J @ a) / size - (B / size).T @ u)
            a, lam = a + solve_lower_transposed(L, u + held), lam + inverse.T @ held / size
        return Candidate(a * data.d, lam * data.row)


def _solves(program: Program, x: Vector) -> bool:
    """Return whether x solves a program without inequalities up to rounding error."""
    if program.equations is None:
        return False
    A, b = program.equations
    terms = norm(np.abs(A) @ np.abs(x)) + norm(b)
    return norm(A @ x - b) <= ROUNDING * terms
