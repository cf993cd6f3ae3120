"""Judge formulation-solver pairs on the states of a reference trajectory.

On given states even a pair that could not carry a simulation (a genetic algorithm, a wrong formula) can be
measured: its error against the reference, its certified error, its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt import registry
from gaussopt.catalogue import Problem
from gaussopt.errors import NotAccepted
from gaussopt.solving import StepSolver
from gaussopt.status import Status
from gaussopt.stepdata import Vector


@dataclass(frozen=True, slots=True)
class PairResult:
    """How one pair did on the states of one reference.

    Attributes
    ----------
    states, solved : int
        How many states, and how many answers the certificate confirmed at `tolerance`.
    claimed : int
        How many the solver itself called solved.
    error : float
        Largest error against the reference acceleration, relative to 1 + max |a| of the row.
    certified : float
        Largest certified relative distance to the true acceleration.
    model, build, setup, update, solve, recover, verify : float
        Median seconds a step; `setup` is that of the first step.
    backend : float
        Median of what the solver itself reports, NaN if nothing.
    iterations : float
        Mean.
    exact : bool
        Whether the formulation claims to be exact.
    """

    problem: str
    reference: str
    formulation: str
    solver: str
    states: int
    solved: int
    claimed: int
    error: float
    certified: float
    constraint_residual: float
    model: float
    build: float
    setup: float
    update: float
    solve: float
    recover: float
    verify: float
    backend: float
    iterations: float
    exact: bool
    refused: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """For JSON and tables."""
        return asdict(self)


def compare_on_states(
    problem: Problem,
    reference: str,
    formulation: str,
    solver: str,
    *,
    stride: int = 1,
    tolerance: float = 1e-7,
    options: dict[str, Any] | None = None,
) -> PairResult:
    """Solve the steps of every `stride`-th reference state by one pair.

    Returns
    -------
    PairResult
        With `refused` set, and nothing measured, if the pair does not apply.
    """
    entry = next(r for r in problem.references if r.name == reference)
    problem = problem.at(**entry.settings)
    rows = problem.reference(reference)
    system = problem.system
    pair = StepSolver(formulation, solver, options, tolerance)
    parts: dict[str, list[float]] = {
        k: [] for k in ("model", "build", "setup", "update", "solve", "recover", "verify", "backend")
    }
    errors, certified, residuals, iterations = [0.0], [0.0], [0.0], [0]
    solved = claimed = states = 0
    for t, q, v, a in zip(rows.t[::stride], rows.q[::stride], rows.v[::stride], rows.a[::stride], strict=True):
        begin = perf_counter()
        step = system.evaluate(float(t), q, v)
        parts["model"].append(perf_counter() - begin)
        try:
            answer = pair.solve(step)
        except NotAccepted as reason:
            return _refused(problem.name, reference, formulation, solver, str(reason), pair.formulation.exact)
        for part in ("build", "setup", "update", "solve", "recover", "verify", "backend"):
            parts[part].append(getattr(answer.timing, part))
        states += 1
        solved += answer.status is Status.SOLVED
        claimed += answer.claim is Status.SOLVED
        iterations.append(answer.iterations)
        errors.append(_error(answer.a, a))
        certified.append(answer.certificate.relative_error)
        residuals.append(answer.certificate.constraint_residual)
    medians: dict[str, Any] = {k: median(x) for k, x in parts.items()}
    medians["setup"] = parts["setup"][0]
    return PairResult(
        problem.name, reference, formulation, solver, states, solved, claimed, max(errors), max(certified),
        max(residuals), iterations=sum(iterations) / states, exact=pair.formulation.exact, **medians,
    )  # fmt: skip


def pairs(formulations: Sequence[str], solvers: Sequence[str], problem: Problem) -> list[tuple[str, str]]:
    """The formulation-solver pairs that apply to a problem's start, in the given order."""
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    found = []
    for f in formulations:
        formulation = registry.load("formulation", f)
        if formulation.refuses(step):
            continue
        program = formulation.apply(step)[0]
        for s in solvers:
            if isinstance(program, registry.load("solver", s.partition(":")[0]).accepts):
                found.append((f, s))
    return found


def _error(a: Vector | None, reference: Vector) -> float:
    if a is None:
        return float("inf")
    return float(np.abs(a - reference).max() / (1.0 + np.abs(reference).max()))


def _refused(problem: str, reference: str, formulation: str, solver: str, reason: str, exact: bool) -> PairResult:
    nan = float("nan")
    return PairResult(
        problem, reference, formulation, solver, 0, 0, 0, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan,
        exact, reason,
    )  # fmt: skip
