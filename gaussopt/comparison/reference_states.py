"""Measure one pair at the states of references: errors, certificates and typical times in one record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter

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
    """Errors, certificates and times of one pair over the steps of references.

    Attributes
    ----------
    states, solved : number of states, and of answers that the certificate confirmed
    claimed : number of answers that the solver itself called solved
    error : largest distance to the reference acceleration, divided by 1 + the reference's norm, in the mass norm
    certified : largest certified relative distance to the true acceleration
    constraint_residual : largest ||J a - gamma||
    iterations : mean number of iterations per step
    times : median seconds of a step by part, see `typical_times`
    exact : whether the formulation claims to be exact
    statuses, force_error : with contacts, numbers of steps by status, and the largest error of a normal force, N
    """

    formulation: str
    solver: str
    states: int = 0
    solved: int = 0
    claimed: int = 0
    error: float = math.nan
    certified: float = math.nan
    constraint_residual: float = math.nan
    iterations: float = math.nan
    times: Mapping[str, float] = field(default_factory=dict)
    exact: bool = True
    refused: str = ""
    statuses: Mapping[str, int] = field(default_factory=dict)
    force_error: float = math.nan


def typical_times(model: Sequence[float], timings: Sequence[Timing], setups: Sequence[float]) -> dict[str, float]:
    """Return the median time, s, of each part of a step; NaN if the part was never timed.

    The time of the set-up is the least over the first steps of all references, since one of them imports the backend.
    """
    parts = {"model": model} | {part: [getattr(t, part) for t in timings] for part in Timing._fields}
    return {k: median(x) if x else math.nan for k, x in parts.items()} | {"setup": min(setups, default=math.nan)}


def compare_on_states(
    problem: Problem, references: Sequence[str], formulation: str, solver: str, stride: int
) -> PairResult:
    """Solve the steps at every `stride`-th state of the references with one pair, as a simulation would.

    If the pair does not apply, `refused` is set and nothing is measured.
    """
    blank = PairResult(formulation, solver, exact=is_exact(formulation))
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
    return replace(
        blank, states=len(replies),
        solved=sum(r.status is Status.SOLVED for r in replies), claimed=sum(r.claim is Status.SOLVED for r in replies),
        error=max(r.error for r in replies), certified=max(r.certified for r in replies),
        constraint_residual=max(r.violation for r in replies),
        iterations=sum(r.iterations for r in replies) / len(replies),
        times=typical_times(model, [r.timing for r in replies], setup),
    )  # fmt: skip
