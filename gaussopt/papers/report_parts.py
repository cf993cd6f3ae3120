"""Parts common to the sections of several papers: cases, tables, errata and claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison.items import states_of, typical_step
from gaussopt.comparison.pairing import installed_solvers, pairs
from gaussopt.comparison.reference_states import PairResult, clocked, measured_pair
from gaussopt.core import registry
from gaussopt.integration.trajectory import Trajectory
from gaussopt.jit.kernel import COMPILED
from gaussopt.modelling.erratum import Evidence
from gaussopt.modelling.problem import Problem, problem
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Block, Figure, Items, Section, Table, Tex, Timed
from gaussopt.reporting.figures import plots
from gaussopt.reporting.sections.problems import parameters_table as parameters_table
from gaussopt.reporting.texts import Texts
from gaussopt.simulation.simulate import simulate

texts = Texts(__file__)

SLOW = {"cvxpy": 10, "deap": 50, "deap-cma": 50}
"""Slow solvers, and the factors by which their strides over the states of a reference are multiplied."""

WIDEST = 200
"""Largest stride with which slow solvers skip states of a reference."""

FIRST_ALONE = 1000
"""A stride longer than any reference, so that slow solvers get only the first state in a quick run."""


def takes_part(solver: str, formulation: str, quick: bool) -> bool:
    """Return whether a solver is tried with a formulation; a quick run tries slow solvers with "gauss" only."""
    return not quick or solver not in SLOW or formulation == "gauss"


TIME_PARTS = ("model", "build", "hand over", "solve", "recover", "verify")
"""Parts of the time of a step; "hand over" is the update of the solver, or its set-up if it keeps no data."""


EXACT, ENGINE = ("gauss", "kkt"), "compiled" if COMPILED else "auto"
"""Formulation and solver, and the engine (compiled if possible), for motions that study the mechanism only."""


def motion(name: str, formulation: str, solver: str, settings: Mapping[str, Any], **options: Any) -> Trajectory:
    """Simulate a problem; estimate no error, and write no file for a step that is not accepted."""
    entry = problem(name, **settings)
    return simulate(entry, formulation, solver, step_folder=None, error_estimate=False, **options)


def motion_case(
    key: str, weight: float, name: str, pair: tuple[str, str], settings: Mapping[str, Any] | None = None, **options: Any
) -> Job:
    """Return the job that simulates a problem, under the given settings, by a pair (formulation, solver)."""
    arguments = {"name": name, "formulation": pair[0], "solver": pair[1], "settings": dict(settings or {}), **options}
    return Job(key, motion, arguments, weight)


@dataclass(frozen=True, slots=True)
class ByFormulation:
    """A formulation with every installed solver that accepts its program.

    `refused` states why the formulation does not fit the problem; each pair states why its solver rejects the program.
    """

    formulation: str
    refused: str
    pairs: tuple[PairResult, ...]


def by_formulation(name: str, references: Sequence[str], formulation: str, stride: int, quick: bool) -> ByFormulation:
    """Compare all installed solvers with a formulation on every `stride`-th reference state, slow ones on fewer."""
    entry = problem(name)
    start = entry.system.evaluate(0.0, entry.q0, entry.v0)
    reason = registry.load("formulation", formulation).refuses(start)
    if reason:
        return ByFormulation(formulation, reason, ())
    solvers = [s for s in installed_solvers() if takes_part(s, formulation, quick)]
    widest = FIRST_ALONE if quick else WIDEST
    found = []
    for _, solver in pairs([formulation], solvers, typical_step(entry)):
        every = min(widest, stride * SLOW.get(solver, 1))
        steps = (clocked(states_of(entry, reference, every)) for reference in references)
        found.append(measured_pair(steps, formulation, solver))
    # Direct linear algebra comes first, since the other solvers are compared with it.
    return ByFormulation(formulation, "", tuple(sorted(found, key=lambda r: (r.solver != "kkt", r.solver))))


def erratum(name: str, identifier: str) -> Evidence:
    """Compute the evidence for one erratum of a problem."""
    return next(e for e in problem(name).errata if e.id == identifier).check()


def errata_cases(name: str, weights: Mapping[str, float]) -> list[Job]:
    """Return one case for each erratum of a problem; `weights` holds the seconds of slow cases by erratum."""
    return [
        Job(f"erratum {e.id}", erratum, {"name": name, "identifier": e.id}, weights.get(e.id, 0.2))
        for e in problem(name).errata
    ]


def states_cases(name: str, references: Sequence[str], stride: int, quick: bool) -> list[Job]:
    """Return one case for each registered formulation, see `by_formulation`."""
    arguments = {"name": name, "references": tuple(references), "stride": stride, "quick": quick}
    return [
        Job(f"states: {f}", by_formulation, {**arguments, "formulation": f}, 2.0) for f in registry.names("formulation")
    ]


@dataclass(frozen=True)
class PaperResults:
    """Outcomes of cases by key; the value of a failed or missing case is None."""

    outcomes: Mapping[str, JobOutcome]

    def value(self, key: str) -> Any:
        """Return the value of a case."""
        outcome = self.outcomes.get(key)
        return None if outcome is None else outcome.value

    def trajectory(self, key: str) -> Trajectory | None:
        """Return the motion of a case; None if no state of the motion is recorded."""
        found: Trajectory | None = self.value(key)
        return found if found is not None and len(found.t) else None

    def group(self, prefix: str) -> dict[str, Any]:
        """Return the values of all cases whose key has this prefix; the keys of the result are without the prefix."""
        return {k.removeprefix(prefix): o.value for k, o in self.outcomes.items() if k.startswith(prefix) and o.value}

    def trajectories(self, prefix: str) -> dict[str, Trajectory]:
        """Return all motions whose key has this prefix; the keys of the result are without the prefix."""
        return {k: v for k, v in self.group(prefix).items() if len(v.t)}


def part(anchor: str, title: str, *blocks: Block | Iterable[Block] | None) -> Section:
    """Return a section of blocks and lists of blocks; None and empty tables, which failed cases leave, are dropped."""
    flat = [b for given in blocks for b in (given if isinstance(given, list | tuple) else (given,))]
    return Section(anchor, title, tuple(b for b in flat if b is not None and not (isinstance(b, Table) and not b.rows)))


def time_parts(pairs: Mapping[str, PairResult]) -> dict[str, list[float]]:
    """Return the time of each part of a step in microseconds, by the name of the part, in the order of the pairs."""
    seconds = [{**r.times, "hand over": r.times["update"] or r.times["setup"]} for r in pairs.values()]
    return {part: [1e6 * s[part] for s in seconds] for part in TIME_PARTS}


def times_table(name: str, pairs: Mapping[str, PairResult]) -> Table:
    """Return a table of the durations of the parts of one step."""
    of_parts = zip(*time_parts(pairs).values(), strict=True)
    rows = ((k, *values, 1e6 * r.times["backend"]) for (k, r), values in zip(pairs.items(), of_parts, strict=True))
    return texts.table("times", rows, anchor=name, timed=(*TIME_PARTS, "solver itself"))


def times_figure(name: str, pairs: Mapping[str, PairResult]) -> Figure:
    """Draw the parts of the time of one step, and their sum, for every pair."""
    parts = time_parts(pairs)
    totals = {k: sum(p[j] for p in parts.values()) for j, k in enumerate(pairs)}
    svg = plots.dots(list(pairs), {**parts, "sum": list(totals.values())}, "time of a step / µs, median")
    first, last = min(totals, key=totals.__getitem__), max(totals, key=totals.__getitem__)
    largest = Counter(max(parts, key=lambda part: parts[part][j]) for j in range(len(pairs)))
    most = ", ".join(f"'{part}' in {count}" for part, count in largest.most_common())
    sentence = f"fastest {first} with {totals[first]:.0f} µs, slowest {last} with {totals[last]:.0f} µs"
    return Figure(
        name,
        Timed.plain(texts("time", sentence=sentence, most=most, pairs=len(pairs))),
        f"Points for the parts of the time of one step for {len(pairs)} pairs: {sentence}.",
        svg, pd.DataFrame({"pair": list(pairs), **parts}), timed=True,
    )  # fmt: skip


def states_section(number: str, results: PaperResults, lead: str) -> Section:
    """Show every formulation with every solver on the states of the references: errors, refusals, details, times."""
    groups: list[ByFormulation] = [g for g in results.group("states: ").values() if isinstance(g, ByFormulation)]
    judged = [g for g in groups if not g.refused and g.pairs]
    refusals = [("formulation", g.formulation, g.refused) for g in groups if g.refused]
    reasons: dict[tuple[str, str], list[str]] = {}
    for g in judged:
        for r in g.pairs:
            if r.refused:
                reasons.setdefault((r.solver, r.refused), []).append(r.formulation)
    refusals += [("solver", f"{s} for {', '.join(of)}", why) for (s, why), of in reasons.items()]
    lucky = [g.formulation for g in judged if not g.pairs[0].exact and g.pairs[0].error < 1e-10]
    who = " and ".join(f"{f} (see paper {SHOWN_WRONG[f]})" if f in SHOWN_WRONG else f for f in lucky)
    # The detailed table has each formulation with its first solver only, but Gauss's program with every solver.
    shown = {
        f"{r.formulation} by {r.solver}": r
        for g in sorted(judged, key=lambda g: g.formulation == "gauss")
        for j, r in enumerate(p for p in g.pairs if not p.refused)
        if j == 0 or g.formulation == "gauss"
    }
    rows = (
        (k, r.exact, r.states, r.solved, r.claimed, r.error, r.certified, r.constraint_residual, r.iterations)
        for k, r in shown.items()
    )
    rounded = ("error", "certified", "constraint residual", "iterations")
    return part(
        f"states-{number}", "Formulations and solvers on given states",
        pairs_matrix(number, judged, lead), texts.table("refused", refusals, anchor=f"refused-{number}"),
        texts.blocks("lucky", who=who) if lucky else None,
        texts.table("states", rows, anchor=f"states-{number}", rounded=rounded), times_table(f"times-{number}", shown),
        times_figure(f"paper-{number}-time", shown) if shown else None,
    )  # fmt: skip


SHOWN_WRONG = {"least-squares-as-printed": "000", "pinv-mass-as-printed": "002"}
"""For each printed formulation that is wrong in general, the paper whose section shows this."""


def pairs_matrix(number: str, judged: Sequence[ByFormulation], lead: str) -> Table:
    """Tabulate solvers by formulations, without formulations that only one solver accepts (see the detailed table)."""
    wide = [g for g in judged if len(g.pairs) > 1]
    solvers = sorted({r.solver for g in wide for r in g.pairs}, key=lambda s: (s != "kkt", s))
    rows = []
    for solver in solvers:
        of = {r.formulation: r for g in wide for r in g.pairs if r.solver == solver}
        rows.append((solver, *(_cell(of.get(g.formulation)) for g in wide)))
    return Table(f"pairs-{number}", texts("pairs", lead=lead), ("solver", *(g.formulation for g in wide)), tuple(rows))


def _cell(result: PairResult | None) -> float | str:
    if result is None:
        return "–"
    if result.refused:
        return "refuses"
    if result.solved == result.states:
        return result.error
    error = f"{result.error:.1e}" if np.isfinite(result.error) else "fails"
    return f"{error}; {result.solved} of {result.states} confirmed"


def per_solve(traj: Trajectory) -> float:
    """Return the duration of one call of the solver, s."""
    return float(traj.timing["solve"] / traj.meta["evaluations"])


def certified(traj: Trajectory) -> tuple[Any, ...]:
    """Return a motion's number of evaluations, largest and median certified error, and largest constraint residual."""
    worst, median = traj.worst, float(np.median(traj.relative_error))
    return traj.meta["evaluations"], worst.relative_error, median, worst.constraint_residual


def errata_section(entry: Problem, number: str, results: PaperResults, findings: list[str]) -> Section:
    """Show the errata of the paper: the printed and the corrected formula, and the numbers of this run.

    Formulas of errata, sentences and notes may be LaTeX between dollar signs.
    """
    found: list[tuple[Any, ...]] = []
    numbers: list[tuple[Any, ...]] = []
    confirmed = 0
    for item in entry.errata:
        outcome = results.outcomes.get(f"erratum {item.id}")
        evidence: Evidence | None = None if outcome is None else outcome.value
        kind = f"{item.kind or ''}{f'; {item.doubt}' if item.doubt else ''}"
        formulas = Tex(item.where), Tex(kind), Tex(item.printed), Tex(item.correct)
        if evidence is None:
            why = "It was not run." if outcome is None else outcome.failure
            found.append((item.id, *formulas, NOT_COMPUTED, why))
            continue
        verdict = HOLDS if evidence.holds else CONFIRMED
        confirmed += not evidence.holds
        # These sentences state errors of the paper; leave them out where the numbers do not confirm them.
        found.append((item.id, *formulas, verdict, UNCONFIRMED if evidence.holds else Tex(evidence.sentence)))
        numbers += [(item.id, name, float(value)) for name, value in evidence.numbers.items()]
    if confirmed < len(entry.errata):  # if all are confirmed, the summary table already says so
        findings.append(f"{confirmed} of {len(entry.errata)} checkable errata are confirmed by computation.")
    return part(
        f"errata-{number}", "Errata", texts.table("errata-list", found, anchor=f"errata-{number}-list", number=number),
        texts.table("errata", numbers, anchor=f"errata-{number}"),
        Items(tuple(Tex(note) for note in entry.notes)) if entry.notes else None,
    )  # fmt: skip


CONFIRMED, HOLDS, NOT_COMPUTED = "misprint or false, confirmed", "the printed form holds", "not computed"
"""Verdicts on errata."""

UNCONFIRMED = "The numbers of this run do not show that it is wrong."
