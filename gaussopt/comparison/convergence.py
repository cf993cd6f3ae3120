"""Convergence of a solver: residuals by iteration, or distances to the least cost by generation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gaussopt.core.errors import BadInput
from gaussopt.core.programs import QP, Program, as_qp
from gaussopt.core.solver import Solver, make_solver
from gaussopt.core.status import Status
from gaussopt.kinds import page_of
from gaussopt.solving.defaults import default_solver
from gaussopt.solving.solve import solve
from gaussopt.solving.solver_sequence import SolverSequence


def convergence(program: Program, solver: str, **options: Any) -> list[float]:
    """Solve one program from a cold start and return the convergence history that the solver records.

    Returns
    -------
    list of float
        One number at the start and one for each iteration of a deterministic solver: for `newton`, ||Phi||_inf in
        scaled variables, without unit. For a stochastic solver, one for each generation: the cost of the best point so
        far minus the least possible cost, in the unit of the objective (N m/s^2 for a Gauss program); infinite until a
        point is feasible. In full coordinates the cost includes the penalty, so that the numbers show how well the
        search minimises, not how the penalty changes the answer.

    Raises
    ------
    BadInput
        If the solver records nothing for this program.
    UnknownName, MissingBackend, NotAccepted
    """
    sequence = SolverSequence(make_solver(solver, options))
    raw, _ = sequence.solve(program)
    if not raw.history:
        note = f" ({raw.note})" if raw.note else ""
        raise BadInput(f"The solver {solver!r} records no convergence of this program{note}; newton and deap do.")
    if not sequence.solver.stochastic:
        return list(raw.history)
    least = _least_cost(program, sequence.solver)
    # Because of rounding errors of the least cost, a search may seem to fall below it.
    return [max(cost - least, 0.0) for cost in raw.history]


def _least_cost(program: Program, solver: Solver[Any]) -> float:
    """Return the least cost that a search with the solver's options can reach, computed by an exact solver."""
    least = page_of(program).least_cost(program)
    if least is not None:
        return least
    qp = as_qp(program)
    constant = 0.0
    if solver.options.coordinates == "full" and qp.equality.any():
        qp, constant = _penalised(qp, solver.options.penalty)
    exact = solve(qp, default_solver(qp))
    if exact.x is None or exact.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        raise BadInput(f"The program has no minimiser to measure the distance from: it is {exact.status}.")
    return qp.objective(exact.x) + constant


def _penalised(qp: QP, penalty: float) -> tuple[QP, float]:
    """Replace equality rows by a quadratic penalty; return the program and the constant that its objective omits."""
    eq = qp.equality
    A, b = qp.A[eq], qp.l[eq]
    P = qp.P + 2.0 * penalty * (A.T @ A)
    q = qp.q - 2.0 * penalty * (A.T @ b)
    return replace(qp, P=P, q=q, A=qp.A[~eq], l=qp.l[~eq], u=qp.u[~eq]), penalty * float(b @ b)
