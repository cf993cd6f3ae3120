"""The main job: reproduce the papers and write the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaussopt.claim import Judgement
    from gaussopt.comparison.compare import Results
    from gaussopt.reporting.document import Document, Section
    from gaussopt.work import Outcome


def reproduce(
    out: Path, *, quick: bool = False, jobs: int = 1, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Run every case of every paper and write the report.

    Parameters
    ----------
    out : Path
        Folder of the report.
    quick : bool
        Shorter motions and fewer states.
    jobs : int
        Processes.
    progress : called with the fraction done

    Returns
    -------
    dict
        status, message, report (path of index.html), cases, failed, claims (verdict by number).

    Raises
    ------
    BadInput
        If the folder cannot be written, before anything is computed.
    """
    from gaussopt.files import prepare_folder
    from gaussopt.papers import atlas, comparison, ledger
    from gaussopt.reporting.render import write
    from gaussopt.work import run_cases

    prepare_folder(out)
    papers = _papers()
    # The cases of a paper carry its number while they run, so that papers may name theirs alike.
    cases = [replace(c, key=f"{number}: {c.key}") for number, paper in papers.items() for c in paper.cases(quick)]
    cases += [*atlas.cases(quick), *ledger.cases(quick)]

    def share(begin: float, end: float) -> Callable[[float], None]:
        return lambda done: None if progress is None else progress(begin + (end - begin) * done)

    outcomes = run_cases(cases, jobs, share(0.0, CASES_SHARE))
    compared = comparison.results(quick, jobs, share(CASES_SHARE, 1.0))
    report = write(document(outcomes, compared, quick), out)
    failed = {key: o.failure for key, o in outcomes.items() if o.failure} | compared.failures
    message = f"{len(cases) - sum(bool(o.failure) for o in outcomes.values())} of {len(cases)} cases computed."
    return {
        "status": "crashed" if failed else "solved",
        "message": message if not failed else f"{message} Failed: {'; '.join(f'{k}: {v}' for k, v in failed.items())}",
        "report": str(report),
        "cases": len(cases),
        "failed": failed,
        "claims": {i: _word(j) for i, j in ledger.judgements(outcomes).items()},
    }


CASES_SHARE = 0.75
"""Share of the time that the cases take; the rest is the comparison of solvers."""


def document(outcomes: Mapping[str, Outcome], compared: Results, quick: bool) -> Document:
    """The report.

    Parameters
    ----------
    outcomes : of all cases, by key
    compared : Results
        The comparison of the solvers.
    quick : bool
        Whether the cases were those of a quick run.
    """
    from gaussopt.papers import atlas, comparison, environment, ledger, limitations
    from gaussopt.papers.summary import summary
    from gaussopt.reporting.document import Document

    judged = ledger.judgements(outcomes)
    sections: list[Section] = []
    findings: list[str] = []
    for number, paper in _papers().items():
        own = {k.removeprefix(f"{number}: "): o for k, o in outcomes.items() if k.startswith(f"{number}: ")}
        section, found = paper.section(own, quick)
        *parts, errata = section.sections
        sections.append(replace(section, sections=(*parts, ledger.section(number, judged), errata)))
        findings += [_of_paper(number, f) for f in found]
    maps, found = atlas.section(outcomes)
    findings += found
    sections += [maps, comparison.section(compared), environment.section(outcomes), limitations.section()]
    lead = (
        "Every time step of a mechanical system is a convex program (Gauss 1829). This report runs the systems of "
        "four papers by several formulations and solvers, certifies every step from the mechanics alone, and states "
        "what the papers got right and wrong. Every number was computed by the run that wrote it."
    )
    return Document(
        "Gauss's principle of least constraint: four papers reproduced, claim by claim",
        lead,
        tuple(findings),
        (ledger.overview(judged), *sections),
        summary(outcomes, judged, findings, sections, list(_papers()), quick),
    )


def _papers() -> dict[str, Any]:
    from gaussopt.papers import paper_000, paper_001, paper_002, paper_004

    return {"000": paper_000, "001": paper_001, "002": paper_002, "004": paper_004}


def _of_paper(number: str, finding: str) -> str:
    """A finding with its paper's number before it, marked as it was."""
    from gaussopt.papers._common import Important

    text = f"Paper {number}. {finding}"
    if isinstance(finding, Important):
        return Important(text, finding.figure, finding.anchor)
    return type(finding)(text)


def _word(judged: Judgement | str) -> str:
    return judged if isinstance(judged, str) else str(judged.verdict)
