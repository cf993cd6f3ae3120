"""List the measured times in the files of a report; all other content is the same in every run of the same code."""

from __future__ import annotations

import json
from typing import Any

from gaussopt.reporting.document import Data, Document, Figure, Table, Timed

NAME = "timed.json"
"""File that lists the measured times, in the folder of the data."""


def timed_parts(document: Document) -> dict[str, Any]:
    """List the measured times in the data and figures of a report.

    "figures" are the names of figures that draw times, whose data files hold times as well; "tables" maps names to the
    "columns" that hold times and to single "cells" as (row, column), with rows counted from 0 below the header.
    """
    blocks = list(document.blocks)
    figures = {b.name for b in blocks if isinstance(b, Figure) and b.timed}
    tables = {}
    for table in (b for b in blocks if isinstance(b, Table | Data)):
        rows = table.rows if isinstance(table, Table) else ()
        cells = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if isinstance(cell, Timed)]
        if table.timed or cells:
            tables[table.name] = {"columns": list(table.timed), "cells": cells}
    return {"figures": sorted(figures), "tables": dict(sorted(tables.items()))}


def listing(document: Document) -> str:
    """Return the text of the file that lists measured times."""
    return json.dumps(timed_parts(document), indent=1, ensure_ascii=False) + "\n"
