"""HiGHS through its own interface: its active-set method for quadratic programs.

Algorithm family: a primal active-set method in the null space of the working rows, after a phase of linear programming.
Assumptions: the program is convex. Every program is set up anew.
Weaknesses: only an accuracy of about 1e-5 is reliable in mechanics. By default HiGHS adds 1e-7 to the diagonal of P,
which changes accelerations of the crank-slider by up to 1e-5; the default here, 1e-14, only serves to move in flat
directions and leaves most errors at rounding level. But if the accelerations are small relative to the entries of P and
A, as near rest, it stops with an internal error and a point with an error of 1e-4 to 1e-6, whatever the tolerances. On
singular programs with entries of very different size (1e30 in the dual of a step) it writes outside of its memory,
which aborts the process; no condition is known that excludes this, so it runs in a helper process. Without
`qp_iteration_limit` it may also cycle forever. It has reported unbounded programs as solved.
Reference: Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", Math. Prog. Comp. 10, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, backend
from gaussopt.core.status import Status

_CLAIMS = {
    "kOptimal": Status.SOLVED, "kInfeasible": Status.INFEASIBLE, "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.INFEASIBLE, "kIterationLimit": Status.ITERATION_LIMIT,
    "kTimeLimit": Status.TIME_LIMIT,
}  # fmt: skip
"""The claim for each status of HiGHS; all other statuses are solver errors."""


@dataclass(frozen=True)
class HiGHSOptions(Options):
    """Options have the names of HiGHS's settings; `time_limit` is in seconds."""

    primal_feasibility_tolerance: float = 1e-10
    dual_feasibility_tolerance: float = 1e-10
    qp_regularization_value: float = 1e-14
    qp_iteration_limit: int = 10000
    time_limit: float = float("inf")


class HiGHS(Solver[HiGHSOptions]):
    """HiGHS's null-space active-set method."""

    name = "highs"
    title = "HiGHS (primal active set)"
    source = "Huangfu & Hall 2018"
    accepts = (QP, LeastSquares)
    requires = ("highspy",)
    extra = "highs"
    exact = False
    sparse = True
    aborts = True
    options_type = HiGHSOptions

    def setup(self, program: Program) -> None:
        qp, highspy = as_qp(program), backend("highspy")
        P, A = sparse.tril(sparse.csc_matrix(qp.P), format="csc"), sparse.csc_matrix(qp.A)
        model = highspy.HighsModel()
        lp, hessian, free = model.lp_, model.hessian_, np.full(qp.n, np.inf)
        lp.num_col_, lp.col_cost_, lp.col_lower_, lp.col_upper_ = qp.n, qp.q, -free, free
        lp.num_row_, lp.row_lower_, lp.row_upper_ = qp.m, qp.l, qp.u
        rows = lp.a_matrix_
        rows.format_, rows.num_row_, rows.num_col_ = highspy.MatrixFormat.kColwise, qp.m, qp.n
        rows.start_, rows.index_, rows.value_ = A.indptr, A.indices, A.data
        hessian.dim_, hessian.start_, hessian.index_, hessian.value_ = qp.n, P.indptr, P.indices, P.data
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        for name, value in vars(self.options).items():
            self._solver.setOptionValue(name, value)
        self._solver.passModel(model)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        self._solver.run()
        status, info = self._solver.getModelStatus(), self._solver.getInfo()
        claim = _CLAIMS.get(status.name, Status.SOLVER_ERROR)
        iterations = max(info.qp_iteration_count, info.ipm_iteration_count, 0)  # a method that did not run reports -1
        seconds, words = self._solver.getRunTime(), self._solver.modelStatusToString(status)
        found = self._solver.getSolution()  # the point may be right even if HiGHS reports the program as unbounded
        x, y = np.array(found.col_value), np.array(found.row_dual)
        return RawSolution(x, y, claim, iterations, seconds, "" if claim is Status.SOLVED else words)


solver = HiGHS
