"""Shared by the two least-squares formulations: all accelerations that satisfy the constraints.

a = J^+ gamma + N z,   N = I - J^+ J
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.formulations._parametrised import Parametrised
from gaussopt.linalg.dense import cholesky, row_space


class Projected(Parametrised):
    """Least squares over the free vector z of the general solution of J a = gamma."""

    def refuses(self, step: StepData) -> str | None:
        """Contacts, and a mass matrix that has no inverse square root."""
        if cholesky(step.M) is None:
            return "M is singular, and the method needs M^(-1/2); use gauss or lagrange"
        return super().refuses(step)


def general_solution(J: Matrix, gamma: Vector) -> tuple[Vector, Matrix, int]:
    """J^+ gamma, the orthogonal projector N onto ker J, and its rank.

    N is formed from a basis of ker J: the difference I - J^+ J would leave rounding noise that a second
    generalised inverse might invert.
    """
    space = row_space(J)
    return space.pinv @ gamma, space.Z @ space.Z.T, J.shape[1] - space.rank


def square_roots(M: Matrix) -> tuple[Matrix, Matrix]:
    """M^(1/2) and M^(-1/2) of a positive definite M."""
    values, V = np.linalg.eigh(M)
    root = np.sqrt(values)
    return (V * root) @ V.T, (V / root) @ V.T
