"""The main job: reproduce the papers and write the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any


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
        status, message, report (path of index.html), cases, failed.

    Raises
    ------
    BadInput
        If the folder cannot be written, before anything is computed.
    """
    from gaussopt.files import prepare_folder
    from gaussopt.papers import environment, paper_000, paper_001, paper_002, paper_004
    from gaussopt.reporting.document import Document, Section
    from gaussopt.reporting.render import write
    from gaussopt.work import run_cases

    prepare_folder(out)
    papers = {"000": paper_000, "001": paper_001, "002": paper_002, "004": paper_004}
    # The cases of a paper carry its number while they run, so that papers may name theirs alike.
    cases = [replace(c, key=f"{number}: {c.key}") for number, paper in papers.items() for c in paper.cases(quick)]
    outcomes = run_cases(cases, jobs, progress)
    failed = {key: o.failure for key, o in outcomes.items() if o.failure}
    sections: list[Section] = []
    findings: list[str] = []
    for number, paper in papers.items():
        own = {k.removeprefix(f"{number}: "): o for k, o in outcomes.items() if k.startswith(f"{number}: ")}
        section, found = paper.section(own, quick)
        sections.append(section)
        findings += [type(f)(f"Paper {number}. {f}") for f in found]  # a text stays what it is, timed or with formulas
    lead = (
        "Every time step of a mechanical system is a convex program (Gauss 1829). This report runs the systems of "
        "the papers by several formulations and solvers, certifies every step from the mechanics alone, and states "
        "what the papers got right and wrong. Every number was computed by the run that wrote it."
    )
    document = Document(
        "Gauss's principle of least constraint: the papers reproduced",
        lead + (" This is a quick run: shorter motions, fewer states." if quick else ""),
        tuple(findings),
        (*sections, environment.section(outcomes)),
    )
    report = write(document, out)
    message = f"{len(cases) - len(failed)} of {len(cases)} cases computed."
    return {
        "status": "crashed" if failed else "solved",
        "message": message if not failed else f"{message} Failed: {'; '.join(f'{k}: {v}' for k, v in failed.items())}",
        "report": str(report),
        "cases": len(cases),
        "failed": failed,
    }
