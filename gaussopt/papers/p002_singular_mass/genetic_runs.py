"""The first step of the four-bar linkage and others of its states, and the genetic algorithm on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaussopt.comparison.sources import ProblemStates
from gaussopt.comparison.step_table import TimedAnswers
from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.gauss import formulation
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence import recorded_steps
from gaussopt.solving.solver_sequence import SolverSequence

NULL, FULL = "deap", "deap(coordinates=full)"
"""The genetic algorithm in null-space coordinates, and in full coordinates with a penalty."""

WAYS: dict[str, dict[str, Any]] = {
    "null-space coordinates": {},
    "full coordinates with penalty": {"coordinates": "full"},
}
"""Options of the two solvers by their names in the report."""

REFERENCE = "four-bar-A"


def search(step: StepData, solver: str = "deap", **options: Any) -> tuple[Vector, int]:
    """Solve Gauss's program of the step by an evolution; return the acceleration, (n,), and the evaluation count."""
    program, data = formulation.apply(step)
    raw = SolverSequence(solver, options).solve(program)[0]
    a = np.full(step.n, np.inf) if raw.x is None else formulation.recover(data, raw.x, None)[0]
    # The note begins with the number of evaluations.
    return a, int(raw.note.split(" ", 1)[0])


def start(**settings: Any) -> StepData:
    """Return the step of the linkage at its start, with settings of the problem."""
    entry = problem("four-bar", **settings)
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def states(stride: int) -> list[StepData]:
    """Return the steps of the linkage at every `stride`-th state of REFERENCE."""
    entry = problem("four-bar")
    rows = entry.reference(REFERENCE)
    return [entry.system.evaluate(*of) for of in zip(rows.t[::stride], rows.q[::stride], rows.v[::stride], strict=True)]


def state(theta: float, rate: float, psi: float) -> tuple[StepData, Vector]:
    """Return the linkage at a crank angle under a torque, and accelerations: 5/3 m l^2 a1 = psi - 2 m g l cos theta."""
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

    Gauss's program is by `solvers`, Lagrange's equations by linear algebra, at every `stride`-th state of REFERENCE.
    """
    pairs = [*(("gauss", s) for s in solvers), ("lagrange", "kkt")]
    return recorded_steps.recorded([ProblemStates("four-bar", REFERENCE, stride=stride)], pairs, budget)
