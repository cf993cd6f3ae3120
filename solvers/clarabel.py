"""Clarabel: the interior-point method that `cvxpy` uses too, here without CVXPY's compilation.

Quadratic programs go through qpsolvers, cone programs of contacts to Clarabel itself.
Algorithm family: homogeneous embedding, primal-dual interior point with a sparse quasi-definite factorisation that
is statically regularised and iteratively refined.
Assumptions: convex. No warm start; every call converts the program to its conic form.
Weaknesses: below tolerances of about 1e-12 it may stop for lack of progress with a good answer; the certificate
then decides.
Reference: P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives",
2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.solvers._conic import CLAIMS, Conic, cone_program


@dataclass(frozen=True)
class ClarabelOptions(Options):
    """The names are those of Clarabel's own settings; `time_limit` in seconds."""

    tol_gap_abs: float = 1e-14
    tol_gap_rel: float = 1e-14
    tol_feas: float = 1e-12
    max_iter: int = 200
    time_limit: float = float("inf")


class Clarabel(Conic[ClarabelOptions]):
    """Interior point on the homogeneous embedding."""

    name = "clarabel"
    title = "Clarabel (interior point)"
    source = "Goulart & Chen 2024"
    requires = ("qpsolvers", "clarabel")
    exact = False
    precision = tuple({"tol_gap_abs": e, "tol_gap_rel": e, "tol_feas": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = ClarabelOptions

    def cones(self, program: ConeProgram) -> RawSolution:
        return cone_program(program, vars(self.options))

    def verdict(self, solution: Any, warned: str) -> tuple[Status, int, float, str]:
        """From Clarabel's status; qpsolvers does not hand on its iterations."""
        status = str(solution.extras["status"])
        seconds = float(solution.extras.get("solve_time", float("nan")))
        return CLAIMS.get(status, Status.SOLVER_ERROR), 0, seconds, status


solver = Clarabel
