"""Gauss's principle of least constraint as a quadratic program in the acceleration.

    min 1/2 a^T M a - a^T (Q - h)   subject to   J a = gamma,   J_N a + zeta_N >= 0

Contacts must be frictionless, because friction depends on normal forces, which are not among the unknowns. M may
be singular: the minimiser is unique if rank [M; J] = n. The duals of the equality rows are the constraint forces lam,
and the duals of the contact rows are the normal forces lam_N.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Candidate, Formulation


class Gauss(Formulation):
    """Gauss's principle as a QP in the acceleration."""

    name = "gauss"
    title = "Gauss's principle, primal QP"
    source = "Gauss 1829; eq. (3) of Yuan & Ge 2016"
    sparse = True

    def refuses(self, step: StepData) -> str | None:
        if step.k and step.mu.any():
            i = int(np.argmax(step.mu > 0))
            return (
                f"contact {i + 1} has friction (mu = {step.mu[i]:g}), whose force depends on the normal force; use "
                "frozen-friction, lcp or stick-slip"
            )
        return None

    def apply(self, step: StepData) -> tuple[QP, StepData]:
        if not step.k:
            return QP(step.M, step.h - step.Q, step.J, step.gamma, step.gamma), step
        return contact_qp(step), step

    def recover(self, data: StepData, x: Vector, y: Vector | None) -> Candidate | tuple[Vector, Vector | None]:
        if not data.k:
            return x, y
        lam, lam_N = (None, None) if y is None else (y[: data.m], y[data.m :])
        return Candidate(x, lam, lam_N, np.zeros_like(data.v_T))


def contact_qp(step: StepData) -> QP:
    """Return the Gauss QP in which all contacts are frictionless."""
    A = np.vstack((step.J, step.J_N))
    lower = np.concatenate((step.gamma, -step.zeta_N))
    upper = np.concatenate((step.gamma, np.full(step.k, np.inf)))
    return QP(step.M, step.h - step.Q, A, lower, upper)


formulation = Gauss()
