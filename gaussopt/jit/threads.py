"""Work shared between cores by threads: machine code runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise

PARTS = 4
"""Number of parts for each thread: with small parts the other threads hardly wait for a delayed part."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[int, int], object], pieces: range, threads: int | None, each: int = PARTS) -> None:
    """Call work(first, last) for parts of a range.

    Parameters
    ----------
    work : machine code for the pieces first, ..., last - 1; different pieces do not share memory
    pieces : range of their numbers
    threads : number of threads, None for the number of cores
    each : parts for each thread
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
    finally:  # after an interrupt no thread may go on writing to the memory
        wait([task for task in tasks if not task.cancel()])


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads that are kept for later work; starting them takes as long as several thousand steps."""
    return ThreadPoolExecutor(threads, "gaussopt")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process does not inherit threads
