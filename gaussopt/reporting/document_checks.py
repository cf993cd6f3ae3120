"""Check a report (every link has a target, every name is unique), and list its files and the measured times in them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gaussopt.reporting import document as parts
from gaussopt.reporting.document import Data, Document, Figure, Link, Table, Tex, Timed, blocks_of, sections_of
from gaussopt.reporting.references import MISSING, REFERENCE, anchors_of


def checked(document: Document) -> dict[str, str]:
    """Check a report; return the texts of the files that accompany its pages, by file name.

    Two pages may show the same figure or table under the same name. Raises ValueError for a link without a
    target, or if two different parts have the same name.
    """
    _unique("pages", (p.name for p in document.every_page))
    _unique("sections", (s.anchor for p in document.every_page for s in sections_of(p.sections)))
    files: dict[str, str] = {}
    for page in document.every_page:
        _, *anchors = (anchor for anchor, _ in anchors_of(page))
        _unique("anchors", anchors)
        own = [file for block in blocks_of(page.sections) for file in _files(block)]
        _unique("files", (name for name, _ in own))
        for name, text in own:
            if files.setdefault(name, text) != text:
                raise ValueError(f"Two parts of the report {document.title!r} have the same name: {name}.")
    known = {anchor for page in document.every_page for anchor, _ in anchors_of(page)}
    lost = sorted({a for p in document.every_page for a in _targets(p)} - known)
    if lost:
        raise ValueError(f"Links of the report {document.title!r} lead nowhere: {', '.join(lost)}.")
    return files


def _unique(what: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"Two {what} of the report have the same name: {', '.join(twice)}.")


def _files(block: parts.Block) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files of a block."""
    match block:
        case parts.Figure():
            yield f"figures/{block.name}.svg", block.svg
        case parts.Animation():
            yield f"figures/{block.name}.svg", block.still
            yield f"figures/{block.name}-animated.svg", block.svg
    if isinstance(block, parts.Table):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows((block.columns, *block.rows))
        yield f"data/{block.name}.csv", out.getvalue()
    elif isinstance(block, parts.Figure | parts.Animation | parts.Data):
        frame = block.frame if isinstance(block, parts.Data) else block.data
        yield f"data/{block.name}.csv", str(frame.to_csv(index=False, lineterminator="\n"))


def _texts(page: Document) -> Iterator[object]:
    """Yield everything on a page that may contain a link."""
    yield page.lead
    for finding in page.findings:
        yield finding.text if isinstance(finding, parts.Finding) else finding
    for block in blocks_of(page.sections):
        match block:
            case parts.Paragraph():
                yield block.text
            case parts.Items():
                yield from block.items
            case parts.Table():
                yield block.caption
                yield from (cell for row in block.rows for cell in row)
            case parts.Figure() | parts.Animation() | parts.Data():
                yield block.caption


def _targets(page: Document) -> Iterator[str]:
    """Yield the anchors that must exist; figures and tables that texts refer to may be missing, if a case failed."""
    yield from (f.anchor for f in page.findings if isinstance(f, parts.Finding))
    for text in _texts(page):
        if isinstance(text, Link):
            yield text.anchor
        elif isinstance(text, Tex):
            yield from (a for a in REFERENCE.findall(text) if not a.startswith(tuple(f"{kind}-" for kind in MISSING)))


TIMED = "timed.json"
"""File that lists the measured times, in the folder of the data."""


def timed_parts(document: Document) -> dict[str, Any]:
    """List the measured times in the data and figures of a report.

    "figures" are the names of figures that draw times, whose data files hold times as well; "tables" maps names to the
    "columns" that hold times and to single "cells" as (row, column), with row 0 directly below the header.
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
