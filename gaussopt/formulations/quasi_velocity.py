"""Gauss's principle in quasi-velocities: as many equations as degrees of freedom, no multipliers.

    a = D omega' + w,   J D = 0,   D^T M D omega' = D^T (Q - h - M w)

This is the null-space method with a basis that varies smoothly with the state. If the integrator takes omega as its
state, the velocity constraints hold identically.
"""

from __future__ import annotations

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LinearSystem
from gaussopt.core.step_data import StepData
from gaussopt.formulations._parametrised import Parametrised


class QuasiVelocity(Parametrised):
    """Equations (10) to (12) of Hao, Liu & Yao 2020."""

    name = "quasi-velocity"
    title = "Quasi-velocities (Maggi, Kane)"
    source = "Hao, Liu, Yao 2020, eqs. (10) to (12)"
    state = "quasi-velocity"

    def refuses(self, step: StepData) -> str | None:
        if step.D_omega is None and step.k == 0:
            return "the system names no quasi-velocities (D_omega, w_omega); use null-space"
        return super().refuses(step)

    def apply(self, step: StepData) -> tuple[LinearSystem, tuple[Vector, Matrix]]:
        D, w = step.D_omega, step.w_omega
        assert D is not None
        assert w is not None
        K = D.T @ step.M @ D
        return LinearSystem(0.5 * (K + K.T), D.T @ (step.force - step.M @ w)), (w, D)


formulation = QuasiVelocity()
