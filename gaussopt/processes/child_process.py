"""The child side of a guarded process: it runs the jobs that it receives and ends when its owner ends."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import math
import os
import pickle
import resource
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import sleep
from typing import NoReturn

from gaussopt.core import registry
from gaussopt.processes import environment as identity
from gaussopt.processes.job import Job, JobOutcome, failure_of, run_job, sentence

SLACK = 5.0
"""Seconds beyond the time limit after which a child ends itself if its owner has not done so."""

WATCH = 1.0
"""Seconds between checks that the parent process is alive."""

DEBUG = "GAUSSOPT_DEBUG"
"""Environment variable that allows a child to write to stderr and to leave a core dump."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Order:
    """A job for another process, with the environment that the other process must have.

    The job is pickled, so that a process that only forwards it need not import its modules. A process whose environment
    differs refuses the order. `plugins` are the files registered from outside the package; they need not exist on the
    machine that runs the job.
    """

    job: bytes
    limit: float
    depends: tuple[tuple[str, str], ...]
    environment: identity.Environment
    plugins: tuple[registry.Registered, ...]

    @classmethod
    def of(cls, job: Job) -> Order:
        """Return the order for a job, with the environment of this process; raises UnknownName and errors of pickle."""
        environment = identity.environment(job.depends)
        return cls(pickle.dumps(job), job.limit, job.depends, environment, registry.registered_files())


class Refusal(str):
    """The reason why a child process refuses an order, such as a different environment."""


_guarded = False


def is_guarded() -> bool:
    """Tell whether this process is the child of a guard, where a crash loses only one job."""
    return _guarded


def serve(connection: Connection, parent: int) -> NoReturn:
    """Run the orders (pickled jobs) that arrive over the connection until it is closed."""
    global _guarded
    _guarded = True
    os.set_inheritable(connection.fileno(), False)
    _die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    traces = sys.stderr.fileno()
    if os.environ.get(DEBUG):
        faulthandler.enable()
    else:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # an expected crash must not leave a core dump
    identity.core_digest()  # cached now, before the files can change
    while True:
        try:
            order: Order = connection.recv()
            job = _load(order)
            if not isinstance(job, Job):
                connection.send(job)
                continue
            connection.send(None)
            if math.isfinite(job.limit):
                faulthandler.dump_traceback_later(job.limit + SLACK, exit=True, file=traces)
            answer = _pickled(run_job(job))
            faulthandler.cancel_dump_traceback_later()
            connection.send_bytes(answer)
        except (EOFError, OSError):  # the guard has closed the connection
            os._exit(0)


def _load(order: Order) -> Job | Refusal:
    """Return the job of an order, or a refusal if it cannot run in this child; a newly started child may run it."""
    try:
        registry.adopt(order.plugins)
        reason = identity.difference(order.environment, identity.environment(order.depends))
        if reason:
            return Refusal(f"lost: the process that was to run the case has {reason}")
        job: Job = pickle.loads(order.job)
    except Exception as error:
        return Refusal(f"lost: the case cannot be loaded in a process of its own: {sentence(error)}")
    return job


def _pickled(outcome: JobOutcome) -> bytes:
    try:
        return pickle.dumps(outcome)
    except Exception as error:
        doing = "What the case returned cannot be sent to another process"
        return pickle.dumps(failure_of(error, outcome.seconds, doing))


def _die_with(parent: int) -> None:
    """End this process when its parent ends for any reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # the parent ended before it could be watched
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        sleep(WATCH)
    os._exit(1)
