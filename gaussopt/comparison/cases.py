"""The cases of a comparison: functions of plain data that any process can run, returning plain data.

Answers are the same bit for bit wherever they are computed; times are not, and have cases of their own, in which
rivals take turns.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.comparison.items import Item
from gaussopt.comparison.records import MOST_REASONS, PARTS, QUANTILES, Answers, MotionRecord, Times
from gaussopt.comparison.solver_sequence_run import SequenceRun, starts_of
from gaussopt.comparison.solver_spec import parse_word, solver_class, stepper_settings
from gaussopt.comparison.sources import Spec, spec_of
from gaussopt.comparison.trajectory_errors import energy_drift, errors_against
from gaussopt.core import registry
from gaussopt.core.errors import MachineFailure, NotAccepted
from gaussopt.core.programs import LCP, QP
from gaussopt.core.solution import Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.simulation.simulate import simulate

MAX_REPETITIONS = 25
"""Passes over a sequence beyond which quantiles change no more."""

NOWHERE = (
    "no state of the source is a step that can be asked: contacts are open or just changing modes there; a smaller "
    "stride takes more states"
)


def answer_case(spec: Mapping[str, Any], formulation: str, solver: str, tolerance: float) -> list[dict[str, Any]]:
    """Answers of a solver to a source, once for each way of starting that makes a difference to it.

    Parameters
    ----------
    spec : of `sources.spec_of`
    formulation : "" for programs
    solver : with its options
    tolerance : of the certificate

    Returns
    -------
    list of Answers as mappings
    """
    where = spec_of(spec)
    items = where.items()
    exact = bool(registry.load("formulation", formulation).exact) if formulation else True
    size, refused = (_size(items[0].data), "") if items else ([], NOWHERE)
    found = []
    for start in starts_of(solver_class(solver)):
        record = Answers(where.source, formulation, solver, start, exact, refused=refused, size=list(size))
        run = SequenceRun(formulation, solver, start, tolerance)
        for item in items:
            try:
                reply = run.solve(item)
            except NotAccepted as reason:
                return [Answers(where.source, formulation, solver, start, exact, refused=str(reason)).to_mapping()]
            fit = run.residuals
            for name in ("certified", "error", "iterations"):
                getattr(record, name).append(getattr(reply, name))
            for name, value in fit._asdict().items():
                getattr(record, name).append(value)
            record.status.append(str(reply.status))
            record.claim.append(str(reply.claim))
            known = reply.message in record.reasons or len(record.reasons) < MOST_REASONS
            if reply.status is not Status.SOLVED and known:
                record.reasons[reply.message] = record.reasons.get(reply.message, 0) + 1
        found.append(record.to_mapping())
    return found


def _size(data: StepData | QP | LCP) -> list[int]:
    if isinstance(data, StepData):
        return [data.n, data.m, data.k]
    return [data.n, data.m] if isinstance(data, QP) else [data.n]


def time_case(
    spec: Mapping[str, Any], pairs: Sequence[Sequence[str]], tolerance: float, budget: float
) -> list[dict[str, Any]]:
    """Times of rivals on a source, which take turns in random order at every step so that noise hits all alike.

    Parameters
    ----------
    pairs : formulation and solver with its options, of each
    budget : float
        Seconds for each solver and start. Who is fast repeats the sequence up to MAX_REPETITIONS times; who is slow is
        timed on as many leading steps as fit.

    Returns
    -------
    list of Times as mappings
        After one pass that is thrown away: it pays for imports and caches.
    """
    where = spec_of(spec)
    items = where.items()
    rivals = [
        _Rival(formulation, solver, start, tolerance)
        for formulation, solver in pairs
        for start in starts_of(solver_class(solver))
    ]
    if not items:
        return []
    for rival in rivals:
        rival.prepare(items, budget)
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
    """One solver in one way of starting, with the seconds it took."""

    def __init__(self, formulation: str, solver: str, start: str, tolerance: float) -> None:
        self.formulation, self.solver, self.start, self.tolerance = formulation, solver, start, tolerance
        self.repetitions = 0
        self.steps = 0

    def prepare(self, items: tuple[Item, ...], budget: float) -> None:
        """One pass to warm up and to see how much fits into the budget."""
        warm_up = SequenceRun(self.formulation, self.solver, self.start, self.tolerance)
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

    def take(self, i: int, item: Item) -> None:
        """Solve the i-th item; every pass begins without memory of the one before."""
        if i == 0:
            self._run = SequenceRun(self.formulation, self.solver, self.start, self.tolerance)
        reply = self._run.solve(item)
        self._seconds[i].append(reply.timing)
        self._unconfirmed[i] += reply.status is not Status.SOLVED

    def times(self, where: Spec) -> Times:
        """Quantiles over all that was timed."""
        work = [[t.setup + t.update + t.solve for t in at] for at in self._seconds]
        samples = [t for at in self._seconds for t in at]
        columns = {part: np.array([getattr(t, part) for t in samples]) for part in (*Timing._fields, "total")}
        columns["work"] = np.array([s for at in work for s in at])
        parts = {part: [float(x) for x in np.quantile(columns[part], QUANTILES)] for part in PARTS}
        return Times(
            where.source, self.formulation, self.solver, self.start, parts, [median(at) for at in work],
            self.repetitions, self._unconfirmed,
        )  # fmt: skip


def motion_case(
    problem: str,
    settings: Mapping[str, Any],
    formulation: str,
    solver: str,
    stepper: str,
    dt: float | None,
    t_end: float | None,
    tolerance: float,
) -> dict[str, Any]:
    """Simulate a problem by a pair and measure the trajectory.

    Returns
    -------
    dict
        "motion": a Motion as mapping; "trajectory.nc": the trajectory, NetCDF in bytes.

    Raises
    ------
    NotAccepted
        If the pair does not fit after all.
    MachineFailure
        If the machine gave out on the way.
    """
    entry = find_problem(problem, **settings)
    name, options = parse_word(solver)
    method, settings_of_it = stepper_settings(stepper)
    adaptive = registry.load("stepper", method).adaptive
    own_step = {"dt": entry.dt if dt is None and not adaptive else dt}
    traj = simulate(
        entry, formulation, name, solver_options=options, stepper=method, t_end=t_end, tolerance=tolerance,
        step_folder=None, **{**own_step, **settings_of_it},  # type: ignore[arg-type]
    )  # fmt: skip
    if traj.meta.get("machine_failure"):
        raise MachineFailure(traj.message)
    error = math.nan
    own = {**entry.parameter_values, "variant": entry.variant}
    for reference in entry.references:
        if {**entry.parameter_values, **reference.parameters, "variant": reference.variant} == own and len(traj.t):
            error = _largest(errors_against(traj, entry.reference(reference.name))[1])
            break
    motion = MotionRecord(
        entry.label, formulation, solver, stepper, float(traj.meta["dt"] or 0.0), float(traj.meta["t_end"]),
        str(traj.status), traj.message, traj.worst.evaluations, error, traj.worst.relative_error,
        _largest(traj.position_drift), _largest(traj.velocity_drift), energy_drift(traj),
    )  # fmt: skip
    return {"motion": motion.to_mapping(), "trajectory.nc": traj.to_netcdf() if len(traj.t) else b""}


def _largest(values: Any) -> float:
    return float(values.max()) if len(values) else math.nan
