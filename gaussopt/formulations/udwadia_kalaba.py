"""The fundamental equation of Udwadia and Kalaba, and its extension to singular mass matrices.

    a = a0 + M^(-1/2) (J M^(-1/2))^+ (gamma - J a0)                                   (M regular)
    a = [(I - J^+ J) M; J]^+ [Q - h; gamma]                                           (Udwadia & Phohomsiri)

Both are least-squares programs whose solution of least norm is wanted; dependent rows are allowed.
"""

from __future__ import annotations

import numpy as np

from gaussopt.formulation import Formulation
from gaussopt.formulations._projected import square_roots
from gaussopt.linalg import cholesky, row_space
from gaussopt.programs import LeastSquares
from gaussopt.stepdata import Matrix, StepData, Vector


class UdwadiaKalaba(Formulation):
    """Explicit equations with generalised inverses."""

    name = "udwadia-kalaba"
    title = "Udwadia-Kalaba (Udwadia-Phohomsiri for singular M)"
    source = "Udwadia & Kalaba 1992; Udwadia & Phohomsiri 2006"

    def apply(self, step: StepData) -> tuple[LeastSquares, tuple[Vector, Matrix]]:
        """Whitened correction of a0, or the stacked system if M is singular."""
        space = row_space(step.J)
        if cholesky(step.M) is not None:
            _, inverse_root = square_roots(step.M)
            a0 = inverse_root @ (inverse_root @ step.force)
            program = LeastSquares(step.J @ inverse_root, step.gamma - step.J @ a0, space.rank, minimum_norm=True)
            return program, (a0, inverse_root)
        n = step.n
        # I - J^+ J = Z Z^T, and Z has orthonormal columns: Z^T M in place of Z Z^T M has the same pseudo-inverse
        # solution with n - rank J rows less to contradict each other.
        stacked = np.vstack((space.Z.T @ step.M, step.J))
        rank = int(np.linalg.matrix_rank(stacked))
        b = np.concatenate((space.Z.T @ step.force, step.gamma))
        return LeastSquares(stacked, b, rank, minimum_norm=True), (np.zeros(n), np.eye(n))

    def recover(self, data: tuple[Vector, Matrix], x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        """A = a0 + M^(-1/2) x."""
        a0, lift = data
        return a0 + lift @ x, None


formulation = UdwadiaKalaba()
