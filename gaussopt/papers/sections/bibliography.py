"""References of the report: a list for the page, and a BibTeX file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources

from gaussopt._version import __version__
from gaussopt.reporting.document import Items, Section
from gaussopt.reporting.texts import Texts

FILE = "references.bib"
"""Name of the file next to the main page."""

SOFTWARE = "gaussopt"
"""Key of the reference to gaussopt itself; its version is the installed one."""

texts = Texts(__file__)


def section() -> Section:
    """Return the list of references."""
    listed = tuple(_item(fields) for fields in entries().values())
    return Section("references", "References", (*texts.blocks("references"), Items(listed)))


def entries() -> dict[str, dict[str, str]]:
    """Return the fields of every reference, by its key."""
    text = resources.files(__package__).joinpath("references.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = tomllib.loads(text)
    found[SOFTWARE]["version"] = __version__
    return found


def bibtex() -> str:
    """Return all references as BibTeX, in UTF-8."""
    return "\n".join(_entry(key, fields) for key, fields in entries().items())


def _entry(key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if name != "type"]
    # Names of organisations must not be split into first and last names.
    text = "\n".join(lines).replace("{The gaussopt developers}", "{{The gaussopt developers}}")
    return f"@{fields['type']}{{{key},\n{text}\n}}\n"


def _item(fields: Mapping[str, str]) -> str:
    """Return the text of one reference in the list."""
    of = {"volume": "", "number": "", "pages": "", **fields}
    within = f"{of['volume']}{f'({n})' if (n := of['number']) else ''}" + f", {of['pages']}" * bool(of["pages"])
    where = f"{of.get('journal', of.get('publisher', ''))} {within}".strip()
    doi, version = (f"{name} {of[key]}" if key in of else "" for name, key in (("DOI", "doi"), ("version", "version")))
    when = f" ({of['year']})" if "year" in of else ""
    told = (where, version, of.get("note", ""), doi)
    return f"{of['author'].replace(' and ', '; ')}{when}: {of['title']}. {'. '.join(filter(None, told))}.".replace(
        "--", "–"
    )
