"""PIQP through its own interface: set up once, then matrices and vectors updated in place.

Algorithm family: an infeasible interior-point method combined with the proximal method of multipliers, on dense
matrices. Every row enters the Newton matrix regularised, so dependent rows and a singular P are no obstacle.
Assumptions: convex and dense. An interior-point method cannot use a warm start, and none is offered: warm and
cold runs are the same. Of several multipliers it returns one in the middle of their set, not a vertex.
Weaknesses: the last digits depend on its stopping rule. An absolute tolerance of 1e-12 alone (`eps_rel` 0) stalls at
the rounding floor until `max_iter`; the defaults here stop at rounding level, with the duality gap of 1e-15 that an
error bound of 1e-7 needs. Two contradictory rows that nearly agree end in the iteration limit, not as infeasible.
Reference: R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, "PIQP: a proximal interior-point quadratic programming
solver", IEEE Conference on Decision and Control, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaussopt.core.programs import Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, backend
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.solvers._in_place import InPlace

_CLAIMS = {
    1: (Status.SOLVED, "solved"),
    -1: (Status.ITERATION_LIMIT, "iteration limit"),
    -2: (Status.INFEASIBLE, "primal infeasible"),
    -3: (Status.UNBOUNDED, "dual infeasible"),
    -8: (Status.SOLVER_ERROR, "numerics"),
}


@dataclass(frozen=True)
class PIQPOptions(Options):
    """PIQP's own names."""

    eps_abs: float = 1e-10
    eps_rel: float = 1e-13
    check_duality_gap: bool = True
    eps_duality_gap_abs: float = 1e-15
    eps_duality_gap_rel: float = 1e-15
    infeasibility_threshold: float = 0.9
    max_iter: int = 250
    rho_init: float = 1e-6
    delta_init: float = 1e-4
    tau: float = 0.99
    preconditioner_iter: int = 10
    preconditioner_reuse_on_update: bool = False
    iterative_refinement_always_enabled: bool = False


class PIQP(InPlace[PIQPOptions]):
    """Proximal interior point."""

    name = "piqp"
    title = "PIQP (proximal interior point)"
    source = "Schwan et al. 2023"
    requires = ("piqp",)
    extra = "piqp"
    options_type = PIQPOptions
    names = ("P", "c", "A", "b", "G", "h_l", "h_u")

    def _make(self, n: int, equalities: int, rows: int) -> Any:
        self._updated = False
        return backend("piqp").DenseSolver()

    def update(self, program: Program) -> None:
        """New numbers, same pattern."""
        self._solver.update(**self._data(as_qp(program)))
        self._updated = True

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve; an interior-point method begins afresh whatever the start."""
        status = self._solver.solve().value
        result = self._solver.result
        info = result.info
        claim, note = _CLAIMS.get(status, (Status.SOLVER_ERROR, f"status {status}"))
        seconds = info.solve_time + (info.update_time if self._updated else info.setup_time)
        return self._answer(result.x, result.y, result.z_l - result.z_u, claim, info, seconds, note)


solver = PIQP
