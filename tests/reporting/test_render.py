"""A report as files: Markdown, figures and data beside the page."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from report_pages import MOVING, STILL, every_block

from gaussopt.animation import marks
from gaussopt.cli.main import run
from gaussopt.core.errors import BadInput, MissingBackend
from gaussopt.plotting.svg import data_uri
from gaussopt.reporting import pdf
from gaussopt.reporting.document import Document
from gaussopt.reporting.html.page import prepare_report, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(every_block(), tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def markdown(folder: Path) -> str:
    return (folder / "index.md").read_text(encoding="utf-8")


def test_both_pictures_of_a_motion(folder: Path, markdown: str) -> None:
    assert (folder / "figures" / "motion.svg").read_text(encoding="utf-8") == STILL
    assert (folder / "figures" / "motion-animated.svg").read_text(encoding="utf-8") == MOVING
    assert "](figures/motion-animated.svg)" in markdown
    assert "[still picture](figures/motion.svg)" in markdown


def test_data_hold_the_source_of_formulas(folder: Path) -> None:
    with (folder / "data" / "sorted.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][3] == "cost $c_N$"
    assert rows[1] == ["s10", "1.23456789012e-09", "refuses", "$|x| < 1$", "0.5"]
    assert rows[4][3] == "more"


def test_markdown_tables_hold_together(markdown: str) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block
    assert r"$\vert x\vert \lt 1$" in markdown


def test_markdown_formulas(markdown: str) -> None:
    assert "<!-- min a^T M a, J a = gamma -->" in markdown
    assert re.search(r"^\$\$\n\\min_a.*\n\$\$$", markdown, re.MULTILINE)


def test_markdown_links_and_headings(folder: Path, markdown: str) -> None:
    anchors = set(re.findall(r'<a id="([^"]+)">', markdown))
    asked = re.findall(r"(?<!\\)\]\(#([^)]+)\)", markdown)
    assert asked
    assert set(asked) <= anchors
    further = (folder / "further.md").read_text(encoding="utf-8")
    assert "[Figure S1.1](#figure-alone), [Figure 3](index.md#figure-right)" in further
    assert "**[Other](further.md#more).**" in markdown
    for file in re.findall(r"(?<!\\)\]\(([^)#]+)\)", markdown):
        assert (folder / file).is_file(), file
    assert max(len(h) for h in re.findall(r"^#+(?= )", markdown, re.MULTILINE)) == 6
    assert "**Level 8**" in markdown


def test_markdown_of_users_texts(markdown: str) -> None:
    assert "<script" not in re.sub(r"\\<", "", markdown)
    assert re.search(r"(?<!\\)\$x\$", markdown) is None


def test_a_foreign_page_is_not_overwritten(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "index.html").write_text("<p>mine</p>")
    with pytest.raises(BadInput, match="not written by gaussopt"):
        prepare_report(foreign, keep=True)
    assert run(["papers", "--quick", "--out", str(foreign)]) == 2
    assert run(["atlas", "sliding-rod", "--out", str(foreign)]) == 2
    assert (foreign / "index.html").read_text() == "<p>mine</p>"
    (foreign / "index.html").unlink()
    (foreign / "notes.txt").write_text("mine")
    prepare_report(foreign, keep=True)
    with pytest.raises(BadInput, match="holds other things"):
        prepare_report(foreign)
    own = tmp_path / "own"
    write(Document("A report", "", ()), own)
    prepare_report(own)


def test_printing_without_a_browser_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["papers", "--quick", "--pdf", "--out", str(tmp_path / "out")]) == 2
    assert "none of chromium" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_printed_drawings_have_no_type_3_fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals refuse such fonts; a browser writes outlined letters as one."""
    try:
        browser = pdf.find_browser()
    except MissingBackend as missing:
        pytest.skip(str(missing))
    drawing = data_uri(marks.page([marks.mark_svg(marks.Word((60.0, 40.0), "q_1"))], 120.0, 80.0, "a letter"))
    (tmp_path / "index.html").write_text(f'<html><body><img src="{drawing}"></body></html>', encoding="utf-8")
    printed = pdf.print_page(browser, tmp_path / "index.html", tmp_path / "paper.pdf").read_bytes()
    assert b"/CIDFontType2" in printed
    assert b"/Type3" not in printed
    monkeypatch.setattr(pdf, "OUTLINE", "no outline")
    assert b"/Type3" in pdf.print_page(browser, tmp_path / "index.html", tmp_path / "paper.pdf").read_bytes()
