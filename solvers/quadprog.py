"""quadprog: the dual active-set method that the faster ones are measured against, through qpsolvers.

Algorithm family: from the unconstrained minimiser -P^-1 q, violated rows are added one at a time and the factors
updated by rotations; the last working set is solved exactly.
Assumptions: dense, small, P positive definite (others are refused). No warm start.
Weaknesses: it has no tolerance to set, and rounding alone decides whether rows that depend on each other agree: where
more rows meet than there are unknowns, or where masses are huge, it calls solvable programs contradictory. The
package is licensed under the GPL and therefore optional.
Reference: D. Goldfarb, A. Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Math. Prog. 27, 1983.
"""

from __future__ import annotations

from typing import Any

from gaussopt.core.programs import LinearSystem, Program, as_qp
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.linalg.dense import gram_factor
from gaussopt.solvers._qpsolvers import Stateless


class QuadProg(Stateless[Options]):
    """Goldfarb and Idnani's dual active set."""

    name = "quadprog"
    title = "quadprog (dual active set of Goldfarb and Idnani)"
    source = "Goldfarb & Idnani 1983"
    requires = ("qpsolvers", "quadprog")
    extra = "quadprog"
    sparse = False
    own_rows = True

    def refuses(self, program: Program) -> str | None:
        """A singular P has no unconstrained minimiser to begin from."""
        reason = super().refuses(program)
        if reason is None and not isinstance(program, LinearSystem) and gram_factor(as_qp(program).P) is None:
            return "it needs a positive definite P; use daqp, piqp or kkt for a singular one"
        return reason

    def verdict(self, solution: Any, warned: str) -> tuple[Status, int, float, str]:
        """It either ends or finds the rows contradictory; qpsolvers warns of any other error."""
        if solution.found:
            return Status.SOLVED, int(solution.extras["iterations"][0]), float("nan"), ""
        if warned:
            return Status.SOLVER_ERROR, 0, float("nan"), warned
        return Status.INFEASIBLE, 0, float("nan"), "constraints are inconsistent, or equality rows dependent"


solver = QuadProg
