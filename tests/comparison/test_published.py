"""The report on the benchmark problems of the field: what is compared, how motions are judged, and its files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gaussopt.cli.main import run
from gaussopt.comparison import published
from gaussopt.comparison.published import CASES, Measured, PublishedRun
from gaussopt.core import registry
from gaussopt.processes.job import JobOutcome
from gaussopt.reporting.sections.benchmarks import document


def test_every_published_problem_is_registered_and_has_a_case_with_values() -> None:
    assert {case.problem for case in CASES} == set(published.published())
    assert {case.problem for case in CASES} <= set(registry.names("problem"))
    for case in CASES:
        times, values = case.values()
        assert values.shape == (len(times), max(1, len(case.compared)))
        grid = times[:, None] / np.array(case.steps)
        np.testing.assert_allclose(grid, np.rint(grid), rtol=1e-9)
    errors = {(case.problem, setting): error for case in CASES for _, setting, _, error in case.codes()}
    # Exudyn prints ten digits; its error is of second order in the step.
    steps = [errors["n-four-bar", f"step {h:g} s"] for h in (1e-3, 5e-4, 2.5e-4, 1.25e-4)]
    assert np.log2(np.array(steps[:-1]) / steps[1:]) == pytest.approx(2.0, abs=0.05)


def test_a_quick_report(
    running: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = tuple(case for case in CASES if case.name == "knife-edge-incline")
    monkeypatch.setattr(published, "CASES", chosen)
    monkeypatch.setattr("gaussopt.reporting.sections.benchmarks.CASES", chosen)
    assert run(["benchmarks", "--quick", "--jobs", "1", "--out", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "solved"
    assert ": 1 of 1." in told["findings"][0]
    with (tmp_path / "data" / "benchmarks-best.csv").open(encoding="utf-8") as file:
        best = list(csv.DictReader(file))
    assert [row["problem"] for row in best] == [case.name for case in chosen]
    assert all(float(row["least error"]) < 1e-9 for row in best)
    # Tighter tolerances and shorter steps: the motions differ, and so do their errors.
    assert len({row["error"] for row in told["motions"]}) == 5
    assert all((tmp_path / "figures" / f"work-{case.name}.svg").is_file() for case in chosen)
    # Finished motions are not run again.
    assert run(["benchmarks", "--quick", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["motions"] == told["motions"]


def test_a_warned_motion_is_marked_and_never_the_best_and_a_lost_one_is_told() -> None:
    case = CASES[0]
    good = PublishedRun(case.name, "rk4", 1e-3, "gauss", "solved", "Reached t = 10.", False, 1e-6, 10, "compiled", 0.1)
    rows = (
        good, replace(good, stepper="rk45", warned=True, error=1e-12, message="Near t = 1 the motion passes …"),
        replace(good, stepper="dop853", status="time limit", error=np.nan, message="ended after 60 s"),
    )  # fmt: skip
    page = document(Measured(rows, ()), quick=False)
    tables = {b.name: b for b in page.blocks if hasattr(b, "rows")}
    assert tables["benchmarks-best"].rows[0][:3] == (case.name, "no", 1e-6)
    assert [row[2] for row in tables["benchmarks-pendulum"].rows] == ["solved", "solved, warned", "time limit"]
    assert [row[1] for row in tables["benchmarks-why"].rows] == ["rk45", "dop853"]
    job = next(job for own, job in published.plan(True) if own is case)
    lost = PublishedRun.of(job, JobOutcome(None, "it died", 1.0, "crashed"))
    assert (lost.status, lost.message, lost.reached) == ("crashed", "it died", False)
