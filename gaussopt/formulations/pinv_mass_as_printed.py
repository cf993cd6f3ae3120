"""Gauss's function with the pseudo-inverse of a singular mass matrix, as printed in Yang & Yao 2017: WRONG in general.

    min 1/2 (M a - Q~)^T M^+ (M a - Q~)   subject to   J a = gamma,   Q~ = Q - h

The source's flow chart tests whether M is singular and takes M^+ or M^-1 accordingly. Up to a constant, the objective
is 1/2 a^T M a - a^T M M^+ Q~: with a singular M the force is replaced by its projection on the range of M, and forces
on massless coordinates are lost. This is Gauss's principle only if (I - M M^+) Q~ lies in the range of J^T.
The chart tests only M. Therefore the rank of M is determined here in units of the masses alone, whereas other
formulations also use the rows of J to scale coordinates whose mass is a rounding error.
The sign is corrected here (the source prints M a - h + Q, which reverses all forces).
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Formulation
from gaussopt.linalg.dense import mass_scale, row_space


class PinvMassAsPrinted(Formulation):
    """Equation (2) of Yang & Yao 2017 with the sign corrected, otherwise reproduced with its error."""

    name = "pinv-mass-as-printed"
    title = "Gauss function with M^+ as printed (wrong in general)"
    source = "Yang & Yao 2017, eq. (2) and flow chart"
    exact = False

    def apply(self, step: StepData) -> tuple[QP, None]:
        """Follow the paper's flow chart: keep the force if M is regular, project it if M is singular."""
        force, d = step.force, mass_scale(step.M)
        # Singular values decide, as pivots of a singular M may be rounding errors of an ill-conditioned leading block.
        if row_space(step.M * np.outer(d, d)).rank < step.n:
            force = step.M @ (row_space(step.M).pinv @ force)
        return QP(step.M, -force, step.J, step.gamma, step.gamma), None

    def recover(self, data: None, x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """Return x as a, without multipliers: the duals belong to the projected force, not to the constraint forces."""
        return x, None


formulation = PinvMassAsPrinted()
