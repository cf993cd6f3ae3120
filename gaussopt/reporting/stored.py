"""Write everything that a comparison leaves behind: records, tables, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gaussopt.comparison import tables
from gaussopt.comparison.compare import Results
from gaussopt.comparison.folder import write_results
from gaussopt.errors import BadInput
from gaussopt.files import prepare_folder
from gaussopt.reporting.comparing import document
from gaussopt.reporting.render import write


def write_comparison(results: Results, folder: Path) -> dict[str, Any]:
    """Write a comparison into a folder: all records, tables, report.

    Returns
    -------
    dict
        As `write_report`, and the paths of the tables.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    write_results(results, folder)
    written = tables.write(folder / "tables", results.answers, results.times, results.motions)
    return {**write_report(results, folder), "tables": [str(path) for path in written]}


def write_report(results: Results, folder: Path) -> dict[str, Any]:
    """Write the report on a comparison.

    Returns
    -------
    dict
        status, message, report, findings, counts, motions and failures, for JSON.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    prepare_folder(folder)
    if folder != results.store and any(folder.iterdir()) and not (folder / "index.html").is_file():
        raise BadInput(f"{folder} holds other things than a report; name an empty folder.")
    page = document(results)
    report = write(page, folder)
    asked = [r for r in results.answers if not r.refused]
    broken = results.failures
    return {
        "status": "crashed" if broken else "solved",
        "message": f"{len(broken)} cases failed; see {report}." if broken else f"{len(asked)} records.",
        "report": str(report), "findings": list(page.findings), "sources": results.meta.get("sources", []),
        "answers": len(asked), "times": len(results.times), "motions": [m.to_mapping() for m in results.motions],
        "failures": broken,
    }  # fmt: skip
