"""Accelerations parametrised by fewer unknowns, for example by the general solution of J a = gamma."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Formulation
from gaussopt.linalg.dense import cholesky, row_space


class Parametrised(Formulation):
    """A program in x with a = a_p + T x; its data are the pair (a_p, T), and it has no multipliers."""

    def recover(self, data: tuple[Vector, Matrix], x: Vector, y: Vector | None) -> tuple[Vector, Vector | None]:
        a_p, T = data
        return a_p + T @ x, None


class Projected(Parametrised):
    """A least-squares problem in the vector z of the general solution a = J^+ gamma + N z with N = I - J^+ J."""

    def refuses(self, step: StepData) -> str | None:
        if cholesky(step.M) is None:
            return "M is singular, and the method needs M^(-1/2); use gauss or lagrange"
        return super().refuses(step)


def general_solution(J: Matrix, gamma: Vector) -> tuple[Vector, Matrix, int]:
    """Return J^+ gamma, the orthogonal projector N onto ker J, and the rank of N.

    N is formed from a basis of ker J: the difference I - J^+ J would contain rounding errors that a second
    generalised inverse might invert.
    """
    space = row_space(J)
    return space.pinv @ gamma, space.Z @ space.Z.T, J.shape[1] - space.rank


def square_roots(M: Matrix) -> tuple[Matrix, Matrix]:
    """Return M^(1/2) and M^(-1/2) of a positive definite M."""
    values, V = np.linalg.eigh(M)
    root = np.sqrt(values)
    return (V * root) @ V.T, (V / root) @ V.T
