"""Choose the pairs of formulation and solver that simulate the motion in a comparison, and make their jobs.

All pairs that are right on every step have the same accelerations up to rounding, so their motions differ little.
Where neither formulations nor solvers are named and motions are not requested, the fastest pair of each formulation
represents the others, and the time for these motions together is limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from gaussopt.comparison.cases import motion_case
from gaussopt.comparison.plan import MOTION_TIME, Plan
from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.solver_sequence_run import starts_of
from gaussopt.comparison.solver_spec import registered_name, stepper_settings
from gaussopt.comparison.sources import ProblemStates, plain_settings
from gaussopt.comparison.step_table import label_of
from gaussopt.core.time_step import SteppedSystem
from gaussopt.processes.job import Job, JobOutcome

CUT_SHORT = ("not_tried", "time_limit")
"""Outcomes that are not failures unless the user has set a time limit."""

Pair = tuple[str, str]


def most_motions(plan: Plan, asked: Sequence[Answers]) -> int:
    """Return how many motions would be simulated if every pair were right at every state."""
    carrying = {(r.source.name, r.formulation, r.solver) for r in asked if r.formulation and r.solver in plan.solvers}
    if plan.carriers is not None:
        carrying = {(name, f, s if s in plan.carriers else "") for name, f, s in carrying}
    return len(carrying) * len(plan.steppers) if plan.entries else 0


def motion_jobs(plan: Plan, answers: Sequence[Answers], times: Sequence[Times], seconds: float) -> list[Job]:
    """Return jobs for trajectories of the pairs whose answers are all confirmed, or only of the fastest of these pairs.

    Each trajectory is expected to take `seconds`.
    """
    found = []
    free = plan.carriers is None
    for entry in plan.entries:
        settings = plain_settings(entry)
        passed = _passed(plan, entry.name, settings, answers, times)
        chosen = list(passed) if plan.carriers is None else _fastest(passed, plan.carriers)
        own = (entry.system.stepper,) if isinstance(entry.system, SteppedSystem) else plan.steppers
        for (formulation, solver), stepper in product(chosen, own):
            depends = (
                ("problem", entry.name), ("formulation", formulation),
                ("solver", registered_name(solver)), ("stepper", stepper_settings(stepper)[0]),
            )  # fmt: skip
            arguments = {
                "problem": entry.name, "settings": settings, "formulation": formulation, "solver": solver,
                "stepper": stepper, "dt": plan.dt, "t_end": plan.t_end, "tolerance": plan.tolerance,
            }  # fmt: skip
            found.append(Job(
                f"motion | {entry.label} | {formulation} | {solver} | {stepper}", motion_case, arguments, seconds,
                limit=plan.case_limit if free else min(plan.case_limit, MOTION_TIME), depends=depends,
                share=("", math.inf) if free else (f"trajectories of {entry.label}", MOTION_TIME),
            ))  # fmt: skip
    return found


def _passed(
    plan: Plan, problem: str, settings: Mapping[str, object], answers: Iterable[Answers], times: Iterable[Times]
) -> dict[Pair, float]:
    """Return the pairs whose answers to a problem were all confirmed, with the seconds of a step; inf if not timed."""
    own = {
        s.source.key for s in plan.specs
        if isinstance(s, ProblemStates) and (s.problem, dict(s.settings)) == (problem, settings)
    }  # fmt: skip
    seconds = {(t.source.key, t.formulation, t.solver, t.start): t.step for t in times}
    found: dict[Pair, float] = {}
    for a in answers:
        # A simulation uses the last kind of start in STARTS that its solver offers.
        if a.source.key in own and a.solver in plan.solvers and a.start == starts_of(a.solver)[-1]:
            pair, good = (a.formulation, a.solver), not a.refused and not a.failure and all(a.confirmed)
            step = seconds.get((a.source.key, *pair, a.start), math.inf) if good else math.nan
            found[pair] = found.get(pair, 0.0) + step
    return {pair: step for pair, step in found.items() if not math.isnan(step)}


def _fastest(passed: Mapping[Pair, float], carriers: Sequence[str]) -> list[Pair]:
    """Return the fastest pair of each formulation and all pairs whose solver is one of `carriers`, sorted by time."""
    ranked = sorted(passed, key=lambda pair: passed[pair])
    best = {f: (f, s) for f, s in reversed(ranked)}
    return [pair for pair in ranked if pair == best[pair[0]] or pair[1] in carriers]


def sentence(plan: Plan, asked: Sequence[Job], outcomes: Mapping[str, JobOutcome]) -> str:
    """Return a sentence on the pairs that simulate for all, and on those that ran out of time; "" if all simulate."""
    if plan.carriers is None or not plan.entries:
        return ""
    late = [job.arguments for job in asked if outcomes[job.key].kind in CUT_SHORT]
    names = ", ".join(f"{label_of(a['formulation'], a['solver'])} on {a['problem']}" for a in late)
    missing = f" Not computed within {MOTION_TIME:g} s: {names}." if late else ""
    return (
        "Trajectories are those of the fastest pair of each formulation that is right on every step, because neither "
        f"formulations nor solvers were named.{missing} "
        "With --motions (motions=True in Python) all such pairs do."
    )
