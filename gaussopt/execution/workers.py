"""Run independent cases, each in its own process, on this machine or on the workers of an executor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, as_completed
from typing import TYPE_CHECKING

from gaussopt.core.errors import BadInput
from gaussopt.core.interrupts import RememberedInterrupt
from gaussopt.processes import environment
from gaussopt.processes.child_process import Order
from gaussopt.processes.guarded_process import Reply, outcome_of, run_order
from gaussopt.processes.job import Job, JobOutcome, sentence
from gaussopt.processes.workers import Workers

if TYPE_CHECKING:
    from gaussopt.execution.store import Store

MOST_JOBS = 1000
"""Largest number of processes."""

FAILED = "the executor did not run the case"
"""Message for a failure of the executor itself, such as a lost worker or a cluster that no longer answers."""


def check_jobs(jobs: int) -> int:
    """Check that a number of processes is from 1 to MOST_JOBS; raises BadInput."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= MOST_JOBS:
        raise BadInput(f"jobs is {jobs!r}; give a number of processes, at most {MOST_JOBS}.")
    return jobs


def run_jobs(
    cases: Sequence[Job], jobs: int = 1, progress: Callable[[float], None] | None = None, *,
    executor: Executor | None = None, store: Store | None = None,
) -> dict[str, JobOutcome]:  # fmt: skip
    """Run all cases, long ones first; return the outcomes, failures included, by key in the order of the cases.

    Parameters
    ----------
    cases : the cases to run; their keys must be unique
    jobs : number of processes on this machine, if no executor is given
    progress : called with the completed fraction of the total weight
    executor : any concurrent.futures.Executor; it stays open
        Its workers must have the same versions and source code; each worker runs its cases in a guarded process.
    store : Store
        Stored cases are not computed again. New results are stored at once, and returned as later reads return them.
        Cases that fail for external reasons, or are not tried, are not stored.

    Raises
    ------
    KeyboardInterrupt
        After all processes on this machine have been ended and all finished cases stored.
    BadInput
        If the store cannot be written, or a case cannot be stored.
    """
    environment.refresh()
    total = sum(c.weight for c in cases) or 1.0
    outcomes: dict[str, JobOutcome] = {}
    done = 0.0
    known = {} if store is None else {c.key: found for c in cases if (found := store.get(c)) is not None}

    def finish(case: Job, outcome: JobOutcome) -> None:
        nonlocal done
        if store is not None and case.key not in known and outcome.kind not in ("lost", "not_tried"):
            outcome = store.put(case, outcome)
        outcomes[case.key] = outcome
        done += case.weight
        if progress is not None:
            progress(done / total)

    for case in (c for c in cases if c.key in known):
        finish(case, known[case.key])
    missing = sorted((c for c in cases if c.key not in known), key=lambda c: -c.weight)
    with RememberedInterrupt() as interrupt:
        if executor is None:
            with Workers(max(1, min(jobs, len(missing)))) as workers:
                _run_on(workers, missing, finish, interrupt)
        else:
            _run_on(executor, missing, finish, interrupt)
    return {case.key: outcomes[case.key] for case in cases}


def _run_on(
    executor: Executor, cases: Sequence[Job], keep: Callable[[Job, JobOutcome], None], interrupt: RememberedInterrupt
) -> None:
    under_way: dict[Future[Reply], Job] = {}
    spent: dict[tuple[str, float], float] = defaultdict(float)
    try:
        for case in cases:
            try:
                order = Order.of(case)
            except Exception as error:
                keep(case, _lost("the case cannot be sent to a process", error))
                continue
            try:
                under_way[executor.submit(run_order, order)] = case
            except Exception as error:
                keep(case, _lost(FAILED, error))
        for future in as_completed(list(under_way)):
            if future not in under_way:  # it was cancelled and recorded below, in an earlier round
                continue
            case, outcome = under_way.pop(future), _outcome(future)
            spent[case.share] += outcome.seconds
            late = case.share[0] and spent[case.share] >= case.share[1]
            left = [f for f, job in under_way.items() if late and job.share == case.share and f.cancel()]
            for one, found in ((case, outcome), *((under_way.pop(f), None) for f in left)):
                keep(one, found or _not_tried(one))
            del outcome, found  # frees memory, as outcomes may be large
            interrupt.pass_on()
            if not under_way:  # some executors never report cancelled futures
                break
    except KeyboardInterrupt:
        for future, case in under_way.items():
            if future.done():
                keep(case, _outcome(future))
        raise
    finally:
        for future in under_way:
            future.cancel()


def _outcome(future: Future[Reply]) -> JobOutcome:
    try:
        return outcome_of(future.result())
    except (Exception, CancelledError) as error:
        return _lost(FAILED, error)


def _not_tried(case: Job) -> JobOutcome:
    name, seconds = case.share
    return JobOutcome(None, f"not tried: the {seconds:g} s for {name} were used up", 0.0, "not_tried")


def _lost(what: str, error: BaseException) -> JobOutcome:
    return JobOutcome(None, f"lost: {what}: {sentence(error)}", 0.0, "lost")
