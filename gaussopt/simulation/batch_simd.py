"""Integration of a batch of motions together: blocks of members in the lanes of SIMD vectors, shared between cores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gaussopt.codegen.job import LoopJob, Orders
from gaussopt.compiled import modules
from gaussopt.compiled.advances.generated import CHUNK, norms, passing, unique
from gaussopt.compiled.march.lanes import WIDTH
from gaussopt.compiled.march.recording import ROW
from gaussopt.core.arrays import Matrix
from gaussopt.core.errors import BadInput, NotCompiled
from gaussopt.core.stepper import Stabilisation, Stepper
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.integration.stabilisation import Projection
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.jit.threads import share
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.simulation.batch_members import BatchMembers
from gaussopt.simulation.settings import START_TOLERANCE

FIRST = 10
"""Number of steps before the first report."""

ROWS = 200_000
"""Number of recorded states that are certified before Ctrl-C can take effect."""


class MarchedBatch(ABC):
    """Integrates all members together, and marks those that fail, which `Batch` then computes one by one.

    Parameters
    ----------
    members : the members; at least one must have no fault, and members with a fault are marked as failed
    method, stabiliser : a method with generated functions; `Unstabilised` or `Projection`
    threads : number of threads; None for all cores
    control : rtol and atol of an adaptive method

    Attributes
    ----------
    states : (N, T, 2 n), q and v at the recorded instants; undefined after `steps` and where a member failed
    table : (N, T, 15 + n + 2 m), rows as `modules.rows` computes them; None if there is no generated certificate
    steps : number of steps taken so far
    certified : (N,), number of recorded states that have a row in `table`
    compiling : time for compilation and setup, s
    kernel : time that a GPU took for steps alone, without copies, s; None on the CPU

    Raises NotCompiled if the equations cannot be unrolled.
    """

    def __init__(
        self, members: BatchMembers, method: Stepper, stabiliser: Stabilisation, instants: TimeGrid, tolerance: float,
        threads: int | None, control: tuple[float, float] = (math.nan, math.nan),
    ) -> None:  # fmt: skip
        begin = perf_counter()
        self.kernel: float | None = None
        system = members.system
        assert isinstance(system, LagrangianSystem)
        self.members, self.instants, self.tolerance, self.threads = members, instants, tolerance, threads
        self.control = control
        self._sharp = stabiliser.tolerance if isinstance(stabiliser, Projection) else 0.0
        self._sample, orders = _orders(members, instants.begin)
        self._rows = None if self.contacts else modules.rows(system.model, system.source, orders, together=True)
        N, n = members.q.shape
        self.n, self.m, self.steps = n, system.m, 0
        self.records, self.states = self._recording(N, instants.count)
        self.table: NDArray[np.float64] | None = None
        self.certified = np.zeros(N, dtype=int)
        values = np.column_stack([members.values[name] for name in system.parameters] or [np.zeros((N, 0))])
        self._p, state = (self._filled(x) for x in (values, np.hstack((members.q, members.v))))
        self._start(LoopJob(system.model, method, orders, isinstance(stabiliser, Projection)), state)
        self._off = np.zeros(N, dtype=bool) if self._sharp else self._off_constraints(state)
        self.compiling = perf_counter() - begin

    whole: ClassVar[int] = 1
    """Number of members of a block, which are always integrated together."""

    contacts: ClassVar[bool] = False
    """Whether the members have contacts."""

    def _recording(self, members: int, instants: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the array (N, T, width) that machine code fills, and the part of it that holds the states."""
        records = np.zeros((members, instants, 2 * self.n))
        return records, records

    def _filled(self, rows: Matrix) -> Matrix:
        """Pad the members' rows to whole blocks by copies of a valid row, which also replaces faulty rows."""
        count, faults = len(rows), list(self.members.faults)
        if missing := -count % self.whole:
            rows = np.vstack((rows, np.tile(rows[self._sample], (missing, 1))))
        if faults:
            rows = rows.copy()
            rows[faults] = rows[self._sample]  # the results of these members are not used
        return np.ascontiguousarray(rows)

    @abstractmethod
    def _start(self, job: LoopJob, state: Matrix) -> None:
        """Compile the loop, and store the initial states `state`, (N padded to whole blocks, 2 n)."""

    @abstractmethod
    def march(self, progress: Callable[[float], None]) -> None:
        """Integrate to the end or until Ctrl-C; record the start, too, projected if steps are to be projected."""

    @property
    @abstractmethod
    def failed(self) -> NDArray[np.int64]:
        """Number of the step that failed, counted from 1; 0 if none failed."""

    def _off_constraints(self, state: Matrix) -> NDArray[np.bool_]:
        """Mark members whose start does not satisfy the constraints, by the rule of `simulate`."""
        system, N, t = self.members.system, self.members.count, float(self.instants.begin)
        assert isinstance(system, LagrangianSystem)
        residuals, drift = modules.drifts(system.model, system.source), np.zeros(2 * N)
        share(
            lambda first, last: residuals(first, last, t, state.reshape(-1), self._p.reshape(-1), drift), range(N),
            self.threads,
        )  # fmt: skip
        size = np.abs(state[:N]).reshape(N, 2, self.n).max(axis=2)
        off: NDArray[np.bool_] = ~(drift.reshape(N, 2) <= START_TOLERANCE * (1.0 + size)).all(axis=1)
        return off

    def certify(self) -> None:
        """Compute a row of `table` for every recorded state."""
        if self._rows is None:
            return
        N, recorded = self.members.count, self.instants.recorded(self.steps)
        times = self.instants.times[:recorded]
        self.table = np.zeros((N, self.instants.count, ROW + self.n + 2 * self.m))
        known = self.table[:, :recorded]
        states, table = np.ascontiguousarray(self.states[:, :recorded]), np.ascontiguousarray(known)
        rows, chunk = self._rows, max(1, ROWS // recorded)
        for i in range(0, N, chunk):
            part = slice(i, i + chunk)
            share(
                lambda first, last: rows(
                    first, last, recorded, times, states.reshape(-1), self._p.reshape(-1), table.reshape(-1)
                ),
                range(i, min(i + chunk, N)), self.threads,
            )  # fmt: skip
            if table is not known:
                known[part] = table[part]
            self.certified[part] = recorded

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return the table by the names of `Trajectory`, each (N, T, ...)."""
        assert self.table is not None
        error, a = (np.sqrt(np.abs(self.table[..., i])) for i in (1, 6))
        found = {"error_bound": error, "relative_error": error / (1.0 + a)}
        found["forces_unique"] = np.where(np.isnan(error), np.nan, unique(self.table, self.m))
        for i, name in enumerate(("kinetic", "potential", "power", "position_drift", "velocity_drift")):
            found[name] = self.table[..., 10 + i]
        return found | {
            "a": self.table[..., ROW : ROW + self.n],
            "lam": self.table[..., ROW + self.n : ROW + self.n + self.m],
        }

    def sound(self) -> NDArray[np.bool_]:
        """Mark the members of which no step failed and every certificate passes."""
        recorded = self.instants.recorded(self.steps)
        good: NDArray[np.bool_] = (self.failed == 0) & ~self._off
        good[list(self.members.faults)] = False

        def look(first: int, last: int) -> None:
            some = slice(first, last)
            good[some] &= np.isfinite(self.states[some, :recorded]).all(axis=(1, 2))
            if self.table is not None:
                table, known = self.table[some, :recorded], np.arange(recorded) < self.certified[some, None]
                good[some] &= (self._passing(table) | ~known).all(axis=1)

        share(look, range(len(good)), self.threads)
        return good

    def _passing(self, table: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mark the rows of `table` whose certificate passes."""
        return passing(table, norms(table), self.tolerance)


class SimdBatch(MarchedBatch):
    """A batch whose members are lanes of SIMD vectors, in blocks that are shared between the cores.

    The method must be a Runge-Kutta method in which each stage uses only the rates of the previous stage.
    """

    whole = WIDTH

    def _start(self, job: LoopJob, state: Matrix) -> None:
        self._code = modules.blocks(job)
        n = self.n
        self._memory = np.zeros((len(state) // self.whole, self._code.numbers["LENGTH"]))
        parameters = self._p.reshape(len(self._memory), self.whole, self._p.shape[1])
        self._section("CONSTANTS", self._p.shape[1])[:] = parameters.swapaxes(1, 2)
        self._section("STATE", 2 * n)[:] = state.reshape(-1, self.whole, 2 * n).swapaxes(1, 2)
        self._march(0, fresh=True)
        self.states[:, 0] = self.now()

    def _section(self, name: str, size: int) -> NDArray[np.float64]:
        """Return a section of the memory of all blocks, (blocks, size, lanes)."""
        begin = self._code.numbers[name]
        return self._memory[:, begin : begin + size * self.whole].reshape(len(self._memory), size, self.whole)

    def now(self) -> Matrix:
        """Return the present states, (N, 2 n)."""
        return self._section("STATE", 2 * self.n).swapaxes(1, 2).reshape(-1, 2 * self.n)[: self.members.count]

    @property
    def failed(self) -> NDArray[np.int64]:
        """Number of the step that failed, counted from 1; 0 if none failed."""
        return self._section("FAILED", 1).reshape(-1)[: self.members.count].astype(int)

    def _march(self, count: int, fresh: bool = False) -> None:
        i, limit = self.instants, min(self.tolerance, DEFAULT_TOLERANCE) ** 2
        rest = (
            self._memory.reshape(-1), fresh, i.begin, i.dt, i.end, self.steps, count, i.every, limit, self._sharp,
            self.states.reshape(-1), *self.states.shape[:2],
        )  # fmt: skip
        share(lambda first, last: self._code.march(first, last, *rest), range(len(self._memory)), self.threads)

    def march(self, progress: Callable[[float], None]) -> None:
        """Integrate to the end; Ctrl-C takes effect every fifth of a second."""
        total, count = self.instants.steps, FIRST
        while self.steps < total:
            begin = perf_counter()
            count = min(count, total - self.steps)
            self._march(count)
            self.steps += count
            spent = perf_counter() - begin
            count = max(1, min(4 * count, int(count * CHUNK / max(spent, 1e-9))))
            progress(self.steps / total)
        if total % self.instants.every:
            self.states[:, -1] = self.now()


def _orders(members: BatchMembers, t: float) -> tuple[int, Orders]:
    """Return the number of the first member that can be evaluated, and the pivot orders for its initial state."""
    system = members.system
    assert isinstance(system, LagrangianSystem)
    for i in range(members.count):
        if i in members.faults:
            continue
        try:
            step = system.with_parameters(**members.parameters(i)).evaluate(t, members.q[i], members.v[i])
            return i, Orders.of(system.model, system.constant_entries, step)
        except BadInput:
            continue
    raise NotCompiled("no member of the batch can be evaluated at its start")
