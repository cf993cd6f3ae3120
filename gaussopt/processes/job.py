"""Independent jobs and their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from gaussopt.core.errors import GaussoptError
from gaussopt.core.machine import is_machine


@dataclass(frozen=True, slots=True)
class Job:
    """A function that a new process can import, with arguments that can be pickled.

    Attributes
    ----------
    key : unique name of the job
    weight : share of the total time, for progress
    limit : seconds that the job may take after its start
    depends : tuple of (kind, name)
        The registered entries that decide the result in addition to the core, such as ("solver", "osqp"). A stored
        result is reused only while the files and packages of these entries are the same.
    share : tuple (name, seconds)
        A time budget of all jobs with this name: once it is used up, jobs that have not started are left out.
    """

    key: str
    function: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    limit: float = math.inf
    depends: tuple[tuple[str, str], ...] = ()
    share: tuple[str, float] = ("", math.inf)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Outcome of a job: the value returned, or a sentence `failure` with the reason for its absence; and the duration.

    `kind` is "" if nothing failed; "error": the job raised; "crashed": its process died; "time_limit": it was ended
    at its limit; "not_tried": its shared time budget was used up before its start; "lost": it failed for an external
    reason (a lost worker, a process killed from outside, a full disk, no memory), so that another run may succeed.
    """

    value: Any
    failure: str
    seconds: float
    kind: str = ""


def run_job(job: Job) -> JobOutcome:
    """Run a job in this process and return its outcome, which is a failure if the job raises."""
    begin = perf_counter()
    try:
        return JobOutcome(job.function(**job.arguments), "", perf_counter() - begin)
    except Exception as error:
        return failure_of(error, perf_counter() - begin)


def failure_of(error: BaseException, seconds: float, doing: str = "") -> JobOutcome:
    """Return the outcome of a job that raised: kind "lost" for a failure of the machine, "error" for any other.

    `doing` says what failed, such as "The answer cannot be read".
    """
    said = f"{doing}: {sentence(error)}" if doing else sentence(error)
    if is_machine(error):
        return JobOutcome(None, f"lost: {said}", seconds, "lost")
    return JobOutcome(None, said, seconds, "error")


def sentence(error: BaseException) -> str:
    """Return the text of an error on one line, preceded by its type unless it is a GaussoptError."""
    text = " ".join(str(error).split())
    if isinstance(error, GaussoptError):
        return text
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."
