"""The main job on a small scale, and the forms of its report."""

from __future__ import annotations

import csv
import json
import re
from difflib import unified_diff
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_pages import without_times

from gaussopt.cli.main import run
from gaussopt.comparison.results import Results
from gaussopt.execution.workers import run_jobs
from gaussopt.processes.job import Job, JobOutcome
from gaussopt.processes.workers import Workers
from gaussopt.reporting.document import Document, Figure, Paragraph, Section, Table
from gaussopt.reporting.html.page import write

DOCUMENTS = pytest.mark.documents


@pytest.fixture(scope="module")
def report(papers_report: Path) -> Path:
    return papers_report


@pytest.fixture
def running(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is drawn in the process of `workers`, whose imports are paid for."""
    monkeypatch.setattr("gaussopt.papers.reproduce.Workers", lambda jobs: workers)


def table(report: Path, name: str) -> list[dict[str, str]]:
    with (report / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def text_of(report: Path) -> str:
    """All pages of a report as Markdown."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(report.glob("*.md")))


FIGURES = [
    *(f"paper-000-figure-{k}" for k in range(2, 10)), *(f"paper-001-figure-{k}" for k in ("3-x", "3-y", "4", "5")),
    "paper-002-figure-4", "paper-002-figure-5", *(f"paper-004-figure-{k}" for k in range(2, 6)),
]  # fmt: skip
"""The figures of the sources."""

ERRATA = {"000": 9, "001": 13, "002": 6, "004": 5}
"""How many errata of each paper are confirmed."""

ROWS = {"accuracy-000": 6, "agreement-001": 10, "events-001": 20, "noise-002": 5}
"""How many rows some tables have; each motion in them is solved."""

CONTRACTIONS = {
    "45°": 0.1225, "60°": 0.2044, "60°, 20 N up at C": 0.2044, "85°": 0.3403, "88°": 0.3454, "89.5°": 0.3464,
}  # fmt: skip

NUMBERS: list[tuple[str, tuple[str, ...], str, float, float]] = [
    ("errata-000", ("000-5", "θ₁″ at t = 0, printed, tau = -0.5, rad/s^2"), "value", -666.84572655381, 1e-8),
    ("errata-000", ("000-5", "θ₁″ at t = 0, printed, tau = 0, rad/s^2"), "value", -1.35872896228, 1e-8),
    ("errata-000", ("000-5", "θ₁″ at t = 0, exact, tau = -0.5, rad/s^2"), "value", -156.57953216374, 1e-8),
    ("errata-000", ("000-6", "θ₁″ at t = 0, printed J, rad/s^2"), "value", -90.319, 1e-3),
    ("errata-001", ("001-1", "energy at 0.09 s, printed sign, J"), "value", 29.909807, 1e-6),
    ("errata-001", ("001-6", "N_A, N"), "value", 10.7, 0.05),
    ("errata-001", ("001-10", "largest y while A slides on the floor, m"), "value", 0.433013, 1e-6),
    ("errata-001", ("001-10", "largest |y_A|, m"), "value", 0.0, 1e-12),
    ("errata-002", ("002-1", "θ₁″ at the start, printed sign, rad/s²"), "value", -2.682, 1e-10),
    ("errata-002", ("002-2", "θ₁″ with τ₃ = 100 N m, correct"), "value", 1.432, 1e-10),
    ("errata-002", ("002-3", "θ₁″ at the start, printed force, rad/s²"), "value", 1.94625, 1e-10),
    ("errata-002", ("002-3", "θ₁″ at the start, correct, rad/s²"), "value", 2.682, 1e-10),
    *(("impact-001", (f"{name}′",), "after", value, 1e-6) for name, value in
      {"x": -2.083712, "y": -1.279269, "theta1": -1.723142, "theta2": 1.723142}.items()),
    *(("impact-001", (f"gap rate of {c} / (m/s)",), "before", -3.873359, 1e-6) for c in "AC"),
    *(("impact-001", (f"gap rate of {c} / (m/s)",), "after", 0.0, 1e-12) for c in "AC"),
    *(("impact-001", (f"normal impulse of {c} / (N s)",), "after", 5.341441, 1e-6) for c in "AC"),
    ("air-001", ("printed formulas, F = −40 N, g = 0",), "force at A at the start / N", 10.7, 0.05),
    ("air-001", ("printed formulas, F = −40 N, g = 0",), "force at C at the start / N", 11.0, 0.05),
    ("air-001", ("printed formulas, F = −40 N, g = 0",), "gap of A at the start / m", 0.70711, 1e-5),
    ("energy-001", ("printed sign",), "start / J", 29.50070, 1e-5),
    ("energy-001", ("printed sign",), "at 0.09 s / J", 29.909807, 1e-6),
    ("energy-001", ("correct sign",), "at 0.09 s / J", 29.100437, 1e-6),
    *(("frozen-001", (state,), "ϱ", rho, 1e-4) for state, rho in CONTRACTIONS.items()),
    ("frozen-001", ("60°, 20 N up at C",), "force at A / N", 19.65651, 1e-5),
    ("frozen-001", ("85°",), "force at A / N", 40.588, 1e-3),
    ("frozen-001", ("88°",), "force at A / N", 40.735, 1e-3),
    *(("frozen-001", (state,), "force at C / N", 0.0, 1e-3) for state in ("60°, 20 N up at C", "85°", "88°")),
    ("penalty-002", ("1e+02",), "bias", 0.38, 0.01),
    ("penalty-002", ("1e+04",), "bias", 4e-3, 2e-4),
    ("penalty-002", ("1e+06",), "bias", 4e-5, 2e-6),
    ("branch-002", ("four-bar, τ₃ = 100 N m",), "θ₁″ by the flow chart", 2.682, 3e-6),
    ("branch-002", ("four-bar, τ₃ = 100 N m",), "θ₁″ by the plain objective", 1.432, 2e-6),
    ("passages-002", ("450.0", "0.5"), "t / s", 0.580398889511878, 1e-7),
    ("passages-002", ("0.0", "-0.5"), "t / s", 1.140948033588640, 1e-6),
]  # fmt: skip
"""Table, beginning of the first row meant, column, number, and how far it may be off."""

WITHIN: list[tuple[str, str, str, float, float]] = [
    # RK4 at 1 ms over the first 0.1 s: the same integration error for every pair.
    ("accuracy-000", "", "largest error in q", 0.0, 5e-9),
    ("accuracy-000", "", "certified", 0.0, 1e-7),
    ("control-000", "osqp|newton", "largest certified", 0.0, 1e-12),
    ("control-000", "deap", "largest certified", 1e-12, np.inf),
    ("agreement-001", "", "states", 5, np.inf),
    ("agreement-001", "", "error of q", 0.0, 1e-9),
    ("agreement-001", "", "error of v", 0.0, 1e-9),
    ("agreement-001", "", "error of the normal forces / N", 0.0, 1e-8),
    ("agreement-001", "", "certified", 0.0, 1e-12),
    ("agreement-001", "", "rise / J", 0.0, 1e-11),
    # C came in to the left and leaves to the right.
    ("impact-001", "slip of C", "before", -np.inf, -1e-12),
    ("impact-001", "slip of C", "after", 1e-12, np.inf),
    ("air-001", "printed formulas, F = −40", "smallest gap / m", -np.inf, -0.1),
    ("air-001", ".*F = g = 0", "largest force / N", 0.0, 0.0),
    ("energy-001", "printed", "largest rise in a step / J", 1e-3, np.inf),
    ("energy-001", "correct", "largest rise in a step / J", -np.inf, 1e-8),
    ("rod-001", "stop,LCP by Lemke", "slip changes sign", 0, 0),
    ("rod-001", "stop,LCP by Lemke", "largest slip after the stop / (m/s)", 0.0, 1e-12),
    ("rod-001", "stop,printed loop", "slip changes sign", 51, np.inf),
    ("rod-001", "lift,LCP by Lemke", "gap / m", 1e-4, np.inf),
    ("frozen-001", "", "error at the end / N", 0.0, 1e-10),
    ("crossing-002", "", "|θ₁ − θ₂| at the end", 0.0, 1e-9),
    ("noise-002", "regular row", "off the branch", 0, 0),
    ("noise-002", "regular row, 0.001", "largest finite / rad", 0.0, 2e-4),
    ("noise-002", "regular row, 0.01", "largest finite / rad", 0.0, 2e-3),
    ("noise-002", r"printed row, [0-9.]+,\d", "off the branch", 1, np.inf),
    # The noise does no harm where it respects the constraints.
    ("noise-002", "printed row, 0.01, admissible", "largest finite / rad", 0.0, 1e-9),
    ("branch-002", "four-bar, τ₃ = 100", "lost / N m", 1.0, np.inf),
    ("states-002", ".*by kkt", "error", 0.0, 1e-10),
    ("states-004", ".*by kkt", "error", 0.0, 1e-10),
    ("motion-004", ".*: quasi-velocities,(?! formula)", "violation / (m/s)", 0.0, 1e-14),
    # Each step of the tan row is right; its integration is not.
    ("motion-004", ".*: Routh, tan row", "certified", 0.0, 1e-12),
]  # fmt: skip
"""Table, beginnings of the rows meant, column, and the range of their numbers."""


def test_all_cases_end(report: Path) -> None:
    assert {row["ended"] for row in table(report, "cases")} == {"done"}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_sources_are_there(report: Path, name: str) -> None:
    assert (report / "figures" / f"{name}.svg").is_file()
    assert f"{name}.svg" in text_of(report)


@pytest.mark.parametrize("paper", ERRATA)
def test_errata_are_confirmed(report: Path, paper: str) -> None:
    verdicts = [row["verdict"] for row in table(report, f"errata-{paper}-list")]
    assert len(verdicts) == ERRATA[paper]
    assert all("confirmed" in v for v in verdicts)


@pytest.mark.parametrize("name", ROWS)
def test_tables_are_whole(report: Path, name: str) -> None:
    rows = table(report, name)
    assert len(rows) == ROWS[name]
    assert {row.get("status", "solved") for row in rows} == {"solved"}


@pytest.mark.parametrize(("name", "row", "column", "number", "off"), NUMBERS)
def test_numbers(report: Path, name: str, row: tuple[str, ...], column: str, number: float, off: float) -> None:
    found = next(r for r in table(report, name) if tuple(r.values())[: len(row)] == row)
    assert float(found[column]) == pytest.approx(number, abs=off)


@pytest.mark.parametrize(("name", "rows", "column", "low", "high"), WITHIN)
def test_ranges(report: Path, name: str, rows: str, column: str, low: float, high: float) -> None:
    found = [float(r[column]) for r in table(report, name) if re.match(rows, ",".join(r.values()))]
    assert found
    assert low <= min(found)
    assert max(found) <= high


def test_curves_of_the_sources(report: Path) -> None:
    forces = pd.read_csv(report / "data" / "paper-001-figure-5.csv")
    assert set(forces["program"]) == {"QP (29) by Newton", "LCP by Lemke"}
    start = forces[forces["t"] == 0]
    for end, force in (("A", 13.678369), ("C", 11.191393)):
        values = start[start["curve"] == f"force at {end}"]["value"]
        assert list(values) == pytest.approx([force] * 2, abs=1e-6)
    heights = pd.read_csv(report / "data" / "paper-002-figure-5.csv")
    assert set(heights.columns) == {"t", "null-space", "penalty, median", "penalty, least", "penalty, largest"}
    # In null-space coordinates only the search is inexact; the penalty costs far more.
    assert heights["null-space"].max() < 1e-6  # in percent of the movement
    assert 1.0 < heights["penalty, least"].max() <= heights["penalty, largest"].max() < 100.0


def test_what_is_wrong_is_wrong_beside_what_is_right(report: Path) -> None:
    """Ratios of two rows of a table."""
    assert max(float(r["first iterate wrong by / N"]) for r in table(report, "frozen-001")) == pytest.approx(
        21, abs=0.5
    )
    for step, row in ((r["step"], r) for r in table(report, "branch-002")):
        apart = abs(float(row["θ₁″ by the flow chart"]) - float(row["θ₁″ by the plain objective"]))
        assert (apart < 1e-9) is (step != "four-bar, τ₃ = 100 N m")
    for number in ("002", "004"):
        direct = [r for r in table(report, f"states-{number}") if r["formulation by solver"].endswith("by kkt")]
        assert len(direct) >= 6
        assert all(r["confirmed"] == r["states"] for r in direct)
    motions = {r["case and method"]: r for r in table(report, "motion-004")}
    for case in ("NH-A", "NH-B", "NH-C"):
        regular, tan = (motions[f"{case}: Routh, {row} row"] for row in ("regular", "tan"))
        for column in ("violation / (m/s)", "position error / m"):
            assert float(tan[column]) > 1e4 * float(regular[column])
    rows = {r["integrator: method"]: r for r in table(report, "accuracy-004")}
    of = ("quasi-velocities", "quasi-velocities, formula only", "Routh, regular row", "Routh, tan row")
    quasi, formula, regular, tan = (float(rows[f"RK4, 0.01 s: {m}"]["violation / (m/s)"]) for m in of)
    assert quasi < 1e-14
    assert formula == pytest.approx(regular, rel=0.01)
    assert tan > 1e4 * regular
    quasi, _, regular, tan = (int(rows[f"RK45, rtol 1e-9: {m}"]["evaluations"]) for m in of)
    assert 1.2 < regular / quasi < 3
    assert tan > 3 * quasi
    assert re.search(r"sticks from 0\.059311588874 s on, with [^=]*= 0\.0978", text_of(report).replace("\\", ""))


def test_events_are_where_they_are_stated(report: Path) -> None:
    rows = table(report, "events-001")
    assert len(rows) == 20
    assert max(abs(float(row["difference"])) for row in rows) < 1e-9
    found = {float(row["this run"]) for row in rows}
    for stated in (
        0.0962534976909763, 0.481324914435816, 0.531209696578125,
        0.504586063159988, 0.748448743481781, 0.791250516921971,
        0.437522587623046, 0.0593115888740284, 0.0369670124228330,
    ):  # fmt: skip
        assert min(abs(t - stated) for t in found) < 1e-9


def test_painleve_states_get_their_number_of_solutions(report: Path) -> None:
    rows = {row["state"]: row for row in table(report, "painleve-001")}
    expected = {"regular": 1, "separating": 1, "inconsistent": 0, "indeterminate": 2}
    assert {name: int(rows[name]["found"]) for name in expected} == expected
    statuses = {row["formulation by solver"]: row for row in table(report, "painleve-statuses-001")}
    for pair in ("lcp by lemke", "lcp by newton", "lcp by enumerate", "stick-slip by lemke"):
        assert statuses[pair]["inconsistent"] == statuses[pair]["unit-inconsistent"] == "no_solution"
        assert statuses[pair]["indeterminate"] == statuses[pair]["unit-indeterminate"] == "multiple_solutions"
    assert statuses["normal-force-qp by newton"]["inconsistent"] == "unbounded"
    grid = [row for row in table(report, "painleve-grid-001") if row["formulation by solver"] == "lcp by lemke"]
    assert {row["by the signs"] for row in grid} == {"unique, contact", "unique, lift-off", "none", "several"}
    names = {"none": "no_solution", "several": "multiple_solutions"}
    for row in grid:
        assert row["statuses"] == f"{row['states']} {names.get(row['by the signs'], 'solved')}"


@pytest.mark.parametrize("group", ["two-bars", "rod", "special-states"])
def test_exact_formulations_are_confirmed_on_contact_steps(report: Path, group: str) -> None:
    rows = table(report, f"states-001-{group}-all")
    # What is there beyond these depends on the optional solvers installed.
    assert {row["formulation by solver"] for row in rows} >= {
        "lcp by lemke", "lcp by newton", "lcp by enumerate", "lcp by pgs", "stick-slip by lemke", "lcp-qp by daqp",
        "lcp-qp by osqp", "normal-force-qp by newton", "joint-force-qp by newton", "weighted-normal-force-qp by daqp",
        "frozen-friction by osqp",
    }  # fmt: skip
    times = {row["formulation by solver"]: row for row in table(report, f"times-001-{group}-all")}
    for row in rows:
        assert float(times[row["formulation by solver"]]["build"]) > 0
        formulation, _, solver = row["formulation by solver"].partition(" by ")
        if solver in ("lemke", "enumerate", "newton", "daqp") and formulation in ("lcp", "stick-slip", "lcp-qp"):
            assert row["statuses"] == f"{row['states']} solved"
            assert float(row["error of a"]) < 1e-11
        if group == "special-states" and formulation == "normal-force-qp" and solver in ("newton", "daqp"):
            assert row["statuses"] == "3 solved, 4 inaccurate"
            assert float(row["error of the normal forces / N"]) > 80


def test_formulations_of_velocities_are_not_judged_by_accelerations(report: Path) -> None:
    reasons = {name: row["reason"] for row in table(report, "refused-001") for name in row["for"].split(", ")}
    for formulation in ("impact", "moreau-jean"):
        assert "velocity level" in reasons[formulation]


def test_multiplier_of_the_printed_row_grows(report: Path) -> None:
    data = pd.read_csv(report / "data" / "paper-002-multiplier.csv")
    printed = data[data["run"].str.startswith("printed")].sort_values("distance")
    # |lambda| times the distance stays the same over four decades.
    near = printed[printed["distance"] < 0.05]
    product = near["lambda1"] * near["distance"]
    assert near["distance"].min() < 1e-5
    assert near["lambda1"].max() > 1e6
    assert product.max() / product.min() < 1.2
    assert data[data["run"].str.startswith("regular")]["lambda1"].max() < 200


def test_singular_mass_is_refused_with_the_reason(report: Path) -> None:
    reasons = {row["name"]: row["reason"] for row in table(report, "refused-002")}
    for formulation in ("dual", "least-squares", "least-squares-as-printed"):
        assert "M is singular" in reasons[formulation]


def test_first_crests_coincide_then_the_tan_row_departs(report: Path) -> None:
    rows = table(report, "crests-004")
    together = [row for row in rows if float(row["t / s"]) < 18.4]
    apart = [row for row in rows if float(row["t / s"]) > 18.6]
    assert len(together) >= 5
    assert apart
    assert max(float(row["tan row, largest / m"]) for row in together) < 1e-8
    # The step of 0.01 s puts a stage of RK4 close to the pole; a hundredth less does not.
    assert min(float(row["tan row, 0.01 s / m"]) for row in apart) > 1e-3
    assert max(float(row["tan row, 0.0099 s / m"]) for row in apart) < 1e-4
    assert max(float(row["regular row / m"]) for row in rows) < 1e-8


def test_order_falls_from_four_to_one_with_the_tan_row(report: Path) -> None:
    data = pd.read_csv(report / "data" / "paper-004-order.csv")
    ratio = np.log(data["step"].iloc[0] / data["step"].iloc[-1])
    orders = {c: np.log(data[c].iloc[0] / data[c].iloc[-1]) / ratio for c in data.columns[1:]}
    for method, order in orders.items():
        assert order == pytest.approx(1.0 if "tan" in method else 4.0, abs=0.05)


class Page(HTMLParser):
    """What a browser would ask for, and what a screen reader would read."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.files: list[str] = []
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
                # Only the anchor of a link waits for somebody to follow it.
                (self.files if tag == "a" else self.requests).append(value)


def read(page: Path) -> Page:
    found = Page()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_every_page_is_self_contained_and_navigable(report: Path) -> None:
    pages = {file.name: read(file) for file in report.glob("*.html")}
    assert len(pages) == 8
    for name, page in pages.items():
        text = (report / name).read_text(encoding="utf-8")
        assert page.requests == []
        assert page.files
        assert "@import" not in text
        assert "url(" not in re.sub('src="data:[^"]*"', "", text)
        assert text.count("<script") == 1
        assert "default-src 'none'" in text
        assert page.lang == "en"
        assert len(page.ids) == len(set(page.ids))
        assert set(page.links) <= set(page.ids)
        assert page.headings[0] == 1
        assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
        assert all(len(image.get("alt") or "") > 20 for image in page.images)
        assert 'name="viewport"' in text
        for target in (file for file in page.files if "://" not in file):
            file, _, anchor = target.partition("#")
            assert (report / file).is_file()
            assert not anchor or anchor in pages[file].ids, target
    assert sum(len(page.images) for page in pages.values()) >= 50
    # From the main document every page can be reached.
    assert {file.partition("#")[0] for file in pages["index.html"].files} >= pages.keys() - {"index.html"}


def test_figures_and_tables_are_numbered_as_they_stand(report: Path) -> None:
    for page in report.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for kind in ("Figure", "Table"):
            place = {"Figure": "<figcaption", "Table": '<p class="caption" id="caption-'}[kind]
            numbers = re.findall(rf"{place}[^>]*><b>{kind} (S\d\.)?(\d+)\.</b>", text)
            assert [int(n) for _, n in numbers] == list(range(1, len(numbers) + 1)), page
            assert len({prefix for prefix, _ in numbers}) <= 1


def test_report_names_no_place_of_the_machine(report: Path) -> None:
    for file in report.rglob("*.*"):
        text = file.read_text(encoding="utf-8")
        assert str(Path.home()) not in text
        assert str(report) not in text


def test_markdown_links_exist(report: Path) -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in report.glob("*.md")}
    for text in pages.values():
        for target in re.findall(r"(?<!\\)\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text):
            assert (report / target).is_file()
        for file, anchor in re.findall(r"(?<!\\)\]\(([^)#]+\.md)#([^)]+)\)", text):
            assert f'<a id="{anchor}"></a>' in pages[file], (file, anchor)


def test_texts_are_escaped(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script>"
    figure = Figure("f", nasty, f'" onload="{nasty}', "<svg></svg>", pd.DataFrame({"a": [1]}))
    blocks = (Paragraph(nasty), Table("t", nasty, (nasty,), ((nasty,), (1.5,))), figure)
    write(Document(nasty, nasty, (nasty,), (Section("s", nasty, blocks),)), tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    page = read(tmp_path / "index.html")
    assert page.images[0].keys() == {"src", "alt", "loading", "decoding"}


@pytest.mark.parametrize(
    "kept", [("claims_outcomes", "claim"), pytest.param(("papers_outcomes", r"solvers|\d+: motion"), marks=DOCUMENTS)]
)
def test_failed_cases_are_reported_and_the_report_is_written(
    running: None, request: pytest.FixtureRequest, kept: tuple[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from gaussopt.papers import reproduce
    from gaussopt.papers.sections import solver_comparison

    outcomes = request.getfixturevalue(kept[0])

    def broken(cases: list[Job], **options: Any) -> dict[str, JobOutcome]:
        # Everything but the claims or the motions breaks: the report must still be written and say so.
        bad = JobOutcome(None, "no luck", 0.0, "error")
        return {c.key: outcomes[c.key] if re.match(kept[1], c.key) else bad for c in cases}

    monkeypatch.setattr(reproduce, "run_jobs", broken)
    monkeypatch.setattr(solver_comparison, "results", lambda *given: Results((), (), (), {}))
    code = run(["papers", "--quick", "--out", str(tmp_path), "--json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 1
    assert data["status"] == "crashed"
    assert "no luck" in text_of(tmp_path)


@pytest.mark.parametrize(
    "keep",
    ["NH-", "approach", "states", "noise", "two-bar", "rod", "air", "energy", "painleve", "programs",
     "none"],
)  # fmt: skip
def test_a_part_of_the_cases_is_enough_for_a_section(keep: str, papers_outcomes: dict[str, JobOutcome]) -> None:
    from gaussopt.papers.p001_friction import section as paper_001
    from gaussopt.papers.p002_singular_mass import section as paper_002
    from gaussopt.papers.p004_quasi_velocities import section as paper_004

    found = {}
    for paper in (paper_001, paper_002, paper_004):
        number = paper.__name__.split(".")[2][1:4]
        # Some of the kind, the rest missing altogether.
        some = [c.key for c in paper.cases(True) if c.key.startswith(keep)][:3]
        if some or keep == "none":
            found[number] = paper.section({key: papers_outcomes[f"{number}: {key}"] for key in some}, True)
    assert found
    assert all(section.anchor == f"paper-{number}" and findings for number, (section, findings) in found.items())


def test_two_runs_differ_in_nothing_but_times(
    running: None, report: Path, papers_outcomes: dict[str, JobOutcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer half of the cases is taken from the first run, and so are claims and the comparison of solvers.

    All kinds of motions and steps have short ones. Claims are computed again by test_claims.py, and claims and atlas,
    as in a full report, by test_committed_report.py; comparisons by test_compare.py, and that their pages differ in
    nothing but times is proved by test_comparison_sections.py.
    """
    from gaussopt.papers import reproduce
    from gaussopt.papers.sections import solver_comparison

    usual = np.median([o.seconds for o in papers_outcomes.values()])
    long = {
        key: o
        for key, o in papers_outcomes.items()
        if key.startswith("claim ") or key == "solvers" or o.seconds > usual
    }

    def short_again(cases: list[Job], **options: Any) -> dict[str, JobOutcome]:
        found = long | run_jobs([c for c in cases if c.key not in long], **options)
        return {c.key: found[c.key] for c in cases}

    monkeypatch.setattr(reproduce, "run_jobs", short_again)
    monkeypatch.setattr(solver_comparison, "results", lambda *given: Results((), (), (), {}))
    assert run(["papers", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    for page in sorted(report.glob("*.html")):
        first, second = (
            without_times((folder / page.name).read_text(encoding="utf-8")).splitlines()
            for folder in (report, tmp_path)
        )
        assert list(unified_diff(first, second, n=0, lineterm="")) == []


def test_a_quick_run_has_the_sections_of_a_full_one(report: Path) -> None:
    committed = Path(__file__).parents[2] / "reports" / "papers"
    quick, full = (
        {
            (page.name, anchor)
            for page in folder.glob("*.html")
            for anchor in re.findall('<section id="([^"]+)"', page.read_text(encoding="utf-8"))
        }
        for folder in (report, committed)
    )
    assert quick == full


def test_out_that_is_a_file_is_refused_before_computing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(["papers", "--out", str(tmp_path / "file" / "x"), "--json"]) == 2
    assert "Cannot write" in json.loads(capsys.readouterr().out)["message"]
