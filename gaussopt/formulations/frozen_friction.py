"""Friction as a prescribed force in Gauss's principle, iterated to its fixed point.

    a^(i+1) = argmin 1/2 a^T M a - a^T (Q - h + J_T^T mu sigma lam_N^i)   s.t.   J a = gamma,   J_N a + zeta_N >= 0,
    lam_N^(i+1) = the multipliers of the contact rows,   lam_N^0 = 0.

Every iteration is a convex Gauss QP; the fixed points are the solutions of the LCP. With A_0 = J_N K J_N^T and
C = J_N K J_T^T mu sigma the iteration contracts in the A_0-norm by at most rho = || A_0^(-1/2) C A_0^(-1/2) ||_2.
If rho >= 1, the iteration may still converge, but this is not proved; the step is refused, and the reason states rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations._sliding import not_sliding
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.formulations.gauss import contact_qp
from gaussopt.linalg.dense import gram_factor, solve_lower

CONVERGED = 1e-13
"""The iteration ends when the normal forces change by at most this, relative to the largest."""

LIMIT = 500
"""Maximum number of iterations; a convergence factor of rho = 0.95 would need about 600 to reach 1e-13."""


@dataclass
class _Iteration:
    step: StepData
    contraction: float
    lam_N: Vector
    changes: list[float] = field(default_factory=list)

    def stalled(self) -> bool:
        """Return whether changes no longer shrink though theory predicts a factor of 1/4: the solver is inaccurate."""
        window = max(4, math.ceil(math.log(0.25) / math.log(max(self.contraction, 1e-3))))
        return len(self.changes) > 2 * window and min(self.changes[-window:]) >= min(self.changes[:-window])

    def program(self) -> QP:
        friction = (self.step.friction_map - self.step.J_N.T) @ self.lam_N
        qp = contact_qp(self.step)
        return QP(qp.P, qp.q - friction, qp.A, qp.l, qp.u)


class FrozenFriction(Formulation):
    """A fixed-point iteration of convex Gauss QPs."""

    name = "frozen-friction"
    title = "Gauss QP with frozen friction, iterated"
    source = "eq. (25) of Yao, Liu & Yang 2020 in a fixed-point iteration of our own"

    def refuses(self, step: StepData) -> str | None:
        reason = not_sliding(step)
        if reason:
            return reason
        rho = contraction(ContactOperator.of(step))
        if rho is None:
            return "the contacts are redundant, so that the multipliers it iterates on are not unique; use lcp"
        if rho >= 1:
            return f"the iteration need not contract (factor {rho:.4g}, it must be below 1); use lcp"
        return None

    def apply(self, step: StepData) -> tuple[Program, _Iteration]:
        rho = contraction(ContactOperator.of(step))
        assert rho is not None
        state = _Iteration(step, rho, np.zeros(step.k))
        return state.program(), state

    def again(self, data: _Iteration, x: Vector, y: Vector | None) -> Program | None:
        if y is None:
            return None
        lam_N = y[data.step.m :]
        change = float(np.abs(lam_N - data.lam_N).max(initial=0.0))
        size = float(np.abs(lam_N).max(initial=0.0))
        data.lam_N = lam_N
        data.changes.append(change)
        ended = change <= CONVERGED * size or len(data.changes) >= LIMIT or data.stalled()
        return None if ended else data.program()

    def recover(self, data: _Iteration, x: Vector, y: Vector | None) -> Candidate:
        """Return the last minimiser as acceleration, with the friction that follows from the last multipliers."""
        lam = None if y is None else y[: data.step.m]
        friction = data.step.sigma * (data.step.mu * data.lam_N)[:, None]
        return Candidate(x, lam, data.lam_N, friction)

    def details(self, data: _Iteration, x: Vector | None) -> dict[str, Any]:
        return {"contraction": data.contraction, "programs": len(data.changes)}


def contraction(op: ContactOperator) -> float | None:
    """Return rho, a bound on the factor by which each iteration multiplies the error; None if A_0 is singular."""
    W = op.step.J_N @ op.joints.root
    A0 = W @ W.T
    L = gram_factor(A0)
    if L is None:
        return None
    C = op.step.J_N @ op.joints.K @ (op.step.friction_map - op.step.J_N.T)
    return float(np.linalg.norm(solve_lower(L, solve_lower(L, C).T), 2)) if op.k else 0.0


formulation = FrozenFriction()
