"""Write the files of a comparison: records, tables and report; and the report on the benchmark problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaussopt.comparison import published, tables
from gaussopt.comparison.changes import Changes
from gaussopt.comparison.results import Results, unanswered, write_results
from gaussopt.core.files import prepare_folder
from gaussopt.reporting.html.page import prepare_report, write
from gaussopt.reporting.sections import benchmarks as problems_of_the_field
from gaussopt.reporting.sections.comparison import document


def write_comparison(results: Results, folder: Path, parquet: bool = False) -> dict[str, Any]:
    """Write all records, tables and the report into a folder; return the data of `write_report` and the tables' paths.

    With `parquet` the long table `steps` is also written as Parquet.
    """
    if folder != results.store:
        write_results(results, folder)
    written = tables.write(folder / "tables", results.answers, results.times, results.motions)
    if parquet:
        written.append(results.to_parquet(folder / "tables" / "steps.parquet"))
    return {**write_report(results, folder), "tables": [str(path) for path in written]}


def write_report(results: Results, folder: Path, found: Changes | None = None) -> dict[str, Any]:
    """Write the report on a comparison; if given, `found` are the changes since an earlier comparison.

    Raises BadInput if the folder cannot be written.

    Returns a mapping for JSON with status, message, report, findings, sources, numbers of answers and times, motions,
    failures, and "unanswered": the sources without an answer, each with the reason.
    """
    if folder == results.store:  # the folder of the store is also that of the report
        prepare_folder(folder)
    else:
        prepare_report(folder)
    page = document(results, found)
    report = write(page, folder)
    asked = [r for r in results.answers if not r.refused]
    broken = results.failures
    pairs = len({(r.formulation, r.solver) for r in asked})
    status, message = "solved", f"Pairs of a formulation and a solver that were compared: {pairs}."
    if broken:
        status, message = "crashed", f"{len(broken)} cases have no result; {report} says why."
    elif not asked:
        status, message = "bad_input", "No pair answered any step, so there is nothing to compare."
    return {
        "status": status, "message": message,
        "report": str(report), "findings": list(map(str, page.findings)), "sources": results.meta.get("sources", []),
        "answers": len(asked), "times": len(results.times), "motions": [m.to_mapping() for m in results.motions],
        "unanswered": unanswered(results.meta.get("sources", []), results.answers), "failures": broken,
    }  # fmt: skip


def benchmarks(
    out: Path, *, quick: bool = False, jobs: int = 1, progress: Callable[[float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run the benchmark problems of the field in `jobs` processes and write the report into a folder.

    Finished motions are kept there and not run again. `quick` means one setting of each stepper and a fifth of each
    motion; `progress` is called with the completed fraction, `note` with a sentence on each file set aside. Returns
    status, message, report (path of index.html), findings and motions. Raises BadInput, before anything is computed,
    if the folder cannot be written.
    """
    found = published.measured(out, quick=quick, jobs=jobs, progress=progress, note=note)
    page = problems_of_the_field.document(found, quick)
    report = write(page, out)
    rows = (*found.steppers, *found.formulations)
    broken = [row for row in rows if row.status in published.BROKEN]
    message = f"{len(rows) - len(broken)} of {len(rows)} motions ended as they should or were given up."
    return {
        "status": "crashed" if broken else "solved", "message": message, "report": str(report),
        "findings": list(map(str, page.findings)), "motions": [asdict(row) for row in rows],
    }  # fmt: skip
