"""Routh's equations: Lagrange multipliers with the coefficient rows of the velocity constraints.

    M a + h = Q + J^T lam,   J a = gamma

with the velocity constraints f(q, v, t) = 0, J = df/dv, and gamma = -(f_q v + f_t). Elimination of the
acceleration yields the range-space (Schur) equations of the multipliers,

    (J M^-1 J^T) lam = gamma - J a0

A row may be multiplied by any function without changing the acceleration; an unbounded factor (a tangent) makes the
equations singular where the mechanics is not.
"""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LinearSystem
from gaussopt.core.step_data import StepData
from gaussopt.formulations._refined import MassEliminating
from gaussopt.formulations.lagrange import formulation as lagrange
from gaussopt.linalg.dense import cholesky, solve_lower, solve_lower_transposed


class Routh(MassEliminating):
    """Routh's equations for the multipliers, then the acceleration; the saddle-point system if M is singular."""

    name = "routh"
    title = "Routh's equations"
    source = "Routh 1877; eq. (15) of Hao, Liu, Yao 2020"

    def refuses(self, step: StepData) -> str | None:
        if step.m == 0 and step.k == 0:
            return "the step has no velocity constraints; use gauss"
        return super().refuses(step)

    def apply(self, step: StepData) -> tuple[LinearSystem, object]:
        L = cholesky(step.M)
        if L is None:
            return lagrange.apply(step)
        B = solve_lower(L, step.J.T)
        u = solve_lower(L, step.force)
        return LinearSystem(B.T @ B, step.gamma - B.T @ u), (L, B, u)

    def recover(self, data: object, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """Return a = a0 + M^-1 J^T lam, and lam."""
        if isinstance(data, int):
            return lagrange.recover(data, x, y)
        assert isinstance(data, tuple)
        L, B, u = data
        return solve_lower_transposed(L, u + B @ x), x


formulation = Routh()
