"""What the README and the pages say runs as written, and prints what they show.

A page is run from top to bottom in a folder of its own. Its blocks mean:

- python: run in one namespace; if its first line is `# name.py` it is written to that file instead;
- sh: every line that begins with `gaussopt` is run through the command line and ends with 0, or with 1 if its comment
  says "refused"; files of docs/files.md, and of the page, are there;
- json: loads; if `<!-- name.json -->` stands before it, it is that file;
- text, directly behind one of these: what that printed on standard output. Words are equal, numbers to the last digit
  shown, a line `...` stands for any lines, and a line that begins with four blanks goes on with the one before.

`<!-- tests: run: --t-end 0.1; papers: only parsed -->` before a block of sh adds words to the commands that begin so,
in order that they end sooner, or leaves it at reading their options; the last one that fits counts.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import gaussopt as go
from gaussopt.cli import main
from gaussopt.core import registry
from gaussopt.relaxations import is_contact_formulation

pytestmark = pytest.mark.documents

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
"""Run by the build of the site, see test_site.py."""

BLOCK = re.compile(r"(?:<!-- (?P<remark>[^\n]*?) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```", re.S | re.M)
WIDTH = 88
"""Characters in a line of a block that the site shows without a scroll bar."""
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
NAMED = {"formulation": "formulation", "formulations": "formulation", "solver": "solver", "solvers": "solver",
         "stepper": "stepper", "family": "family"}  # fmt: skip
"""Options whose values are registered names."""


@dataclass(frozen=True)
class Block:
    """A block of a page, with the remark before it and what is said to be printed by it."""

    language: str
    text: str
    line: int
    remark: str = ""
    output: str | None = None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for m in BLOCK.finditer(text):
        line = text.count("\n", 0, m.start("text")) + 1
        directly = end >= 0 and not text[end : m.start()].strip()
        if m["language"] == "text" and directly and found[-1].language in ("python", "sh"):
            last = found.pop()
            found.append(Block(last.language, last.text, last.line, last.remark, m["text"]))
        else:
            found.append(Block(m["language"], m["text"], line, m["remark"] or ""))
        end = m.end()
    return found


def same(shown: str, printed: str) -> bool:
    """Whether a text was printed as shown."""
    parts = re.split(r"^\.\.\.\n", shown, flags=re.M)
    patterns = ["\x00(\\d+)\x00".join(map(re.escape, NUMBER.split(part))) for part in parts]
    values = NUMBER.findall(printed)
    match = re.fullmatch(r"(?:.*\n)*?".join(patterns), _marked(printed))
    if match is None:
        return False
    expected = NUMBER.findall(shown)
    got = [values[int(place)] for place in match.groups()]
    return all(_close(a, b) for a, b in zip(expected, got, strict=True))


def _marked(printed: str) -> str:
    """The text with the places of its numbers instead of them."""
    count = iter(range(10**9))
    return NUMBER.sub(lambda m: f"\x00{next(count)}\x00", printed)


def _close(shown: str, printed: str) -> bool:
    mantissa, _, exponent = shown.partition("e")
    unit = 10.0 ** (-len(mantissa.partition(".")[2]) + int(exponent or 0))
    return abs(float(shown) - float(printed)) <= (1.01 * unit if "." in shown or exponent else 0)


def run_page(page: Path) -> list[tuple[Block, str]]:
    """Every block with what it printed, run in the current folder."""
    for name, text in _files().items():
        Path(name).write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    done = []
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        out = io.StringIO()
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "sh":
            with contextlib.redirect_stdout(out):
                _run_commands(block, where)
        elif block.language == "python":
            file = re.match(r"# (\w+\.py)\n", block.text)
            if file:
                Path(file[1]).write_text(block.text, encoding="utf-8")
            else:
                with contextlib.redirect_stdout(out):
                    exec(compile("\n" * block.line + block.text, where, "exec"), names)
                motion = names.pop("motion", None)
                if isinstance(motion, go.Trajectory):
                    assert motion.status is go.Status.SOLVED, where
                    names["motion"] = motion
        done.append((block, out.getvalue()))
    return done


def _files() -> dict[str, str]:
    """The files that docs/files.md shows."""
    shown = blocks(ROOT / "docs" / "files.md")
    return {b.remark: b.text for b in shown if b.language == "json" and b.remark.endswith(".json")}


def _run_commands(block: Block, where: str) -> None:
    remarks = block.remark.removeprefix("tests:").split(";") if block.remark.startswith("tests:") else []
    for line in re.sub(r"\s*\\\n\s*", " ", block.text).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gaussopt"]:
            _check_command(words[1:], where)
            fits = [more.strip() for begin, _, more in (r.partition(":") for r in remarks)
                    if line.startswith(f"gaussopt {begin.strip()}")]  # fmt: skip
            more = fits[-1] if fits else ""
            if more != "only parsed":
                code = main.run([*words[1:], *shlex.split(more)])
                assert code == ("# refused" in line), f"{where}: {line}"
        elif words[:1] == ["python"] and words[1].endswith(".py"):
            assert (ROOT / words[1]).exists(), f"{where}: {line}"


def _check_command(words: list[str], where: str) -> None:
    """The options exist, and so do the names given to them."""
    group: Any = typer.main.get_command(main.app)
    command = group.commands[words[0]]
    with command.make_context(words[0], list(words[1:])) as context:
        for option, kind in NAMED.items():
            given = context.params.get(option) or ()
            for name in [given] if isinstance(given, str) else given:
                for word in re.sub(r"\([^)]*\)", "", name).split(","):
                    base = word.strip().partition(":")[0]
                    if kind != "formulation" or not is_contact_formulation(base):
                        registry.load(kind, base)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_page_runs_and_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.stem == "pinocchio":
        pytest.importorskip("pinocchio", reason="Pinocchio is no part of gaussopt[test]: it takes 380 MB")
    for block, printed in run_page(page):
        if block.output is not None:
            joined = re.sub(r"\n {4}(?=\S)", " ", block.output)
            assert same(joined, printed), f"{page.name}, line {block.line} prints\n{printed}"


def test_no_block_is_wider_than_the_column_of_text_that_shows_it() -> None:
    """Except the two set-up commands of README, which are one line each for whoever runs lines of that file."""
    for page in (*PAGES, *TUTORIALS):
        inside = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            inside ^= line.startswith("```")
            if "--require-hashes" in line and page.name == "README.md":
                continue
            assert len(line) <= WIDTH or not (inside or line.startswith("    ")), (
                f"{page.name}, line {number} has {len(line)} characters"
            )


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("x = 1.50 m\n", "x = 1.505 m\n", True), ("x = 1.50 m\n", "x = 1.52 m\n", False),
        ("x = 1.50 m\n", "y = 1.50 m\n", False), ("3 steps\n", "4 steps\n", False),
        ("a\n...\nz 1e-03\n", "a\nb 2\nc\nz 1.4e-03\n", True),
        ("a\n...\nz 1e-03\n", "a\nb\nz 3e-03\n", False),
        ("[0.50 -1.00] (ok)\n", "[0.50 -1.01] (ok)\n", True),
    ],
)  # fmt: skip
def test_outputs_are_compared_number_by_number(shown: str, printed: str, alike: bool) -> None:
    assert same(shown, printed) is alike


def test_the_index_lists_every_page_and_links_lead_somewhere() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (*PAGES[2:], *TUTORIALS):
        name = page.relative_to(ROOT / "docs").as_posix()
        assert name == "README.md" or f"]({name})" in index, name
    for page in (*PAGES, *TUTORIALS):
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]+))?\)", text):
            if "://" in target:
                continue
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            if anchor and file.suffix == ".md":
                assert anchor in _anchors(file), f"{page.name}: {target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """As code hosts make them of headings."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_tables_on_choosing_are_those_of_the_committed_comparisons() -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("choosing", ROOT / "benchmarks" / "choosing.py")
    assert spec is not None
    assert spec.loader is not None
    choosing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(choosing)
    page = choosing.PAGE.read_text(encoding="utf-8")
    assert choosing.filled(page) == page, "run python benchmarks/choosing.py --write"


def rewrite(page: Path) -> None:
    """Put what is printed into the blocks that show it; lines of `...` are lost."""
    text = page.read_text(encoding="utf-8")
    for block, printed in run_page(page):
        if block.output is not None:
            old = f"{block.text}```\n\n```text\n{block.output}```"
            assert text.count(old) == 1
            text = text.replace(old, f"{block.text}```\n\n```text\n{printed}```")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import os
    import tempfile

    parser = argparse.ArgumentParser(description="Put what is printed into the pages given.")
    parser.add_argument("pages", nargs="+", type=lambda p: Path(p).resolve())
    for given in parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            rewrite(given)
