"""The report on the papers: its cases are run, its sections drawn, and it is written."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaussopt.comparison.results import Results
from gaussopt.execution.workers import check_jobs, run_jobs
from gaussopt.papers import ledger
from gaussopt.papers.claim import Judgement
from gaussopt.papers.p000_least_squares import section as paper_000
from gaussopt.papers.p001_friction import atlas_section
from gaussopt.papers.p001_friction import section as paper_001
from gaussopt.papers.p002_singular_mass import section as paper_002
from gaussopt.papers.p004_quasi_velocities import section as paper_004
from gaussopt.papers.report_parts import Chapter, Important
from gaussopt.papers.sections import environment, solver_comparison
from gaussopt.papers.sections.summary import summary
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.processes.workers import Workers
from gaussopt.reporting.document import Document, Findings, Items, Section
from gaussopt.reporting.html.page import prepare_report, write
from gaussopt.reporting.texts import Texts

PAPERS = {"000": paper_000, "001": paper_001, "002": paper_002, "004": paper_004}
"""The module of each paper's cases and section, by number."""

COMPARED, DRAWING_BEGINS = 0.15, 0.85
"""Share of the time after which the solvers are compared, and after which the cases are computed."""

texts = Texts(__file__)


def reproduce(
    out: Path, *, quick: bool = False, jobs: int = 1, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Run every case of every paper in so many processes and write the report into a folder.

    `quick` means shorter motions and fewer states; `progress` is called with the fraction done. Returns status,
    message, report (path of index.html), cases, failed and claims (verdict by number). Raises BadInput if the folder
    cannot be written, before anything is computed.
    """
    check_jobs(max(1, jobs))
    prepare_report(out, keep=True)

    def share(begin: float, end: float) -> Callable[[float], None]:
        return lambda done: None if progress is None else progress(begin + (end - begin) * done)

    with Workers(jobs) as workers:
        workers.prepare(_load)
        # The cases of a paper carry its number while they run, so that papers may name theirs alike.
        cases = [replace(c, key=f"{number}: {c.key}") for number, paper in PAPERS.items() for c in paper.cases(quick)]
        cases += [*atlas_section.cases(quick), *ledger.cases(quick)]
        compared = solver_comparison.results(quick, workers, share(0.0, COMPARED))
        # Drawn among the cases: what is drawn after them is then evenly long on two processes.
        solvers = _solvers_case(compared)
        outcomes = run_jobs([*cases, solvers], progress=share(COMPARED, DRAWING_BEGINS), executor=workers)
        page = document(outcomes, compared, quick, workers, outcomes.pop(solvers.key))
    report = write(page, out)
    if progress is not None:
        progress(1.0)
    failed = {key: o.failure for key, o in outcomes.items() if o.failure} | compared.failures
    message = f"{len(cases) - sum(bool(o.failure) for o in outcomes.values())} of {len(cases)} cases computed."
    return {
        "status": "crashed" if failed else "solved",
        "message": message if not failed else f"{message} Failed: {'; '.join(f'{k}: {v}' for k, v in failed.items())}",
        "report": str(report),
        "cases": len(cases),
        "failed": failed,
        "claims": {i: str(getattr(j, "verdict", j)) for i, j in ledger.judgements(outcomes).items()},
    }


def document(
    outcomes: Mapping[str, JobOutcome], compared: Results, quick: bool, executor: Executor | None = None,
    solvers: JobOutcome | None = None,
) -> Document:  # fmt: skip
    """The report, from the outcomes of all cases by key and the comparison of the solvers.

    It is drawn on the executor, or in a process of its own without one; `solvers` is the section on the comparison,
    where that is drawn already.
    """
    judged = ledger.judgements(outcomes)
    sections: list[Section] = []
    found: dict[str, tuple[str, Sequence[str]]] = {}
    drawn = _drawn(outcomes, compared, quick, executor, solvers)
    maps, mapped = atlas_section.section(outcomes)
    for number in PAPERS:
        section, findings = drawn[number]
        *parts, errata = section.sections
        sections.append(replace(section, sections=(*parts, ledger.section(number, judged), errata)))
        if number == atlas_section.PAPER:
            findings = (*findings, *(f for f in mapped if isinstance(f, Important)))
        found[f"Paper {number}"] = section.anchor, findings
    found["Atlas"] = maps.anchor, [f for f in mapped if not isinstance(f, Important)]
    sections += [maps, drawn["solvers"], environment.section(outcomes)]
    sections.append(Section("limitations", "Known limitations", (Items(tuple(texts.paragraphs("limitations"))),)))
    named = [_of_paper(subject, f) for subject, (_, of) in found.items() for f in of]
    first = summary(outcomes, judged, named, sections, list(PAPERS), quick)
    above = {h.text for h in first.highlights}
    groups = (
        Findings(subject, anchor, tuple(f for f in of if _of_paper(subject, f) not in above))
        for subject, (anchor, of) in found.items()
    )
    return Document(
        "Gauss's principle of least constraint: four papers reproduced, claim by claim",
        texts("lead"),
        (),
        (ledger.overview(judged), *sections),
        first,
        tuple(g for g in groups if g.items),
    )


def _drawn(
    outcomes: Mapping[str, JobOutcome], compared: Results, quick: bool, executor: Executor | None,
    solvers: JobOutcome | None,
) -> dict[str, Any]:  # fmt: skip
    """The sections with many figures, by paper and "solvers", drawn side by side."""
    cases = [_solvers_case(compared)]
    known = {} if solvers is None else {cases[0].key: solvers}
    for number, paper in PAPERS.items():
        own = _own(outcomes, number)
        cases.append(Job(number, paper.section, {"outcomes": own, "quick": quick}, 1.0 + 1e-3 * len(own)))
    drawn = known | run_jobs([c for c in cases if c.key not in known], executor=executor)
    # What could not be drawn there fails here, with the place where it does.
    return {c.key: drawn[c.key].value if not drawn[c.key].failure else c.function(**c.arguments) for c in cases}


def chapters(
    outcomes: Mapping[str, JobOutcome], judged: Mapping[str, Judgement | str], quick: bool
) -> dict[str, Chapter]:
    """The chapters of the papers, by number; `chapter.py` beside the section of a paper writes its own."""
    named = {number: f"{paper.__package__}.chapter" for number, paper in PAPERS.items()}
    return {
        number: importlib.import_module(name).chapter(_own(outcomes, number), judged, quick)
        for number, name in named.items() if find_spec(name)
    }  # fmt: skip


def _own(outcomes: Mapping[str, JobOutcome], number: str) -> dict[str, JobOutcome]:
    """The outcomes of a paper's own cases, by their keys there; the maps are those of one of them."""
    own = {k.removeprefix(f"{number}: "): o for k, o in outcomes.items() if k.startswith(f"{number}: ")}
    mapped = atlas_section.KEY in outcomes and number == atlas_section.PAPER
    return own | ({atlas_section.KEY: outcomes[atlas_section.KEY]} if mapped else {})


def _solvers_case(compared: Results) -> Job:
    """The section on the comparison of the solvers, to be drawn."""
    return Job("solvers", solver_comparison.section, {"found": compared}, 3.0)


def _load() -> None:
    """Load what nearly all cases need: this module, and with it all papers, and the claims."""
    ledger.ledger()


def _of_paper(paper: str, finding: str) -> str:
    """A finding with its paper before it, marked as it was."""
    text = f"{paper}. {finding}"
    if isinstance(finding, Important):
        return Important(text, finding.figure, finding.anchor)
    return type(finding)(text)
