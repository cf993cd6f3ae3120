"""Paper 001, Yao, Liu & Yang 2020: Coulomb friction by a quadratic program of normal forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gaussopt.atlas.contact_study import BORDER
from gaussopt.modelling.problem import Problem, problem
from gaussopt.papers import report_parts as common
from gaussopt.papers.claim import SOURCES
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.p001_friction import contact_samples as samples
from gaussopt.papers.p001_friction import loop_and_rod, motions, painleve, steps, two_bar_motions
from gaussopt.papers.p001_friction.atlas_section import forces_figure
from gaussopt.papers.p001_friction.steps import Frozen
from gaussopt.papers.report_parts import PaperResults
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Gallery, Paragraph, Section
from gaussopt.reporting.figures.mechanism_drawing import drawing_figure
from gaussopt.reporting.texts import Texts

PROBLEM = "two-bar"
ROD = "sliding-rod"

texts = Texts(__file__, border=BORDER)


def cases(quick: bool) -> list[Job]:
    """Return all cases of this paper."""
    errata = common.errata_cases(PROBLEM, {"001-1": 0.5}) + common.errata_cases(ROD, {})
    return motions.cases(quick) + painleve.cases(quick) + steps.cases(quick) + errata


def section(outcomes: dict[str, JobOutcome], quick: bool) -> tuple[Section, tuple[str, ...]]:
    """Return the paper's section and the findings for the summary."""
    results = PaperResults(outcomes)
    bars, rod = problem(PROBLEM), problem(ROD)
    findings: list[str] = []
    parts = (
        _model(bars, rod), _method(results, findings), two_bar_motions.reconstruction(results, findings),
        two_bar_motions.printed_start(results, findings), loop_and_rod.agreement_section(results, findings),
        loop_and_rod.printed_loop(results, findings), loop_and_rod.energy(results, findings),
        loop_and_rod.rod(results, findings), painleve.section(results, findings), steps.section(results, findings),
        common.errata_section(both(bars, rod), "001", results, findings),
    )  # fmt: skip
    lead = f"{bars.title}: {bars.description} {rod.title}: {rod.description}"
    return Section("paper-001", SOURCES["001"].title, (Paragraph(lead),), parts), tuple(findings)


def both(bars: Problem, rod: Problem) -> Problem:
    """Return the problem of the bars with the notes and errata of both problems; errata are sorted by number."""
    errata = sorted(bars.errata + rod.errata, key=lambda e: int(e.id.rpartition("-")[2]))
    return replace(bars, errata=tuple(errata), notes=bars.notes + rod.notes)


def _model(bars: Problem, rod: Problem) -> Section:
    starts = (
        (entry.name, name, case.description, ", ".join(f"{k} = {v:.6g}" for k, v in case.values.items()), case.t_end)
        for entry in (bars, rod) for name, case in entry.cases.items()
    )  # fmt: skip
    tables = (
        common.parameters_table(bars, "parameters-001", "Parameters of the two bars."),
        common.parameters_table(rod, "parameters-001-rod", "Parameters of the rod."),
        texts.table("cases-001", starts),
    )
    drawings = Gallery((drawing_figure(bars, "paper-001-drawing-bars"), drawing_figure(rod, "paper-001-drawing-rod")))
    return Section("model-001", "Model", (*texts.blocks("model"), drawings, *tables))


def _method(results: PaperResults, findings: list[str]) -> Section:
    found: list[Frozen] = results.value("programs") or []
    rows = (
        (p.label, p.contraction, p.count, p.lcp[0], p.lcp[1], float(np.abs(p.first - p.lcp).max()),
         float("nan") if p.frozen is None else float(np.abs(p.frozen - p.lcp).max())) for p in found
    )  # fmt: skip
    findings.append(_printed_program())
    return common.part(
        "method-001", "Method", texts.table("notation-001"), texts.table("terms-001"), texts.blocks("method"),
        texts.table("frozen-001", rows), forces_figure(),
    )  # fmt: skip


def _printed_program() -> str:
    """Return a sentence on the forces by (29) at the special states."""
    bars = samples.two_bars()
    found = samples.compare(*bars.problem)
    w = sets.times(bars.A, found.laws) + bars.b
    lifts = int((~found.equal & (w[:, 1] > 0) & (found.laws[:, 1] == 0)).sum())
    tensile, same = float(found.program.min()), int(found.equal.sum())
    others = texts("tensile", tensile=tensile, lifts=lifts) if tensile < 0 else ""
    predicted = int((found.predicted == found.equal).sum())
    return texts("printed-program", same=same, states=len(bars), others=others, predicted=predicted)
