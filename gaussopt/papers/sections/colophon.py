"""The section that states source code, date and command of the report."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
from pathlib import Path

from gaussopt.processes.environment import ABSENT, versions
from gaussopt.reporting.document import Section, Timed
from gaussopt.reporting.texts import Texts

ANCHOR = "colophon"

MACHINE = ("system", "cores", "vector units")
"""Keys of `versions()` that describe the machine."""

texts = Texts(__file__)


def section(quick: bool) -> Section:
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
    # benchmarks/replication.py writes this file; the codes that it runs are not among the packages of this report.
    replicated = json.loads(Path(__file__).with_name("replication.json").read_text(encoding="utf-8"))
    blocks = texts.table("colophon", rows), *texts.blocks("again", **replicated)
    return Section(ANCHOR, "How this report was made", blocks)


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
