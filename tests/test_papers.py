"""The main job on a small scale, and the forms of its report."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gaussopt.cli import run
from gaussopt.work import Case, run_cases
from gaussopt.reporting import plots
from gaussopt.reporting.document import Document, Figure, Paragraph, Section, Table
from gaussopt.reporting.render import write


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("papers")
    assert run(["papers", "--quick", "--jobs", "2", "--out", str(out)]) == 0
    return out


def table(report: Path, name: str) -> list[dict[str, str]]:
    with (report / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_cases_end(report: Path) -> None:
    assert {row["ended"] for row in table(report, "cases")} == {"done"}


def test_figures_of_the_source_are_there(report: Path) -> None:
    markdown = (report / "index.md").read_text(encoding="utf-8")
    for number in range(2, 10):
        assert (report / "figures" / f"paper-000-figure-{number}.svg").is_file()
        assert f"paper-000-figure-{number}.svg" in markdown


def test_motions_follow_the_reference(report: Path) -> None:
    rows = table(report, "accuracy-000")
    assert len(rows) == 6
    for row in rows:
        assert row["status"] == "solved"
        # RK4 at 1 ms over the first half second: the same integration error for every pair.
        assert float(row["largest error in q"]) < 5e-9
        assert float(row["certified"]) < 1e-7


def test_genetic_algorithm_is_recorded_beside_the_others(report: Path) -> None:
    rows = {row["solver"]: float(row["largest certified"]) for row in table(report, "control-000")}
    assert {"osqp", "newton"} < rows.keys()
    assert max(rows["osqp"], rows["newton"]) < 1e-12
    deap = [value for name, value in rows.items() if name.startswith("deap")]
    assert len(deap) == 2
    assert min(deap) > max(rows["osqp"], rows["newton"])


def test_errata_are_confirmed_with_numbers(report: Path) -> None:
    rows = table(report, "errata-000")
    values = {(r["erratum"], r["computed"]): float(r["value"]) for r in rows}
    assert values["000-5", "θ₁″ at t = 0, printed, tau = -0.5"] == pytest.approx(-666.84572655381, abs=1e-8)
    assert values["000-5", "θ₁″ at t = 0, printed, tau = 0"] == pytest.approx(-1.35872896228, abs=1e-8)
    assert values["000-5", "θ₁″ at t = 0, exact, tau = -0.5"] == pytest.approx(-156.57953216374, abs=1e-8)
    assert values["000-6", "θ₁″ at t = 0, printed J"] == pytest.approx(-90.319, abs=1e-3)
    verdicts = {r["erratum"]: r["verdict"] for r in rows if r["verdict"]}
    assert len(verdicts) == 9
    assert all("confirmed" in v for v in verdicts.values())


class Page(HTMLParser):
    """What a browser would ask for, and what a screen reader would read."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.lang: str | None = None
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.lang = given.get("lang")
        if tag == "img":
            self.images.append(given)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if given.get("id"):
            self.ids.append(str(given["id"]))
        for key in ("src", "href"):
            value = given.get(key)
            if value and value.startswith("#"):
                self.links.append(value[1:])
            elif value and not value.startswith("data:"):
                self.requests.append(value)


def test_html_is_self_contained_and_navigable(report: Path) -> None:
    text = (report / "index.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.requests == []
    assert "@import" not in text
    assert "url(" not in text
    assert "<script" not in text
    assert page.lang == "en"
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= set(page.ids)
    assert page.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert len(page.images) >= 12
    assert all(len(image.get("alt") or "") > 20 for image in page.images)
    assert 'name="viewport"' in text


def test_report_names_no_place_of_the_machine(report: Path) -> None:
    for file in report.rglob("*.*"):
        text = file.read_text(encoding="utf-8")
        assert str(Path.home()) not in text
        assert str(report) not in text


def test_markdown_links_exist(report: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (report / "index.md").read_text(encoding="utf-8")):
        assert (report / target).is_file()


def test_figures_are_the_same_bytes_for_the_same_data() -> None:
    x = np.linspace(0.0, 1.0, 20)
    assert plots.lines(x, {"a": x**2}, "x", "y") == plots.lines(x, {"a": x**2}, "x", "y")


def test_texts_are_escaped(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script>"
    figure = Figure("f", nasty, f'" onload="{nasty}', "<svg></svg>", pd.DataFrame({"a": [1]}))
    blocks = (Paragraph(nasty), Table("t", nasty, (nasty,), ((nasty,), (1.5,))), figure)
    write(Document(nasty, nasty, (nasty,), (Section("s", nasty, blocks),)), tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script" not in text
    page = Page()
    page.feed(text)
    assert page.images[0].keys() == {"src", "alt"}


def _fail() -> None:
    raise ValueError("no luck")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_case_stops_nothing(jobs: int) -> None:
    # numpy.linalg.inv stands for any function that a fresh process can import.
    cases = [Case("good", np.linalg.inv, {"a": np.eye(2)}), Case("bad", np.linalg.inv, {"a": np.zeros((2, 2))})]
    progress: list[float] = []
    outcomes = run_cases(cases, jobs, progress.append)
    assert list(outcomes) == ["good", "bad"]
    assert np.array_equal(outcomes["good"].value, np.eye(2))
    assert "LinAlgError" in outcomes["bad"].failure
    assert progress[-1] == 1.0


def test_failed_cases_are_reported_and_the_report_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gaussopt.papers import paper_000

    real = paper_000.cases

    def some(quick: bool) -> list[Case]:
        # Everything but the motions breaks: the report must still be written and say so.
        return [c if c.key.startswith("motion") else Case(c.key, _fail, {}) for c in real(True)]

    monkeypatch.setattr(paper_000, "cases", some)
    code = run(["papers", "--quick", "--out", str(tmp_path), "--json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 1
    assert data["status"] == "crashed"
    assert "no luck" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_out_that_is_a_file_is_refused_before_computing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(["papers", "--out", str(tmp_path / "file" / "x"), "--json"]) == 2
    assert "Cannot write" in json.loads(capsys.readouterr().out)["message"]
