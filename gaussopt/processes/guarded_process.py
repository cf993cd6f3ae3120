"""Jobs in separate processes: a solver that crashes or never returns costs one job, not the run.

A `Guard` owns one child interpreter. The child is started as a new process (never forked, since backends hold threads
and locks) and in its own session, so that Ctrl-C reaches only its owner. The child ends with its owner, even if the
owner is killed: on Linux the kernel ends it; elsewhere an idle child notices the closed connection, and a busy child is
ended by a watching thread or, where a C function holds the interpreter lock, by faulthandler. Unlike `multiprocessing`
this also works in the daemonic workers of a Dask cluster.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, as_completed
from multiprocessing.connection import Connection, Pipe
from time import monotonic, perf_counter
from typing import TypeVar

from gaussopt.core import registry
from gaussopt.processes.child_process import DEBUG, SLACK, WATCH, Order, Refusal
from gaussopt.processes.job import Job, JobOutcome, failure_of

T = TypeVar("T")

START = 120.0
"""Seconds, in addition to a job's limit, that a child may take to import the modules of the job."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Settings for one thread: on small matrices threads in BLAS cost time, disturb timings, and change the last digit."""

OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU, signal.SIGXFSZ)
"""Signals that a solver does not cause itself: from the user, or at limits of the system on time, files or memory."""

_MAIN = (
    "import sys; from multiprocessing.connection import Connection; c = Connection(int(sys.argv[1])); "
    "sys.path[:] = c.recv(); from gaussopt.processes.child_process import serve; serve(c, int(sys.argv[2]))"
)


Reply = bytes | JobOutcome
"""An outcome pickled by the child, or an outcome made by the guard itself."""


def outcome_of(reply: Reply) -> JobOutcome:
    """Return the outcome in a reply, or a failure if the reply cannot be unpickled here."""
    if isinstance(reply, JobOutcome):
        return reply
    try:
        outcome: JobOutcome = pickle.loads(reply)
    except Exception as error:
        return failure_of(error, 0.0, "The answer cannot be read in this process")
    return outcome


def outcomes(executor: Executor, orders: Mapping[T, Order]) -> Iterator[tuple[T, JobOutcome]]:
    """Run orders on an executor; yield each key with its outcome, which is a failure if the executor loses the order.

    Orders that have not begun are cancelled if the caller stops.
    """
    under_way = {executor.submit(run_order, order): key for key, order in orders.items()}
    try:
        for future in as_completed(list(under_way)):
            yield under_way[future], awaited(future)
    finally:
        for future in under_way:
            future.cancel()


def awaited(future: Future[Reply]) -> JobOutcome:
    """Wait for the outcome of an order, which is a failure if the executor loses the order."""
    try:
        return outcome_of(future.result())
    except (Exception, CancelledError) as error:  # an error of the executor, such as a lost worker
        return failure_of(error, 0.0, "The executor lost the job")


class Guard:
    """A child process that runs one job at a time and is replaced when it ends.

    A guard belongs to the process that made it; a forked process must make its own. The thread that starts a child must
    live as long as the guard is used, since the kernel ends a child together with the thread that started it. Code that
    uses a guard sets `proven` when the child has answered.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.proven = False
        self._child: _Child | None = None
        self._closed = False
        self._lock = threading.Lock()

    def run(self, job: Job) -> JobOutcome:
        """Run a job in the child and wait for it, up to its limit; at the limit the outcome's kind is "time_limit"."""
        return outcome_of(self.reply(Order.of(job)))

    def reply(self, order: Order) -> Reply:
        """Run an order, a pickled job, in the child and return its answer, still pickled."""
        answer = self._ask(order)
        if isinstance(answer, Refusal):  # a child that has loaded other plug-ins refuses the order: start a new child
            self._drop()
            answer = self._ask(order)
        return JobOutcome(None, str(answer), 0.0, "lost") if isinstance(answer, Refusal) else answer

    def close(self) -> None:
        """End the child, even while it runs an order, and prevent new children."""
        with self._lock:
            self._closed = True
            if self._child is not None:
                self._child.end()

    def _ask(self, order: Order) -> Reply | Refusal:
        begin = perf_counter()
        child = self._ready(order.plugins)
        try:
            return child.answer(order)
        except BaseException as error:
            self._drop()
            if not isinstance(error, _Ended):
                raise
            return JobOutcome(None, str(error), perf_counter() - begin, error.kind)

    def _ready(self, plugins: tuple[registry.Registered, ...]) -> _Child:
        """Return a running child that has loaded exactly `plugins` or no plug-ins yet; start one if necessary."""
        if self._child is not None and (not self._child.usable or self._child.plugins not in (None, plugins)):
            self._drop()
        with self._lock:
            if self._closed:
                raise RuntimeError("the guard is closed")
            if self._child is None:
                self._child = _Child()
            return self._child

    def _drop(self) -> None:
        with self._lock:
            if self._child is not None:
                self._child.end()
                self._child = None


class _Ended(Exception):
    """The child gave no answer: the message says why, and `kind` is the kind of failure."""

    def __init__(self, failure: str, kind: str) -> None:
        self.kind = kind
        super().__init__(failure)


class _Child:
    """A running child interpreter, and the connection to it."""

    def __init__(self) -> None:
        self.plugins: tuple[registry.Registered, ...] | None = None
        self._connection, there = Pipe()
        shown = 2 if os.environ.get(DEBUG) else subprocess.DEVNULL
        with there:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN, str(there.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=shown, stderr=shown, env={**os.environ, **ONE_THREAD},
                pass_fds=(there.fileno(),), start_new_session=True,
            )  # fmt: skip
        # If the guard is never closed, the finaliser runs when this process, or the thread with the guard, ends.
        self.end = weakref.finalize(self, _end, self.process, self._connection, os.getpid())
        with contextlib.suppress(OSError):  # an error here means a dead child, which is noticed at the first order
            self._connection.send(sys.path)

    @property
    def usable(self) -> bool:
        """Tell whether the child is alive and belongs to this process."""
        return self.end.alive and self.process.poll() is None

    def answer(self, order: Order) -> Reply | Refusal:
        self.plugins = order.plugins
        try:
            self._connection.send(order)
            first = self._receive(order.limit + START)
            if first is None:
                raise _Ended(f"time limit: the case had not begun within {order.limit + START:g} s", "time_limit")
            hindrance: Refusal | None = pickle.loads(first)
            if hindrance is not None:
                return hindrance
            answer = self._receive(order.limit)
        except (OSError, EOFError):
            raise _death(self._code()) from None
        if answer is None:
            raise _Ended(f"time limit: no answer within {order.limit:g} s", "time_limit")
        return answer

    def _receive(self, seconds: float) -> bytes | None:
        """Return the next message, or None if none arrives in time."""
        end = monotonic() + seconds
        while True:
            left = end - monotonic()
            if self._connection.poll(max(0.0, min(left, WATCH))):
                return self._connection.recv_bytes()
            if left <= 0.0:
                return None
            if self.process.poll() is not None and not self._connection.poll():
                raise EOFError  # the child is dead, although a process that it started still holds the connection

    def _code(self) -> int:
        try:
            return self.process.wait(SLACK)
        except subprocess.TimeoutExpired:  # the child closed the connection but is alive
            self.end()
            return self.process.wait()


def _end(process: subprocess.Popen[bytes], connection: Connection, owner: int) -> None:
    """Kill a child and all processes that it started, and release its resources."""
    if os.getpid() != owner:
        return  # a forked process has copies of its parent's guards, but must not end the parent's children
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    connection.close()


def _death(code: int) -> _Ended:
    """Return the failure for the return code of a dead child."""
    if code >= 0:
        return _Ended(f"crashed: the process ended with exit code {code}", "crashed")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if -code in OUTSIDE:
        return _Ended(f"lost: the process was killed ({name}), perhaps for want of memory", "lost")
    return _Ended(f"crashed: the process died ({name})", "crashed")


# One guard per thread, kept from job to job.
_own = threading.local()


def use_guard(guard: Guard) -> None:
    """Make this thread run its orders in a given guard, which the caller closes."""
    _own.guard = guard


def own_guard() -> Guard:
    """Return the guard of this thread, created at the first call."""
    guard: Guard | None = getattr(_own, "guard", None)
    if guard is None or guard.owner != os.getpid():
        guard = _own.guard = Guard()
    return guard


def run_order(order: Order) -> Reply:
    """Run an order in the guard of this thread; executors call this function, here or on another machine."""
    return own_guard().reply(order)
