"""Run the cases of the papers' report, draw its figures and write its pages.

The main process imports the papers only after the workers have begun to import them, so that no core waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gaussopt.core.files import write_text
from gaussopt.core.interrupts import RememberedInterrupt
from gaussopt.execution.workers import check_jobs, run_jobs
from gaussopt.processes.workers import Workers
from gaussopt.reporting import pdf as printing
from gaussopt.reporting.html.page import prepare_report, write

COMPARED, DRAWING_BEGINS = 0.15, 0.85
"""Fractions of the total time: when the comparison of the solvers ends, and when all cases are computed."""


def reproduce(
    out: Path, *, quick: bool = False, jobs: int = 1, pdf: bool = False,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run every case of every paper in `jobs` processes and write the report into a folder.

    `quick` means shorter motions and fewer states; with `pdf` the main document is printed as paper.pdf too; `progress`
    is called with the fraction done. Return status, message, report (path of index.html), pdf (path or None), cases,
    failed and claims (verdict by number). Before computing, raise BadInput if the folder cannot be written, and
    MissingBackend if no browser can print.
    """
    check_jobs(max(1, jobs))
    browser = printing.find_browser() if pdf else ""
    prepare_report(out, keep=True)

    def share(begin: float, end: float) -> Callable[[float], None]:
        return lambda done: None if progress is None else progress(begin + (end - begin) * done)

    with RememberedInterrupt() as interrupt, Workers(jobs) as workers:
        workers.prepare(_load)
        from gaussopt.papers import ledger
        from gaussopt.papers.p001_friction import atlas_section
        from gaussopt.papers.pages import PAPERS, document, solvers_case
        from gaussopt.papers.sections import appendix, solver_comparison

        # During the run a paper's number precedes the keys of its cases, so that papers may use the same keys.
        cases = [replace(c, key=f"{number}: {c.key}") for number, paper in PAPERS.items() for c in paper.cases(quick)]
        interrupt.pass_on()
        cases += [*atlas_section.cases(quick), *ledger.cases(quick)]
        compared = solver_comparison.results(quick, workers, share(0.0, COMPARED))
        # The solvers' section is drawn with the cases, so that two processes share the remaining drawing equally.
        solvers = solvers_case(compared)
        outcomes = run_jobs([*cases, solvers], progress=share(COMPARED, DRAWING_BEGINS), executor=workers)
        page = document(outcomes, compared, quick, workers, outcomes.pop(solvers.key))
        interrupt.pass_on()
    report = write(page, out)
    write_text(out / appendix.FILE, appendix.bibtex())
    printed = printing.print_page(browser, report, out / "paper.pdf") if browser else None
    if progress is not None:
        progress(1.0)
    failed = {key: o.failure for key, o in outcomes.items() if o.failure} | compared.failures
    message = f"{len(cases) - sum(bool(o.failure) for o in outcomes.values())} of {len(cases)} cases computed."
    return {
        "status": "crashed" if failed else "solved",
        "message": message if not failed else f"{message} Failed: {'; '.join(f'{k}: {v}' for k, v in failed.items())}",
        "report": str(report),
        "pdf": None if printed is None else str(printed),
        "cases": len(cases),
        "failed": failed,
        "claims": {i: str(getattr(j, "verdict", j)) for i, j in ledger.judgements(outcomes).items()},
    }


def _load() -> None:
    """Import the modules that nearly all cases need: all papers, and the claims."""
    from gaussopt.papers import ledger, pages  # noqa: F401

    ledger.ledger()
