"""Sections that belong to no single paper: method, environment of the run, references, and how the report was made."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from gaussopt._version import __version__
from gaussopt.comparison.pairing import installed_solvers
from gaussopt.comparison.solver_spec import solver_class
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.processes.environment import ABSENT, versions
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.document import Items, Paragraph, Section, Timed
from gaussopt.reporting.texts import Texts, number

FILE = "references.bib"
"""Name of the file next to the main page."""

SOFTWARE = "gaussopt"
"""Key of the reference to gaussopt itself; its version is the installed one."""

MACHINE = ("system", "cores", "vector units")
"""Keys of `versions()` that describe the machine."""

METHOD = (("program", "Gauss's principle as a program"), ("contact", "Contact and friction"),
          ("certificate", "What a certificate says, and what not"))  # fmt: skip

texts = Texts(__file__)


def method() -> Section:
    """Return the section on the method: the program of a step, contact, the certificate, and a table of symbols."""
    values = {"tolerance": number(DEFAULT_TOLERANCE)}
    parts = [Section(f"method-{name}", title, tuple(texts.blocks(name, **values))) for name, title in METHOD]
    symbols = Section("method-symbols", "Symbols", (texts.table("symbols"),))
    return Section("method", "Method and certificate", (), (*parts, symbols))


def environment(outcomes: Mapping[str, JobOutcome]) -> Section:
    """Return a section with versions, machine, tolerance and solver options, and the duration of each case."""
    seconds = ((key, o.seconds, o.failure or "done") for key, o in outcomes.items())
    total = sum(o.seconds for o in outcomes.values())
    spent = Timed(f"The {len(outcomes)} cases took {total:.0f} s of one core.")
    options: list[tuple[Any, ...]] = [("certificate", "tolerance", DEFAULT_TOLERANCE)]
    for name in installed_solvers():
        own = solver_class(name).options_type()
        options += [(name, f.name, _text(getattr(own, f.name))) for f in fields(own)]
    blocks = (
        *texts.blocks("reading"), texts.table("environment", versions().items()), texts.table("settings", options),
        Paragraph(spent), texts.table("cases", seconds, timed=("seconds",)),
    )  # fmt: skip
    return Section("environment", "Environment", blocks)


def _text(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else "none" if value is None else str(value)


def colophon(quick: bool) -> Section:
    """Return a section with commit, date, command and versions."""
    found = versions()
    made = {
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": f"gaussopt papers{' --quick' if quick else ''}",
        "versions": ", ".join(f"{k} {v}" for k, v in found.items() if v != ABSENT and k not in MACHINE),
        "machine": f"{found['system']}, {found['cores']} cores",
    }
    rows = ((what, Timed.plain(said)) for what, said in made.items())
    # benchmarks/replication.py writes this file; the packages of this report do not include the codes that it runs
    replicated = json.loads(Path(__file__).with_name("replication.json").read_text(encoding="utf-8"))
    blocks = texts.table("colophon", rows), *texts.blocks("again", **replicated)
    return Section("colophon", "How this report was made", blocks)


def commit() -> str:
    """Return the commit of this file's source tree, and whether the tree has uncommitted changes."""
    told = _git("ls-files", "--error-unmatch", Path(__file__).name) and _git("rev-parse", "HEAD")
    if not told:
        return "not known, since gaussopt was installed without its history"
    changed = _git("status", "--porcelain", "--untracked-files=no", ":/")
    return f"{told}, with changes" if changed else told


def _git(*arguments: str) -> str:
    """Return the output of git in the folder of this file; "" if it fails."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def references() -> Section:
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
    # The name of an organisation must not be split into first and last name.
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
