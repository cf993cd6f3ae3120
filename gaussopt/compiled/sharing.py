"""Work shared between cores by threads: machine code runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PARTS = 4
"""Parts for each thread, so that one that is held up delays the others little."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[int, int], object], pieces: range, threads: int | None) -> None:
    """Do work(first, last) for parts of a range.

    Parameters
    ----------
    work : machine code for the pieces first, ..., last - 1, which do not touch each other's memory
    pieces : their numbers
    threads : how many, None for as many as there are cores
    """
    threads = threads or cores()
    if threads == 1 or len(pieces) == 1:
        work(pieces.start, pieces.stop)
        return
    parts = min(len(pieces), PARTS * threads)
    edges = [pieces.start + len(pieces) * i // parts for i in range(parts + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, edges[:-1], edges[1:]):
            pass
