"""Distribution of work to threads on all cores, as machine code runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise

PARTS = 4
"""Number of parts for each thread; the parts are small, so that threads hardly wait for one that is delayed."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[int, int], object], pieces: range, threads: int | None, each: int = PARTS) -> None:
    """Divide a range into parts, and call work(first, last) for each part in a thread.

    Parameters
    ----------
    work : function that processes the pieces first, ..., last - 1; different pieces do not share memory
    pieces : range of the indices of all pieces
    threads : number of threads; None for the number of cores
    each : number of parts for each thread
    """
    threads = threads or cores()
    if threads == 1 or len(pieces) == 1:
        work(pieces.start, pieces.stop)
        return
    parts = min(len(pieces), each * threads)
    edges = [pieces.start + len(pieces) * i // parts for i in range(parts + 1)]
    tasks = [_pool(threads).submit(work, *edge) for edge in pairwise(edges)]
    try:
        for task in tasks:
            task.result()
    finally:  # no thread may write to the memory after an interrupt
        wait([task for task in tasks if not task.cancel()])


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return a pool of threads, kept for later work: starting threads takes as long as several thousand steps."""
    return ThreadPoolExecutor(threads, "gaussopt")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process does not inherit threads
