"""Independent pieces of work, computed in this process or spread over several."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """A function of this package and its arguments, both picklable; `weight` is its share of the time."""

    key: str
    function: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case returned, or in one sentence why it did not; and the seconds it took."""

    value: Any
    failure: str
    seconds: float


def run_cases(cases: Sequence[Case], jobs: int, progress: Callable[[float], None] | None = None) -> dict[str, Outcome]:
    """Run all cases; one that fails is recorded and stops nothing."""
    total = sum(c.weight for c in cases)
    outcomes: dict[str, Outcome] = {}
    done = 0.0

    def finish(case: Case, outcome: Outcome) -> None:
        nonlocal done
        outcomes[case.key] = outcome
        done += case.weight
        if progress is not None:
            progress(done / total)

    if jobs == 1:
        for case in cases:
            finish(case, run_case(case))
    else:
        # Spawn, never fork: backends hold threads and locks. Long cases first, so that none is left over.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(jobs, len(cases)), mp_context=context, initializer=_leave_interrupts)
        try:
            futures = {pool.submit(run_case, c): c for c in sorted(cases, key=lambda c: -c.weight)}
            for future in as_completed(futures):
                error = future.exception()
                case = futures[future]
                finish(case, future.result() if error is None else Outcome(None, f"the process died ({error})", 0.0))
        except KeyboardInterrupt:
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    return {case.key: outcomes[case.key] for case in cases}


def _leave_interrupts() -> None:
    """Ctrl-C is for the parent, which ends its children itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_case(case: Case) -> Outcome:
    """One case; any exception becomes its outcome."""
    begin = perf_counter()
    try:
        return Outcome(case.function(**case.arguments), "", perf_counter() - begin)
    except Exception as error:
        return Outcome(None, f"{type(error).__name__}: {error}", perf_counter() - begin)
