"""Plans of comparisons: what is asked, checked before anything is computed, and the jobs that follow from it."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gaussopt.comparison.cases import answer_case, motion_case, time_case
from gaussopt.comparison.pairing import installed_solvers, misfit, pairs
from gaussopt.comparison.records import Answers, SourceKey
from gaussopt.comparison.solver_sequence_run import starts_of
from gaussopt.comparison.solver_spec import canonical, precision_words, registered_name, solver_class, stepper_settings
from gaussopt.comparison.sources import ProblemStates, Spec, plain_settings, problem_specs
from gaussopt.core import registry
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.execution.versions import versions
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.processes.job import Job
from gaussopt.simulation.settings import check_settings, check_start


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of `gaussopt.comparison.compare.compare` that decide results; see there."""

    sources: Sequence[str | Problem | Spec]
    formulations: Sequence[str] | None
    solvers: Sequence[str] | None
    steppers: tuple[str, ...]
    dt: float | None
    t_end: float | None
    tolerance: float
    stride: int
    precision: bool | Sequence[str]
    motions: bool
    time_budget: float
    case_limit: float

    def check(self) -> None:
        """Check the numbers; raises BadInput."""
        if not self.sources:
            raise BadInput("Give at least one problem, family or program to compare on.")
        if self.stride < 1:
            raise BadInput(f"stride is {self.stride}; it must be at least 1.")
        if not self.tolerance > 0:
            raise BadInput(f"tolerance is {self.tolerance}; it must be positive (inf records the bounds only).")
        if not (self.time_budget >= 0 and math.isfinite(self.time_budget)):
            raise BadInput(
                f"The time budget is {self.time_budget} s; it must be a number of seconds, or 0 to take no times."
            )
        if not self.case_limit > 0:
            raise BadInput(f"The time limit of a case is {self.case_limit} s; it must be positive.")
        if not self.steppers:
            raise BadInput("Give at least one stepper, such as rk4.")


@dataclass(frozen=True, slots=True)
class Plan:
    """A request whose names are resolved.

    Attributes
    ----------
    request : Request
    specs : where the steps come from
    entries : the problems whose trajectories are asked for
    formulations, solvers : names, and words with options
    carriers : solvers that may carry a trajectory
    precision : formulations on which solvers are also run at every setting of their precision, "" for programs
    """

    request: Request
    specs: tuple[Spec, ...]
    entries: tuple[Problem, ...]
    formulations: tuple[str, ...]
    solvers: tuple[str, ...]
    carriers: frozenset[str]
    precision: tuple[str, ...]

    def meta(self) -> dict[str, Any]:
        """Settings and versions for the report, no dates and no machine names."""
        asked = self.request
        return {
            "sources": [s.source.label for s in self.specs],
            "formulations": list(self.formulations), "solvers": list(self.solvers), "tolerance": asked.tolerance,
            "steppers": list(asked.steppers), "dt": asked.dt, "t_end": asked.t_end, "precision": list(self.precision),
            "time_budget": asked.time_budget, "case_limit": asked.case_limit, "problems": self._problems(),
            "versions": versions(),
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


def listed_sources(sources: Any) -> list[str | Problem | Spec]:
    """The sources as a list, each of a known kind; raises BadInput."""
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


def plan_of(request: Request) -> Plan:
    """Check everything that can be checked before computing; raises UnknownName, BadInput, MissingBackend."""
    request.check()
    sources = [find_problem(s) if isinstance(s, str) else s for s in request.sources]
    entries = tuple(s for s in sources if isinstance(s, Problem))
    _check_motions(entries, request)
    names = registry.names("formulation") if request.formulations is None else list(request.formulations)
    for f in names:
        registry.load("formulation", f)
    words = installed_solvers() if request.solvers is None else [canonical(word) for word in request.solvers]
    for kind, listed in (("formulation", names), ("solver", words)):
        if not listed:
            raise BadInput(f"Give at least one {kind}, or none at all for every one.")
    carriers = frozenset(w for w in words if request.solvers is not None or not solver_class(w).stochastic)
    specs: list[Spec] = []
    for s in sources:
        specs += problem_specs(s, request.stride) if isinstance(s, Problem) else [s]
    return Plan(
        request, _distinct(specs), entries if request.motions else (), tuple(names), tuple(dict.fromkeys(words)),
        carriers, _finer(request.precision, names),
    )  # fmt: skip


def _check_motions(entries: Sequence[Problem], request: Request) -> None:
    """See that other processes can find the problems, and that their trajectories can begin."""
    known = registry.names("problem")
    for entry in entries:
        if entry.name not in known:
            raise BadInput(
                f"The problem {entry.name!r} is not registered, so that other processes cannot find it: put it into a "
                "file and call go.register on it."
            )
        for word in request.steppers:
            name, own = stepper_settings(word)
            step = own.get("dt", entry.dt if request.dt is None else request.dt)
            check_settings(step, entry.t_end if request.t_end is None else request.t_end, name)
        check_start(entry)


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


def answer_jobs(plan: Plan) -> list[tuple[Job, Answers]]:
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
                "spec": spec.to_mapping(), "formulation": formulation, "solver": solver,
                "tolerance": plan.request.tolerance,
            }  # fmt: skip
            cls = solver_class(solver)
            weight = 1.0 if cls.exact else 3.0
            job = Job(key, answer_case, arguments, weight, limit=plan.request.case_limit, depends=depends)
            exact = bool(registry.load("formulation", formulation).exact) if formulation else True
            found.append((job, Answers(spec.source, formulation, solver, starts_of(cls)[-1], exact)))
    return found


def _words(spec: Spec) -> str:
    """A label that tells all sources of a comparison apart."""
    source = spec.source
    if source.kind != "family":
        return source.label
    dials = ", ".join(f"{k}={v:g}" for k, v in source.dials.items())
    return f"{source.name} ({dials}; {source.swept})" if source.swept else f"{source.name} ({dials})"


def announcement(plan: Plan, asked: Sequence[Answers]) -> str:
    """Announce what a comparison is about to do, and how it could do less."""
    sources = len({r.source.key for r in asked})
    parts = [f"{len(asked)} pairs of a formulation and a solver answer to {sources} source{'s' * (sources > 1)}"]
    ways = sum(len(starts_of(solver_class(r.solver))) for r in asked)
    if plan.request.time_budget:
        spent = f"about {plan.request.time_budget * ways:.0f} s of the clock alone, a part of the whole"
        parts.append(f"are timed ({spent}; --time-budget)")
    if plan.entries:
        parts.append("carry a trajectory of each problem where all they said was right (--no-motions leaves that out)")
    return f"{', '.join(parts)}; --formulations and --solvers choose among them."


def time_jobs(plan: Plan, answers: Iterable[Answers]) -> list[Job]:
    """All pairs that answered to a source, on one clock."""
    if plan.request.time_budget == 0:
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
            "spec": spec.to_mapping(), "pairs": [list(pair) for pair in there], "tolerance": plan.request.tolerance,
            "budget": plan.request.time_budget,
        }  # fmt: skip
        # Each of them has answered to the whole sequence within the limit.
        limit = (plan.request.case_limit + 30 * plan.request.time_budget) * len(there)
        depends = tuple(dict.fromkeys((*spec.depends, *entries)))
        found.append(
            Job(f"times | {_words(spec)}", time_case, arguments, 3.0 * len(there), limit=limit, depends=depends)
        )
    return found


def motion_jobs(plan: Plan, answers: Iterable[Answers]) -> list[Job]:
    """Trajectories of the pairs whose every answer to every reference of a problem was confirmed."""
    found = []
    for entry in plan.entries:
        settings = plain_settings(entry)
        own = {
            s.source.key for s in plan.specs
            if isinstance(s, ProblemStates) and (s.problem, dict(s.settings)) == (entry.name, settings)
        }  # fmt: skip
        passed: dict[tuple[str, str], bool] = {}
        for r in answers:
            # A simulation starts as the last of a solver's ways of starting does.
            if r.source.key in own and r.start == starts_of(solver_class(r.solver))[-1]:
                good = not r.refused and not r.failure and all(r.confirmed)
                passed[r.formulation, r.solver] = passed.get((r.formulation, r.solver), True) and good
        for (formulation, solver), good in passed.items():
            if not good or solver not in plan.carriers:
                continue
            for stepper in plan.request.steppers:
                depends = (
                    ("problem", entry.name), ("formulation", formulation),
                    ("solver", registered_name(solver)), ("stepper", stepper_settings(stepper)[0]),
                )  # fmt: skip
                arguments = {
                    "problem": entry.name, "settings": settings, "formulation": formulation,
                    "solver": solver, "stepper": stepper, "dt": plan.request.dt, "t_end": plan.request.t_end,
                    "tolerance": plan.request.tolerance,
                }  # fmt: skip
                key = f"motion | {entry.label} | {formulation} | {solver} | {stepper}"
                found.append(Job(key, motion_case, arguments, 5.0, limit=plan.request.case_limit, depends=depends))
    return found


def misfits(plan: Plan) -> list[Answers]:
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
