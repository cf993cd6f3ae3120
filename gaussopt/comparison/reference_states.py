"""Measure one pair on steps with known accelerations: errors, certificates and typical times in one record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter

import numpy as np

from gaussopt.comparison.cases import NOWHERE
from gaussopt.comparison.items import Item
from gaussopt.comparison.pairing import is_exact
from gaussopt.comparison.solver_sequence_run import Reply, SequenceRun, starts_of
from gaussopt.core.errors import NotAccepted
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status


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
    times : median seconds of each part of a step, NaN if it was never timed; of set-ups, the least that was not zero
    exact : whether the formulation claims to be exact
    statuses, force_error : numbers of steps by status, and the largest error of a normal force, N
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


def clocked(items: Iterable[Item]) -> Iterator[tuple[Item, float]]:
    """Yield items, each with the seconds that it took to make it."""
    begin = perf_counter()
    for item in items:
        yield item, perf_counter() - begin
        begin = perf_counter()


def measured_pair(
    sequences: Iterable[Iterable[tuple[Item, float]]], formulation: str, solver: str, contacts: bool = False
) -> PairResult:
    """Solve sequences of steps, each with the seconds of its evaluation, with one pair, as a simulation would.

    If the pair refuses every step, or a sequence is empty, `refused` is set and nothing is measured. With `contacts`
    the errors are those of the answers that have an acceleration; otherwise they are infinite where one has none.
    """
    blank = PairResult(formulation, solver, exact=is_exact(formulation))
    replies: list[tuple[Item, Reply]] = []
    model: list[float] = []
    statuses, reason = Counter[str](), ""
    for sequence in sequences:
        run, before = SequenceRun(formulation, solver, starts_of(solver)[-1]), statuses.total()
        for item, seconds in sequence:
            try:
                replies.append((item, run.solve(item)))
                model.append(seconds)
                statuses[str(replies[-1][1].status)] += 1
            except NotAccepted as refusal:
                statuses["refused"] += 1
                reason = str(refusal)
        if statuses.total() == before:
            return replace(blank, refused=NOWHERE)
    told = [(item, r) for item, r in replies if not contacts or math.isfinite(r.error)]
    forces = [float(np.abs(r.lam_N - item.lam_N).max()) for item, r in told if item.lam_N is not None]
    timings = [r.timing for _, r in replies]
    parts = {"model": model} | {part: [getattr(t, part) for t in timings] for part in Timing._fields}
    times = {k: median(x) if x else math.nan for k, x in parts.items()}
    # One of the set-ups imports the backend.
    setup = min((t.setup for t in timings if t.setup), default=0.0 if timings else math.nan)
    return replace(
        blank, states=statuses.total(), solved=statuses["solved"], refused="" if replies else reason,
        claimed=sum(r.claim is Status.SOLVED for _, r in replies),
        error=max((r.error for _, r in told), default=0.0), certified=max((r.certified for _, r in told), default=0.0),
        constraint_residual=max((r.violation for _, r in told), default=0.0),
        iterations=sum(r.iterations for _, r in replies) / max(len(replies), 1), times=times | {"setup": setup},
        statuses=dict(statuses), force_error=max(forces, default=0.0),
    )  # fmt: skip
