"""Backends without an adapter of their own: one stateless call of qpsolvers.

qpsolvers states a program as min 1/2 x^T P x + q^T x subject to G x <= h, A x = b. The rows l <= A x <= u are split
into equalities and one row of G for each finite bound; the multipliers z >= 0 of G and y of A go back into one
force per row, y_i = (force of the lower bound) - (force of the upper bound). Nothing is kept between programs: the
call's own conversion is part of the time of `solve`, and no update is claimed.
Reference: S. Caron et al., "qpsolvers: quadratic programming solvers in Python with a unified API", since 2016.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import O, Solver, backend
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector


class Stateless(Solver[O]):
    """A backend reached through `qpsolvers.solve_problem`.

    Class attributes
    ----------------
    sparse : whether the backend takes compressed columns, and with them sparse programs
    own_rows : whether it solves a program without rows itself; where it does not, qpsolvers would answer in its place
        with SciPy's LSQR, and a row 0 x <= 1 keeps the answer the backend's
    """

    accepts: ClassVar[tuple[type, ...]] = (QP, LeastSquares)
    sparse: ClassVar[bool] = True
    own_rows: ClassVar[bool] = False

    @abstractmethod
    def verdict(self, solution: Any, warned: str) -> tuple[Status, int, float, str]:
        """Claim, iterations, the backend's own seconds (NaN: not reported) and its words.

        From qpsolvers' solution and the last warning with which it came, "" if none.
        """

    def setup(self, program: Program) -> None:
        qp = as_qp(program)
        self._eq = eq = qp.equality
        self._lower, self._upper = ~eq & np.isfinite(qp.l), ~eq & np.isfinite(qp.u)
        matrix = sparse.csc_matrix if self.sparse else np.array  # copies: not every backend takes read-only memory
        # The rows of a sparse program are equalities.
        G = np.zeros((0, qp.n)) if qp.sparse else np.vstack((-qp.A[self._lower], qp.A[self._upper]))
        h = np.concatenate((-qp.l[self._lower], qp.u[self._upper]))
        if not len(G) and not eq.any() and not self.own_rows:
            G, h = np.zeros((1, qp.n)), np.ones(1)
        self._problem = backend("qpsolvers").Problem(
            matrix(qp.P), qp.q, matrix(G) if len(G) else None, h if len(G) else None,
            matrix(qp.A[eq]) if eq.any() else None, qp.l[eq] if eq.any() else None,
        )  # fmt: skip

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = backend("qpsolvers").solve_problem(self._problem, self.name, **vars(self.options))
        warned = str(caught[-1].message) if caught else ""
        claim, iterations, seconds, note = self.verdict(solution, warned)
        if solution.x is None or claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, iterations, seconds, note)
        return RawSolution(np.asarray(solution.x), self._forces(solution), claim, iterations, seconds, note)

    def _forces(self, solution: Any) -> Vector | None:
        if solution.y is None or solution.z is None:
            return None
        y = np.zeros(len(self._eq))
        y[self._eq] = -np.asarray(solution.y)
        z = np.asarray(solution.z)
        lower = int(self._lower.sum())
        y[self._lower] += z[:lower]
        y[self._upper] -= z[lower : lower + int(self._upper.sum())]
        return y
