"""Write a document: index.html (self-contained), index.md with figures/ and data/ beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gaussopt.files import write_text
from gaussopt.reporting import anchors, cells, svg, tex, timed
from gaussopt.reporting.document import (
    Animation,
    Data,
    Document,
    Figure,
    Link,
    Table,
    Timed,
    blocks_of,
    text_of,
    typeset,
)

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

OPEN_FINDINGS = 8
"""Longer lists of findings are folded where a summary stands above them."""

OPEN_ROWS = 40
"""Longer tables are folded, and on paper left to their files."""


def write(document: Document, out: Path) -> Path:
    """Write all forms of the report into a folder; the index files come last.

    Returns
    -------
    Path
        Of index.html.

    Raises
    ------
    BadInput
        If the folder cannot be written.
    ValueError
        If a link of the document leads nowhere or a name occurs twice.
    """
    anchors.check(document)
    for name, text in _files(document):
        write_text(out / name, text)
    environment = _environment()
    given = {"document": document, "titles": anchors.titles(document.sections)}
    write_text(out / "index.md", environment.get_template("report.md.j2").render(given))
    script, style = (_source(environment, name) for name in ("report.js", "report.css"))
    page = environment.get_template("report.html.j2").render(
        given, script=script, style=style, script_hash=_hash(script), open_findings=OPEN_FINDINGS, open_rows=OPEN_ROWS
    )
    write_text(out / "index.html", page)
    return out / "index.html"


def _files(document: Document) -> Iterator[tuple[str, str]]:
    """Names and texts of the files beside the page."""
    blocks = list(blocks_of(document.sections))
    if document.summary is not None:
        blocks = [document.summary.counts, *(h.figure for h in document.summary.highlights), *blocks]
    for block in blocks:
        match block:
            case Figure():
                yield f"figures/{block.name}.svg", block.svg
                yield f"data/{block.name}.csv", _frame_csv(block.data)
            case Animation():
                yield f"figures/{block.name}.svg", block.still
                yield f"figures/{block.name}-animated.svg", block.svg
                yield f"data/{block.name}.csv", _frame_csv(block.data)
            case Table():
                yield f"data/{block.name}.csv", _csv(block)
            case Data():
                yield f"data/{block.name}.csv", _frame_csv(block.frame)
    yield f"data/{timed.NAME}", timed.listing(document)


def template(name: str) -> jinja2.Template:
    """A template of this project, to be rendered."""
    return _environment().get_template(name)


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gaussopt.reporting"),
        autoescape=lambda name: bool(name) and ".html" in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "columns": cells.columns,
        "data_uri": svg.data_uri,
        "display": tex.display,
        "groups": cells.groups,
        "inline_svg": svg.inline,
        "kind": lambda block: type(block).__name__,
        "portable": tex.portable,
        "size": svg.size,
        "tex": tex.html,
        "typeset": typeset,
        "timed": lambda text: isinstance(text, Timed),
        "md": lambda cell, digits=6: tex.markdown(
            cell if isinstance(cell, str | Link) else text_of(cell, digits=digits)
        ),
    }
    return environment


def _source(environment: jinja2.Environment, name: str) -> str:
    """A file of the templates as it is."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _hash(script: str) -> str:
    """What a content security policy calls a script that it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _frame_csv(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _csv(table: Table) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return out.getvalue()
