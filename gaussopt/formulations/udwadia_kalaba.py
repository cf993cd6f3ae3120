"""The fundamental equation of Udwadia and Kalaba, and its extension to singular mass matrices.

    a = a0 + M^(-1/2) (J M^(-1/2))^+ (gamma - J a0)                                   (M regular)
    a = [(I - J^+ J) M; J]^+ [Q - h; gamma]                                           (Udwadia & Phohomsiri)

Both are least-squares programs whose solution of minimum norm is taken; dependent rows are allowed. Coordinates are
scaled by their masses and rows to unit length first, so that ranks and digits do not depend on units.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LeastSquares, Program
from gaussopt.core.step_data import StepData
from gaussopt.formulations._parametrised import Parametrised, square_roots
from gaussopt.formulations._refined import MassEliminating
from gaussopt.formulations.base import Candidate
from gaussopt.linalg.balance import Balanced
from gaussopt.linalg.dense import cholesky, row_space


class UdwadiaKalaba(Parametrised, MassEliminating):
    """Explicit equations with generalised inverses."""

    name = "udwadia-kalaba"
    title = "Udwadia-Kalaba (Udwadia-Phohomsiri for singular M)"
    source = "Udwadia & Kalaba 1992; Udwadia & Phohomsiri 2006"

    def apply(self, step: StepData) -> tuple[LeastSquares, tuple[Vector, Matrix]]:
        data = Balanced.of(step)
        M, f, J, gamma, space = data.M, data.f, data.J, data.g, data.space
        if cholesky(M) is not None:
            _, inverse_root = square_roots(M)
            a0 = inverse_root @ (inverse_root @ f)
            program = LeastSquares(J @ inverse_root, gamma - J @ a0, space.rank, minimum_norm=True)
            return program, (data.d * a0, data.d[:, None] * inverse_root)
        # I - J^+ J = Z Z^T, where the columns of Z are orthonormal. Z^T M in place of Z Z^T M gives the same solution
        # and avoids rank(J) dependent rows, which rounding errors could make contradictory.
        stacked = np.vstack((space.Z.T @ M, J))
        b = np.concatenate((space.Z.T @ f, gamma))
        return LeastSquares(stacked, b, row_space(stacked).rank, minimum_norm=True), (np.zeros(step.n), np.diag(data.d))

    def refined(self, step: StepData, program: Program, x: Vector, found: Candidate) -> Candidate | None:
        better = super().refined(step, program, x, found)
        return None if better is None else better._replace(lam=None)


formulation = UdwadiaKalaba()
