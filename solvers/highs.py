"""HiGHS through qpsolvers: its active-set method for quadratic programs.

Algorithm family: primal active set in the null space of the working rows, after a phase of linear programming.
Assumptions: convex. Used here from nothing each time.
Weaknesses: only about 1e-5 can be counted on in mechanics. By default HiGHS adds 1e-7 to the diagonal of P, which
moves every acceleration of the crank-slider by up to 1e-5; the default here, 1e-14, serves only to walk in flat
directions and leaves most answers at rounding level. But where the accelerations are small beside the entries of P
and A, as near rest, its solver stops with an error of its own and a point that is 1e-4 to 1e-6 off, whatever the
tolerances. On singular programs with entries of very different size (1e30 in the dual of a step) it writes beyond its
memory, which ends the process; no condition is known that rules this out, so it runs in a helper process. Without
`qp_iteration_limit` it can also cycle for ever. It has called unbounded programs solved; the certificate does not.
Reference: Q. Huangfu, J. A. J. Hall, "Parallelizing the dual revised simplex method", Math. Prog. Comp. 10, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.solvers._qpsolvers import Stateless


@dataclass(frozen=True)
class HiGHSOptions(Options):
    """The names are those of HiGHS's own settings; `time_limit` in seconds."""

    primal_feasibility_tolerance: float = 1e-10
    dual_feasibility_tolerance: float = 1e-10
    qp_regularization_value: float = 1e-14
    qp_iteration_limit: int = 10000
    time_limit: float = float("inf")


class HiGHS(Stateless[HiGHSOptions]):
    """Null-space active set."""

    name = "highs"
    title = "HiGHS (primal active set)"
    source = "Huangfu & Hall 2018"
    requires = ("qpsolvers", "highspy")
    extra = "highs"
    exact = False
    own_rows = True
    aborts = True
    options_type = HiGHSOptions

    def verdict(self, solution: Any, warned: str) -> tuple[Status, int, float, str]:
        """Only whether it ended reaches us through qpsolvers; of a failure neither kind nor iterations."""
        if solution.found:
            return Status.SOLVED, 0, float("nan"), ""
        return Status.SOLVER_ERROR, 0, float("nan"), "no optimum; qpsolvers does not hand on why"


solver = HiGHS
