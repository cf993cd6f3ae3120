"""Compare formulations and solvers: plan the cases, run them, gather the records.

Every pair first answers every source. Pairs that answered are then timed, taking turns with their rivals, and pairs
whose every answer was confirmed simulate a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from gaussopt.comparison import motions as moving
from gaussopt.comparison import plan as planning
from gaussopt.comparison.records import Answers, MotionRecord, Times
from gaussopt.comparison.results import Results, refuse_other, write_results
from gaussopt.comparison.spec import Spec
from gaussopt.core.arrays import check_progress
from gaussopt.core.keywords import suggesting
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.execution.store import Store
from gaussopt.execution.workers import check_jobs, run_jobs
from gaussopt.modelling.problem import Problem
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.processes.workers import Workers

TIME_BUDGET = 0.2
"""Seconds of timing for each solver and kind of start, on each source and formulation."""

CASE_LIMIT = 300.0
"""Seconds after which a case is stopped."""

Rivals = Callable[[Sequence[Answers], Mapping[moving.Pair, float]], Sequence[Answers]]


@suggesting
def compare(
    sources: str | Problem | Spec | Sequence[str | Problem | Spec],
    formulations: str | Sequence[str] | None = None,
    solvers: str | Sequence[str] | None = None,
    *,
    stepper: str | Sequence[str] = "rk4",
    dt: float | None = None,
    t_end: float | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    stride: int = 10,
    precision: bool | Sequence[str] = False,
    settings: Sequence[str] = ("default",),
    motions: bool | None = None,
    time_budget: float = TIME_BUDGET,
    case_limit: float = CASE_LIMIT,
    jobs: int = 1,
    executor: Executor | None = None,
    out: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Results:
    """Compare formulations and solvers on problems, families and programs.

    Parameters
    ----------
    sources : problems, files and folders of programs, by name; specs such as those of `family_sweep`; files of solvers
        A problem gives the states of all its references or, if it has none, of its own motion. Unreadable files of
        a folder are left out with a note. If only solvers are given, the test sets that they accept are the sources.
    formulations, solvers : names; a solver may have options in parentheses; by default all but stochastic solvers
    stepper : names for the trajectories, such as "rk45(rtol=1e-6,atol=1e-6)"; MuJoCo models and piles have their own
    dt, t_end : step and end, s, by default those of the problem; for adaptive steppers dt is the recording interval
    tolerance, stride : tolerance of the certificate; every `stride`-th state of a reference is used
    precision : formulations whose programs every solver also solves at each of its precision settings; True: all
    settings : tolerances at which all solvers run: "default" (of gaussopt), "low" (1e-3), "mid" (1e-6), "high" (1e-9)
    motions : whether all pairs that are right at every state also simulate a trajectory. None: True if formulations or
        solvers are named, else only the fastest pair of each formulation and all pairs of solvers in files, for 30 s
    time_budget : seconds of timing for each solver and start on each source and formulation; 0: no timing
    case_limit : seconds after which a case is stopped and recorded as failed; a solver has this time for the whole set
        of complementarity problems, and a tenth of it for each problem of the set
    jobs : number of processes on this machine
    executor : any `concurrent.futures.Executor` that runs the cases instead; it stays open
    out : folder in which finished cases are kept, so that they are not computed again; `Results.load` reads it
    progress, note : called with the share of the cases that are done, and with sentences on the planned cases and on
        files left out or set aside

    Raises
    ------
    UnknownName, BadInput, MissingBackend
        Before anything is computed.
    """
    check_progress(progress)
    check_jobs(max(1, jobs))  # numbers below 1 count as 1 worker
    formulations, solvers = ([x] if isinstance(x, str) else x for x in (formulations, solvers))
    plan = planning.plan_of(
        sources, formulations, solvers, precision, stride, motions,
        steppers=(stepper,) if isinstance(stepper, str) else tuple(stepper), dt=dt, t_end=t_end, tolerance=tolerance,
        note=note, accuracy=settings, time_budget=time_budget, case_limit=case_limit,
    )  # fmt: skip
    place = Workers(jobs) if executor is None else nullcontext(executor)
    return carry_out(plan, place, out, CasesDone(progress), note)


class CasesDone:
    """Progress of a comparison: the share of the cases that are done, which never decreases.

    It is not a share of the time: how long the motions of a pair take is unknown until one of them has run.

    Parameters
    ----------
    tell : function that is called with each new share, or None
    """

    def __init__(self, tell: Callable[[float], None] | None) -> None:
        self._tell, self._told = tell, 0.0

    def stage(self, cases: int, later: int = 0) -> Callable[[float], None]:
        """Return the progress callback of a stage of `cases` cases that begins now; at most `later` cases follow it."""
        before, part = self._told, cases / max(1, cases + later)

        def progress(done: float) -> None:
            self._told = max(self._told, before + (1.0 - before) * part * done)
            if self._tell is not None:
                self._tell(self._told)

        return progress

    def end(self) -> None:
        """Report that all cases are done."""
        if self._tell is not None:
            self._tell(1.0)


def carry_out(
    plan: planning.Plan, place: AbstractContextManager[Executor], store: str | Path | None, progress: CasesDone,
    note: Callable[[str], None] | None = None, rivals: Rivals = lambda answers, seconds: answers,
) -> Results:  # fmt: skip
    """Run the jobs of a plan on the executor that the context manager `place` yields.

    Given all answers and the seconds by pair, `rivals` returns the answers of those pairs that are timed.
    """
    if store is not None:
        refuse_other(Path(store), plan.meta())
    kept = None if store is None else Store(store, note=note)

    def run(where: Executor, jobs: list[Job], after: int = 0) -> dict[str, JobOutcome]:
        return run_jobs(jobs, progress=progress.stage(len(jobs), after), executor=where, store=kept) if jobs else {}

    asked = planning.answer_jobs(plan)
    blanks = [blank for _, blank in asked]
    if note is not None:
        note(planning.announcement(plan, blanks))
    with place as where:
        most = moving.most_motions(plan, blanks)
        outcomes = run(where, [job for job, _ in asked], most + (len(plan.specs) if plan.time_budget else 0))
        answers: list[Answers] = []
        for job, blank in asked:
            outcome = outcomes[job.key]
            records = [{**blank.to_mapping(), "failure": outcome.failure}] if outcome.failure else outcome.value
            answers += map(Answers.from_mapping, records)
        usual = sum(o.seconds for o in outcomes.values()) / len(outcomes)
        seconds = {(blank.formulation, blank.solver): outcomes[job.key].seconds for job, blank in asked}
        timing = planning.time_jobs(plan, rivals(answers, seconds))
        outcomes |= run(where, timing, most)
        times = tuple(Times.from_mapping(r) for job in timing for r in outcomes[job.key].value or ())
        motions = moving.motion_jobs(plan, answers, times, usual)
        outcomes |= run(where, motions)
    said = moving.sentence(plan, motions, outcomes)
    if kept is not None and note is not None:
        stale = kept.stale([*(job for job, _ in asked), *timing, *motions])
        if stale:
            note(f"{stale} finished cases in {store} belong to other settings or other code and are not used.")
    if said and note is not None:
        note(said)
    moved = [(job, outcomes[job.key].value) for job in motions if outcomes[job.key].value is not None]
    short = {job.key for job in motions if plan.carriers is not None and outcomes[job.key].kind in moving.CUT_SHORT}
    progress.end()
    results = Results(
        (*answers, *planning.misfits(plan)),
        times,
        tuple(
            MotionRecord(**value["motion"] | {"trajectory": kept.path(job, "trajectory.nc").name if kept else ""})
            for job, value in moved
        ),
        {key: o.failure for key, o in outcomes.items() if o.failure and key not in short},
        {**plan.meta(), "trajectories": said},
        None if store is None else Path(store),
    )  # fmt: skip
    if results.store is not None:
        write_results(results, results.store)
    return results
