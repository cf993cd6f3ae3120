"""Compare formulations and solvers: plan the cases, run them, gather the records.

Every pair first answers to every source. Who answered takes turns with its rivals on the clock, and pairs whose every
answer was confirmed carry a trajectory.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gaussopt.certificates.bilateral import DEFAULT_TOLERANCE
from gaussopt.comparison import tables
from gaussopt.comparison.cases import answer_case, motion_case, time_case
from gaussopt.comparison.pairing import installed_solvers, misfit, pairs
from gaussopt.comparison.records import Answers, MotionRecord, SourceKey, Times
from gaussopt.comparison.solver_sequence_run import starts_of
from gaussopt.comparison.solver_spec import canonical, precision_words, registered_name, solver_class, stepper_settings
from gaussopt.comparison.sources import ProblemStates, Spec, plain_settings, problem_specs
from gaussopt.core import registry
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.execution.store import Store
from gaussopt.execution.versions import versions
from gaussopt.execution.workers import Workers, check_jobs, run_jobs
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.processes.job import Job, Outcome
from gaussopt.simulation.simulate import check_settings, check_start

if TYPE_CHECKING:
    import pandas as pd

TIME_BUDGET = 0.2
"""Seconds on the clock for each solver and way of starting, on each source and formulation."""

CASE_LIMIT = 300.0
"""Seconds after which a case is given up."""


@dataclass(frozen=True, slots=True)
class Results:
    """What `compare` found.

    Attributes
    ----------
    answers : of every pair to every source; `refused` says why a pair does not apply
    times : of those that answered
    motions : of pairs that passed on all states of a problem
    failures : what broke, by case
    meta : what was asked, and with what it was computed
    store : folder of the finished cases, None if they were not kept
    """

    answers: tuple[Answers, ...]
    times: tuple[Times, ...]
    motions: tuple[MotionRecord, ...]
    failures: dict[str, str]
    meta: dict[str, Any] = field(default_factory=dict)
    store: Path | None = None

    def to_mapping(self) -> dict[str, Any]:
        """For JSON: every record and what was asked."""
        return {
            "answers": [r.to_mapping() for r in self.answers],
            "times": [r.to_mapping() for r in self.times],
            "motions": [r.to_mapping() for r in self.motions],
            "failures": self.failures,
            "meta": self.meta,
        }

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """The tables `summary`, `steps`, `times` and `motions`."""
        return tables.frames(self.answers, self.times, self.motions)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], store: Path | None = None) -> Self:
        """The results of a mapping that comes from a file.

        Raises
        ------
        KeyError, TypeError, ValueError
            If a record is none.
        """
        failures, meta = data["failures"], data["meta"]
        if not isinstance(meta, dict) or not all(isinstance(x, str) for x in (*failures, *failures.values())):
            raise TypeError("failures and meta are no mappings of text")
        if not all(isinstance(x, str) for x in meta.get("sources", [])):
            raise TypeError("sources are no names")
        return cls(
            tuple(map(Answers.read, data["answers"])), tuple(map(Times.read, data["times"])),
            tuple(map(MotionRecord.read, data["motions"])), dict(failures), dict(meta), store,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, checked before anything is computed.

    Attributes
    ----------
    specs : where the steps come from
    entries : the problems whose trajectories are asked for
    formulations, solvers : names, and words with options
    carriers : solvers that may carry a trajectory
    precision : formulations on which solvers are also run at every setting of their precision, "" for programs
    """

    specs: tuple[Spec, ...]
    entries: tuple[Problem, ...]
    formulations: tuple[str, ...]
    solvers: tuple[str, ...]
    carriers: frozenset[str]
    tolerance: float
    steppers: tuple[str, ...]
    dt: float | None
    t_end: float | None
    precision: tuple[str, ...]
    budget: float
    limit: float

    def meta(self) -> dict[str, Any]:
        """For the report: settings and versions, no dates and no machine names."""
        return {
            "sources": [s.source.label for s in self.specs],
            "formulations": list(self.formulations), "solvers": list(self.solvers), "tolerance": self.tolerance,
            "steppers": list(self.steppers), "dt": self.dt, "t_end": self.t_end, "precision": list(self.precision),
            "time_budget": self.budget, "case_limit": self.limit, "problems": self._problems(), "versions": versions(),
        }  # fmt: skip

    def _problems(self) -> dict[str, Any]:
        """Start and parameter values of the problems, by their labels."""
        found = {}
        for spec in self.specs:
            if isinstance(spec, ProblemStates):
                entry = find_problem(spec.problem, **spec.settings)
                found[entry.label] = {
                    "t_end": entry.t_end, "dt": entry.dt, "q0": entry.q0.tolist(), "v0": entry.v0.tolist(),
                    "parameters": dict(entry.parameter_values),
                }  # fmt: skip
        return found


def compare(
    sources: str | Problem | Spec | Sequence[str | Problem | Spec],
    formulations: Sequence[str] | None = None,
    solvers: Sequence[str] | None = None,
    *,
    stepper: str | Sequence[str] = "rk4",
    dt: float | None = None,
    t_end: float | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    stride: int = 10,
    precision: bool | Sequence[str] = False,
    motions: bool = True,
    time_budget: float = TIME_BUDGET,
    case_limit: float = CASE_LIMIT,
    jobs: int = 1,
    executor: Executor | None = None,
    store: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Results:
    """Compare formulations and solvers on problems, families and programs.

    Parameters
    ----------
    sources : names or files of problems, problems, or specs
        Such as those of `family_sweep`, `ProgramFile`, `convex_programs`.
        Of a problem the states of all its references are taken, of one without references those of its own motion.
    formulations : names; all that are registered if not given
    solvers : names, with options in parentheses if wanted; all that are installed if not given
    stepper : name or names
        Of the trajectories, with dt, rtol and atol in parentheses if wanted: "rk45(rtol=1e-6,atol=1e-6)".
    dt, t_end : the problem's own if not given; of adaptive steppers dt is the recording interval
    tolerance : of the certificate
    stride : every how many states of a reference
    precision : formulations on which solvers that can be told how precise to be also run from loose to tight; True: all
    motions : whether pairs that passed on every state also carry a trajectory; stochastic solvers do only if named
    time_budget : float
        Seconds on the clock for each solver and way of starting, on each source and formulation; 0 takes no times.
    case_limit : float
        Seconds after which a case is given up and recorded as such.
    jobs : processes on this machine
    executor : where to run the cases instead; any `concurrent.futures.Executor`
    store : folder
        Finished cases are kept there, and those already there are not computed again.
    progress : called with the fraction done
    note : called with sentences on what will be done, and on what was set aside in the store

    Returns
    -------
    Results

    Raises
    ------
    UnknownName, BadInput, MissingBackend
        Before anything is computed.
    """
    asked_for = _asked_for(sources)
    check_jobs(max(1, jobs))  # less than one has always been one
    steppers = (stepper,) if isinstance(stepper, str) else tuple(stepper)
    plan = _plan(
        asked_for, formulations, solvers, steppers, dt, t_end, tolerance, stride, precision, motions, time_budget,
        case_limit,
    )  # fmt: skip
    kept = None if store is None else Store(store, note=note)

    def run(where: Executor, cases: list[Job], begin: float, end: float) -> dict[str, Outcome]:
        if not cases:
            return {}
        share = None if progress is None else lambda done: progress(begin + (end - begin) * done)
        return run_jobs(cases, progress=share, executor=where, store=kept)

    asked = _answer_cases(plan)
    if not asked:
        raise BadInput("None of these formulations and solvers fit these problems.")
    if note is not None:
        note(_announcement(plan, [blank for _, blank in asked]))
    with Workers(jobs) if executor is None else nullcontext(executor) as where:
        outcomes = run(where, [case for case, _ in asked], 0.0, 0.5)
        answers = [r for case, blank in asked for r in _answers(outcomes[case.key], blank)]
        later = _time_cases(plan, answers) + _motion_cases(plan, answers)
        more = run(where, later, 0.5, 1.0)
    if kept is not None and note is not None:
        stale = kept.stale([case for case, _ in asked] + later)
        if stale:
            note(f"{stale} finished cases in {store} belong to other settings or other code and are not used.")
    times = [Times.from_mapping(r) for o in more.values() if isinstance(o.value, list) for r in o.value]
    carried = [
        MotionRecord(**{**o.value["motion"], "trajectory": _file(kept, case)})
        for case in later
        if isinstance((o := more[case.key]).value, dict)
    ]
    outcomes |= more
    failures = {key: o.failure for key, o in outcomes.items() if o.failure}
    refused = _misfits(plan)
    if progress is not None:
        progress(1.0)
    return Results(
        (*answers, *refused), tuple(times), tuple(carried), failures, plan.meta(),
        None if store is None else Path(store),
    )  # fmt: skip


def _asked_for(sources: Any) -> list[str | Problem | Spec]:
    """The sources as a list, each of a known kind."""
    single = isinstance(sources, str | os.PathLike | Problem | Spec) or not isinstance(sources, Iterable)
    found: list[str | Problem | Spec] = []
    for source in [sources] if single else sources:
        if not isinstance(source, str | os.PathLike | Problem | Spec):
            raise BadInput(
                f"compare takes problems by name or file, problems and specs, not {type(source).__name__}; of a system "
                "make a problem with Problem.of, in a file of its own."
            )
        found.append(os.fspath(source) if isinstance(source, os.PathLike) else source)
    return found


def _plan(
    sources: list[str | Problem | Spec],
    formulations: Sequence[str] | None,
    solvers: Sequence[str] | None,
    steppers: tuple[str, ...],
    dt: float | None,
    t_end: float | None,
    tolerance: float,
    stride: int,
    precision: bool | Sequence[str],
    motions: bool,
    budget: float,
    limit: float,
) -> Plan:
    """Check everything that can be checked before computing."""
    if not sources:
        raise BadInput("Give at least one problem, family or program to compare on.")
    if stride < 1:
        raise BadInput(f"stride is {stride}; it must be at least 1.")
    if not tolerance > 0:
        raise BadInput(f"tolerance is {tolerance}; it must be positive (inf records the bounds only).")
    if not (budget >= 0 and math.isfinite(budget)):
        raise BadInput(f"The time budget is {budget} s; it must be a number of seconds, or 0 to take no times.")
    if not limit > 0:
        raise BadInput(f"The time limit of a case is {limit} s; it must be positive.")
    if not steppers:
        raise BadInput("Give at least one stepper, such as rk4.")
    entries = [find_problem(s) if isinstance(s, str) else s for s in sources if not isinstance(s, Spec)]
    known = registry.names("problem")
    for entry in entries:
        if entry.name not in known:
            raise BadInput(
                f"The problem {entry.name!r} is not registered, so that other processes cannot find it: put it into a "
                "file and call go.register on it."
            )
        for word in steppers:
            name, own = stepper_settings(word)
            step = own.get("dt", entry.dt if dt is None else dt)
            check_settings(step, entry.t_end if t_end is None else t_end, name)
        check_start(entry)
    names = registry.names("formulation") if formulations is None else list(formulations)
    for f in names:
        registry.load("formulation", f)
    words = installed_solvers() if solvers is None else [canonical(word) for word in solvers]
    for kind, listed in (("formulation", names), ("solver", words)):
        if not listed:
            raise BadInput(f"Give at least one {kind}, or none at all for every one.")
    carriers = frozenset(w for w in words if solvers is not None or not solver_class(w).stochastic)
    specs: list[Spec] = []
    for s in sources:
        if isinstance(s, Spec):
            specs.append(s)
        else:
            specs += problem_specs(find_problem(s) if isinstance(s, str) else s, stride)
    return Plan(
        _distinct(specs),
        tuple(entries) if motions else (),
        tuple(names),
        tuple(dict.fromkeys(words)),
        carriers,
        tolerance,
        steppers,
        dt,
        t_end,
        _finer(precision, names),
        budget,
        limit,
    )


def _finer(precision: bool | Sequence[str], formulations: Sequence[str]) -> tuple[str, ...]:
    """Formulations whose programs are also solved from loose to tight; "" stands for programs without one."""
    if isinstance(precision, bool):
        return ("", *formulations) if precision else ()
    for f in precision:
        registry.load("formulation", f)
    return tuple(precision)


def _distinct(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Each spec once, under a name of its own."""
    found = list({json.dumps(s.to_mapping(), sort_keys=True): s for s in specs}.values())
    for name, count in Counter(_words(s) for s in found).items():
        if count > 1:
            raise BadInput(f"{count} sources are called {name!r}; rename the files, or compare them one by one.")
    return tuple(found)


def _answer_cases(plan: Plan) -> list[tuple[Job, Answers]]:
    """A case for every pair and source, and the record that stands for it if it fails."""
    found = []
    for spec in plan.specs:
        step = spec.typical()
        asked = pairs(plan.formulations, plan.solvers, step)
        finer = [w for s in plan.solvers for w in precision_words(s)] if plan.precision else []
        if isinstance(step, StepData):
            asked += pairs([f for f in plan.formulations if f in plan.precision], finer, step)
        elif "" in plan.precision:
            asked += pairs((), finer, step)
        for formulation, solver in dict.fromkeys(asked):
            name = registered_name(solver)
            depends = (*spec.depends, ("solver", name), *((("formulation", formulation),) if formulation else ()))
            key = " | ".join(part for part in ("answers", _words(spec), formulation, solver) if part)
            arguments = {
                "spec": spec.to_mapping(), "formulation": formulation, "solver": solver, "tolerance": plan.tolerance,
            }  # fmt: skip
            cls = solver_class(solver)
            weight = 1.0 if cls.exact else 3.0
            case = Job(key, answer_case, arguments, weight, limit=plan.limit, depends=depends)
            exact = bool(registry.load("formulation", formulation).exact) if formulation else True
            found.append((case, Answers(spec.source, formulation, solver, starts_of(cls)[-1], exact)))
    return found


def _words(spec: Spec) -> str:
    """A label that tells all sources of a comparison apart."""
    source = spec.source
    if source.kind != "family":
        return source.label
    dials = ", ".join(f"{k}={v:g}" for k, v in source.dials.items())
    return f"{source.name} ({dials}; {source.swept})" if source.swept else f"{source.name} ({dials})"


def _announcement(plan: Plan, asked: Sequence[Answers]) -> str:
    """What a comparison is about to do, and how it could do less."""
    sources = len({r.source.key for r in asked})
    parts = [f"{len(asked)} pairs of a formulation and a solver answer to {sources} source{'s' * (sources > 1)}"]
    ways = sum(len(starts_of(solver_class(r.solver))) for r in asked)
    if plan.budget:
        spent = f"about {plan.budget * ways:.0f} s of the clock alone, a part of the whole"
        parts.append(f"are timed ({spent}; --time-budget)")
    if plan.entries:
        parts.append("carry a trajectory of each problem where all they said was right (--no-motions leaves that out)")
    return f"{', '.join(parts)}; --formulations and --solvers choose among them."


def _answers(outcome: Outcome, blank: Answers) -> list[Answers]:
    if outcome.failure:
        return [Answers.from_mapping({**blank.to_mapping(), "failure": outcome.failure})]
    return [Answers.from_mapping(r) for r in outcome.value]


def _time_cases(plan: Plan, answers: Iterable[Answers]) -> list[Job]:
    """All pairs that answered to a source, on one clock."""
    if plan.budget == 0:
        return []
    rivals: dict[SourceKey, dict[tuple[str, str], None]] = {}
    for r in answers:
        if not (r.refused or r.failure):
            rivals.setdefault(r.source.key, {})[r.formulation, r.solver] = None
    found = []
    for spec in plan.specs:
        there = list(rivals.get(spec.source.key, ()))
        if not there:
            continue
        entries = [("solver", registered_name(s)) for _, s in there]
        entries += [("formulation", f) for f, _ in there if f]
        arguments = {
            "spec": spec.to_mapping(), "pairs": [list(pair) for pair in there], "tolerance": plan.tolerance,
            "budget": plan.budget,
        }  # fmt: skip
        # Each of them has answered to the whole sequence within the limit.
        limit = (plan.limit + 30 * plan.budget) * len(there)
        depends = tuple(dict.fromkeys((*spec.depends, *entries)))
        found.append(
            Job(f"times | {_words(spec)}", time_case, arguments, 3.0 * len(there), limit=limit, depends=depends)
        )
    return found


def _motion_cases(plan: Plan, answers: Iterable[Answers]) -> list[Job]:
    """Trajectories of the pairs whose every answer to every reference of a problem was confirmed."""
    found = []
    for entry in plan.entries:
        own = {s.source.key for s in plan.specs if isinstance(s, ProblemStates) and _belongs(s, entry)}
        passed: dict[tuple[str, str], bool] = {}
        for r in answers:
            # A simulation starts as the last of a solver's ways of starting does.
            if r.source.key in own and r.start == starts_of(solver_class(r.solver))[-1]:
                good = not r.refused and not r.failure and all(r.confirmed)
                passed[r.formulation, r.solver] = passed.get((r.formulation, r.solver), True) and good
        for (formulation, solver), good in passed.items():
            if not good or solver not in plan.carriers:
                continue
            for stepper in plan.steppers:
                depends = (
                    ("problem", entry.name), ("formulation", formulation),
                    ("solver", registered_name(solver)), ("stepper", stepper_settings(stepper)[0]),
                )  # fmt: skip
                arguments = {
                    "problem": entry.name, "settings": plain_settings(entry), "formulation": formulation,
                    "solver": solver, "stepper": stepper, "dt": plan.dt, "t_end": plan.t_end,
                    "tolerance": plan.tolerance,
                }  # fmt: skip
                key = f"motion | {entry.label} | {formulation} | {solver} | {stepper}"
                found.append(Job(key, motion_case, arguments, 5.0, limit=plan.limit, depends=depends))
    return found


def _belongs(spec: ProblemStates, entry: Problem) -> bool:
    return spec.problem == entry.name and dict(spec.settings) == plain_settings(entry)


def _file(store: Store | None, case: Job) -> str:
    return "" if store is None else store.path(case, "trajectory.nc").name


def _misfits(plan: Plan) -> list[Answers]:
    """Formulations that do not fit a source, with the reason; once for each problem."""
    found: dict[tuple[str, str], Answers] = {}
    for spec in plan.specs:
        step = spec.typical()
        if not isinstance(step, StepData):
            continue
        for f in plan.formulations:
            formulation = registry.load("formulation", f)
            reason = misfit(formulation, step)
            if reason:
                said = spec.worded(reason, step)
                record = Answers(spec.source, f, "", "setup", bool(formulation.exact), refused=said)
                found.setdefault((spec.source.name, f), record)
    return list(found.values())
