"""Steps with contacts for the report: every formulation with every solver, and the answers of each program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison.items import Item
from gaussopt.comparison.pairing import installed_solvers, pairs
from gaussopt.comparison.reference_states import PairResult, measured_pair
from gaussopt.contact.activity import closed_contacts
from gaussopt.core import registry
from gaussopt.core.arrays import Vector
from gaussopt.core.display import gathered
from gaussopt.core.errors import NotAccepted
from gaussopt.core.step_data import StepData
from gaussopt.formulations.base import Formulation
from gaussopt.modelling.problem import problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.report_parts import ByFormulation, PaperResults
from gaussopt.problems import two_bar
from gaussopt.processes.job import Job
from gaussopt.reporting.document import Block, Data, Section, Table
from gaussopt.reporting.texts import Texts
from gaussopt.solving.solve import solve_step

REFERENCES = {
    "two bars": ("two-bar", ("two-bar-contact", "two-bar-airborne")),
    "rod": ("sliding-rod", ("rod-floor", "rod-stop", "rod-lift")),
}
"""For each group of reference states, the problem and the names of its references."""

STRIDES = {"two bars": 20, "rod": 25}
"""For each group, the number k: every k-th row of its references is used."""

SPECIAL = "special states"
"""Name of the group of states at which the end C lifts off, or nearly does."""

GROUPS = (*REFERENCES, SPECIAL)

POSES: dict[str, tuple[float, dict[str, float]]] = {
    "20°": (20.0, {}), "45°": (45.0, {}), "60°": (60.0, {}), "60°, 20 N up at C": (60.0, {"F_C": 20.0}),
    "85°": (85.0, {}), "88°": (88.0, {}), "89.5°": (89.5, {}),
}  # fmt: skip
"""Special states by name: angle, degrees, of two bars whose ends slide to the left without rotation; and loads."""

SLIDES = 1e-9
"""Smallest slip, m/s, at which a reference state is used; below it the sign of sliding friction is uncertain."""

texts = Texts(__file__)


ContactStep = tuple[Item, float]
"""A step with the closed contacts only, its true acceleration and normal forces, and its evaluation time, s."""


def on_references(group: str, stride: int) -> list[ContactStep]:
    """Return the reference states whose closed contacts all slide, as steps without the open contacts."""
    name, references = REFERENCES[group]
    found = []
    for reference in problem(name).references:
        if reference.name not in references:
            continue
        system, rows = problem(name, **reference.settings).system, reference.load()
        for i in range(0, len(rows.t), stride):
            begin = perf_counter()
            step = system.evaluate(float(rows.t[i]), rows.q[i], rows.v[i])
            seconds = perf_counter() - begin
            closed = closed_contacts(step)
            if len(closed) and (step.speed[closed] > SLIDES).all():
                known = Item(step.select(closed), rows.a[i], float(rows.t[i]), rows.lam_N[i][closed])
                found.append((known, seconds))
    return found


def pose(label: str) -> StepData:
    """Return a special state in the coordinates of both bars, with two rows for the hinge."""
    degrees, loads = POSES[label]
    entry = problem("two-bar", variant="maximal", **loads)
    p = entry.parameter_values
    q, v = two_bar.to_maximal(*two_bar.both_ends(np.radians(degrees), p["x0"], p["vx0"], 0.0, p["l"]), p["l"])
    step = entry.system.evaluate(0.0, q, v)
    return step.select(closed_contacts(step))


def special_states() -> list[ContactStep]:
    """Return the special states with their unique solution, found by enumeration."""
    found = []
    for label in POSES:
        begin = perf_counter()
        step = pose(label)
        seconds = perf_counter() - begin
        answer = solve_step(step, "lcp", "enumerate")
        assert answer.a is not None
        found.append((Item(step, answer.a, lam_N=answer.lam_N), seconds))
    return found


def contact_formulation(group: str, formulation: str, stride: int, quick: bool) -> ByFormulation:
    """Compare all installed solvers with a formulation on the states of a group, slow solvers on fewer states."""
    steps = special_states() if group == SPECIAL else on_references(group, stride)
    entry: Formulation = registry.load("formulation", formulation)
    velocity = "it is at velocity level, and references hold accelerations" if entry.level == "velocity" else None
    first: Any = steps[0][0].data
    reason = velocity or entry.refuses(first)
    if reason:
        return ByFormulation(formulation, reason, ())
    solvers = [s for s in installed_solvers() if common.takes_part(s, formulation, quick)]
    # Take the first step whose program has a minimum; only such a step shows which solvers accept the program.
    fitting = next(found for item, _ in steps if (found := pairs([formulation], solvers, item.data)))
    slow = {s: 1 if group == SPECIAL else common.SLOW.get(s, 1) for _, s in fitting}
    # Solve copies: a step caches its contact operator, which would shorten the times of later solvers.
    copies = {s: ((replace(x, data=replace(x.data)), seconds) for x, seconds in steps[::n]) for s, n in slow.items()}
    judged = [measured_pair([own], formulation, s, contacts=True) for s, own in copies.items()]
    return ByFormulation(formulation, "", tuple(judged))


@dataclass(frozen=True, slots=True)
class Frozen:
    """The iteration with friction held at its last value ("frozen"), for one special state.

    Attributes
    ----------
    lcp : normal forces that satisfy the contact laws, N
    frozen, first : normal forces of the last and of the first iterate; `frozen` is None without an answer
    contraction, count : contraction factor of the iteration, and number of programs that it solves
    """

    label: str
    lcp: Vector
    frozen: Vector | None
    first: Vector
    contraction: float
    count: int


def frozen_friction() -> list[Frozen]:
    """Iterate with friction held at its last value, from every special state; Newton's method solves each program."""
    return [_frozen(label) for label in POSES]


def _frozen(label: str) -> Frozen:
    step = pose(label)
    truth = solve_step(step, "lcp", "enumerate")
    first = solve_step(replace(step, mu=np.zeros(step.k)), "gauss", "newton").lam_N
    try:
        last = solve_step(step, "frozen-friction", "newton", tolerance=float("inf"))
    except NotAccepted:
        return Frozen(label, truth.lam_N, None, first, np.nan, 0)
    forces = None if last.a is None else np.asarray(last.lam_N)
    contraction, count = float(last.details.get("contraction", np.nan)), int(last.details.get("programs", 0))
    return Frozen(label, truth.lam_N, forces, first, contraction, count)


def cases(quick: bool) -> list[Job]:
    """Return a case for each formulation and group of states, and one for frozen friction on the special states."""
    strides = {group: count * (4 if quick else 1) for group, count in STRIDES.items()}
    found = []
    for group in GROUPS:
        for f in registry.names("formulation"):
            arguments = {"group": group, "formulation": f, "stride": strides.get(group, 1), "quick": quick}
            found.append(Job(f"steps: {group}: {f}", contact_formulation, arguments, 1.5))
    return [*found, Job("programs", frozen_friction, {}, 0.2)]


def section(results: PaperResults, findings: list[str]) -> Section:
    """Show the results of every formulation with every solver that accepts its program."""
    blocks = texts.blocks("lead", poses=", ".join(POSES))
    refusals: dict[tuple[str, str], dict[str, bool]] = {}
    counts = Counter[str]()
    for group in GROUPS:
        found: list[ByFormulation] = list(results.group(f"steps: {group}: ").values())
        judged = [g for g in found if not g.refused]
        for g in found:
            if g.refused:
                refusals.setdefault(("formulation", g.refused), {})[g.formulation] = True
            for r in g.pairs:
                if r.refused:
                    refusals.setdefault((f"solver {r.solver}", r.refused), {})[g.formulation] = True
                else:
                    counts["pairs"] += 1
                    counts["confirmed"] += r.solved == r.states
                    counts["overruled"] += r.claimed > r.solved
        if judged:
            blocks += _group_blocks(group, judged)
    if counts:
        findings.append(texts("confirmed", counts=counts))
    rows = ((what, ", ".join(who), why) for (what, why), who in refusals.items())
    title = "Formulations and solvers on contact steps"
    return common.part("states-001", title, blocks, texts.table("refused-001", rows))


def _group_blocks(group: str, judged: Sequence[ByFormulation]) -> list[Block]:
    anchor = group.replace(" ", "-")
    taken = [replace(g, pairs=tuple(r for r in g.pairs if not r.refused)) for g in judged if g.pairs]
    shown = {f"{g.formulation} by {r.solver}": r for g in taken for r in g.pairs}
    if not shown:
        return []
    states = max(r.states for r in shown.values())
    # To show where the time is spent, solve the LCP with all its solvers, and each program with daqp and newton.
    drawn = {k: r for k, r in shown.items() if r.formulation == "lcp" or r.solver in ("daqp", "newton")}
    details = texts.table("details", tuple(
            (k, r.exact, r.states, ", ".join(f"{n} {s}" for s, n in r.statuses.items()), r.claimed, r.error,
             r.force_error, r.certified, r.iterations)
            for k, r in shown.items()
        ), anchor=f"states-001-{anchor}", group=group.capitalize())  # fmt: skip
    times = common.times_table(f"times-001-{anchor}", shown)
    told = _worth_telling(shown)
    return [
        common.pairs_matrix(f"001-{anchor}", taken,
                            f"{group.capitalize()}: up to {states} states, fewer for slow solvers."),
        *_shortened(details, told, "All pairs."),
        *_shortened(times, told, "The times of all pairs."),
        *([common.times_figure("paper-001-time", drawn or shown)] if group == GROUPS[0] else []),
    ]  # fmt: skip


def _worth_telling(pairs: Mapping[str, PairResult]) -> set[str]:
    """Return each formulation's first pair and its worst pair: fewest confirmed answers, then largest error."""
    by = gathered(pairs, lambda name: pairs[name].formulation)

    def badness(name: str) -> tuple[float, float]:
        pair = pairs[name]
        return 1.0 - pair.solved / max(pair.states, 1), float(np.nan_to_num(pair.error, nan=np.inf))

    return {chosen for names in by.values() for chosen in (names[0], max(names, key=badness))}


def _shortened(table: Table, told: set[str], caption: str) -> tuple[Table, Data]:
    """Return the table with the selected rows; the complete table goes to a file."""
    whole = pd.DataFrame(table.rows, columns=list(table.columns))
    rows = tuple(row for row in table.rows if row[0] in told)
    return replace(table, rows=rows), Data(f"{table.name}-all", caption, whole, table.timed)
