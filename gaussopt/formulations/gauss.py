"""Gauss's principle of least constraint as a quadratic program in the acceleration.

    min 1/2 a^T M a - a^T (Q - h)   subject to   J a = gamma

Valid for a singular mass matrix too: the minimiser is unique if and only if rank [M; J] = n. The duals of the
equality rows are the constraint forces lam.
"""

from __future__ import annotations

from gaussopt.formulation import Formulation
from gaussopt.programs import QP
from gaussopt.stepdata import StepData, Vector


class Gauss(Formulation):
    """The primal Gauss QP."""

    name = "gauss"
    title = "Gauss's principle, primal QP"
    source = "Gauss 1829; eq. (3) of Yuan & Ge 2016"

    def apply(self, step: StepData) -> tuple[QP, None]:
        """P = M, q = h - Q, equality rows J a = gamma."""
        return QP(step.M, step.h - step.Q, step.J, step.gamma, step.gamma), None

    def recover(self, data: None, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """The point is a, the duals are lam."""
        return x, y


formulation = Gauss()
