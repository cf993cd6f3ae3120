"""Integration of a batch of motions on a GPU: one thread for each member, in parts that fit into the GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen.job import LoopJob
from gaussopt.compiled import cuda
from gaussopt.compiled.advances.generated import CHUNK
from gaussopt.core.arrays import Matrix
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.simulation.batch_simd import FIRST, MarchedBatch

MEMBERS = 2**17
"""Largest number of members of a part: several times as many as a GPU can process at once."""

SHARE = 0.2
"""Share of the free memory of the GPU that a part may take: two parts are held at a time."""


class CardPart(NamedTuple):
    """A part of a batch in computation: its members, arrays on the GPU, and CUDA events around the last launch."""

    members: slice
    memory: Any
    states: Any
    begin: Any
    end: Any


class CudaBatch(MarchedBatch):
    """A batch on a GPU; the recorded states of a part are copied to the host while the next part is integrated."""

    kernel: float

    def _start(self, job: LoopJob, state: Matrix) -> None:
        self._code, self._card, self._state = cuda.march(job), cuda.driver(), state
        i = self.instants
        # Loops with error control count recorded states; other loops count steps.
        self._every, self._total = (1, i.count - 1) if job.method.adaptive else (i.every, i.steps)
        self._times = self._card.to_device(i.times)
        self._steps, self._copies = self._card.stream(), self._card.stream()
        self._failed = np.zeros(len(state), dtype=int)
        self._fetched = np.zeros(len(state), dtype=bool)
        self._pace, self.kernel = 0, 0.0
        # The first launch, for one member and no steps, compiles the kernel.
        self._fetch(self._launch(slice(0, 1), lambda done: None, steps=0))
        self._fetched[0], self.kernel, self.steps = False, 0.0, 0

    def march(self, progress: Callable[[float], None]) -> None:
        """Integrate to the end, part by part; record the start, too, after a projection if the steps are projected."""
        N = self.members.count
        row = 8 * (self._code.numbers["LENGTH"] + self.records[0].size)
        free, _ = self._card.current_context().get_memory_info()
        size = max(1, int(min(MEMBERS, SHARE * free / row)))
        waiting: CardPart | None = None
        try:
            for first in range(0, N, size):
                last = min(first + size, N)

                def shown(done: float, first: int = first, last: int = last) -> None:
                    progress((first + done * (last - first)) / N)

                progress(first / N)
                before, waiting = waiting, self._launch(slice(first, last), shown)
                self._fetch(before)
        finally:  # even after Ctrl-C, the last launch of this part will be completed
            self._fetch(waiting)
        progress(1.0)

    def _launch(self, members: slice, progress: Callable[[float], None], steps: int | None = None) -> CardPart:
        """Start the computation of a part; return as soon as its last launch has begun."""
        i, numbers, total = self.instants, self._code.numbers, self._total
        count, steps = members.stop - members.start, total if steps is None else steps
        memory = self._card.device_array(numbers["LENGTH"] * count)
        for first, values in ((numbers["CONSTANTS"], self._p), (numbers["STATE"], self._state)):
            own = memory[first * count : (first + values.shape[1]) * count]
            own.copy_to_device(np.ascontiguousarray(values[members].T).reshape(-1), stream=self._steps)
        states = self._card.device_array(self.records[0].size * count)
        kernel: Any = self._code.march
        limit, done = min(self.tolerance, DEFAULT_TOLERANCE) ** 2, 0
        while True:
            taken = min(self._pace or FIRST, steps - done)
            part = CardPart(members, memory, states, self._card.event(), self._card.event())
            part.begin.record(self._steps)
            kernel[-(-count // cuda.THREADS), cuda.THREADS, self._steps](
                memory, count, done == 0, float(i.begin), float(i.dt), float(i.end), done, taken, self._every,
                total, limit, self._sharp, *self.control, self._times, states, i.count,
            )  # fmt: skip
            part.end.record(self._steps)
            done += taken
            if done == steps:
                return part
            seconds = self._waited(part)
            self._pace = max(taken, min(8 * taken, int(taken * CHUNK / max(seconds, 1e-9))))
            progress(done / total)

    def _waited(self, part: CardPart) -> float:
        """Wait for the last launch of a part, and return how long it ran, s."""
        part.end.synchronize()
        seconds = max(0.0, float(part.begin.elapsed_time(part.end))) / 1e3
        self.kernel += seconds
        return seconds

    def _fetch(self, part: CardPart | None) -> None:
        """Copy the states of a part from the GPU; do nothing for None."""
        if part is None:
            return
        self._waited(part)
        count = part.members.stop - part.members.start
        part.states.copy_to_host(self.records[part.members].reshape(-1), stream=self._copies)
        failed = self._code.numbers["FAILED"] * count
        found = part.memory[failed : failed + count].copy_to_host(stream=self._copies)
        self._copies.synchronize()
        self._failed[part.members], self._fetched[part.members] = found, True
        self.steps = self.instants.steps  # until fetched, `failed` is 1

    @property
    def failed(self) -> NDArray[np.int64]:
        """Number of each member's failed step, counted from 1; 0 if none failed, 1 if the member is not fetched yet."""
        return np.where(self._fetched, self._failed, 1)
