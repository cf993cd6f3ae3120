"""One pair on the states of references, in one record: errors, certificates and typical times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any

from gaussopt.comparison.cases import NOWHERE
from gaussopt.comparison.items import states_of
from gaussopt.comparison.pairing import is_exact
from gaussopt.comparison.solver_sequence_run import Reply, SequenceRun, starts_of
from gaussopt.core.errors import NotAccepted
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.modelling.problem import Problem


@dataclass(frozen=True, slots=True)
class PairResult:
    """Errors, certificates and times of one pair on the states of references, whose names `reference` lists.

    Attributes
    ----------
    states, solved : how many states, and how many answers the certificate confirmed
    claimed : how many the solver itself called solved
    error : largest error against the reference acceleration, relative to 1 + max |a| of the row
    certified : largest certified relative distance to the true acceleration
    constraint_residual : largest ||J a - gamma||
    model, build, setup, update, solve, recover, verify : median seconds a step; `setup` is that of a first step
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
    problem: Problem, references: Sequence[str], formulation: str, solver: str, stride: int
) -> PairResult:
    """Solve the steps of every `stride`-th state of references by one pair, as a simulation would.

    `refused` is set, and nothing measured, if the pair does not apply.
    """
    blank = PairResult(problem.name, ", ".join(references), formulation, solver, exact=is_exact(formulation))
    replies: list[Reply] = []
    model: list[float] = []
    setup = []
    for reference in references:
        run = SequenceRun(formulation, solver, starts_of(solver)[-1])
        before = len(replies)
        begin = perf_counter()
        for item in states_of(problem, reference, stride):
            model.append(perf_counter() - begin)
            try:
                replies.append(run.solve(item))
            except NotAccepted as reason:
                return replace(blank, refused=str(reason))
            begin = perf_counter()
        if len(replies) == before:
            return replace(blank, refused=NOWHERE)
        setup.append(replies[before].timing.setup)
    times: dict[str, Any] = {part: median(getattr(r.timing, part) for r in replies) for part in Timing._fields}
    # The set-up of the first reference contains the import of the backend.
    times["setup"] = min(setup)
    return replace(
        blank, states=len(replies),
        solved=sum(r.status is Status.SOLVED for r in replies), claimed=sum(r.claim is Status.SOLVED for r in replies),
        error=max(r.error for r in replies), certified=max(r.certified for r in replies),
        constraint_residual=max(r.violation for r in replies), model=median(model),
        iterations=sum(r.iterations for r in replies) / len(replies), **times,
    )  # fmt: skip
