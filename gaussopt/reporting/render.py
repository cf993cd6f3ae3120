"""Write a document: index.html (self-contained), index.md with figures/ and data/ beside it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from gaussopt.files import write_text
from gaussopt.reporting.document import Document, Figure, Table, data_of, figures_of, tables_of, text_of


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
    """
    for figure in figures_of(document.sections):
        write_text(out / "figures" / f"{figure.name}.svg", figure.svg)
        write_text(out / "data" / f"{figure.name}.csv", figure.data.to_csv(index=False, lineterminator="\n"))
    for table in tables_of(document.sections):
        write_text(out / "data" / f"{table.name}.csv", _csv(table))
    for data in data_of(document.sections):
        write_text(out / "data" / f"{data.name}.csv", data.frame.to_csv(index=False, lineterminator="\n"))
    html, markdown = (
        _environment().get_template("report.html.j2"),
        _environment().get_template("report.md.j2"),
    )
    write_text(out / "index.md", markdown.render(document=document))
    write_text(out / "index.html", html.render(document=document))
    return out / "index.html"


def template(name: str) -> Any:
    """A template of this project, to be rendered."""
    return _environment().get_template(name)


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gaussopt.reporting"),
        autoescape=lambda name: bool(name) and ".html" in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = text_of
    environment.filters["data_uri"] = _data_uri
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["is_number"] = lambda cell: isinstance(cell, int | float) and not isinstance(cell, bool)
    environment.filters["md"] = _markdown_cell
    return environment


def _data_uri(figure: Figure) -> str:
    # Base64 as an image keeps the ids of several figures apart.
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


def _markdown_cell(cell: Any) -> str:
    text = text_of(cell)
    for character in "\\|*_`<>":
        text = text.replace(character, f"\\{character}")
    return text


def _csv(table: Table) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return out.getvalue()
