"""Benchmark problems from the literature: motions by several steppers and formulations against published values.

Values and their sources are read from problems/data/published.json. The error of a motion is the largest difference
over the published instants and quantities, in the units of the published values; for a problem without published values
it is the drift of the energy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core import registry
from gaussopt.core.arrays import Vector, check_progress
from gaussopt.core.errors import NotAccepted
from gaussopt.core.status import Status
from gaussopt.execution.store import Store
from gaussopt.execution.workers import check_jobs, run_jobs
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.processes.workers import Workers
from gaussopt.simulation.simulate import simulate

Values = NDArray[np.float64]

LIMIT = 60.0
"""Seconds after which a motion is stopped."""

MOST_RECORDED = 50_000
"""Largest number of steps of a motion that is recorded in full; longer motions record the published instants only."""

EXPLICIT = {"dop853": (1e-5, 1e-7, 1e-9, 1e-11), "rk45": (1e-4, 1e-6, 1e-8)}
TOLERANCES = {**EXPLICIT, "radau-projected": (1e-4, 1e-6, 1e-8)}
"""Relative and absolute tolerances of the adaptive steppers."""

CONSTANT = ("rk4", "rattle")
"""Steppers with constant step."""

FORMULATIONS = (
    "gauss", "lagrange", "dual", "null-space", "least-squares", "udwadia-kalaba", "routh",
)  # fmt: skip
"""Formulations of steps without contacts; a formulation refuses problems that it does not fit."""

EARLY = 0.2
"""Fraction of the motion, from its start, over which formulations are compared and which a quick report simulates."""

EARLIER = ", early"
"""Suffix of the keys of jobs whose motions stop early, after the fraction EARLY of the full duration."""

BROKEN = ("error", "crashed", "lost")
"""Outcomes that indicate a fault of the program or the machine."""


Found = Callable[[Values, Values, Vector], Values]
"""Function of q and v, (r, n), and the energy drift, (r,), that returns values to compare, (r, columns)."""


def _columns(*places: int, rates: Sequence[int] = ()) -> Found:
    return lambda q, v, drift: np.hstack((q[:, list(places)], v[:, list(rates)]))


def _andrews(q: Values, v: Values, drift: Vector) -> Values:
    one, two, three, four, five, six, seven = q[:, 2::3].T
    return np.stack((one, two - one, three, four - five, five, six - seven, seven), axis=1)


def _sleigh(q: Values, v: Values, drift: Vector) -> Values:
    speed = v[:, 0] * np.cos(q[:, 2]) + v[:, 1] * np.sin(q[:, 2])
    return np.stack((speed, v[:, 2], q[:, 2]), axis=1)


def _drift(q: Values, v: Values, drift: Vector) -> Values:
    return drift[:, None]


@dataclass(frozen=True)
class PublishedCase:
    """The published values of a problem, and how motions are compared with them.

    Attributes
    ----------
    quantity : what is compared, with units
    goal : error that this package aims at
    found : function that computes from a motion the columns that are published
    steps : constant steps, s, the longest first; the published instants are multiples of them
    compared : columns of the published rows that are compared; none if the error is the drift of the energy
    rows : key of the rows in published.json
    instant : time of the only row, s; None if the first column is the time
    stiff : whether the problem needs an implicit stepper
    ladder : steps and tolerances, by stepper, of a problem that takes long; by default `steps` and TOLERANCES
    """

    problem: str
    quantity: str
    goal: float
    found: Found
    steps: tuple[float, ...]
    compared: Sequence[int] = ()
    rows: str = "rows"
    instant: float | None = None
    variant: str | None = None
    stiff: bool = False
    ladder: Mapping[str, tuple[float, ...]] | None = None

    @property
    def name(self) -> str:
        """Name of the problem, and of its variant if it has one."""
        return self.problem if self.variant is None else f"{self.problem} ({self.variant})"

    @property
    def entry(self) -> Problem:
        """The registered problem, in the published variant."""
        return find(self.problem, **({} if self.variant is None else {"variant": self.variant}))

    @property
    def source(self) -> str:
        """Source of the values."""
        return str(published()[self.problem]["source"])

    def values(self) -> tuple[Vector, Values]:
        """Return the published instants, (r,), and the values at them, (r, columns)."""
        rows = np.array(published()[self.problem][self.rows], dtype=np.float64)
        times = rows[:, 0] if self.instant is None else np.full(1, self.instant)
        # At t = 0 there is nothing to compare, since the values there are given.
        chosen = times > 0.0
        return times[chosen], rows[chosen][:, list(self.compared)] if self.compared else np.zeros((chosen.sum(), 1))

    def codes(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield the published results of other codes: the code, its setting, what is compared, and its error."""
        known = published()[self.problem]
        for told in known.get("codes", ()) if self.variant is None else ():
            if "table" in told:
                rows, places = np.array(known[self.rows]), list(self.compared)
                exact, values = rows[:, places], np.array(known[told["table"]])[:, places]
            else:
                rows = np.array(known["rows"])
                at = 0 if len(rows) == 1 else int(np.abs(rows[:, 0] - told["t"]).argmin())
                exact, values = rows[at, told["columns"]], np.array(told["values"])
            yield told["code"], told["setting"], told["of"], float(np.abs(values - exact).max())

    def asked(self, early: bool) -> tuple[Vector, Values]:
        """Return `values()`; if `early`, only at instants up to the fraction EARLY of the motion, but at least one."""
        times, values = self.values()
        count = max(1, int((times <= EARLY * times[-1]).sum())) if early else len(times)
        return times[:count], values[:count]


CASES = tuple(
    PublishedCase(*row[:5], **row[5])
    for row in (
        ("pendulum", "places and velocities, m, m/s", 1e-9, _columns(0, 1, rates=(0, 1)), (5e-3, 2e-3, 1e-3),
         {"compared": (1, 2, 3, 4)}),
        ("slider-crank-spring", "angles and place, rad, m", 1e-9, _columns(2, 3, 5), (5e-2, 2.5e-2, 1.25e-2),
         {"compared": (1, 2, 3), "rows": "converged"}),
        ("car-axis", "places, m", 1e-10, _columns(0, 1, 2, 3), (2e-3, 1e-3, 2.5e-4),
         {"compared": (0, 1, 2, 3), "instant": 3.0}),
        ("andrews-squeezer", "angles, rad", 1e-8, _andrews, (2e-5, 1e-5, 5e-6),
         {"compared": range(7), "instant": 0.03}),
        ("n-four-bar", "angle and rate of a crank, rad, rad/s", 1e-6, _columns(2, rates=(2,)), (4e-3, 2e-3, 1e-3),
         {"compared": (5, 6)}),
        ("n-four-bar", "angle and rate of a crank, rad, rad/s", 1e-6, _columns(2, rates=(2,)), (2e-3,),
         {"compared": (1, 2), "rows": "rows of N=40", "variant": "N=40",
          "ladder": {"rk4": (2e-3,), "dop853": (1e-7, 1e-9), "radau-projected": (1e-4, 1e-6)}}),
        ("flyball-governor", "angles and place, rad, m", 1e-7, _columns(0, 1, 2), (5e-5, 2.5e-5),
         {"compared": (1, 2, 3), "stiff": True}),
        ("spatial-slider-crank", "place of the slider, m", 1e-8, _columns(14), (5e-3, 2.5e-3, 1e-3),
         {"compared": (3,), "ladder": {"rk4": (5e-3, 2.5e-3, 1e-3), **EXPLICIT, "radau-projected": (1e-4,)}}),
        ("heavy-top", "place and velocity of the centre, m, m/s", 1e-8, _columns(0, 1, 2, rates=(0, 1, 2)),
         (5e-4, 2e-4, 1e-4),
         {"compared": (1, 2, 3, 4, 5, 6),
          "ladder": {"rk4": (5e-4, 2e-4, 1e-4), **EXPLICIT, "radau-projected": (1e-6,)}}),
        ("bricard", "drift of the energy, J", 1e-7, _drift, (1e-2, 5e-3, 2.5e-3), {"instant": 0.3}),
        ("rolling-disc", "place of the centre, m", 1e-8, _columns(0, 1, 2), (5e-4, 2e-4, 1e-4),
         {"compared": (1, 2, 3)}),
        ("knife-edge-incline", "places, angle and velocities, m, rad, m/s", 1e-9, _columns(0, 1, 2, rates=(0, 1)),
         (1e-2, 5e-3, 2.5e-3), {"compared": (1, 2, 3, 4, 5)}),
        ("chaplygin-sleigh", "speed, rate and angle, m/s, rad/s, rad", 1e-9, _sleigh, (1e-2, 5e-3, 2.5e-3),
         {"compared": (1, 2, 3)}),
        ("nonholonomic-particle", "places, m", 1e-9, _columns(0, 1, 2), (1e-2, 5e-3, 2.5e-3), {"compared": (1, 2, 3)}),
    )
)  # fmt: skip
"""The benchmark problems."""


@cache
def published() -> dict[str, Any]:
    """Return the published data of the benchmark problems, by problem."""
    file = resources.files("gaussopt.problems").joinpath("data", "published.json")
    return dict(json.loads(file.read_text("utf-8")))


@dataclass(frozen=True)
class PublishedRun:
    """One motion compared with the published values.

    `setting` is the tolerance of an adaptive stepper or the step of a constant one, s; the error is NaN if the motion
    did not reach the last instant. A motion with warnings (`warned`) is unreliable. `seconds` is the integration time.
    """

    case: str
    stepper: str
    setting: float
    formulation: str
    status: str
    message: str
    warned: bool = False
    error: float = math.nan
    steps: int = 0
    engine: str = ""
    seconds: float = math.nan

    @property
    def reached(self) -> bool:
        """Whether the motion reached the last published instant; only then is its error known."""
        return self.status == Status.SOLVED

    @classmethod
    def of(cls, job: Job, outcome: JobOutcome) -> PublishedRun:
        """Return the result of a job, from its outcome."""
        asked = {name: job.arguments[name] for name in ("case", "stepper", "setting", "formulation")}
        lost = {"status": outcome.kind.replace("_", " "), "message": outcome.failure}
        return cls(**asked, **(outcome.value or lost))


def measure(
    case: str, stepper: str, setting: float, formulation: str, instants: Sequence[float],
    values: Sequence[Sequence[float]], engines: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Simulate one motion, and compare it with published values, (r, columns), at the given instants.

    Returns the fields of `PublishedRun` that are not arguments. The engines are tried in order until a motion reaches
    its end; if none does, the motion is that of the last engine.
    """
    known, times = next(c for c in CASES if c.name == case), np.array(instants)
    # Record at the largest interval of which all published instants are multiples.
    interval = float(np.gcd.reduce(np.rint(times * 1e4).astype(int))) * 1e-4
    if registry.load("stepper", stepper).adaptive:
        how: dict[str, Any] = {"rtol": setting, "atol": setting, "dt": interval}
    else:
        many = times[-1] / setting > MOST_RECORDED
        how = {"dt": setting, "record_every": max(1, round(interval / setting)) if many else 1}
    named = None if formulation == "gauss" else formulation  # "auto" compiles a motion only if no formulation is named
    for engine in engines:
        try:
            motion = simulate(
                known.entry, named, stepper=stepper, t_end=float(times[-1]), stabilisation="projection",
                error_estimate=False, step_folder=None, engine=engine, **how,
            )  # fmt: skip
        except NotAccepted as refusal:
            if engine == engines[-1]:
                return {"status": "refused", "message": str(refusal)}
            continue
        if motion.status is Status.SOLVED:
            break
    error = math.nan
    if motion.status is Status.SOLVED:
        at = np.abs(motion.t[:, None] - times).argmin(axis=0)
        if np.abs(motion.t[at] - times).max() > 1e-9:
            raise ValueError(f"Some published instants of {case} are not among the recorded ones.")
        energy = np.full(len(motion.t), math.nan) if motion.energy is None else np.asarray(motion.energy)
        found = known.found(motion.q[at], motion.v[at], energy[at] - energy[0])
        error = float(np.abs(found - np.array(values)).max())
    return {
        "status": str(motion.status), "message": motion.message, "warned": bool(motion.warnings), "error": error,
        "steps": motion.meta["steps"], "engine": motion.meta["engine"],
        "seconds": motion.timing["total"] - motion.timing["prepare"] - motion.timing.get("compile", 0.0),
    }  # fmt: skip


def plan(quick: bool) -> Iterator[tuple[PublishedCase, Job]]:
    """Yield the motions of the report: each with its benchmark problem and its job."""
    for case in CASES:
        if quick and case.variant is not None:
            continue
        ladder = case.ladder or dict.fromkeys(CONSTANT, case.steps) | TOLERANCES
        # A quick report uses only the longest constant step, which is the cheapest, and only the tightest tolerance.
        if quick:
            ladder = {name: (max(x) if name in CONSTANT else min(x),) for name, x in ladder.items()}
        asked = [(name, x, "gauss", quick) for name, steps in ladder.items() for x in steps]
        if not quick and case.variant is None:
            stepper, setting = ("radau-projected", 1e-6) if case.stiff else ("dop853", 1e-7)
            asked += [(stepper, setting, formulation, True) for formulation in FORMULATIONS]
        for stepper, setting, formulation, early in asked:
            depends = (("problem", case.problem), ("stepper", stepper), ("formulation", formulation))
            instants, values = (x.tolist() for x in case.asked(early))
            arguments = {
                "case": case.name, "stepper": stepper, "setting": setting, "formulation": formulation,
                "instants": instants, "values": values,
                # Compiling would take longer than a quick report. All formulations are compared on the same engine.
                "engines": ["auto"] if quick else ["interpreted"] if early else ["compiled", "interpreted"],
            }  # fmt: skip
            key = f"{case.name}, {stepper} {setting:g}, {formulation}{EARLIER if early else ''}"
            weight = 5.0 if stepper == "radau-projected" else 1.0
            yield case, Job(key, measure, arguments, weight, LIMIT, depends)


def derive(case: str) -> None:
    """Generate the code of a problem once, so that its motions find it in the cache."""
    entry = next(c for c in CASES if c.name == case).entry
    entry.system.evaluate(0.0, entry.q0, entry.v0)


@dataclass(frozen=True)
class Measured:
    """Measured motions: whole motions by every stepper, and the first parts of motions by every formulation."""

    steppers: tuple[PublishedRun, ...]
    formulations: tuple[PublishedRun, ...]


def measured(
    out: str | Path, *, quick: bool = False, jobs: int = 1, progress: Callable[[float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Measured:  # fmt: skip
    """Run the benchmark problems in `jobs` processes; finished motions are stored in the folder and not run again.

    Raises BadInput, before anything is computed, if the folder cannot be written.
    """
    check_progress(progress)
    check_jobs(max(1, jobs))
    store, asked = Store(out, note=note), list(plan(quick))
    missing = {case.name for case, job in asked if store.get(job) is None}
    with Workers(jobs) as workers:
        run_jobs([Job(f"derive {name}", derive, {"case": name}) for name in missing], executor=workers)
        outcomes = run_jobs([job for _, job in asked], progress=progress, executor=workers, store=store)
    rows: dict[bool, list[PublishedRun]] = {True: [], False: []}
    for _, job in asked:
        rows[job.key.endswith(EARLIER) and not quick].append(PublishedRun.of(job, outcomes[job.key]))
    return Measured(tuple(rows[False]), tuple(rows[True]))
