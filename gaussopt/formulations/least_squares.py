"""Gauss's principle as a least-squares problem over the general solution of the constraints.

    a = J^+ gamma + N z,   N = I - J^+ J,   min_z || M^(1/2) N z - b ||,
    b = -(M^(1/2) J^+ gamma - M^(-1/2) (Q - h))

so that a = J^+ gamma + N (M^(1/2) N)^+ b, which is exact with the Moore-Penrose inverse of the product. Coordinates are
scaled by their masses and rows to unit length first, so that ranks and digits do not depend on units.
"""

from __future__ import annotations

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LeastSquares
from gaussopt.core.step_data import StepData
from gaussopt.formulations._parametrised import Projected, general_solution, square_roots
from gaussopt.linalg.balance import Balanced


class ProjectedLeastSquares(Projected):
    """Equation (14) of Yuan & Ge 2016 with the Moore-Penrose inverse."""

    name = "least-squares"
    title = "Least squares with generalised inverses"
    source = "Yuan & Ge 2016, eq. (14)"

    def apply(self, step: StepData) -> tuple[LeastSquares, tuple[Vector, Matrix]]:
        """Return the problem min || A z - b ||, A = M^(1/2) N of known rank n - rank J, in coordinates of unit mass."""
        data = Balanced.of(step)
        particular, N, rank = general_solution(data.J, data.g)
        root, inverse_root = square_roots(data.M)
        b = inverse_root @ data.f - root @ particular
        return LeastSquares(root @ N, b, rank), (data.d * particular, data.d[:, None] * N)


formulation = ProjectedLeastSquares()
