"""The quadratic program over all ideal forces as printed by Yao, Liu & Yang 2020, eq. (24).

    min 1/2 F^T G^T M^-1 (J^T, D) F,   F = (lam, lam_N),   G = (J^T, J_N^T),   D = J_N^T + J_T^T mu sigma

subject to the rows J a = gamma of joints and w >= 0 of contacts. The joints determine lam; the remaining program is

    min 1/2 lam_N^T delassus lam_N - 1/2 ell^T lam_N   subject to   delassus lam_N + bias >= 0,
    ell = sigma mu J_T (a_J - a0),

which differs from eq. (29) with the joints eliminated unless ell = 0, and is wrong even for one contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.contact.qp_equivalence import multipliers
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import QP, Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations._convexity import require_strictly_convex
from gaussopt.formulations._sliding import candidate_of, not_sliding
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.linalg.dense import cholesky, solve_lower, solve_lower_transposed


class JointForceQP(Formulation):
    """Equation (24) of Yao, Liu & Yang 2020 as printed; reproduced for comparison, not a law of mechanics."""

    name = "joint-force-qp"
    title = "QP over all ideal forces as printed (eq. 24 of 001)"
    source = "Yao, Liu & Yang 2020, eq. (24)"
    exact = False

    def refuses(self, step: StepData) -> str | None:
        return not_sliding(step)

    def apply(self, step: StepData) -> tuple[Program, Any]:
        """Return the program in lam_N alone, after elimination of lam."""
        op = ContactOperator.of(step)
        ell, lcp = joint_pull(op), op.lcp
        require_strictly_convex(self.name, lcp, lcp.M)
        return QP(0.5 * (lcp.M + lcp.M.T), -0.5 * ell, lcp.M, -lcp.q, np.full(lcp.n, np.inf)), (op, ell)

    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate:
        return candidate_of(data[0], x)

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        op, ell = data
        found = {"ell": ell.tolist()}
        return found if x is None else {**found, "eta": multipliers(op.lcp.M, x, ell).tolist()}


def joint_pull(op: ContactOperator) -> Vector:
    """Return ell = sigma mu J_T (a_J - a0), (k,): how joints change the accelerations along the friction forces.

    Raises NotAccepted if M is singular, because a0 does not exist.
    """
    step = op.step
    L = cholesky(step.M)
    if L is None:
        raise NotAccepted("The formulation 'joint-force-qp' does not fit: M is singular, and it needs M^(-1); use lcp.")
    if not step.m:
        return np.zeros(step.k)  # exactly zero, because without joints a_J = a0
    a0 = solve_lower_transposed(L, solve_lower(L, step.force))
    return np.asarray((step.friction_map - step.J_N.T).T @ (op.joints.a_J - a0))


formulation = JointForceQP()
