"""CVXPY: the program is stated once in CVXPY's language, compiled, and solved again with new parameters.

`cvxpy` uses Clarabel, an interior-point method that is installed with CVXPY; `cvxpy:NAME` uses any installed solver.
The program follows CVXPY's disciplined parametrised programming (DPP): P enters as a factor F with P = F^T F, because a
quadratic form with a parameter as its matrix is not DPP. `text` shows the program.
References: S. Diamond, S. Boyd, "CVXPY: a Python-embedded modeling language for convex optimization",
JMLR 17, 2016; A. Agrawal et al., "Differentiable convex optimization layers", NeurIPS 2019 (DPP).
"""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.delassus import scaled_operator
from gaussopt.core.programs import QP, LeastSquares, Program, as_qp
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, backend
from gaussopt.core.status import Status
from gaussopt.linalg.cones import steps_of
from gaussopt.solvers.highs import HiGHSOptions

_TIGHT: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 20000, "polishing": True},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100000},
}
"""Tolerances that are tight enough for mechanics, for backends with coarse defaults."""

_LIMITS = {"HIGHS": {"qp_iteration_limit": HiGHSOptions().qp_iteration_limit}}
"""Iteration limits of backends that may cycle forever by default."""

_CONIC = ("CLARABEL", "SCS", "COPT", "CUCLARABEL", "ECOS", "CVXOPT", "MOSEK", "QOCO", "SDPA")
"""Backends that support second-order cones."""

_RELATIONS = {"==": operator.eq, ">=": operator.ge, "<=": operator.le}

_CLAIMS = {
    "optimal": Status.SOLVED,
    "optimal_inaccurate": Status.INACCURATE,
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "unbounded_inaccurate": Status.UNBOUNDED,
    "infeasible_or_unbounded": Status.INFEASIBLE,
    "user_limit": Status.ITERATION_LIMIT,
}


@dataclass(frozen=True)
class CVXPYOptions(Options):
    """`tight` sets accuracies of 1e-9 to 1e-12 for backends whose defaults are coarse."""

    tight: bool = True


class CVXPY(Solver[CVXPYOptions]):
    """CVXPY with one of the solvers that it calls."""

    name = "cvxpy"
    title = "CVXPY (DPP, compiled once; Clarabel by default)"
    source = "Diamond & Boyd 2016"
    accepts = (QP, LeastSquares, ConeProgram)
    requires = ("cvxpy",)
    exact = False
    updates = True
    warm_starts = True
    options_type = CVXPYOptions

    @classmethod
    def variants(cls) -> tuple[str, ...]:
        cp = backend("cvxpy")
        from cvxpy.reductions.solvers import defines

        return tuple(s for s in cp.installed_solvers() if s in {*defines.QP_SOLVERS, *_CONIC})

    def may_abort(self) -> bool:
        """Return whether the variant is HiGHS, which may abort its process on certain programs, in every interface."""
        return self.variant == "HIGHS"

    def refuses(self, program: Program) -> str | None:
        if isinstance(program, ConeProgram) and self.variant is not None and self.variant not in _CONIC:
            return f"{self.variant} takes no cones"
        return super().refuses(program)

    @property
    def text(self) -> str:
        """The program as CVXPY prints it."""
        return str(self._problem)

    def setup(self, program: Program) -> None:
        cp = backend("cvxpy")
        self._x = cp.Variable(program.n, name="x")
        self._F = cp.Parameter((program.n, program.n), name="F")
        self._q = cp.Parameter(program.n, name="q")
        self._blocks: list[tuple[str, Any, Any, Any, Any]] = []
        self._m: int | None
        constraints = self._friction(program) if isinstance(program, ConeProgram) else self._rows(as_qp(program))
        objective = cp.Minimize(0.5 * cp.sum_squares(self._F @ self._x) + self._q @ self._x)
        self._problem = cp.Problem(objective, constraints)
        self._backend = self.variant or "CLARABEL"
        self.update(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if program.n:
                self._problem.get_problem_data(self._backend)

    def _rows(self, qp: QP) -> list[Any]:
        """Return the rows of a quadratic program as constraints."""
        cp, eq = backend("cvxpy"), qp.equality
        constraints = []
        for kind, rows in (("==", eq), (">=", ~eq & np.isfinite(qp.l)), ("<=", ~eq & np.isfinite(qp.u))):
            if not rows.any():
                continue
            A = cp.Parameter((int(rows.sum()), qp.n), name="A" + kind)
            b = cp.Parameter(int(rows.sum()), name="b" + kind)
            constraints.append(_RELATIONS[kind](A @ self._x, b))
            self._blocks.append((kind, rows, A, b, constraints[-1]))
        return constraints

    def _friction(self, program: ConeProgram) -> list[Any]:
        """Return the friction cones, or discs, of a cone program as constraints."""
        cp = backend("cvxpy")
        normal, first, second = (self._x[i::ROWS] for i in range(ROWS))
        self._bound = cp.Parameter(program.k, nonneg=True, name="radius" if program.radius is not None else "mu")
        radius = self._bound if program.radius is not None else cp.multiply(self._bound, normal)
        return [normal >= 0, cp.SOC(radius, cp.vstack([first, second]))]

    def update(self, program: Program) -> None:
        if isinstance(program, ConeProgram):
            s = np.repeat(np.sqrt(steps_of(program.P)), ROWS)  # scaled as in `_conic.py`
            self._scale = s * (float(np.abs(s * program.q).max(initial=0.0)) or 1.0)
            self._F.value, self._q.value = _factor(scaled_operator(program.P, s)), s * s * program.q / self._scale
            self._bound.value = program.mu if program.radius is None else program.radius / self._scale[::ROWS]
            self._m = None
            return
        qp = as_qp(program)
        self._F.value, self._q.value, self._scale = _factor(qp.P), qp.q, np.ones(qp.n)
        for kind, rows, A, b, _ in self._blocks:
            A.value = qp.A[rows]
            b.value = qp.u[rows] if kind == "<=" else qp.l[rows]
        self._m = qp.m

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        """Solve the program; a warm start does not use `start`, but the previous answer that some backends store."""
        if not self._x.size:
            return RawSolution(np.zeros(0), None, Status.SOLVED)
        cp = backend("cvxpy")
        settings = _LIMITS.get(self._backend, {}) | (_TIGHT.get(self._backend, {}) if self.options.tight else {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._problem.solve(solver=self._backend, warm_start=start is not None, **settings)
            except cp.error.SolverError as error:
                return RawSolution(None, None, Status.SOLVER_ERROR, note=str(error).splitlines()[0])
        stats = self._problem.solver_stats
        claim = _CLAIMS.get(str(self._problem.status), Status.SOLVER_ERROR)
        seconds = float("nan") if stats is None or stats.solve_time is None else float(stats.solve_time)
        iterations = 0 if stats is None or not stats.num_iters else int(stats.num_iters)
        if self._x.value is None:
            return RawSolution(None, None, claim, iterations, seconds, str(self._problem.status))
        x, y = self._scale * self._x.value, None if self._m is None else np.zeros(self._m)
        for kind, rows, _, _, constraint in self._blocks:
            assert y is not None
            if constraint.dual_value is None:
                return RawSolution(x, None, claim, iterations, seconds)
            # CVXPY's duals are nonnegative for >= and <=; its equality duals have the opposite sign.
            y[rows] += constraint.dual_value if kind == ">=" else -constraint.dual_value
        return RawSolution(x, y, claim, iterations, seconds, str(self._problem.status))


def _factor(P: Matrix) -> Matrix:
    """Return F with P = F^T F for a positive semidefinite P; F is diagonal if P is."""
    diagonal = P.diagonal()
    if not np.any(P - np.diag(diagonal)):
        return np.diag(np.sqrt(np.maximum(diagonal, 0.0)))
    values, V = np.linalg.eigh(P)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T)


solver = CVXPY
