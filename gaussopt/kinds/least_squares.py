"""Least-squares problems."""

from __future__ import annotations

import numpy as np

from gaussopt.certificates.linear import LinearCertificate, certify_least_squares
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LeastSquares
from gaussopt.core.solution import RawSolution
from gaussopt.kinds.base import Residuals
from gaussopt.kinds.linear import EquationsPage, relative
from gaussopt.kinds.qp import QPPage


class LeastSquaresPage(EquationsPage[LeastSquares]):
    """The `Page` of `LeastSquares`: how such problems are read, solved and certified."""

    kind = LeastSquares
    title = "least-squares problem"

    def certify(self, program: LeastSquares, raw: RawSolution, tolerance: float) -> LinearCertificate | None:
        return None if raw.x is None else certify_least_squares(program, raw.x)

    def residuals(self, program: LeastSquares, x: Vector, y: Vector | None) -> Residuals:
        if program.minimum_norm:
            return QPPage().residuals(program.as_qp(), x, None)
        misfit = program.A @ x - program.b
        size = np.abs(program.A.T) @ (np.abs(program.A) @ np.abs(x) + np.abs(program.b))
        return Residuals(0.0, relative(program.A.T @ misfit, size), 0.0)

    def least_cost(self, program: LeastSquares) -> float | None:
        if program.minimum_norm:
            return None
        x, *_ = np.linalg.lstsq(program.A, program.b, rcond=None)
        residual = program.A @ x - program.b
        return 0.5 * float(residual @ residual)
