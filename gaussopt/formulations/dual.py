"""The dual of Gauss's principle: a quadratic program in the constraint forces.

    min 1/2 lam^T (J M^-1 J^T) lam + lam^T (J a0 - gamma),   a = a0 + M^-1 J^T lam,   M a0 = Q - h

Needs a regular M. Dependent rows leave lam open while a is unique; contradictory rows leave it unbounded.
"""

from __future__ import annotations

import numpy as np

from gaussopt.formulation import Formulation
from gaussopt.linalg import cholesky, solve_lower, solve_lower_transposed
from gaussopt.programs import QP
from gaussopt.stepdata import Matrix, StepData, Vector


class Dual(Formulation):
    """The QP in the forces."""

    name = "dual"
    title = "Dual QP in the constraint forces"
    source = "Dorn dual of Gauss's principle"

    def refuses(self, step: StepData) -> str | None:
        """Contacts, a singular M, and steps without constraints (no forces to find)."""
        if step.m == 0 and step.k == 0:
            return "the step has no equality rows, so there are no forces to find; use gauss"
        if step.k == 0 and cholesky(step.M) is None:
            return "M is singular, and the dual needs M^(-1); use gauss or lagrange"
        return super().refuses(step)

    def apply(self, step: StepData) -> tuple[QP, tuple[Vector, Matrix]]:
        """P = J M^-1 J^T, q = J a0 - gamma, no rows."""
        L = cholesky(step.M)
        assert L is not None
        B = solve_lower(L, step.J.T)
        a0 = solve_lower_transposed(L, solve_lower(L, step.force))
        P = B.T @ B
        m = step.m
        qp = QP(0.5 * (P + P.T), step.J @ a0 - step.gamma, np.zeros((0, m)), np.zeros(0), np.zeros(0))
        return qp, (a0, solve_lower_transposed(L, B))

    def recover(self, data: tuple[Vector, Matrix], x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """A = a0 + M^-1 J^T lam."""
        a0, lift = data
        return a0 + lift @ x, x


formulation = Dual()
