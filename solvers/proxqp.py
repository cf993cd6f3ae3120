"""ProxQP through its own interface: initialised once, then matrices and vectors updated in place.

Algorithm family: primal-dual augmented Lagrangian with proximal terms, its inner problems solved by semismooth
Newton steps on dense LDL^T factors. Dependent rows and a singular P are no obstacle; a program without a feasible
point is recognised by its multipliers.
Assumptions: convex and dense. A start replaces its default guess, the solution of the equality rows; with equality
rows only that guess is the answer, and a warm start costs an iteration more.
Weaknesses: the multipliers converge linearly, hence several outer iterations where an active-set method needs one
solve. Without `check_duality_gap` it accepts points whose complementarity is open by 1e-8. Contradictory inequalities
and descent along a row may run into the iteration limit instead of being recognised; `eps_primal_inf` and
`eps_dual_inf` are tight here because at its own 1e-4 it calls badly scaled programs unbounded.
Reference: A. Bambade, S. El-Kazdadi, A. Taylor, J. Carpentier, "PROX-QP: yet another quadratic programming solver
for robotics and beyond", Robotics: Science and Systems, 2022.
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
    "PROXQP_SOLVED": Status.SOLVED,
    "PROXQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "PROXQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PROXQP_SOLVED_CLOSEST_PRIMAL_FEASIBLE": Status.INFEASIBLE,
    "PROXQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
}
"""The remaining name (not run) is an error of the solver."""


@dataclass(frozen=True)
class ProxQPOptions(Options):
    """ProxQP's own names."""

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


class ProxQP(InPlace[ProxQPOptions]):
    """Proximal augmented Lagrangian."""

    name = "proxqp"
    title = "ProxQP (proximal augmented Lagrangian)"
    source = "Bambade et al. 2022"
    requires = ("proxsuite",)
    extra = "proxqp"
    warm_starts = True
    options_type = ProxQPOptions
    names = ("H", "g", "A", "b", "C", "l", "u")
    _initialise = "init"

    def _make(self, n: int, equalities: int, rows: int) -> Any:
        proxqp = backend("proxsuite").proxqp
        self._cold = proxqp.InitialGuess.EQUALITY_CONSTRAINED_INITIAL_GUESS
        self._warm = proxqp.InitialGuess.WARM_START
        return proxqp.dense.QP(n, equalities, rows)

    def update(self, program: Program) -> None:
        """New numbers, same pattern."""
        self._solver.update(**self._data(as_qp(program)), update_preconditioner=self.options.update_preconditioner)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Iterate from the start, or from the solution of the equality rows."""
        x, forces = (None, None) if start is None else start
        if forces is None:
            self._solver.settings.initial_guess = self._cold
            self._solver.solve()
        else:
            self._solver.settings.initial_guess = self._warm
            self._solver.solve(x, -forces[self._eq], -forces[self._bounded])
        result = self._solver.results
        info = result.info
        claim = _CLAIMS.get(info.status.name, Status.SOLVER_ERROR)
        note = info.status.name.removeprefix("PROXQP_").replace("_", " ").lower()
        seconds = 1e-6 * info.run_time  # microseconds, of update and solve
        return self._answer(result.x, result.y, -result.z, claim, info, seconds, note)


solver = ProxQP
