"""PIQP through its own interface: it is set up once, then matrices and vectors are updated in place.

Algorithm family: an infeasible interior-point method combined with the proximal method of multipliers. All rows are
regularised in the Newton matrix, so that dependent rows and a singular P are allowed. The dense or the sparse interface
is chosen by size and density (`_places.py: pays_sparse`), or by the names `piqp:dense` and `piqp:sparse`.
Assumptions: the program is convex. A start is ignored, because an interior-point method cannot use it. If multipliers
are not unique, the returned multipliers are in the interior of their set, not at a vertex.
Weaknesses: the last digits depend on the stopping rule. With an absolute tolerance of 1e-12 alone (`eps_rel` 0) it
iterates at rounding level until `max_iter`; the defaults here stop at rounding level, with the duality gap of 1e-15
that an error bound of 1e-7 needs. Two contradictory rows that nearly agree end at the iteration limit.
Reference: R. Schwan, Y. Jiang, D. Kuhn, C. N. Jones, "PIQP: a proximal interior-point quadratic programming
solver", IEEE Conference on Decision and Control, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, LeastSquares
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, backend
from gaussopt.core.status import Status
from gaussopt.solvers._places import TwoInterfaces

_CLAIMS = {
    1: (Status.SOLVED, "solved"),
    -1: (Status.ITERATION_LIMIT, "iteration limit"),
    -2: (Status.INFEASIBLE, "primal infeasible"),
    -3: (Status.UNBOUNDED, "dual infeasible"),
    -8: (Status.SOLVER_ERROR, "numerics"),
}


@dataclass(frozen=True)
class PIQPOptions(Options):
    """Options have the names of PIQP's settings."""

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


class PIQP(TwoInterfaces[PIQPOptions]):
    """PIQP's proximal interior-point method."""

    name = "piqp"
    title = "PIQP (proximal interior point)"
    source = "Schwan et al. 2023"
    accepts = (QP, LeastSquares)
    requires = ("piqp",)
    extra = "piqp"
    exact = False
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = PIQPOptions

    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        piqp = backend("piqp")
        self._solver = piqp.SparseSolver() if self.as_columns else piqp.DenseSolver()
        for key, value in {"verbose": False, "compute_timings": True, **vars(self.options)}.items():
            setattr(self._solver.settings, key, value)
        self._solver.setup(**data)
        self._started = False

    def renew(self, data: dict[str, Any]) -> None:
        self._solver.update(**data)
        self._started = True

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the program; `start` is ignored."""
        status = self._solver.solve().value
        result = self._solver.result
        info = result.info
        claim, note = _CLAIMS.get(status, (Status.SOLVER_ERROR, f"status {status}"))
        seconds = info.solve_time + (info.update_time if self._started else info.setup_time)
        if claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, info.iter, seconds, note)
        y = -result.y
        if self._rows is not None:
            eq, bounded = self._rows
            y = np.zeros(len(eq))
            y[eq] = -result.y
            y[bounded] = result.z_l - result.z_u
        return RawSolution(np.array(result.x), y, claim, info.iter, seconds, note)

    def data(self, qp: QP) -> dict[str, Any]:
        """Return the data with rows split into A x = b and h_l <= G x <= h_u; rows without bounds are left out."""
        if qp.equalities_only:  # for equal bounds the arrays are passed without copies
            self._rows = None
            return {"P": qp.P, "c": qp.q, "A": qp.A, "b": qp.l}
        eq = qp.equality
        rows = ~eq & (np.isfinite(qp.l) | np.isfinite(qp.u))
        self._rows = eq, rows
        return {
            "P": qp.P, "c": qp.q, "A": qp.A[eq], "b": qp.l[eq],
            "G": qp.A[rows], "h_l": qp.l[rows], "h_u": qp.u[rows],
        }  # fmt: skip


solver = PIQP
