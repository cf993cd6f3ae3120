"""The report of a comparison: right answers, speed, reversals of rankings, and the claims of the papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gaussopt.comparison import tables
from gaussopt.comparison.changes import Changes, sentences
from gaussopt.comparison.paper_claims import MeasuredClaim, claims
from gaussopt.comparison.records import Answers, MotionRecord, machine_of, on_machine
from gaussopt.comparison.results import Results
from gaussopt.comparison.step_table import base_of, label_of, worst
from gaussopt.core.display import counted as plural
from gaussopt.core.display import gathered
from gaussopt.plotting.looks import places
from gaussopt.reporting.document import Block, Data, Document, Items, Paragraph, Section, Table, Timed
from gaussopt.reporting.figures import convergence
from gaussopt.reporting.sections import correctness, problems, speed, sweeps, who_solved
from gaussopt.reporting.sections.grouping import first, groups, listed, shape_of, short
from gaussopt.reporting.texts import Texts

texts = Texts(__file__, str)

MOST_ROWS = 24
"""Largest number of rows in a table on the page, if a file holds the other rows."""

MOST_FAILURES = 60


def document(results: Results, changed: Changes | None = None) -> Document:
    """Return the report, with the changes since an earlier comparison if given.

    Sections without data are left out.
    """
    found = groups(results)
    looks = places(a.solver for a in results.answers)
    speeds = [speed.Speed.of(g) for g in found] if results.times else []
    judged = [a for a in results.answers if a.status]
    answered = claims(results.answers, results.times, results.motions)
    warm, warm_lines = speed.warm_section(found)
    families, family_lines = sweeps.section(found, looks)
    sections: list[Section | None] = [
        None if changed is None else _changes(changed),
        _machines(results),
        _how_to_read(results.meta) if judged else None,
        correctness.section(found, results.answers, results.meta.get("files", {})) if judged else None,
        speed.section(speeds, looks) if any(s.group.ranked and s.means for s in speeds) else None,
        speed.precision_section(found, looks) if results.times else None,
        warm,
        _convergence(judged),
        families,
        _trajectories(results.motions, str(results.meta.get("trajectories", ""))) if results.motions else None,
        _claims_section(answered),
        problems.section(judged, results.meta.get("problems", {})),
        _refused([a for a in results.answers if a.refused]),
        _failures(results.failures, results.answers),
        _environment(results.meta) if results.meta else None,
    ]
    measured = [f"On claim {c.id} of paper {c.paper}, that {c.claim}: {c.sentence}" for c in answered if c.rows]
    merged = results.meta.get("machines")
    findings = [
        *([texts("merged", machines=len(merged))] if merged else []),
        *correctness.findings(found, results.answers),
        *map(Timed.plain, (*speed.findings(speeds), *warm_lines, *family_lines, *measured)),
        *_broken(results.failures, results.answers),
    ]
    if not judged:
        findings.insert(0, "No pair answered any step.")
    given = tuple(s for s in sections if s is not None)
    singles = who_solved.page(found) if judged else None
    return Document("Comparison", texts("lead"), tuple(findings), given, pages=(singles,) if singles else ())


def _changes(found: Changes) -> Section:
    """Describe how the pairs changed since an earlier comparison."""
    moved = [p for p in found.pairs if p.changed or p.worse or p.gained]
    shown, more = first(moved, MOST_ROWS)
    rows = (
        (p.source, label_of(p.formulation, p.solver), p.gained, p.lost, p.false_before, p.false_after, p.speed or "–",
         *("–" if x is None else x for x in (p.factor, p.low, p.high)), p.noise)
        for p in shown
    )  # fmt: skip
    blocks: list[Block] = [Items(tuple(map(Timed.plain, sentences(found))))]
    if moved:
        blocks.append(texts.table("changes", rows, timed=("speed", "factor", "low", "high", "noise"), more=more))
    return Section("changes", "What changed since the earlier comparison", tuple(blocks))


def _machines(results: Results) -> Section | None:
    """List where and when records were made, and contradictions between machines; None if there is only one machine."""
    by = gathered(
        (r for r in (*results.answers, *results.times) if r.made), lambda r: (r.source.machine, *machine_of(r.made))
    )
    if len(by) < 2 and not results.meta.get("machines"):
        return None
    rows = (
        (machine or "–", *told, min(days), max(days), sum(isinstance(r, Answers) for r in of),
         sum(not isinstance(r, Answers) for r in of))
        for (machine, *told), of in by.items() for days in [[r.made.get("date", "") for r in of]]
    )  # fmt: skip
    said = results.meta.get("conflicts", ())
    blocks: list[Block] = [texts.table("machines", rows)]
    blocks += [Paragraph(texts("conflicts")), Items(tuple(said))] if said else []
    return Section("machines", "Machines", tuple(blocks))


def _how_to_read(meta: Mapping[str, Any]) -> Section:
    limits = [texts("limits", **meta)] if {"time_budget", "case_limit"} <= set(meta) else []
    return Section("reading", "How to read this", (Items((*texts.paragraphs("how-to-read"), *limits)),))


def _convergence(judged: Sequence[Answers]) -> Section | None:
    """Return a section on the convergence of the iterative solvers, or None if no problem has a figure of it."""
    problems = {a.source.name for a in judged if a.source.kind == "problem"}
    figures = convergence.of_compared(problems, {base_of(a.solver) for a in judged})
    return Section("convergence", "Convergence", tuple(figures)) if figures else None


def _trajectories(motions: Sequence[MotionRecord], which: str) -> Section:
    named = [on_machine(m.problem, m.machine) for m in motions]
    frame = tables.motions(motions).drop(columns=list(tables.ORIGIN)).assign(problem=named)
    rows = (
        (problem, formulation, f"{stepper}, {dt:g}" if dt else stepper,
         f"{(of['status'] == 'solved').sum()} of {len(of)}", _range(of["evaluations"]),
         *of[["error", "certified", "position_drift", "velocity_drift", "energy_drift"]].max())
        for (problem, formulation, stepper, dt), of in frame.groupby(
            ["problem", "formulation", "stepper", "dt"], sort=False
        )
    )  # fmt: skip
    blocks: list[Block] = [Paragraph(which)] if which else []
    blocks += [texts.table("motions", rows), Data("motions-all", "All trajectories.", frame)]
    ended = [m for m in motions if m.status != "solved"]
    if ended:
        shown, more = first(ended, MOST_ROWS)
        why = (
            (on_machine(m.problem, m.machine), label_of(m.formulation, m.solver), m.stepper, m.status, m.message)
            for m in shown
        )
        blocks.append(texts.table("motions-ended", why, more=more))
    return Section("motions", "Trajectories", tuple(blocks))


def _range(values: Iterable[int]) -> str | int:
    low, high = min(values), max(values)
    return low if low == high else f"{low} to {high}"


def _claims_section(answered: Sequence[MeasuredClaim]) -> Section | None:
    if not any(c.rows for c in answered):
        return None
    rows = ((c.id, c.paper, c.claim, c.sentence) for c in answered)
    table = texts.table("claims", rows, timed=("measured",))
    parts = tuple(
        Section(f"claim-{c.id.lower()}", f"{c.id}: {c.claim}", tuple(_evidence(c))) for c in answered if c.rows
    )
    return Section("claims", "Claims of the papers", (table,), parts)


def _evidence(claim: MeasuredClaim) -> list[Block]:
    name = f"claim-{claim.id.lower()}"
    shown, more = first(claim.rows, MOST_ROWS, " rows")
    rows = tuple(tuple(map(short, row)) for row in shown)
    caption = f"What was measured on {claim.id}.{more}"
    blocks: list[Block] = [Table(name, caption, claim.columns, rows, claim.columns)]
    if more:
        every = pd.DataFrame(claim.rows, columns=list(claim.columns))
        blocks.append(Data(f"{name}-all", "All rows.", every, tuple(claim.columns)))
    return blocks


def _refused(refused: Sequence[Answers]) -> Section | None:
    """List refusals by reason; reasons that differ only in names and numbers are merged."""
    if not refused:
        return None
    by: dict[tuple[str, str], tuple[str, dict[str, None], dict[str, None], dict[str, None]]] = {}
    for a in refused:
        opening, colon, rest = a.refused.partition(": ")
        who = "solver" if opening.startswith("The solver") else "formulation" if opening.startswith("The form") else ""
        reason = rest if colon and who else a.refused
        who = who or ("" if a.solver else "formulation")
        _, formulations, solvers, where = by.setdefault((who, shape_of(reason)), (reason, {}, {}, {}))
        formulations.setdefault(a.formulation or "–")
        solvers.setdefault(a.solver or "all")
        where.setdefault(a.source.name)
    rows = (
        (who or "–", listed(list(formulations), 6), "all" if who == "formulation" else listed(list(solvers), 6),
         listed(list(where), 4), reason)
        for (who, _), (reason, formulations, solvers, where) in sorted(by.items(), key=lambda x: x[0][0])
    )  # fmt: skip
    return Section("refused", "Refused", (texts.table("refused", rows),))


def _failures(failures: Mapping[str, str], answers: Sequence[Answers]) -> Section | None:
    early = [a for a in answers if a.failure]
    blocks: list[Block] = []
    if early:
        shown, more = first(early, MOST_FAILURES)
        rows = (
            (a.source.label, label_of(a.formulation, a.solver), a.start, a.failure, len(a.status),
             *(worst(np.array(x, dtype=float)) for x in (a.certified, a.primal, a.dual, a.gap)))
            for a in shown
        )  # fmt: skip
        blocks.append(texts.table("ended-early", rows, kinds=kinds_of(a.failure for a in early), more=more))
    if failures:
        blocks.append(texts.table("failures", failures.items(), kinds=kinds_of(failures.values())))
    return Section("failures", "Failures", tuple(blocks)) if blocks else None


def _broken(failures: Mapping[str, str], answers: Sequence[Answers]) -> list[str]:
    early = [a for a in answers if a.failure]
    lines = []
    if early:
        kinds, who = kinds_of(a.failure for a in early), sorted({a.solver for a in early})
        lines.append(f"{plural(len(early), 'case')} ended early ({kinds}): {listed(who)}.")
    if failures:
        have = "has" if len(failures) == 1 else "have"
        lines.append(f"{plural(len(failures), 'case')} {have} no result ({kinds_of(failures.values())}); see Failures.")
    return lines


def kinds_of(failures: Iterable[str]) -> str:
    """Return a text that counts failures by kind; the kind is the part of a failure's text before the colon."""
    kinds = {"crashed": "crashed", "time limit": "at the time limit", "not tried": "not tried", "lost": "lost"}
    counts = Counter(kinds.get(text.partition(":")[0], "") for text in failures)
    errors = counts.pop("", 0)
    return ", ".join(
        [f"{counts[k]} {k}" for k in kinds.values() if counts[k]] + [plural(errors, "error")] * bool(errors)
    )


def _environment(meta: Mapping[str, Any]) -> Section:
    # Leave out entries that cannot be read or that another section shows.
    hidden = ("code", "machines", "conflicts", "trajectories")
    said = {key: value for key, value in meta.items() if key not in hidden}
    said |= {name: {"versions": own.get("versions", {})} for name, own in meta.get("machines", {}).items()}
    return Section("environment", "Environment", (texts.table("environment", _flat("", said)),))


def _flat(prefix: str, meta: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in meta.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}: ", value)
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            yield f"{prefix}{key}", "–" if text is None else text
