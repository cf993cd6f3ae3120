"""SCS: operator splitting on the homogeneous embedding, with Anderson acceleration.

Algorithm family: Douglas-Rachford splitting; each iteration solves with the same sparse quasi-definite factors.
Assumptions: the program is convex, and may be large. Every program is set up anew, as SCS can only update vectors.
Weaknesses: convergence is linear, with hundreds of iterations for the accuracy of a direct method, and no polishing.
Reference: B. O'Donoghue, "Operator splitting for a homogeneous embedding of the linear complementarity problem",
SIAM J. Optimization 31, 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.cone_complementarity import ROWS
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.programs import QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, backend
from gaussopt.core.status import Status
from gaussopt.solvers._conic import Conic, conic_form, impulses

_CLAIMS = {
    1: Status.SOLVED,
    2: Status.INACCURATE,
    -1: Status.UNBOUNDED,
    -2: Status.INFEASIBLE,
    -6: Status.UNBOUNDED,
    -7: Status.INFEASIBLE,
}


@dataclass(frozen=True)
class SCSOptions(Options):
    """Options have the names of SCS's settings; `time_limit_secs` is in seconds, 0 for no limit."""

    eps_abs: float = 1e-11
    eps_rel: float = 1e-11
    eps_infeas: float = 1e-9
    max_iters: int = 20000
    time_limit_secs: float = 0.0
    acceleration_lookback: int = 10


class SCS(Conic[SCSOptions]):
    """SCS's operator splitting for cone programs."""

    name = "scs"
    title = "SCS (operator splitting)"
    source = "O'Donoghue 2021"
    requires = ("scs",)
    exact = False
    updates = False
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = SCSOptions

    def cones(self, program: ConeProgram) -> RawSolution:
        if not program.k:
            return RawSolution(np.zeros(0), None, Status.SOLVED)
        form = conic_form(program)
        data, kinds = form._asdict(), {"l": form.pushing, "q": [ROWS] * program.k}
        matrices = {name: data[name] for name in ("P", "A", "b", "c")}
        found = backend("scs").SCS(matrices, kinds, verbose=False, **vars(self.options)).solve()
        return impulses(form, found["x"], *self._told(found["info"]))

    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        kinds = {"z": self.equalities, "l": len(data["b"]) - self.equalities}
        self._solver = backend("scs").SCS(data | {"c": data["q"]}, kinds, verbose=False, **vars(self.options))

    def answer(self) -> RawSolution:
        found = self._solver.solve()
        return RawSolution(found["x"], found["y"], *self._told(found["info"]))

    def _told(self, info: Mapping[str, Any]) -> tuple[Status, int, float, str]:
        """Return claim, iterations, seconds and status from the `info` of SCS, whose times are in milliseconds."""
        claim = _CLAIMS.get(int(info["status_val"]), Status.SOLVER_ERROR)
        if info["status_val"] == 2 and info["iter"] >= self.options.max_iters:
            claim = Status.ITERATION_LIMIT
        return claim, int(info["iter"]), 1e-3 * (info["setup_time"] + info["solve_time"]), str(info["status"])


solver = SCS
