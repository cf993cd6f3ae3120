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
from gaussopt.reporting.document import Document, Figure, Paragraph, Section, Table
from gaussopt.reporting.figures import plots
from gaussopt.reporting.html.page import write


@pytest.fixture(scope="module")
def report(papers_report: Path) -> Path:
    return papers_report


def table(report: Path, name: str) -> list[dict[str, str]]:
    with (report / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def text_of(report: Path) -> str:
    """All pages of a report as Markdown."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(report.glob("*.md")))


def test_all_cases_end(report: Path) -> None:
    assert {row["ended"] for row in table(report, "cases")} == {"done"}


def test_figures_of_the_source_are_there(report: Path) -> None:
    markdown = text_of(report)
    for number in range(2, 10):
        assert (report / "figures" / f"paper-000-figure-{number}.svg").is_file()
        assert f"paper-000-figure-{number}.svg" in markdown


def test_motions_follow_the_reference(report: Path) -> None:
    rows = table(report, "accuracy-000")
    assert len(rows) == 6
    for row in rows:
        assert row["status"] == "solved"
        # RK4 at 1 ms over the first 0.1 s: the same integration error for every pair.
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
    assert values["000-5", "θ₁″ at t = 0, printed, tau = -0.5, rad/s^2"] == pytest.approx(-666.84572655381, abs=1e-8)
    assert values["000-5", "θ₁″ at t = 0, printed, tau = 0, rad/s^2"] == pytest.approx(-1.35872896228, abs=1e-8)
    assert values["000-5", "θ₁″ at t = 0, exact, tau = -0.5, rad/s^2"] == pytest.approx(-156.57953216374, abs=1e-8)
    assert values["000-6", "θ₁″ at t = 0, printed J, rad/s^2"] == pytest.approx(-90.319, abs=1e-3)
    verdicts = [r["verdict"] for r in table(report, "errata-000-list")]
    assert len(verdicts) == 9
    assert all("confirmed" in v for v in verdicts)


def test_two_bar_figures_of_the_source_are_there(report: Path) -> None:
    markdown = text_of(report)
    for number in ("3-x", "3-y", "4", "5"):
        assert f"paper-001-figure-{number}.svg" in markdown
    forces = pd.read_csv(report / "data" / "paper-001-figure-5.csv")
    assert set(forces["program"]) == {"QP (29) by Newton", "LCP by Lemke"}
    for program in set(forces["program"]):
        start = forces[(forces["program"] == program) & (forces["t"] == 0)].set_index("curve")["value"]
        assert start["force at A"] == pytest.approx(13.678369, abs=1e-6)
        assert start["force at C"] == pytest.approx(11.191393, abs=1e-6)


def test_contact_motions_follow_the_references(report: Path) -> None:
    rows = table(report, "agreement-001")
    assert len(rows) == 10
    for row in rows:
        assert row["status"] == "solved"
        assert int(row["states"]) >= 5
        assert max(float(row["error of q"]), float(row["error of v"])) < 1e-9
        assert float(row["error of the normal forces / N"]) < 1e-8
        assert float(row["certified"]) < 1e-12
        assert float(row["rise / J"]) < 1e-11


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


def test_impact_of_the_printed_start(report: Path) -> None:
    rows = {row["quantity"]: row for row in table(report, "impact-001")}
    after = [float(rows[f"{name}′"]["after"]) for name in ("x", "y", "theta1", "theta2")]
    assert after == pytest.approx([-2.083712, -1.279269, -1.723142, 1.723142], abs=1e-6)
    for contact in ("A", "C"):
        assert float(rows[f"gap rate of {contact} / (m/s)"]["before"]) == pytest.approx(-3.873359, abs=1e-6)
        assert float(rows[f"gap rate of {contact} / (m/s)"]["after"]) == pytest.approx(0.0, abs=1e-12)
        assert float(rows[f"normal impulse of {contact} / (N s)"]["after"]) == pytest.approx(5.341441, abs=1e-6)
    # C came in to the left and leaves to the right.
    assert float(rows["slip of C / (m/s)"]["before"]) < 0 < float(rows["slip of C / (m/s)"]["after"])
    lost = float(rows["kinetic energy / J"]["before"]) - float(rows["kinetic energy / J"]["after"])
    assert lost == pytest.approx(59.2376 - 35.9340, abs=1e-4)


def test_printed_loop_presses_from_the_air(report: Path) -> None:
    rows = {row["run"]: row for row in table(report, "air-001")}
    loaded = rows["printed formulas, F = −40 N, g = 0"]
    assert float(loaded["force at A at the start / N"]) == pytest.approx(10.7, abs=0.05)
    assert float(loaded["force at C at the start / N"]) == pytest.approx(11.0, abs=0.05)
    assert float(loaded["gap of A at the start / m"]) == pytest.approx(0.70711, abs=1e-5)
    assert float(loaded["smallest gap / m"]) < -0.1
    still = [row for name, row in rows.items() if name.endswith("F = g = 0")]
    assert len(still) == 3
    assert all(float(row["largest force / N"]) == 0 for row in still)


def test_printed_sign_of_friction_feeds_energy(report: Path) -> None:
    rows = {row["run"]: row for row in table(report, "energy-001")}
    correct, printed = rows["correct sign"], rows["printed sign"]
    assert float(printed["start / J"]) == pytest.approx(29.50070, abs=1e-5)
    assert float(printed["at 0.09 s / J"]) == pytest.approx(29.909807, abs=1e-6)
    assert float(correct["at 0.09 s / J"]) == pytest.approx(29.100437, abs=1e-6)
    for name, row in rows.items():
        rise = float(row["largest rise in a step / J"])
        assert rise > 1e-3 if name.startswith("printed") else rise < 1e-8, name


def test_rod_sticks_and_the_printed_loop_does_not(report: Path) -> None:
    rows = {(row["case"], row["program"]): row for row in table(report, "rod-001")}
    assert int(rows["stop", "LCP by Lemke"]["slip changes sign"]) == 0
    assert float(rows["stop", "LCP by Lemke"]["largest slip after the stop / (m/s)"]) < 1e-12
    assert int(rows["stop", "printed loop"]["slip changes sign"]) > 50
    assert float(rows["lift", "LCP by Lemke"]["gap / m"]) > 1e-4
    markdown = text_of(report)
    assert re.search(r"sticks from 0\.059311588874 s on, with [^=]*= 0\.0978", markdown.replace("\\", ""))


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


def test_frozen_friction_contracts_as_stated(report: Path) -> None:
    rows = {row["state"]: row for row in table(report, "frozen-001")}
    stated = {"45°": 0.1225, "60°": 0.2044, "60°, 20 N up at C": 0.2044, "85°": 0.3403, "88°": 0.3454, "89.5°": 0.3464}
    for state, rho in stated.items():
        assert float(rows[state]["ϱ"]) == pytest.approx(rho, abs=1e-4)
        assert float(rows[state]["error at the end / N"]) < 1e-10
    assert max(float(row["first iterate wrong by / N"]) for row in rows.values()) == pytest.approx(21, abs=0.5)
    lcp = {state: (float(rows[state]["force at A / N"]), float(rows[state]["force at C / N"])) for state in rows}
    assert lcp["60°, 20 N up at C"] == pytest.approx((19.65651, 0), abs=1e-5)
    assert lcp["85°"] == pytest.approx((40.588, 0), abs=1e-3)
    assert lcp["88°"] == pytest.approx((40.735, 0), abs=1e-3)


def test_errata_of_001_are_confirmed(report: Path) -> None:
    rows = table(report, "errata-001")
    verdicts = [r["verdict"] for r in table(report, "errata-001-list")]
    assert len(verdicts) >= 7
    assert all("confirmed" in v for v in verdicts)
    values = {(r["erratum"], r["computed"]): float(r["value"]) for r in rows}
    assert values["001-1", "energy at 0.09 s, printed sign, J"] == pytest.approx(29.909807, abs=1e-6)
    assert values["001-6", "N_A, N"] == pytest.approx(10.7, abs=0.05)
    assert values["001-10", "largest y while A slides on the floor, m"] == pytest.approx(0.433013, abs=1e-6)
    assert values["001-10", "largest |y_A|, m"] < 1e-12


def test_four_bar_figures_of_the_source_are_there(report: Path) -> None:
    for number in (4, 5):
        assert (report / "figures" / f"paper-002-figure-{number}.svg").is_file()
    data = pd.read_csv(report / "data" / "paper-002-figure-5.csv")
    assert set(data.columns) == {"t", "null-space", "penalty, median", "penalty, least", "penalty, largest"}
    # In null-space coordinates only the search is inexact; the penalty costs far more.
    assert data["null-space"].max() < 1e-6  # in percent of the movement
    assert 1.0 < data["penalty, least"].max() <= data["penalty, largest"].max() < 100.0


def test_penalties_have_a_bias(report: Path) -> None:
    bias = {float(row["penalty"]): float(row["bias"]) for row in table(report, "penalty-002")}
    assert bias[1e2] == pytest.approx(0.38, abs=0.01)
    assert bias[1e4] == pytest.approx(4e-3, rel=0.05)
    assert bias[1e6] == pytest.approx(4e-5, rel=0.05)


def test_four_bar_motion_passes_the_singular_position(report: Path) -> None:
    rows = table(report, "passages-002")
    first = {float(row["ψ / N m"]): row for row in reversed(rows)}
    assert float(first[450.0]["t / s"]) == pytest.approx(0.580398889511878, abs=1e-7)
    assert float(first[0.0]["t / s"]) == pytest.approx(1.140948033588640, abs=1e-6)
    assert float(first[0.0]["θ₁ / π"]) == -0.5


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


def test_crossing_with_exact_and_with_noisy_accelerations(report: Path) -> None:
    for row in table(report, "crossing-002"):
        assert row["status"] == "solved"
        assert float(row["|θ₁ − θ₂| at the end"]) < 1e-9
    rows = {row["row, noise / (rad/s²)"]: row for row in table(report, "noise-002")}
    assert len(rows) == 5
    for amplitude in ("0.001", "0.01"):
        regular, printed = (rows[f"{row} row, {amplitude}"] for row in ("regular", "printed"))
        assert int(regular["off the branch"]) == 0
        assert float(regular["largest finite / rad"]) < 0.2 * float(amplitude)
        assert int(printed["off the branch"]) > 0
    # The noise does no harm where it respects the constraints.
    assert float(rows["printed row, 0.01, admissible"]["largest finite / rad"]) < 1e-9


def test_flow_chart_loses_the_force_on_the_massless_angle(report: Path) -> None:
    rows = {row["step"]: row for row in table(report, "branch-002")}
    chart, plain = "θ₁″ by the flow chart", "θ₁″ by the plain objective"
    lost = rows["four-bar, τ₃ = 100 N m"]
    assert (float(lost[chart]), float(lost[plain])) == pytest.approx((2.682, 1.432))
    assert float(lost["lost / N m"]) > 1
    for step, row in rows.items():
        if step != "four-bar, τ₃ = 100 N m":
            assert float(row[chart]) == pytest.approx(float(row[plain]), abs=1e-9)


def test_four_bar_errata_have_their_numbers(report: Path) -> None:
    rows = table(report, "errata-002")
    values = {(r["erratum"], r["computed"]): float(r["value"]) for r in rows}
    assert values["002-1", "θ₁″ at the start, printed sign, rad/s²"] == pytest.approx(-2.682, abs=1e-10)
    assert values["002-2", "θ₁″ with τ₃ = 100 N m, correct"] == pytest.approx(1.432, abs=1e-10)
    assert values["002-3", "θ₁″ at the start, printed force, rad/s²"] == pytest.approx(1.94625, abs=1e-10)
    assert values["002-3", "θ₁″ at the start, correct, rad/s²"] == pytest.approx(2.682, abs=1e-10)
    verdicts = [r["verdict"] for r in table(report, "errata-002-list")]
    assert len(verdicts) == 6
    assert all("confirmed" in v for v in verdicts)


@pytest.mark.parametrize("number", ["002", "004"])
def test_exact_pairs_agree_on_the_states(report: Path, number: str) -> None:
    direct = [row for row in table(report, f"states-{number}") if row["formulation by solver"].endswith("by kkt")]
    assert len(direct) >= 6
    for row in direct:
        assert float(row["error"]) < 1e-10
        assert row["confirmed"] == row["states"]


def test_singular_mass_is_refused_with_the_reason(report: Path) -> None:
    reasons = {row["name"]: row["reason"] for row in table(report, "refused-002")}
    for formulation in ("dual", "least-squares", "least-squares-as-printed"):
        assert "M is singular" in reasons[formulation]


def test_knife_edge_figures_and_violations(report: Path) -> None:
    for number in (2, 3, 4, 5):
        assert (report / "figures" / f"paper-004-figure-{number}.svg").is_file()
    rows = {row["case and method"]: row for row in table(report, "motion-004")}
    for case in ("NH-A", "NH-B", "NH-C"):
        quasi, regular, tan = (
            rows[f"{case}: {m}"] for m in ("quasi-velocities", "Routh, regular row", "Routh, tan row")
        )
        assert float(quasi["violation / (m/s)"]) < 1e-14
        assert float(tan["violation / (m/s)"]) > 1e4 * float(regular["violation / (m/s)"])
        assert float(tan["position error / m"]) > 1e4 * float(regular["position error / m"])
        # Each step of the tan row is right; its integration is not.
        assert float(tan["certified"]) < 1e-12


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


def test_quasi_velocities_as_a_formula_drift_like_routh(report: Path) -> None:
    rows = {row["integrator: method"]: float(row["violation / (m/s)"]) for row in table(report, "accuracy-004")}
    quasi, formula, regular, tan = (
        rows[f"RK4, 0.01 s: {m}"]
        for m in ("quasi-velocities", "quasi-velocities, formula only", "Routh, regular row", "Routh, tan row")
    )
    assert quasi < 1e-14
    assert formula == pytest.approx(regular, rel=0.01)
    assert tan > 1e4 * regular


def test_cost_of_the_methods_at_equal_tolerance(report: Path) -> None:
    rows = {row["integrator: method"]: int(row["evaluations"]) for row in table(report, "accuracy-004")}
    quasi, regular, tan = (
        rows[f"RK45, rtol 1e-9: {m}"] for m in ("quasi-velocities", "Routh, regular row", "Routh, tan row")
    )
    assert 1.2 < regular / quasi < 3
    assert tan > 3 * quasi


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


def test_figures_are_the_same_bytes_for_the_same_data() -> None:
    x = np.linspace(0.0, 1.0, 20)
    assert plots.lines(x, {"a": x**2}, "x", "y") == plots.lines(x, {"a": x**2}, "x", "y")


def test_texts_are_escaped(tmp_path: Path) -> None:
    nasty = "<script>alert('x')</script>"
    figure = Figure("f", nasty, f'" onload="{nasty}', "<svg></svg>", pd.DataFrame({"a": [1]}))
    blocks = (Paragraph(nasty), Table("t", nasty, (nasty,), ((nasty,), (1.5,))), figure)
    write(Document(nasty, nasty, (nasty,), (Section("s", nasty, blocks),)), tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    page = read(tmp_path / "index.html")
    assert page.images[0].keys() == {"src", "alt", "loading", "decoding"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_case_stops_nothing(jobs: int) -> None:
    # numpy.linalg.inv stands for any function that a fresh process can import.
    cases = [Job("good", np.linalg.inv, {"a": np.eye(2)}), Job("bad", np.linalg.inv, {"a": np.zeros((2, 2))})]
    progress: list[float] = []
    outcomes = run_jobs(cases, jobs, progress.append)
    assert list(outcomes) == ["good", "bad"]
    assert np.array_equal(outcomes["good"].value, np.eye(2))
    assert "LinAlgError" in outcomes["bad"].failure
    assert progress[-1] == 1.0


def test_failed_cases_are_reported_and_the_report_is_written(
    papers_outcomes: dict[str, JobOutcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from gaussopt.papers import reproduce
    from gaussopt.papers.sections import solver_comparison

    def broken(cases: list[Job], **options: Any) -> dict[str, JobOutcome]:
        # Everything but the motions breaks: the report must still be written and say so.
        bad = JobOutcome(None, "no luck", 0.0, "error")
        kept = {"solvers"} | {c.key for c in cases if re.match(r"\d+: motion", c.key)}
        return {c.key: papers_outcomes[c.key] if c.key in kept else bad for c in cases}

    monkeypatch.setattr(reproduce, "run_jobs", broken)
    monkeypatch.setattr(solver_comparison, "results", lambda *given: Results((), (), (), {}))
    code = run(["papers", "--quick", "--out", str(tmp_path), "--json"])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 1
    assert data["status"] == "crashed"
    assert "no luck" in text_of(tmp_path)


@pytest.mark.parametrize(
    "keep", ["NH-", "control", "approach", "states", "noise", "two-bar", "rod", "air", "energy", "painleve", "programs"]
)
def test_a_part_of_the_cases_is_enough_for_a_section(keep: str, papers_outcomes: dict[str, JobOutcome]) -> None:
    from gaussopt.papers.p001_friction import section as paper_001
    from gaussopt.papers.p002_singular_mass import section as paper_002
    from gaussopt.papers.p004_quasi_velocities import section as paper_004

    for paper in (paper_001, paper_002, paper_004):
        number = paper.__name__.split(".")[2][1:4]
        # Some of the kind, the rest missing altogether.
        some = [c.key for c in paper.cases(True) if c.key.startswith(keep)][:3]
        section, findings = paper.section({key: papers_outcomes[f"{number}: {key}"] for key in some}, True)
        assert section.anchor == f"paper-{number}"
        assert findings


def test_two_runs_differ_in_nothing_but_times(
    report: Path, papers_outcomes: dict[str, JobOutcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer half of the cases is taken from the first run.

    All kinds of motions and steps have short ones, and claims and atlas are computed again, as in a full report, by
    test_committed_report.py.
    """
    from gaussopt.papers import reproduce

    usual = np.median([o.seconds for o in papers_outcomes.values()])
    long = {key: o for key, o in papers_outcomes.items() if o.seconds > usual and key != "solvers"}

    def short_again(cases: list[Job], **options: Any) -> dict[str, JobOutcome]:
        found = long | run_jobs([c for c in cases if c.key not in long], **options)
        return {c.key: found[c.key] for c in cases}

    monkeypatch.setattr(reproduce, "run_jobs", short_again)
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
