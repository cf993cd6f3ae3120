"""The report on benchmark problems from the literature: errors against published values, and computation times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

import numpy as np
import pandas as pd

from gaussopt.comparison.published import CASES, CONSTANT, LIMIT, TOLERANCES, Measured, PublishedCase, PublishedRun
from gaussopt.core.display import gathered
from gaussopt.processes.environment import versions
from gaussopt.reporting.document import Block, Document, Figure, Finding, Items, Paragraph, Section, Table, Timed
from gaussopt.reporting.figures import plots
from gaussopt.reporting.sections.grouping import anchor_of, listed
from gaussopt.reporting.texts import Texts

texts = Texts(__file__)

STEPPERS = (*CONSTANT, *TOLERANCES)
LOOKS = {name: i for i, name in enumerate(STEPPERS)}
SAME = 0.1
"""Relative difference up to which errors count as equal; errors below ROUNDING all count as equal."""
ROUNDING = 1e-12


def document(found: Measured, quick: bool) -> Document:
    """Return the report; if `quick`, the report says that the motions were cut short."""
    by_case = gathered(found.steppers, lambda row: row.case)
    cases = [case for case in CASES if case.name in by_case]
    best = {case.name: _best(by_case[case.name]) for case in cases}
    sections = [
        Section("best", "Every problem by its best motion", (_best_table(cases, best),)),
        Section("codes", "Beside other codes", (_codes_table(cases, best),)),
        Section("steppers", "Steppers, steps and times", (), tuple(_problem(c, by_case[c.name]) for c in cases)),
    ]
    if found.formulations:
        sections.append(Section("formulations", "Formulations", (_formulations_table(found.formulations),)))
    sections += [
        Section("why", "What failed, and warnings", (_why_table(found),)),
        Section("reading", "How to read this", (Items(tuple(texts.paragraphs("reading"))),)),
        Section("environment", "Environment", (texts.table("environment", versions().items()),)),
    ]
    lead = texts("lead", quick=texts("quick") if quick else "")
    return Document(texts("title"), lead, tuple(_findings(found, cases, best)), tuple(sections))


def _best(rows: Sequence[PublishedRun]) -> PublishedRun | None:
    """Return the motion with the least error, if possible one without a warning; None if no motion reached its end."""
    return min((row for row in rows if row.reached), key=lambda row: (row.warned, row.error), default=None)


def _findings(
    found: Measured, cases: Sequence[PublishedCase], best: dict[str, PublishedRun | None]
) -> Iterator[Finding]:
    ends = {case.name: _reaches(case, best[case.name]) for case in cases}
    others = {end: [name for name, own in ends.items() if own == end] for end in ("with a warning", "no")}
    said = {"with a warning": "Only with a warning: {}.", "no": "Not so: {}."}
    more = "".join(f" {said[end].format(listed(names))}" for end, names in others.items() if names)
    reached = len(cases) - sum(map(len, others.values()))
    yield Finding("Accuracy", texts("reached", reached=reached, problems=len(cases), more=more), "best")
    rows = (*found.steppers, *found.formulations)
    warned = [row for row in rows if row.warned]
    if warned:
        names = listed(sorted({row.case for row in warned}))
        yield Finding("Warnings", texts("warned", warned=len(warned), motions=len(rows), names=names), "why")
    lost = sum(not row.reached and row.status != "refused" for row in rows)
    if lost:
        yield Finding("Failures", texts("unfinished", unfinished=lost, motions=len(rows), limit=LIMIT), "why")
    errors = [(best[case.name], error) for case in cases for *_, error in case.codes()]
    better = sum(row is not None and row.error < error for row, error in errors)
    yield Finding("Other codes", texts("codes found", count=len(errors), better=better), "codes")
    groups = gathered([row for row in found.formulations if row.reached], lambda row: row.case)
    if groups:
        agreeing = sum(_same([row.error for row in group]) for group in groups.values())
        told = texts("formulations found", agreeing=agreeing, problems=len(groups))
        yield Finding("Formulations", told, "formulations")


def _same(errors: Sequence[float]) -> bool:
    return max(errors) <= max((1.0 + SAME) * min(errors), ROUNDING)


def _reaches(case: PublishedCase, row: PublishedRun | None) -> str:
    if row is None or not row.error <= case.goal:
        return "no"
    return "with a warning" if row.warned else "yes"


def _best_table(cases: Sequence[PublishedCase], best: dict[str, PublishedRun | None]) -> Table:
    rows = []
    for case in cases:
        row = best[case.name]
        error, *by = ("–",) * 4 if row is None else (row.error, row.stepper, row.setting, row.seconds)
        rows.append((case.name, _reaches(case, row), error, case.goal, *by, case.quantity))
    return texts.table("best", rows, anchor="benchmarks-best", timed=("seconds",), rounded=("least error",))


def _codes_table(cases: Sequence[PublishedCase], best: dict[str, PublishedRun | None]) -> Table:
    rows = [
        (case.name, *told, np.nan if (row := best[case.name]) is None else row.error)
        for case in cases for told in case.codes()
    ]  # fmt: skip
    return texts.table("codes", rows, anchor="benchmarks-codes", rounded=("its error", "least error here"))


def _problem(case: PublishedCase, rows: Sequence[PublishedRun]) -> Section:
    """Return the section of a problem: its source, the figure of error and time, and the table of motions."""
    anchor = anchor_of(case.name)
    told = [(r.stepper, r.setting, _ended(r), r.error, r.steps, r.engine or "–", r.seconds) for r in rows]
    table = texts.table(
        "runs", told, anchor=f"benchmarks-{anchor}", timed=("seconds",), rounded=("error",), name=case.name,
        quantity=case.quantity,
    )  # fmt: skip
    blocks: list[Block] = [Paragraph(texts("source", source=case.source)), *_figure(case, rows, anchor), table]
    return Section(anchor, case.entry.title if case.variant is None else case.name, tuple(blocks))


def _ended(row: PublishedRun) -> str:
    return f"{row.status.replace('_', ' ')}{', warned' if row.warned else ''}"


def _figure(case: PublishedCase, rows: Sequence[PublishedRun], anchor: str) -> Iterator[Figure]:
    """Draw the error over computation time, one colour per stepper; return nothing if no motion has a known error."""
    shown = [row for row in rows if isfinite(row.error)]
    by_stepper = gathered(shown, lambda row: row.stepper)
    if not by_stepper:
        return
    points = {
        name: (np.array([r.seconds for r in own]), np.maximum([r.error for r in own], plots.ZERO_IS))
        for name, own in by_stepper.items()
    }  # fmt: skip
    hollow = {name: np.array([r.warned for r in own]) for name, own in by_stepper.items()}
    svg = plots.sweeps(points, "time of the integration / s", "error", hollow=hollow, looks=LOOKS)
    data = pd.DataFrame([(r.stepper, r.setting, r.seconds, r.error, r.warned) for r in shown],
                        columns=["stepper", "setting", "seconds", "error", "warned"])  # fmt: skip
    alt = "Error by time, logarithmic: " + "; ".join(
        f"{name} from {min(y):.1e} to {max(y):.1e}" for name, (_, y) in points.items()
    )
    caption = Timed(texts("work", name=case.name))
    yield Figure(f"work-{anchor}", caption, f"{alt}.", svg, data, timed=True)


def _formulations_table(rows: Sequence[PublishedRun]) -> Table:
    told = [(r.case, r.formulation, r.stepper, r.setting, _ended(r), r.error, r.engine or "–", r.seconds) for r in rows]
    return texts.table("formulations", told, anchor="benchmarks-formulations", timed=("seconds",), rounded=("error",))


def _why_table(found: Measured) -> Table:
    # Warnings depend on the stepper, not on the formulation. Another table lists the formulations that do not fit.
    rows = [r for r in found.steppers if r.warned or not r.reached]
    rows += [r for r in found.formulations if not (r.reached or r.status == "refused")]
    told = [(r.case, r.stepper, r.setting, r.formulation, r.message) for r in rows]
    return texts.table("why", told, anchor="benchmarks-why")
