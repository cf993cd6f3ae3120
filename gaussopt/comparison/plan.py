"""Plan a comparison: check the request before anything is computed, and make the jobs."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaussopt.comparison.cases import answer_case, time_case
from gaussopt.comparison.file_sources import ProgramFile, programs_of
from gaussopt.comparison.pairing import (
    check_formulation,
    depends_on,
    installed_solvers,
    is_exact,
    is_step_formulation,
    misfit,
    pairs,
)
from gaussopt.comparison.records import Answers, SourceKey
from gaussopt.comparison.solver_sequence_run import starts_of
from gaussopt.comparison.solver_spec import (
    at_setting,
    canonical,
    precision_words,
    registered_name,
    solver_class,
    stepper_settings,
)
from gaussopt.comparison.sources import (
    ExportedSequence,
    ProblemStates,
    convex_programs,
    lcp_programs,
    problem_specs,
)
from gaussopt.comparison.spec import Spec
from gaussopt.core import registry
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import LCP, QP
from gaussopt.kinds import page_of
from gaussopt.modelling.problem import Problem
from gaussopt.modelling.problem import problem as find_problem
from gaussopt.processes.environment import environment, versions
from gaussopt.processes.job import Job
from gaussopt.relaxations import RELAXATIONS
from gaussopt.simulation.settings import check_settings, check_start

FILES = (".json", ".npz", ".mat", ".mps", ".qps", ".MPS", ".QPS", ".SIF", ".sif", ".parquet")
"""Suffixes of the names of program files."""

MOTION_TIME = 30.0
"""Seconds for all trajectories of a problem together, and for each one, if the user did not request them."""

OF_SET = 0.1
"""Fraction that a single problem may take of a solver's time for a whole set of problems (`Spec.together`)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A request with its names resolved; for the other attributes see `gaussopt.comparison.compare.compare`.

    Attributes
    ----------
    specs : where the steps come from
    entries : the problems whose trajectories are to be simulated
    formulations, solvers : names, and names with options
    precision : formulations whose programs every solver also solves at each of its precision settings; "" for programs
    total : seconds for the answers of all pairs together, beyond which no further case begins
    clock : seconds after which the timing of a source is stopped
    carriers : solvers whose pairs all simulate; with other solvers only each formulation's fastest pair does; None: all
    """

    specs: tuple[Spec, ...]
    entries: tuple[Problem, ...]
    formulations: tuple[str, ...]
    solvers: tuple[str, ...]
    precision: tuple[str, ...]
    carriers: tuple[str, ...] | None
    steppers: tuple[str, ...]
    dt: float | None
    t_end: float | None
    tolerance: float
    time_budget: float
    case_limit: float
    total: float = math.inf
    clock: float = math.inf

    def limits(self, spec: Spec, solver: str) -> tuple[float, tuple[str, float]]:
        """Return the limit, s, for a solver's answers to a source, and the budget of which it is part (`Job.share`)."""
        if spec.together:
            return self.case_limit * OF_SET, (f"{solver} on {spec.together}", self.case_limit)
        return self.case_limit, ("all pairs", self.total)

    def meta(self) -> dict[str, Any]:
        """Return the settings and versions that the report states; dates and names of machines are not included."""
        return {
            "sources": [s.source.label for s in self.specs],
            "formulations": list(self.formulations), "solvers": list(self.solvers), "tolerance": self.tolerance,
            "steppers": list(self.steppers), "dt": self.dt, "t_end": self.t_end, "precision": list(self.precision),
            "time_budget": self.time_budget, "case_limit": self.case_limit, "problems": self._problems(),
            "versions": versions(), "code": self._code(),
            "files": self._files(),
        }  # fmt: skip

    def _files(self) -> dict[str, list[str]]:
        """Return the names of files with contact problems, by folder."""
        found: dict[str, list[str]] = {}
        for spec in self.specs:
            if isinstance(spec, ProgramFile) and spec.kind == "contact":
                found.setdefault(spec.name, []).append(Path(spec.path).name)
        return found

    def _code(self) -> dict[str, Any]:
        """Return hashes of the code and packages of solvers and formulations, by which `changes` detects changes."""
        parts = {("solver", registered_name(s)) for s in self.solvers} | {
            entry for f in self.formulations for entry in depends_on(f)
        }
        return {f"{kind} {name}": environment(((kind, name),)) for kind, name in sorted(parts)}

    def _problems(self) -> dict[str, Any]:
        """Return the start, end, step and parameter values of each problem, by the problem's label."""
        return {
            entry.label: {
                "t_end": entry.t_end, "dt": entry.dt, "q0": entry.q0.tolist(), "v0": entry.v0.tolist(),
                "parameters": dict(entry.parameter_values),
            }
            for entry in (spec.entry for spec in self.specs if isinstance(spec, ProblemStates))
        }  # fmt: skip


def listed_sources(sources: Any, note: Callable[[str], None]) -> tuple[list[str | Problem | Spec], list[str]]:
    """Return the sources, each of a known kind, and the names of solvers given as files; raises BadInput.

    If only solvers are given, the sets of programs that they accept are the sources.
    """
    single = isinstance(sources, str | os.PathLike | Problem | Spec) or not isinstance(sources, Iterable)
    found: list[str | Problem | Spec] = []
    solvers = []
    for source in [sources] if single else sources:
        if not isinstance(source, str | os.PathLike | Problem | Spec):
            raise BadInput(
                f"compare takes problems by name or file, problems and specs, not {type(source).__name__}; of a system "
                "make a problem with Problem.of, in a file of its own."
            )
        source = os.fspath(source) if isinstance(source, os.PathLike) else source
        if isinstance(source, str) and registry.holds_solver(source):
            solvers.append(registry.named_by_file("solver", source))
        elif isinstance(source, str) and (os.path.isdir(source) or source.endswith(FILES)):
            sequence = (Path(source) / "manifest.json").is_file()
            found += [ExportedSequence.of(source)] if sequence else programs_of(source, note)
        else:
            found.append(source)
    if not found:
        taken = {kind for name in solvers for kind in registry.load("solver", name).accepts}
        found += [*(convex_programs() if QP in taken else ()), *(lcp_programs() if LCP in taken else ())]
    return found, solvers


def plan_of(
    sources: Any, formulations: Sequence[str] | None, solvers: Sequence[str] | None,
    precision: bool | Sequence[str], stride: int, motions: bool | None, note: Callable[[str], None] | None = None,
    accuracy: Sequence[str] = ("default",), **settings: Any,
) -> Plan:  # fmt: skip
    """Check everything that can be checked before computing; raises UnknownName, BadInput, MissingBackend.

    The arguments are those of `gaussopt.comparison.compare.compare`; `settings` are attributes of the plan.
    """
    asked, own = listed_sources(sources, note or (lambda sentence: None))
    tolerance, budget, limit = settings["tolerance"], settings["time_budget"], settings["case_limit"]
    for holds, sentence in (
        (asked, "Give at least one problem, family or program to compare on."),
        (stride >= 1, f"stride is {stride}; it must be at least 1."),
        (tolerance > 0, f"tolerance is {tolerance}; it must be positive (inf records the bounds only)."),
        (0 <= budget < math.inf,
         f"The time budget is {budget} s; it must be a number of seconds, or 0 to take no times."),
        (limit > 0, f"The time limit of a case is {limit} s; it must be positive."),
        (settings["steppers"], "Give at least one stepper, such as rk4."),
    ):  # fmt: skip
        if not holds:
            raise BadInput(sentence)
    found = [find_problem(s) if isinstance(s, str) else s for s in asked]
    entries = tuple(s for s in found if isinstance(s, Problem))
    _check_motions(entries, settings)
    specs = [spec for s in found for spec in (problem_specs(s, stride) if isinstance(s, Problem) else (s,))]
    names = _all_formulations(specs) if formulations is None else list(formulations)
    for f in names:
        check_formulation(f)
    words = installed_solvers(stochastic=False) if solvers is None else [canonical(word) for word in solvers]
    words, own = ([at_setting(word, setting) for setting in accuracy for word in of] for of in ([*words, *own], own))
    for kind, listed in (("formulation", names), ("solver", words)):
        if not listed:
            raise BadInput(f"Give at least one {kind}, or none at all for every one.")
    unnamed = motions is None and formulations is None and solvers is None
    return Plan(
        _distinct(specs), () if motions is False else entries, tuple(names), tuple(dict.fromkeys(words)),
        _finer(precision, names), tuple(own) if unnamed else None, **settings,
    )  # fmt: skip


def _all_formulations(specs: Sequence[Spec]) -> list[str]:
    """Return the formulations of steps, of contacts in space, or both, as the sources require."""
    contacts = [spec for spec in specs if page_of(spec.typical()).formulations == "contact"]
    of_steps = registry.names("formulation") if len(contacts) < len(specs) else []
    return [*of_steps, *(RELAXATIONS if contacts else ())]


def _check_motions(entries: Sequence[Problem], settings: Mapping[str, Any]) -> None:
    """Check that other processes can find the problems, and that their trajectories can start."""
    known = registry.names("problem")
    for entry in entries:
        if entry.name not in known:
            called = repr(entry.name) if entry.name else "without a name"
            raise BadInput(
                f"The problem {called} is in no file, so that other processes cannot find it: save it as `problem` "
                "in a file, say mine.py, and compare 'mine.py'."
            )
        dt, t_end = (getattr(entry, k) if settings[k] is None else settings[k] for k in ("dt", "t_end"))
        for word in settings["steppers"]:
            name, own = stepper_settings(word)
            check_settings(own.get("dt", dt), t_end, name)
        check_start(entry)


def _finer(precision: bool | Sequence[str], formulations: Sequence[str]) -> tuple[str, ...]:
    """Return the formulations whose programs are solved at every precision setting; "" means given programs."""
    if isinstance(precision, bool):
        return ("", *formulations) if precision else ()
    for f in precision:
        check_formulation(f)
    return tuple(precision)


def _distinct(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Drop specs that occur twice; raises BadInput if different specs have the same label."""
    found = list({json.dumps(s.to_mapping(), sort_keys=True): s for s in specs}.values())
    for name, count in Counter(_words(s) for s in found).items():
        if count > 1:
            raise BadInput(f"{count} sources are called {name!r}; rename the files, or compare them one by one.")
    return tuple(found)


def answer_jobs(plan: Plan) -> list[tuple[Job, Answers]]:
    """Return a job for every pair and source, with the record that replaces its answers if the job fails.

    Raises BadInput if no pair fits.
    """
    found = []
    asked_of: list[tuple[Spec, type, list[tuple[str, str]]]] = []
    alike: dict[type, dict[tuple[str, str], None]] = {}
    for spec in plan.specs:
        step = spec.typical()
        asked = pairs(plan.formulations, plan.solvers, step)
        finer = [w for s in plan.solvers for w in precision_words(s)] if plan.precision else []
        if page_of(step).formulations == "step":
            asked += pairs([f for f in plan.formulations if f in plan.precision], finer, step)
        elif "" in plan.precision:
            asked += pairs((), finer, step)
        asked_of.append((spec, type(step), asked))
        if not spec.follows:
            alike.setdefault(type(step), {}).update(dict.fromkeys(asked))
    for spec, kind, asked in asked_of:
        # A pair that fits one of several unrelated problems tries all of its type, so that refusals are recorded.
        for formulation, solver in dict.fromkeys(asked) if spec.follows else alike[kind]:
            depends = (
                *spec.depends, ("solver", registered_name(solver)), *depends_on(formulation),
            )  # fmt: skip
            key = " | ".join(part for part in ("answers", _words(spec), formulation, solver) if part)
            arguments = {
                "spec": spec.to_mapping(), "formulation": formulation, "solver": solver, "tolerance": plan.tolerance,
            }  # fmt: skip
            weight = 1.0 if solver_class(solver).exact else 3.0
            limit, share = plan.limits(spec, solver)
            job = Job(key, answer_case, arguments, weight, limit, depends, share)
            start = starts_of(solver, spec.follows)[-1]
            found.append((job, Answers(spec.source, formulation, solver, start, is_exact(formulation))))
    if not found:
        fits = _fitting_pair(plan.specs[0])
        raise BadInput(f"None of these formulations and solvers fit these problems{fits and '; take ' + fits}.")
    return found


def _fitting_pair(first: Spec) -> str:
    """Return the options that name a formulation and a solver for a source, the usual ones if they fit."""
    asked = pairs(_all_formulations([first]), installed_solvers(stochastic=False), first.typical())
    known = "gauss", "stick-slip", "coulomb-soccp", "hybrid", "kkt", "lemke"
    best = max(asked, key=lambda pair: sum(name in known for name in pair), default=("", ""))
    return " ".join(f"--{kind}s {x}" for kind, x in zip(("formulation", "solver"), best, strict=True) if x)


def _words(spec: Spec) -> str:
    """Return a label that distinguishes a source from all other sources of a comparison."""
    source = spec.source
    if source.kind != "family":
        return source.label
    dials = ", ".join(f"{k}={v:g}" for k, v in source.dials.items())
    return f"{source.name} ({dials}; {source.swept})" if source.swept else f"{source.name} ({dials})"


def announcement(plan: Plan, asked: Sequence[Answers]) -> str:
    """Return a text on what a comparison will compute, and on how to make it smaller."""
    sources = list(dict.fromkeys(r.source.label for r in asked))
    pairs = len({(r.formulation, r.solver) for r in asked})
    where = sources[0] if len(sources) == 1 else f"{len(sources)} sequences of steps"
    each = "Each pair" if pairs > 1 else "The pair"
    sentences = [
        f"{pairs} pair{'s' * (pairs > 1)} of a formulation and a solver will be compared on {where}.",
        f"{each} first solves every step, and every answer is certified.",
    ]
    if plan.time_budget:
        seconds = seconds_on_the_clock(plan, asked)
        sentences.append(
            f"Then times are taken, for about {math.ceil(seconds)} s, or longer where a single step takes longer than "
            f"{plan.time_budget:g} s (--time-budget 0 leaves that out)."
        )
    if plan.entries and plan.carriers is None:
        sentences.append("Pairs that are right on every step also simulate the motion (--no-motions leaves that out).")
    elif plan.entries:
        sentences.append(
            "Of each formulation the fastest pair that is right on every step also simulates the motion, for at most "
            f"{MOTION_TIME:g} s in all (--motions: all such pairs, without this limit; --no-motions: none)."
        )
    return " ".join([*sentences, "To do less, name --formulations and --solvers."])


def seconds_on_the_clock(plan: Plan, asked: Sequence[Answers]) -> float:
    """Return the estimated duration, s, of timing the pairs in `asked` with every kind of start of their solvers."""
    follow = {spec.source.key: spec.follows for spec in plan.specs}
    return plan.time_budget * sum(len(starts_of(r.solver, follow[r.source.key])) for r in asked)


def time_jobs(plan: Plan, answers: Iterable[Answers]) -> list[Job]:
    """Return one job for each source, which times all pairs that answered the source, so that they take turns."""
    if plan.time_budget == 0:
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
        entries = [("solver", registered_name(s)) for _, s in there] + [d for f, _ in there for d in depends_on(f)]
        arguments = {
            "spec": spec.to_mapping(), "pairs": [list(pair) for pair in there], "tolerance": plan.tolerance,
            "budget": plan.time_budget,
        }  # fmt: skip
        found.append(Job(
            f"times | {_words(spec)}", time_case, arguments,
            plan.time_budget * sum(len(starts_of(solver, spec.follows)) for _, solver in there),
            # Every pair answered all steps within this limit, which therefore also bounds each pass over the steps.
            limit=min(plan.clock, (plan.limits(spec, "")[0] + 30 * plan.time_budget) * len(there)),
            depends=tuple(dict.fromkeys((*spec.depends, *entries))),
        ))  # fmt: skip
    return found


def misfits(plan: Plan) -> list[Answers]:
    """Return a record, with the reason, of each formulation that does not fit a problem or family."""
    found: dict[tuple[str, str], Answers] = {}
    for spec in plan.specs:
        step: Any = spec.typical()
        if page_of(step).formulations != "step":
            continue
        for f in plan.formulations:
            if not is_step_formulation(f):
                continue
            reason = misfit(registry.load("formulation", f), step)
            if reason:
                said = spec.worded(reason, step)
                record = Answers(spec.source, f, "", "setup", is_exact(f), refused=said)
                found.setdefault((spec.source.name, f), record)
    return list(found.values())
