"""Measured times in the files of a report: everything else is the same whenever the same code runs."""

from __future__ import annotations

import json
from typing import Any

from gaussopt.reporting.document import Data, Document, Figure, Table, Timed, blocks_of

NAME = "timed.json"
"""File beside the data that lists them."""


def timed_parts(document: Document) -> dict[str, Any]:
    """List the measured times in the data and figures of a report.

    Returns
    -------
    dict
        "figures": names of the figures that draw times, whose data hold them as well; "tables": by name, the
        "columns" that hold times and single "cells" as (row, column), rows counted from 0 below the header.
    """
    blocks = list(blocks_of(document.sections))
    if document.summary is not None:
        blocks += [document.summary.counts, *(h.figure for h in document.summary.highlights)]
    figures = {b.name for b in blocks if isinstance(b, Figure) and b.timed}
    tables = {b.name: {"columns": list(b.timed), "cells": _cells(b)} for b in blocks if isinstance(b, Table | Data)}
    held = {name: parts for name, parts in tables.items() if any(parts.values())}
    return {"figures": sorted(figures), "tables": dict(sorted(held.items()))}


def listing(document: Document) -> str:
    """Text of the file that lists measured times."""
    return json.dumps(timed_parts(document), indent=1, ensure_ascii=False) + "\n"


def _cells(table: Table | Data) -> list[tuple[int, int]]:
    """Places of single cells with times in them."""
    if isinstance(table, Data):
        return []
    return [(i, j) for i, row in enumerate(table.rows) for j, cell in enumerate(row) if isinstance(cell, Timed)]
