"""Solve steps of the four-bar linkage by genetic algorithms, by the paper's flow chart, and with penalties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaussopt.comparison.sources import ProblemStates
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.gauss import formulation
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence import recorded_steps
from gaussopt.papers.evidence.random_steps import lost_force
from gaussopt.solving.solve import solve_step
from gaussopt.solving.solver_sequence import SolverSequence

NULL, FULL = "deap", "deap(coordinates=full)"
"""The genetic algorithm in null-space coordinates, and in full coordinates with a penalty."""

WAYS: dict[str, dict[str, Any]] = {
    "null-space coordinates": {},
    "full coordinates with penalty": {"coordinates": "full"},
}
"""The two ways of searching: by the name in the report, the options of the solver."""

REFERENCE = "four-bar-A"


def search(step: StepData, solver: str = "deap", **options: Any) -> tuple[Vector, int]:
    """Solve Gauss's program by an evolutionary algorithm; return the acceleration, (n,), and the evaluation count."""
    program, data = formulation.apply(step)
    raw = SolverSequence(solver, options).solve(program)[0]
    a = np.full(step.n, np.inf) if raw.x is None else formulation.recover(data, raw.x, None)[0]
    # The solver's note begins with the number of evaluations.
    return a, int(raw.note.split(" ", 1)[0])


def start(**settings: Any) -> StepData:
    """Return the step of the linkage at its start; `settings` are parameters or the variant of the problem."""
    entry = problem("four-bar", **settings)
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def states(stride: int) -> list[StepData]:
    """Return the steps of the linkage at every `stride`-th state of REFERENCE."""
    entry = problem("four-bar")
    rows = entry.reference(REFERENCE)
    return [entry.system.evaluate(*of) for of in zip(rows.t[::stride], rows.q[::stride], rows.v[::stride], strict=True)]


def state(theta: float, rate: float, psi: float) -> tuple[StepData, Vector]:
    """Return a step of the linkage, and its exact accelerations, (3,): 5/3 m l^2 a1 = psi - 2 m g l cos theta."""
    entry = problem("four-bar", psi=psi)
    p = entry.parameter_values
    step = entry.system.evaluate(0.0, np.array([theta, theta, np.pi - theta]), np.array([rate, rate, -rate]))
    a = (psi - 2 * p["m"] * p["g"] * p["l"] * np.cos(theta)) / (5 * p["m"] * p["l"] ** 2 / 3)
    return step, np.array([a, a, -a])


def distance(a: Vector, truth: Vector) -> float:
    """Return the largest difference relative to 1 + the largest acceleration."""
    return float(np.abs(a - truth).max() / (1.0 + np.abs(truth).max()))


def recorded(solvers: Sequence[str], stride: int, budget: float | None) -> list[TimedAnswers]:
    """Return answers and, within a budget in s, times of the genetic algorithms and of direct linear algebra.

    At every `stride`-th state of REFERENCE `solvers` solve Gauss's program, and "kkt" solves Lagrange's equations.
    """
    pairs = [*(("gauss", s) for s in solvers), ("lagrange", "kkt")]
    return recorded_steps.recorded([ProblemStates("four-bar", REFERENCE, stride=stride)], pairs, budget)


PENALTIES = (1e2, 1e4, 1e6)


@dataclass(frozen=True, slots=True)
class Branch:
    """Accelerations of a step by the paper's flow chart, with M^-1 or M^+, and by the objective without inverses.

    Attributes
    ----------
    singular : whether M is singular, the criterion of the flow chart
    chart, plain : the first coordinate's acceleration by the flow chart and by 1/2 a^T M a - a^T Q~, rad/s^2
    outside : part of (I - M M^+) Q~ outside the range of J^T, which the flow chart loses
    """

    label: str
    singular: bool
    chart: float
    plain: float
    outside: float


def flow_chart() -> list[Branch]:
    """Apply the flow chart to a regular step and to the linkage's first step, in two coordinate systems."""
    crank = problem("crank-slider")
    regular = crank.system.evaluate(0.0, crank.q0, crank.v0)
    found = [_branch("crank-slider, first step", regular, 2)]
    for torque in (0.0, 100.0):
        step = start(tau3=torque)
        found.append(_branch(f"four-bar, τ₃ = {torque:g} N m", step, 0))
        found.append(_branch(f"the same in (θ₁, θ₂, θ₁ + θ₃), τ₃ = {torque:g} N m", in_other_coordinates(step), 0))
    return found


def _branch(label: str, step: StepData, i: int) -> Branch:
    chart, plain = (solve_step(step, name, "kkt", tolerance=math.inf).a for name in ("pinv-mass-as-printed", "gauss"))
    assert chart is not None
    assert plain is not None
    lost = lost_force(step)
    held, *_ = np.linalg.lstsq(step.J.T, lost, rcond=None)
    singular = bool(np.linalg.matrix_rank(step.M) < step.n)
    return Branch(label, singular, float(chart[i]), float(plain[i]), float(np.linalg.norm(lost - step.J.T @ held)))


def in_other_coordinates(step: StepData) -> StepData:
    """Return a step of the linkage with theta1 + theta3 in place of theta3; its q and v are not transformed."""
    S = np.linalg.inv(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    return replace(step, M=S.T @ step.M @ S, h=S.T @ step.h, Q=S.T @ step.Q, J=step.J @ S)


def penalised(step: StepData, weight: float) -> Vector:
    """Return the minimiser, (n,), of 1/2 a^T M a - a^T (Q - h) + weight |J a - gamma|^2."""
    K = step.M + 2 * weight * step.J.T @ step.J
    return np.asarray(np.linalg.solve(K, step.force + 2 * weight * step.J.T @ step.gamma))


def penalties(seeds: int) -> list[tuple[float, float, list[float]]]:
    """Return for each penalty the errors, rad/s^2, of its minimiser and of genetic algorithms at the first step."""
    step = start()
    exact = solve_step(step, "lagrange", "kkt").a
    assert exact is not None
    found = []
    for weight in PENALTIES:
        errors = []
        for seed in range(seeds):
            a = solve_step(step, "gauss", "deap", tolerance=math.inf, coordinates="full", penalty=weight, seed=seed).a
            errors.append(math.inf if a is None else float(np.abs(a - exact).max()))
        found.append((weight, float(np.abs(penalised(step, weight) - exact).max()), errors))
    return found
