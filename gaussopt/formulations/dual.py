"""The dual of Gauss's principle: a quadratic program in the constraint forces.

    min 1/2 lam^T (J M^-1 J^T) lam + lam^T (J a0 - gamma),   a = a0 + M^-1 J^T lam,   M a0 = Q - h

Frictionless contacts add rows J_N with right-hand sides -zeta_N and forces lam_N >= 0. M must be regular. If rows are
dependent, a is unique and lam is not; if rows are contradictory, the program is unbounded.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.core.step_data import StepData
from gaussopt.formulations._refined import MassEliminating
from gaussopt.formulations.base import Candidate
from gaussopt.linalg.dense import cholesky, solve_lower, solve_lower_transposed


class Dual(MassEliminating):
    """The dual of Gauss's principle: a QP in the constraint forces."""

    name = "dual"
    title = "Dual QP in the constraint forces"
    source = "Dorn dual of Gauss's principle"

    def refuses(self, step: StepData) -> str | None:
        """Refuse friction, a singular M, and steps without constraints (no forces to find)."""
        if step.mu.any():
            i = int(np.argmax(step.mu > 0))
            return (
                f"contact {i + 1} has friction (mu = {step.mu[i]:g}), whose force is not ideal; use lcp or stick-slip"
            )
        if step.m == 0 and step.k == 0:
            return "the step has no equality rows, so there are no forces to find; use gauss"
        if cholesky(step.M) is None:
            return "M is singular, and the dual needs M^(-1); use gauss or lagrange"
        return None

    def apply(self, step: StepData) -> tuple[QP, tuple[StepData, Vector, Matrix]]:
        """Return the QP with P = J M^-1 J^T, q = J a0 - gamma and lam_N >= 0 as its only rows."""
        L = cholesky(step.M)
        assert L is not None
        J = np.vstack((step.J, step.J_N)) if step.k else step.J
        goal = np.concatenate((step.gamma, -step.zeta_N)) if step.k else step.gamma
        B = solve_lower(L, J.T)
        a0 = solve_lower_transposed(L, solve_lower(L, step.force))
        P = B.T @ B
        rows = np.eye(len(goal))[step.m :]
        qp = QP(0.5 * (P + P.T), J @ a0 - goal, rows, np.zeros(step.k), np.full(step.k, np.inf))
        return qp, (step, a0, solve_lower_transposed(L, B))

    def recover(
        self, data: tuple[StepData, Vector, Matrix], x: Vector, y: Vector | None
    ) -> Candidate | tuple[Vector, Vector | None]:
        step, a0, lift = data
        if not step.k:
            return a0 + lift @ x, x
        return Candidate(a0 + lift @ x, x[: step.m], x[step.m :], np.zeros_like(step.v_T))


formulation = Dual()
