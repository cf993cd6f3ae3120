"""One pair on the states of one reference, in one record: errors, certificates and typical times."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

from gaussopt.comparison.cases import NOWHERE
from gaussopt.comparison.items import states_of
from gaussopt.comparison.solver_sequence_run import Follower, Reply, starts_of
from gaussopt.comparison.solver_spec import solver_class
from gaussopt.core import registry
from gaussopt.core.errors import NotAccepted
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.modelling.problem import Problem


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
    constraint_residual : float
        Largest ||J a - gamma||.
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
) -> PairResult:
    """Solve the steps of every `stride`-th reference state by one pair, as a simulation would.

    Returns
    -------
    PairResult
        With `refused` set, and nothing measured, if the pair does not apply.
    """
    exact = bool(registry.load("formulation", formulation).exact)
    follower = Follower(formulation, solver, starts_of(solver_class(solver))[-1], tolerance)
    replies: list[Reply] = []
    model: list[float] = []
    states = states_of(problem, reference, stride)
    begin = perf_counter()
    for item in states:
        model.append(perf_counter() - begin)
        try:
            replies.append(follower.solve(item))
        except NotAccepted as reason:
            return _refused(problem.name, reference, formulation, solver, str(reason), exact)
        begin = perf_counter()
    if not replies:
        return _refused(problem.name, reference, formulation, solver, NOWHERE, exact)
    times: dict[str, Any] = {part: median(getattr(r.timing, part) for r in replies) for part in Timing._fields}
    times["setup"] = replies[0].timing.setup
    return PairResult(
        problem.name, reference, formulation, solver, len(replies),
        sum(r.status is Status.SOLVED for r in replies), sum(r.claim is Status.SOLVED for r in replies),
        max(r.error for r in replies), max(r.certified for r in replies), max(r.violation for r in replies),
        model=median(model), iterations=sum(r.iterations for r in replies) / len(replies), exact=exact, **times,
    )  # fmt: skip


def _refused(problem: str, reference: str, formulation: str, solver: str, reason: str, exact: bool) -> PairResult:
    nan = float("nan")
    return PairResult(
        problem, reference, formulation, solver, 0, 0, 0, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan,
        exact, reason,
    )  # fmt: skip
