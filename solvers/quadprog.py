"""quadprog through qpsolvers: a dual active-set method that serves as reference for faster methods.

Algorithm family: starting from the unconstrained minimiser -P^-1 q, violated rows are added one at a time, and the
factors are updated by rotations; the last working set is solved exactly.
Assumptions: the program is dense and small, and P is positive definite (otherwise it is refused). No warm start.
Weaknesses: there is no tolerance, so that rounding errors decide whether dependent rows are consistent: if more rows
are active than there are unknowns, or if masses are huge, it reports feasible programs as infeasible. The package is
licensed under the GPL and therefore optional.
Reference: D. Goldfarb, A. Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Math. Prog. 27, 1983.
"""

from __future__ import annotations

import warnings

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, backend
from gaussopt.core.status import Status
from gaussopt.linalg.dense import gram_factor
from gaussopt.solvers._places import OneSided


class QuadProg(Solver[Options]):
    """Goldfarb and Idnani's dual active-set method.

    The form of qpsolvers is min 1/2 x^T P x + q^T x subject to G x <= h, A x = b. The rows l <= A x <= u are split into
    equalities and one row of G for each finite bound; the multipliers of a row are combined into one force.
    """

    name = "quadprog"
    title = "quadprog (dual active set of Goldfarb and Idnani)"
    source = "Goldfarb & Idnani 1983"
    accepts = (QP, LeastSquares)
    requires = ("qpsolvers", "quadprog")
    extra = "quadprog"

    def refuses(self, program: Program) -> str | None:
        """Return the reason if P is singular: the method starts from the unconstrained minimiser, which needs P^-1."""
        reason = super().refuses(program)
        if reason is None and gram_factor(as_qp(program).P) is None:
            return "it needs a positive definite P; use daqp, piqp or kkt for a singular one"
        return reason

    def setup(self, program: Program) -> None:
        qp = as_qp(program)
        self._rows = rows = OneSided.of(qp)
        A, m = qp.A[rows.rows], rows.equal
        G, h = -rows.sign[m:, None] * A[m:], -rows.sign[m:] * rows.bound[m:]
        self._problem = backend("qpsolvers").Problem(
            np.array(qp.P), qp.q, G if len(G) else None, h if len(G) else None, A[:m] if m else None,
            rows.bound[:m] if m else None,
        )  # fmt: skip

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the program; if there is no answer, claim infeasible, unless qpsolvers warns of another error."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = backend("qpsolvers").solve_problem(self._problem, self.name)
        if not found.found or found.x is None:
            if caught:
                return RawSolution(None, None, Status.SOLVER_ERROR, note=str(caught[-1].message))
            words = "constraints are inconsistent, or equality rows dependent"
            return RawSolution(None, None, Status.INFEASIBLE, note=words)
        y = self._rows.forces(np.concatenate((-np.asarray(found.y), np.asarray(found.z))))
        return RawSolution(np.asarray(found.x), y, Status.SOLVED, int(found.extras["iterations"][0]))


solver = QuadProg
