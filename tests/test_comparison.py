"""Pairs on states and as trajectories."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli import run

QUICK = {"t_end": 0.02, "stride": 50}


def test_exact_pairs_are_confirmed_and_run() -> None:
    results = go.compare(["crank-slider"], ["gauss", "lagrange", "null-space"], ["kkt", "newton"], **QUICK)
    assert results.failures == {}
    pairs = {(r.formulation, r.solver) for r in results.states}
    # Newton takes programs, not linear systems.
    assert pairs == {("gauss", "kkt"), ("gauss", "newton"), ("lagrange", "kkt"), ("null-space", "kkt")}
    for r in results.states:
        assert r.solved == r.states
        assert r.error < 1e-10
    assert len(results.motions) == 4
    for motion in results.motions:
        assert motion.status == "solved"
        # RK4 with 1 ms over 20 ms against the reference.
        assert motion.error < 1e-9


def test_a_wrong_formula_is_measured_and_not_run() -> None:
    results = go.compare(["crank-slider"], ["least-squares-as-printed"], ["kkt"], **QUICK)
    assert results.motions == ()
    for r in results.states:
        assert r.claimed == r.states
        assert r.solved == 0
        assert r.error > 0.5


def test_variants_and_cases_are_compared_with_their_own_reference() -> None:
    results = go.compare(
        [go.problem("knife-edge-body", case="NH-A"), go.problem("four-bar", variant="printed-force")],
        ["gauss"], ["kkt"], dt=0.05, t_end=0.3, stride=20,
    )  # fmt: skip
    errors = [m.error for m in results.motions]
    assert len(errors) == 2
    # The first instants of the references (0.15 s, 0.01 s) lie on the grid of steps or there is nothing to compare.
    assert np.isfinite(errors[0])
    assert errors[0] < 1e-6


def test_formulations_that_do_not_fit_are_listed_with_the_reason() -> None:
    results = go.compare(["four-bar"], ["gauss", "dual"], ["kkt"], **QUICK)
    (refused,) = (r for r in results.states if r.refused)
    assert refused.formulation == "dual"
    assert "singular" in refused.refused


def test_tables() -> None:
    states, motions = go.compare(["four-bar"], ["gauss"], ["kkt"], **QUICK).to_pandas()
    assert set(states["reference"][states["refused"] == ""]) == {"four-bar-A", "four-bar-B", "four-bar-printed-force"}
    assert list(motions["status"]) == ["solved"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"problems": []}, "problem"),
        ({"problems": ["crank"]}, "crank"),
        ({"problems": ["crank-slider"], "formulations": ["gaus"]}, "gauss"),
        ({"problems": ["crank-slider"], "solvers": ["ktt"]}, "kkt"),
        ({"problems": ["crank-slider"], "dt": -1.0}, "dt"),
        ({"problems": ["crank-slider"], "t_end": 0.0}, "t_end"),
        ({"problems": ["crank-slider"], "stride": 0}, "stride"),
        ({"problems": ["crank-slider"], "formulations": ["lagrange"], "solvers": ["osqp"]}, "fit"),
    ],
)
def test_bad_input(arguments: dict[str, object], word: str) -> None:
    with pytest.raises(go.GaussoptError, match=word):
        go.compare(**arguments)  # type: ignore[arg-type]


def test_command_writes_tables_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine"
    arguments = ["compare", "four-bar", "--formulations", "gauss,dual,pinv-mass-as-printed", "--solvers", "kkt,osqp"]
    code = run([*arguments, "--t-end", "0.02", "--stride", "50", "--out", str(out), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 0
    assert data["status"] == "solved"
    assert {m["formulation"] for m in data["motions"]} == {"gauss", "pinv-mass-as-printed"}
    assert json.loads((out / "comparison.json").read_text(encoding="utf-8"))["states"] == data["states"]
    for name in ("index.html", "index.md", "data/states.csv", "data/motions.csv"):
        assert (out / name).is_file()
    assert run([*arguments, "--out", str(out / "index.html" / "x"), "--json"]) == 2
    assert "Cannot write" in json.loads(capsys.readouterr().out)["message"]
