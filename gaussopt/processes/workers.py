"""An executor that runs jobs in processes on this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from gaussopt.processes.child_process import Order
from gaussopt.processes.guarded_process import Guard, run_order, use_guard
from gaussopt.processes.job import Job


class Workers(ThreadPoolExecutor):
    """An executor on this machine whose processes start when they are first needed, and are kept for later cases.

    Several batches of cases may use the same workers, so that imports happen only once. Leaving the `with` block
    ends all processes, even while they compute.
    """

    def __init__(self, jobs: int) -> None:
        self._guards = [Guard() for _ in range(max(1, jobs))]
        free: SimpleQueue[Guard] = SimpleQueue()
        for guard in self._guards:
            free.put(guard)
        super().__init__(len(self._guards), initializer=lambda: use_guard(free.get()))

    def prepare(self, function: Callable[[], object]) -> None:
        """Start all processes and return at once; each process calls a function that loads the modules of the cases.

        The function's result and errors are ignored: a case whose modules cannot be loaded reports that itself.
        """
        for _ in self._guards:
            self.submit(run_order, Order.of(Job("prepare", function)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes and cancel the cases that have not started."""
        for guard in self._guards:
            guard.close()
        super().shutdown(wait, cancel_futures=True)
