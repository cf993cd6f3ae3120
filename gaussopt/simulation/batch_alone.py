"""Computation of members of a batch one by one, in several processes if that saves time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.errors import GaussoptError, NotAccepted
from gaussopt.core.status import Status
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS, Trajectory
from gaussopt.jit.threads import cores
from gaussopt.modelling.problem import Problem
from gaussopt.processes.child_process import Order, is_guarded
from gaussopt.processes.guarded_process import awaited, run_order
from gaussopt.processes.job import Job
from gaussopt.processes.workers import Workers
from gaussopt.simulation.batch_members import BatchMembers
from gaussopt.simulation.simulate import simulate

STATES, CERTIFIED = tuple(COLUMNS)[:2], tuple(COLUMNS)[2:]
"""Variables of a dataset: the states, and those that are recorded only if a batch is certified."""

WORTH = 5.0
"""Seconds of remaining work above which it is worth starting processes."""

PARTS = 16
"""Number of parts of the work per process: small parts allow reports of progress and keep all processes busy."""


@dataclass(frozen=True)
class LoneMember:
    """The result of a member: status, message, last instant, and variables at all instants, NaN after the last."""

    status: Status
    message: str
    reached: float = math.nan
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


@dataclass(frozen=True)
class LoneMembers:
    """Members to compute one by one, with the settings of `simulate`; `certify` says whether to keep certificates."""

    members: BatchMembers
    settings: Mapping[str, Any]
    instants: TimeGrid
    certify: bool

    def run(self, left: Sequence[int], threads: int | None) -> Iterator[tuple[int, LoneMember]]:
        """Yield results of members in any order, by `threads` processes (None: all cores) if that saves time."""
        processes = 1 if is_guarded() else threads or cores()
        for count, i in enumerate(left, 1):
            begin = perf_counter()
            yield i, self._one(i)
            rest = left[count:]
            if processes > 1 and (perf_counter() - begin) * len(rest) > WORTH:
                orders = self._orders(rest, processes)
                if orders:
                    yield from self._spread(orders, processes)
                    return
                processes = 1

    def part(self, left: Sequence[int]) -> list[LoneMember]:
        """Compute the members with the indices `left`, one by one."""
        return [self._one(i) for i in left]

    def _one(self, i: int) -> LoneMember:
        try:
            return self._recorded(self._simulate(i))
        except GaussoptError as error:
            return LoneMember(Status.BAD_INPUT, str(error))

    def _simulate(self, i: int) -> Trajectory:
        """Simulate member i alone, by generated code if that exists; raises GaussoptError."""
        members = self.members
        one, contacts = members.one(i), bool(members.system.contact_names)
        given: dict[str, Any] = dict(self.settings, q0=members.q[i], v0=members.v[i])
        given |= {"step_folder": None, "keep_interrupted": True, "record_every": self.instants.every}
        given["error_estimate"] = False  # members that are integrated together have no estimate
        if not contacts:
            try:
                return simulate(one, **given, engine="compiled")
            except NotAccepted:
                pass  # no generated code exists
        return simulate(one, **given)

    def _recorded(self, motion: Trajectory) -> LoneMember:
        """Select the rows of a trajectory at the instants of the batch; at an impact, the later of its two rows."""
        if not len(motion.t):
            return LoneMember(motion.status, motion.message)
        times, near = self.instants.times, 1e-9 * self.instants.dt
        rows = np.searchsorted(motion.t, times + near, side="right") - 1
        there = (rows >= 0) & (np.abs(motion.t[rows] - times) <= near)
        columns = {}  # contacts that a model finds while it moves differ from member to member, and have no columns
        of_contacts = CONTACT_COLUMNS if self.members.system.contact_names else ()
        for name in (*COLUMNS, *of_contacts) if self.certify else STATES:
            values = getattr(motion, name)
            columns[name] = np.full((len(times), *values.shape[1:]), np.nan)
            columns[name][there] = values[rows[there]]
        return LoneMember(motion.status, motion.message, float(motion.t[-1]), columns)

    # -- several processes -----------------------------------------------------------------------------------------

    def _orders(self, left: Sequence[int], processes: int) -> list[tuple[Sequence[int], Order]]:
        """Divide the members into parts, each with a job for another process; [] if jobs cannot be pickled."""
        problem = self.members.problem
        if isinstance(problem, Problem) and problem.events is None:
            problem = problem.system  # functions of a problem may exist only in this process
        alone = replace(self, members=replace(self.members, problem=problem))
        size = math.ceil(len(left) / (PARTS * processes))
        parts = [left[i : i + size] for i in range(0, len(left), size)]
        try:
            return [(part, Order.of(Job("part", alone.part, {"left": part}))) for part in parts]
        except Exception:  # most often a user's functions cannot be pickled
            return []

    def _spread(self, orders: list[tuple[Sequence[int], Order]], processes: int) -> Iterator[tuple[int, LoneMember]]:
        """Compute parts in this process, from the last on, and the others in processes that take a second to start."""
        with Workers(min(processes, len(orders)) - 1) as workers:
            left = {workers.submit(run_order, order): part for part, order in orders}
            while left:
                future = next((x for x in left if x.done()), next(reversed(left)))
                part, found = left.pop(future), None
                if not future.cancel():
                    outcome = awaited(future)
                    found = None if outcome.failure else outcome.value
                    if outcome.kind == "crashed":
                        found = [LoneMember(Status.CRASHED, outcome.failure)] * len(part)
                yield from zip(part, map(self._one, part) if found is None else found, strict=True)
