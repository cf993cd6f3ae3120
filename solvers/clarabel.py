"""Clarabel: the interior-point method that `cvxpy` uses by default, here called directly.

Algorithm family: a primal-dual interior-point method on a homogeneous embedding, with a sparse quasi-definite
factorisation that is statically regularised and iteratively refined.
Assumptions: the program is convex. There is no warm start. An update keeps the ordering of the factors and the scaling
of the first program.
Weaknesses: at tolerances below about 1e-12 it may stop for lack of progress, although the answer is good.
Reference: P. J. Goulart, Y. Chen, "Clarabel: an interior-point solver for conic programs with quadratic objectives",
2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.programs import QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, backend
from gaussopt.core.status import Status
from gaussopt.solvers._conic import CLAIMS, Conic, cone_program, settings_of


@dataclass(frozen=True)
class ClarabelOptions(Options):
    """Options have the names of Clarabel's settings; `time_limit` is in seconds."""

    tol_gap_abs: float = 1e-14
    tol_gap_rel: float = 1e-14
    tol_feas: float = 1e-12
    max_iter: int = 200
    time_limit: float = float("inf")


class Clarabel(Conic[ClarabelOptions]):
    """Clarabel's interior-point method."""

    name = "clarabel"
    title = "Clarabel (interior point)"
    source = "Goulart & Chen 2024"
    requires = ("clarabel",)
    exact = False
    precision = tuple({"tol_gap_abs": e, "tol_gap_rel": e, "tol_feas": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = ClarabelOptions

    def cones(self, program: ConeProgram) -> RawSolution:
        return cone_program(program, vars(self.options))

    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        clarabel, equal = backend("clarabel"), self.equalities
        cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(len(data["b"]) - equal)]
        # Disable presolving, which forbids updates, and would only remove rows without a bound; there are none.
        settings = settings_of({"presolve_enable": False, **vars(self.options)})
        self._solver = clarabel.DefaultSolver(*data.values(), cones, settings)

    def renew(self, data: dict[str, Any]) -> None:
        self._solver.update(P=data["P"].data, q=data["q"], A=data["A"].data, b=data["b"])

    def answer(self) -> RawSolution:
        found = self._solver.solve()
        words = str(found.status)
        claim = CLAIMS.get(words, Status.SOLVER_ERROR)
        return RawSolution(np.array(found.x), np.array(found.z), claim, found.iterations, found.solve_time, words)


solver = Clarabel
