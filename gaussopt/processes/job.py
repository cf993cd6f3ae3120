"""Independent pieces of work, and what became of them."""

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
    """A function that a fresh process can import, and its arguments, which can be pickled.

    Attributes
    ----------
    key : names the job among its like
    weight : its share of the time
    limit : seconds it may take once it has begun
    depends : tuple of (kind, name)
        The registered entries that decide the result besides the core, such as ("solver", "osqp"). A stored result is
        used again only while their files and packages are the same.
    share : tuple (name, seconds)
        A time that it shares with all jobs of this name: once they took it, those that have not begun are left out.
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
    """The value that a job returned, or in one sentence why it returned none ("" if it did); and the seconds it took.

    The kind of failure is "" of none; "error": the job raised; "crashed": its process died; "time_limit": it was ended
    after its limit; "not_tried": those that it shares a time with had used it up; "lost": it was not run to its end
    for a reason outside it (a worker gone, a process killed from outside, a full disk, no memory), so that another run
    may do better.
    """

    value: Any
    failure: str
    seconds: float
    kind: str = ""


def run_job(job: Job) -> JobOutcome:
    """One job in this process; any exception becomes its outcome."""
    begin = perf_counter()
    try:
        return JobOutcome(job.function(**job.arguments), "", perf_counter() - begin)
    except Exception as error:
        return failure_of(error, perf_counter() - begin)


def failure_of(error: BaseException, seconds: float, doing: str = "") -> JobOutcome:
    """Return the outcome of a job that raised; no solver is blamed for what the machine failed at.

    `doing` is what went wrong, such as "The answer cannot be read".
    """
    said = f"{doing}: {sentence(error)}" if doing else sentence(error)
    if is_machine(error):
        return JobOutcome(None, f"lost: {said}", seconds, "lost")
    return JobOutcome(None, said, seconds, "error")


def sentence(error: BaseException) -> str:
    """Return the text of an error on one line; with its type unless gaussopt worded it."""
    text = " ".join(str(error).split())
    if isinstance(error, GaussoptError):
        return text
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."
