"""One pair on the states of one reference, in one record: errors, certificates and typical times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from gaussopt.comparison.cases import NOWHERE
from gaussopt.comparison.items import states_of
from gaussopt.comparison.solver_sequence_run import Reply, SequenceRun, starts_of
from gaussopt.comparison.solver_spec import solver_class
from gaussopt.core import registry
from gaussopt.core.errors import NotAccepted
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.modelling.problem import Problem


@dataclass(frozen=True, slots=True)
class PairResult:
    """Errors, certificates and times of one pair on the states of one reference.

    Attributes
    ----------
    states, solved : how many states, and how many answers the certificate confirmed
    claimed : how many the solver itself called solved
    error : largest error against the reference acceleration, relative to 1 + max |a| of the row
    certified : largest certified relative distance to the true acceleration
    constraint_residual : largest ||J a - gamma||
    model, build, setup, update, solve, recover, verify : median seconds a step; `setup` is that of the first step
    backend : median of what the solver itself reports, NaN if nothing
    iterations : mean
    exact : whether the formulation claims to be exact
    """

    problem: str
    reference: str
    formulation: str
    solver: str
    states: int = 0
    solved: int = 0
    claimed: int = 0
    error: float = math.nan
    certified: float = math.nan
    constraint_residual: float = math.nan
    model: float = math.nan
    build: float = math.nan
    setup: float = math.nan
    update: float = math.nan
    solve: float = math.nan
    recover: float = math.nan
    verify: float = math.nan
    backend: float = math.nan
    iterations: float = math.nan
    exact: bool = True
    refused: str = ""


def compare_on_states(
    problem: Problem, reference: str, formulation: str, solver: str, *, stride: int = 1, tolerance: float = 1e-7
) -> PairResult:
    """Solve the steps of every `stride`-th reference state by one pair, as a simulation would.

    Returns
    -------
    PairResult
        With `refused` set, and nothing measured, if the pair does not apply.
    """
    exact = bool(registry.load("formulation", formulation).exact)
    names = problem.name, reference, formulation, solver
    run = SequenceRun(formulation, solver, starts_of(solver_class(solver))[-1], tolerance)
    replies: list[Reply] = []
    model: list[float] = []
    states = states_of(problem, reference, stride)
    begin = perf_counter()
    for item in states:
        model.append(perf_counter() - begin)
        try:
            replies.append(run.solve(item))
        except NotAccepted as reason:
            return PairResult(*names, exact=exact, refused=str(reason))
        begin = perf_counter()
    if not replies:
        return PairResult(*names, exact=exact, refused=NOWHERE)
    times: dict[str, Any] = {part: median(getattr(r.timing, part) for r in replies) for part in Timing._fields}
    times["setup"] = replies[0].timing.setup
    return PairResult(
        *names, len(replies),
        sum(r.status is Status.SOLVED for r in replies), sum(r.claim is Status.SOLVED for r in replies),
        max(r.error for r in replies), max(r.certified for r in replies), max(r.violation for r in replies),
        model=median(model), iterations=sum(r.iterations for r in replies) / len(replies), exact=exact, **times,
    )  # fmt: skip
