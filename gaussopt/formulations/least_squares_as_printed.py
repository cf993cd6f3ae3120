"""Equation (16) of Yuan & Ge 2016 as printed: WRONG in general, kept to show by how much.

The source splits (M^(1/2) N)^- into N^- M^(-1/2), a reverse-order law that fails for the Moore-Penrose inverse.
The result is

    a = J^+ gamma + N a0,   a0 = M^-1 (Q - h),

the minimiser of the unweighted || a - a0 ||: the masses have dropped out of the metric. It satisfies the
constraints to the last digit and equals the Gauss minimiser for all forces only if ker J is M-invariant.
"""

from __future__ import annotations

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LeastSquares
from gaussopt.core.step_data import StepData
from gaussopt.formulations._parametrised import Projected, general_solution, square_roots


class LeastSquaresAsPrinted(Projected):
    """Equation (16) of Yuan & Ge 2016, reproduced with its error."""

    name = "least-squares-as-printed"
    title = "Least squares, eq. (16) as printed (wrong in general)"
    source = "Yuan & Ge 2016, eqs. (15) and (16)"
    exact = False

    def apply(self, step: StepData) -> tuple[LeastSquares, tuple[Vector, Matrix]]:
        """Return the problem with A = N and b multiplied by M^(-1/2), which eq. (15) claims to be equivalent."""
        particular, N, rank = general_solution(step.J, step.gamma)
        root, inverse_root = square_roots(step.M)
        b = inverse_root @ (inverse_root @ step.force - root @ particular)
        return LeastSquares(N, b, rank), (particular, N)


formulation = LeastSquaresAsPrinted()
