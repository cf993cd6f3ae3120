"""The report on the papers as pages: the main document, and the pages of its supplement."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from gaussopt.comparison.results import Results
from gaussopt.execution.workers import run_jobs
from gaussopt.papers import ledger
from gaussopt.papers.chapters import Chapter, Important
from gaussopt.papers.claim import SOURCES, Judgement
from gaussopt.papers.p000_least_squares import section as paper_000
from gaussopt.papers.p001_friction import atlas_section
from gaussopt.papers.p001_friction import section as paper_001
from gaussopt.papers.p002_singular_mass import section as paper_002
from gaussopt.papers.p004_quasi_velocities import section as paper_004
from gaussopt.papers.sections import appendix, solver_comparison
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.reporting.document import Document, Finding, Items, Paragraph, Section, Tex
from gaussopt.reporting.references import anchors_of
from gaussopt.reporting.texts import Texts

PAPERS = {"000": paper_000, "001": paper_001, "002": paper_002, "004": paper_004}
"""Module of each paper, which provides its cases and its section, by number."""

texts = Texts(__file__)


def document(
    outcomes: Mapping[str, JobOutcome], compared: Results, quick: bool, executor: Executor | None = None,
    solvers: JobOutcome | None = None,
) -> Document:  # fmt: skip
    """Make the report from the outcomes of all cases by key and the comparison of the solvers.

    Figures are drawn by the executor's workers or, without an executor, in a child process. `solvers` is the outcome
    of `solvers_case` if it was run before.
    """
    judged = ledger.judgements(outcomes)
    drawn = _drawn(outcomes, judged, compared, quick, executor, solvers)
    told = {number: drawn[number][1] for number in PAPERS}
    failed = sum(bool(o.failure) for o in outcomes.values())
    ran = texts("run", done=len(outcomes) - failed, cases=len(outcomes), quick=texts("quick") if quick else "")
    limits = Section("limitations", "Known limitations", (Items(tuple(texts.paragraphs("limitations"))),))
    main = Document(
        texts("title"), Tex(f"{texts('lead')} {ran}".strip()), (),
        (ledger.verdicts(judged), *(told[n].section for n in PAPERS), appendix.method(), limits,
         appendix.references(), appendix.colophon(quick)),
        pages=(
            *(_supplement(number, k, drawn[number][0], judged, outcomes) for k, number in enumerate(PAPERS, start=1)),
            Document("How claims are judged", texts("rule lead"), (), (ledger.rule(judged),), "supplement-rule", "S5."),
            _solvers_page(drawn["solvers"]),
            Document("Environment of the run", texts("environment lead"), (), (appendix.environment(outcomes),),
                     "supplement-environment", "S7."),
        ),
    )  # fmt: skip
    return replace(main, findings=_first_screen(told, dict(anchors_of(main))))


def _first_screen(told: Mapping[str, Chapter], shown: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return the common lesson of the chapters, and the findings of each paper in the order of the papers.

    `shown` are the anchors of the page.
    """
    each = [
        Finding(of.section.title, _with_figure(found, shown), of.section.anchor)
        for of in told.values() for found in of.found
    ]  # fmt: skip
    return (Finding(texts("lesson title"), Tex(texts("lesson")), "claims"), *each)


def _with_figure(found: Important, shown: Mapping[str, str]) -> Tex:
    """Return a finding, with a reference to its figure if the page shows the figure."""
    anchor = f"figure-{found.figure}"
    return Tex(f"{found} ([#{anchor}])" if anchor in shown and f"[#{anchor}]" not in found else found)


def _supplement(
    number: str, k: int, drawn: tuple[Section, Sequence[str]], judged: Mapping[str, Judgement | str],
    outcomes: Mapping[str, JobOutcome],
) -> Document:  # fmt: skip
    """Return the page of the supplement with all results on one paper."""
    section, findings = drawn
    *parts, errata = section.sections
    pages = [*parts, ledger.section(number, judged), errata]
    if number == atlas_section.PAPER:
        maps, mapped = atlas_section.section(outcomes)
        pages, findings = [*pages, maps], (*findings, *mapped)
    first = sorted(findings, key=lambda f: not isinstance(f, Important))
    source = SOURCES[number]
    (opening,) = section.blocks
    assert isinstance(opening, Paragraph)
    return Document(f"{source.title}, all results", opening.text, tuple(first), tuple(pages), source.page, f"S{k}.")


def _solvers_page(section: Section) -> Document:
    """Return the page on the comparison of the solvers."""
    opening = replace(section, title="How to read this page", sections=())
    return Document(
        "Solvers compared on the problems of the papers", texts("solvers lead"), (), (opening, *section.sections),
        "supplement-solvers", "S6.",
    )  # fmt: skip


def _drawn(
    outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], compared: Results, quick: bool,
    executor: Executor | None, solvers: JobOutcome | None,
) -> dict[str, Any]:  # fmt: skip
    """Draw in parallel the parts with many figures: section and chapter of each paper, and the section "solvers"."""
    cases = [solvers_case(compared)]
    known = {} if solvers is None else {cases[0].key: solvers}
    for number in PAPERS:
        own = _own(outcomes, number)
        arguments = {"number": number, "outcomes": own, "judged": dict(judged), "quick": quick}
        cases.append(Job(number, section_and_chapter, arguments, 1.0 + 1e-3 * len(own)))
    drawn = known | run_jobs([c for c in cases if c.key not in known], executor=executor)
    # If the drawing of a part failed in a worker, draw it again in this process, so that the error has its traceback.
    return {c.key: drawn[c.key].value if not drawn[c.key].failure else c.function(**c.arguments) for c in cases}


def section_and_chapter(
    number: str, outcomes: dict[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool
) -> tuple[tuple[Section, Sequence[str]], Chapter]:
    """Return a paper's section of the supplement with its findings, and the paper's chapter of the main document."""
    paper = PAPERS[number]
    chapter = importlib.import_module(f"{paper.__package__}.chapter").chapter(outcomes, judged, quick)
    return paper.section(outcomes, quick), chapter


def _own(outcomes: Mapping[str, JobOutcome], number: str) -> dict[str, JobOutcome]:
    """Return the outcomes of a paper's cases, by keys without its number; 001 includes the case of the atlas."""
    own = {k.removeprefix(f"{number}: "): o for k, o in outcomes.items() if k.startswith(f"{number}: ")}
    mapped = atlas_section.KEY in outcomes and number == atlas_section.PAPER
    return own | ({atlas_section.KEY: outcomes[atlas_section.KEY]} if mapped else {})


def solvers_case(compared: Results) -> Job:
    """Return the case that draws the section on the comparison of the solvers."""
    return Job("solvers", solver_comparison.section, {"found": compared}, 3.0)
