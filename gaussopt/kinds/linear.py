"""Systems of linear equations."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from gaussopt.certificates.linear import LinearCertificate, certify_linear
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LeastSquares, LinearSystem
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.kinds.base import Page, Residuals, Verdict
from gaussopt.linalg.dense import largest

E = TypeVar("E", LinearSystem, LeastSquares)


class EquationsPage(Page[E]):
    """Base class of `LinearPage` and `LeastSquaresPage`."""

    def default_solver(self, program: E) -> str:
        return "sparse-kkt" if program.sparse else "kkt"

    def doubt(self, program: E, proof: Any, raw: RawSolution, tolerance: float) -> Verdict:
        if proof is not None:
            failure = Status.INFEASIBLE if proof.contradictory else Status.INACCURATE
            return failure, failure.sentence
        if raw.claim is Status.SOLVED:
            return Status.SOLVER_ERROR, "The solver returned no answer although it says solved."
        return raw.claim, raw.note or raw.claim.sentence


def relative(residual: Vector, size: Vector) -> float:
    """Return the largest residual relative to 1 + the largest size."""
    return largest(residual) / (1.0 + largest(size))


class LinearPage(EquationsPage[LinearSystem]):
    """The `Page` of `LinearSystem`: how such systems are read, solved and certified."""

    kind = LinearSystem
    title = "system of linear equations"
    not_exported = (
        "a linear system, which is neither a quadratic program nor a complementarity problem; export gauss or another "
        "formulation that optimises."
    )

    def certify(self, program: LinearSystem, raw: RawSolution, tolerance: float) -> LinearCertificate | None:
        return None if raw.x is None else certify_linear(program, raw.x)

    def residuals(self, program: LinearSystem, x: Vector, y: Vector | None) -> Residuals:
        size = np.abs(program.K) @ np.abs(x) + np.abs(program.b)
        return Residuals(relative(program.K @ x - program.b, size), 0.0, 0.0)

    def least_cost(self, program: LinearSystem) -> float:
        return 0.0
