"""Write everything that a comparison leaves behind: records, tables, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gaussopt.comparison import tables
from gaussopt.comparison.compare import Results
from gaussopt.comparison.folder import write_results
from gaussopt.reporting.comparing import document
from gaussopt.reporting.render import write


def write_comparison(results: Results, folder: Path) -> dict[str, Any]:
    """Write a comparison into a folder.

    Returns
    -------
    dict
        status, message, report, findings, tables, counts and failures, for JSON.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    """
    write_results(results, folder)
    written = tables.write(folder / "tables", results.answers, results.times, results.motions)
    page = document(results)
    report = write(page, folder)
    asked = [r for r in results.answers if not r.refused]
    broken = results.failures
    return {
        "status": "crashed" if broken else "solved",
        "message": f"{len(broken)} cases failed; see {report}." if broken else f"{len(asked)} records.",
        "report": str(report), "findings": list(page.findings), "tables": [str(path) for path in written],
        "sources": results.meta.get("sources", []), "answers": len(asked), "times": len(results.times),
        "motions": [m.to_mapping() for m in results.motions], "failures": broken,
    }  # fmt: skip
