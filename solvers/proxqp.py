"""ProxQP through its own interface: it is initialised once, then matrices and vectors are updated in place.

Algorithm family: a primal-dual augmented Lagrangian method with proximal terms; inner problems are solved by semismooth
Newton steps with L D L^T factors. The dense or the sparse interface is chosen by size and density
(`_places.py: pays_sparse`), or by the names `proxqp:dense` and `proxqp:sparse`. Dependent rows and a singular P are
allowed; an infeasible program is recognised by its multipliers.
Assumptions: the program is convex. A start replaces the default guess, which is the solution for the equality rows
alone. If all rows are equalities, the default guess is the answer, and a warm start takes one more iteration.
Weaknesses: the multipliers converge linearly, so that it takes several outer iterations where an active-set method
needs one solve. Without `check_duality_gap` it accepts points with a complementarity gap of 1e-8. Infeasible and
unbounded programs may end at the iteration limit without being recognised; `eps_primal_inf` and `eps_dual_inf` are
tight here, because with its default of 1e-4 it reports badly scaled programs as unbounded.
Reference: A. Bambade, S. El-Kazdadi, A. Taylor, J. Carpentier, "PROX-QP: yet another quadratic programming solver
for robotics and beyond", Robotics: Science and Systems, 2022.
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
    "PROXQP_SOLVED": Status.SOLVED, "PROXQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PROXQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE, "PROXQP_SOLVED_CLOSEST_PRIMAL_FEASIBLE": Status.INFEASIBLE,
    "PROXQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
}  # fmt: skip
"""The claim for each status of ProxQP; any other status is a solver error."""


@dataclass(frozen=True)
class ProxQPOptions(Options):
    """Options have the names of ProxQP's settings."""

    eps_abs: float = 1e-10
    eps_rel: float = 1e-12
    check_duality_gap: bool = True
    eps_duality_gap_abs: float = 1e-15
    eps_duality_gap_rel: float = 1e-15
    eps_primal_inf: float = 1e-8
    eps_dual_inf: float = 1e-10
    max_iter: int = 1000
    max_iter_in: int = 1500
    default_rho: float = 1e-6
    default_mu_eq: float = 1e-3
    default_mu_in: float = 1e-1
    nb_iterative_refinement: int = 10
    update_preconditioner: bool = False


class ProxQP(TwoInterfaces[ProxQPOptions]):
    """ProxQP's proximal augmented Lagrangian method."""

    name = "proxqp"
    title = "ProxQP (proximal augmented Lagrangian)"
    source = "Bambade et al. 2022"
    accepts = (QP, LeastSquares)
    requires = ("proxsuite",)
    extra = "proxqp"
    exact = False
    warm_starts = True
    precision = tuple({"eps_abs": e, "eps_rel": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = ProxQPOptions

    def begin(self, qp: QP, data: dict[str, Any]) -> None:
        proxqp = backend("proxsuite").proxqp
        self._cold = proxqp.InitialGuess.EQUALITY_CONSTRAINED_INITIAL_GUESS
        self._warm = proxqp.InitialGuess.WARM_START
        equalities = int(qp.equality.sum())
        form = proxqp.sparse if self.as_columns else proxqp.dense
        self._solver = form.QP(qp.n, equalities, qp.m - equalities)
        for key, value in {"verbose": False, "compute_timings": True, **vars(self.options)}.items():
            setattr(self._solver.settings, key, value)
        self._solver.init(**data)

    def renew(self, data: dict[str, Any]) -> None:
        self._solver.update(**data, update_preconditioner=self.options.update_preconditioner)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Iterate from the start or, if there is no start, from the solution for the equality rows alone."""
        eq = self._eq
        x, forces = (None, None) if start is None else start
        if forces is None:
            self._solver.settings.initial_guess = self._cold
            self._solver.solve()
        else:
            self._solver.settings.initial_guess = self._warm
            y, z = (-forces, np.zeros(0)) if eq is None else (-forces[eq], -forces[~eq])
            self._solver.solve(x, y, z)
        result = self._solver.results
        info = result.info
        claim = _CLAIMS.get(info.status.name, Status.SOLVER_ERROR)
        note = info.status.name.removeprefix("PROXQP_").replace("_", " ").lower()
        seconds = 1e-6 * info.run_time  # run_time covers update and solve, in microseconds
        if claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            return RawSolution(None, None, claim, info.iter, seconds, note)
        y = -result.y
        if eq is not None:
            y = np.empty(len(eq))
            y[eq], y[~eq] = -result.y, -result.z
        return RawSolution(np.array(result.x), y, claim, info.iter, seconds, note)

    def data(self, qp: QP) -> dict[str, Any]:
        """Return the data with rows split into equalities A x = b and two-sided rows l <= C x <= u."""
        data: dict[str, Any] = {"H": qp.P, "g": qp.q}
        self._eq = None
        if qp.equalities_only:  # for equal bounds the arrays are passed without copies
            return {**data, "A": qp.A, "b": qp.l} if qp.m else data
        self._eq = eq = qp.equality
        rows = ~eq
        data |= {"C": qp.A[rows], "l": qp.l[rows], "u": qp.u[rows]}
        return {**data, "A": qp.A[eq], "b": qp.l[eq]} if eq.any() else data


solver = ProxQP
