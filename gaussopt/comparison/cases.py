"""The cases of a comparison: functions of plain data that any process can run, returning plain data.

Answers are the same bit for bit wherever they are computed; times are not, and have cases of their own, in which
rivals take turns.
"""

from __future__ import annotations

import gc
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.comparison.items import Data, Item
from gaussopt.comparison.pairing import is_exact
from gaussopt.comparison.records import MOST_REASONS, PARTS, QUANTILES, Answers, MotionRecord, Times
from gaussopt.comparison.residuals import Residuals
from gaussopt.comparison.solver_sequence_run import SequenceRun, starts_of
from gaussopt.comparison.solver_spec import parse_word, stepper_settings
from gaussopt.comparison.sources import spec_of
from gaussopt.comparison.spec import Spec
from gaussopt.comparison.trajectory_errors import energy_drift, errors_against
from gaussopt.core import registry
from gaussopt.core.errors import MachineFailure, NotAccepted
from gaussopt.core.programs import QP
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.modelling.registered import registered_problem
from gaussopt.simulation.simulate import simulate

MAX_REPETITIONS = 25
"""Passes over a sequence beyond which quantiles change no more."""

NOWHERE = (
    "no state of the source is a step that can be asked: contacts are open or just changing modes there; a smaller "
    "stride takes more states"
)


def answer_case(spec: Mapping[str, Any], formulation: str, solver: str, tolerance: float) -> list[dict[str, Any]]:
    """Answers of a solver with its options to a source, as mappings, once for each start that makes a difference.

    `spec` is a mapping that `sources.spec_of` reads; the formulation of programs is "".
    """
    where = spec_of(spec)
    items = where.items()
    size, refused = (_size(items[0].data), "") if items else ([], NOWHERE)
    found = []
    for start in starts_of(solver):
        record = Answers(where.source, formulation, solver, start, is_exact(formulation), refused=refused, size=size)
        run = SequenceRun(formulation, solver, start, tolerance)
        try:
            replies = [(run.solve(item), run.residuals) for item in items]
        except NotAccepted as reason:
            return [replace(record, refused=str(reason), size=[]).to_mapping()]
        said = Counter(reply.message for reply, _ in replies if reply.status is not Status.SOLVED)
        columns: dict[str, Any] = {
            name: [getattr(reply, name) for reply, _ in replies] for name in ("certified", "error", "iterations")
        }
        columns |= {name: [str(getattr(reply, name)) for reply, _ in replies] for name in ("status", "claim")}
        columns |= {name: [getattr(fit, name) for _, fit in replies] for name in Residuals._fields}
        found.append(replace(record, reasons=dict(list(said.items())[:MOST_REASONS]), **columns).to_mapping())
    return found


def _size(data: Data) -> list[int]:
    if isinstance(data, StepData):
        return [data.n, data.m, data.k]
    return [data.n, data.m] if isinstance(data, QP) else [data.n]


def time_case(
    spec: Mapping[str, Any], pairs: Sequence[Sequence[str]], tolerance: float, budget: float
) -> list[dict[str, Any]]:
    """Times of rivals on a source, which take turns in random order at every step so that noise hits all alike.

    Each pair of formulation and solver has `budget` seconds for each start: who is fast repeats the sequence up to
    MAX_REPETITIONS times, who is slow is timed on as many leading steps as fit. One pass is thrown away before: it pays
    for imports and caches. Returns Times as mappings.
    """
    where = spec_of(spec)
    items = where.items()
    if not items:
        return []
    rivals = [
        _Rival((formulation, solver, start), tolerance, items, budget)
        for formulation, solver in pairs
        for start in starts_of(solver)
    ]
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    gc.freeze()  # what is there already need not be looked through after every repetition
    order = random.Random(0)
    between = _Between()
    try:
        for repetition in range(max(r.repetitions for r in rivals)):
            for i, item in enumerate(items):
                turns = [r for r in rivals if repetition < r.repetitions and i < r.steps]
                order.shuffle(turns)
                for rival in turns:
                    between.run()
                    rival.take(i, item)
            gc.collect()
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()
    return [rival.times(where).to_mapping() for rival in rivals]


class _Between:
    """Work that comes before every turn, so that no rival finds the caches warm from itself or a kindred one."""

    def __init__(self) -> None:
        self._large = np.ones(1 << 18)  # 2 MiB, more than the caches next to a core
        self._A, self._b = np.eye(24) + 0.01, np.ones(24)

    def run(self) -> None:
        """Touch much memory, then the paths in numpy and LAPACK that every solver comes through."""
        self._large += 1.0
        for _ in range(3):
            np.linalg.solve(self._A, self._b)


class _Rival:
    """A formulation by a solver in one way of starting, with the seconds it took.

    One pass warms it up and shows how much fits into the budget.
    """

    def __init__(self, about: tuple[str, str, str], tolerance: float, items: Sequence[Item], budget: float) -> None:
        self._about, self._tolerance = about, tolerance
        warm_up = self._begun()
        warm_up.solve(items[0])  # imports and caches
        begin = perf_counter()
        passed = 0
        for item in items[1:] or items:
            warm_up.solve(item)
            passed += 1
            if perf_counter() - begin > budget:
                break
        each = (perf_counter() - begin) / passed
        self.steps = min(len(items), max(1, int(budget / each)))
        self.repetitions = min(MAX_REPETITIONS, max(1, int(budget / (each * self.steps))))
        self._seconds: list[list[Timing]] = [[] for _ in range(self.steps)]
        self._unconfirmed = [0] * self.steps

    def _begun(self) -> SequenceRun:
        return SequenceRun(*self._about, self._tolerance)

    def take(self, i: int, item: Item) -> None:
        """Solve the i-th item; every pass begins without memory of the one before."""
        if i == 0:
            self._run = self._begun()
        reply = self._run.solve(item)
        self._seconds[i].append(reply.timing)
        self._unconfirmed[i] += reply.status is not Status.SOLVED

    def times(self, where: Spec) -> Times:
        """Quantiles over all that was timed."""
        work = [[t.setup + t.update + t.solve for t in at] for at in self._seconds]
        samples = [t for at in self._seconds for t in at]
        columns = {part: [getattr(t, part) for t in samples] for part in (*Timing._fields, "total")}
        columns["work"] = [s for at in work for s in at]
        parts = {part: np.quantile(columns[part], QUANTILES).tolist() for part in PARTS}
        per_step = [median(at) for at in work]
        return Times(where.source, *self._about, parts, per_step, self.repetitions, self._unconfirmed)


def motion_case(
    problem: str, settings: Mapping[str, Any], formulation: str, solver: str, stepper: str, dt: float | None,
    t_end: float | None, tolerance: float,
) -> dict[str, Any]:  # fmt: skip
    """Simulate a problem by a pair and measure the trajectory.

    Returns "motion", a MotionRecord as mapping, and "trajectory.nc", the trajectory as NetCDF in bytes. Raises
    NotAccepted if the pair does not fit after all, and MachineFailure if the machine gave out on the way.
    """
    entry = registered_problem(problem, **settings)
    name, options = parse_word(solver)
    method, settings_of_it = stepper_settings(stepper)
    adaptive = registry.load("stepper", method).adaptive
    own_step = {"dt": entry.dt if dt is None and not adaptive else dt}
    traj = simulate(
        entry, formulation, name, solver_options=options, stepper=method, t_end=t_end, tolerance=tolerance,
        step_folder=None, error_estimate=False, **{**own_step, **settings_of_it},  # type: ignore[arg-type]
    )  # fmt: skip
    if traj.meta.get("machine_failure"):
        raise MachineFailure(traj.message)
    own = {**entry.parameter_values, "variant": entry.variant}
    named = [
        r.name for r in entry.references
        if {**entry.parameter_values, **r.parameters, "variant": r.variant} == own and len(traj.t)
    ]  # fmt: skip
    error = _largest(errors_against(traj, entry.reference(named[0]))[1]) if named else math.nan
    motion = MotionRecord(
        entry.label, formulation, solver, stepper, float(traj.meta["dt"] or 0.0), float(traj.meta["t_end"]),
        str(traj.status), traj.message, traj.worst.evaluations, error, traj.worst.relative_error,
        _largest(traj.position_drift), _largest(traj.velocity_drift), energy_drift(traj),
    )  # fmt: skip
    return {"motion": motion.to_mapping(), "trajectory.nc": traj.to_netcdf() if len(traj.t) else b""}


def _largest(values: Any) -> float:
    return float(values.max()) if len(values) else math.nan
