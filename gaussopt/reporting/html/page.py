"""Write a report: pages as self-contained HTML and as Markdown, with figures/ and data/ in the same folder."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from gaussopt.core.errors import BadInput
from gaussopt.core.files import prepare_folder, write_text
from gaussopt.plotting import svg
from gaussopt.reporting.document import Document, Timed, typeset
from gaussopt.reporting.document_checks import TIMED, checked, listing
from gaussopt.reporting.html import formulas, tables
from gaussopt.reporting.references import References

if TYPE_CHECKING:
    import jinja2

GENERATOR = '<meta name="generator" content="gaussopt">'
"""Element that identifies a page as a report of this project."""

OPEN_FINDINGS = 7
"""Number of findings that are shown at first; the others are folded."""

OPEN_ROWS = 40
"""Largest number of rows of an unfolded table; longer tables are folded, and left out in print."""


def write(document: Document, out: Path) -> Path:
    """Write all pages of the report into a folder, the main page last, and return the path of its HTML.

    Raises BadInput if the folder cannot be written, ValueError as in `checked`.
    """
    files = checked(document) | {f"data/{TIMED}": listing(document)}
    for name, text in files.items():
        # There are hundreds of files, all of which can be made again; waiting for the disk after each would be slow.
        write_text(out / name, text, durable=False)
    environment = _environment()
    script, style = (_source(environment, name) for name in ("report.js", "report.css"))
    given = {
        "report": document, "script": script, "style": style,
        # The hash by which a content security policy allows a script.
        "script_hash": "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "open_findings": OPEN_FINDINGS, "open_rows": OPEN_ROWS, "generator": GENERATOR,
    }  # fmt: skip
    for page in reversed(document.every_page):
        for ending in ("md", "html"):
            own = {"document": page, "references": References(document, page, ending)}
            write_text(
                out / f"{page.name}.{ending}", environment.get_template(f"report.{ending}.j2").render(given | own)
            )
    return out / f"{document.name}.html"


def prepare_report(folder: Path, *, keep: bool = False) -> None:
    """Make the folder of a report and check that it can be written.

    Raises BadInput if it cannot be written, if a page in it is not by gaussopt, or, without `keep`, if it is not empty.
    """
    refuse_foreign(folder)
    prepare_folder(folder)
    if (folder / "index.html").exists():
        return
    if not keep and any(folder.iterdir()):
        raise BadInput(f"{folder} holds other things than a report; name an empty folder.")


def refuse_foreign(folder: Path) -> None:
    """Raise BadInput if a page in the folder was not written by gaussopt."""
    page = folder / "index.html"
    if not (page.exists() or page.is_symlink()):
        return
    try:
        with page.open("rb") as file:
            own = GENERATOR.encode() in file.read(4096)
    except OSError:
        own = False
    if not own:
        raise BadInput(f"{page} was not written by gaussopt, or not by this version; name an empty folder.")


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gaussopt.reporting.html"),
        autoescape=lambda name: bool(name) and ".html" in str(name),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "columns": tables.columns,
        "data_uri": svg.data_uri,
        "display": formulas.display,
        "groups": jinja2.pass_context(lambda context, table: tables.groups(table, context["references"])),
        "inline_svg": svg.inline,
        "kind": lambda block: type(block).__name__,
        "portable": formulas.portable,
        "size": svg.size,
        "tex": jinja2.pass_context(lambda context, text: formulas.html(text, context["references"])),
        "typeset": typeset,
        "timed": lambda text: isinstance(text, Timed),
        "md": jinja2.pass_context(
            lambda context, cell, digits=6: formulas.markdown(tables.text(cell, digits), context["references"])
        ),
    }
    return environment


def _source(environment: jinja2.Environment, name: str) -> str:
    """Return the text of a file in the template folder."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
