"""What `gaussopt show` says of problems, formulations, solvers, steppers and families."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core import registry


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What the command says as JSON."""
    assert run(["show", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    of = shown(capsys, "two-bar", "--set", "case=airborne", "--set", "variant=maximal", "--set", "mu=0.4")["problem"]
    entry = go.problem("two-bar", case="airborne", variant="maximal", mu=0.4)
    assert {p["name"]: p["value"] for p in of["parameters"]} == entry.parameter_values
    assert [c["q0"] for c in of["coordinates"]] == entry.q0.tolist()
    assert {c["unit"] for c in of["coordinates"]} == {"m", "rad"}
    assert of["rows"] == {"equality": 2, "position_level": 2}
    assert [(c["name"], c["mu"]) for c in of["contacts"]] == [("A", 0.4), ("C", 0.4)]
    assert of["errata"] == len(entry.errata)
    assert "2 bars" in of["sketch"]
    assert "stick-slip" in of["formulations"]
    assert "gauss" not in of["formulations"]
    assert run([*shlex.split(of["use"])[1:], "--t-end", "0.01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "solved"
    assert run(["show", "crank-slider"]) == 0
    text = capsys.readouterr().out
    assert "6, all of them given at position level" in text
    assert all(p.meaning in text for p in go.problem("crank-slider").parameters)


def test_everything_registered_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in registry.KINDS:
        for name in registry.names(kind):
            of = shown(capsys, name)[kind]
            assert all(x["description"] for x in (of["variants"].values() if kind == "problem" else ()))
            assert of["title"] == registry.load(kind, name).title
            assert name in of["use"]
            if kind == "formulation":
                assert of["makes"]
                assert of["makes"].keys() | of["refuses"].keys() >= {"equality rows", "sparse matrices"}
            if kind == "solver":
                assert of["takes"]
    assert shown(capsys, "moreau-jean").keys() >= {"formulation", "stepper"}


def test_programs_of_formulations_and_solvers(capsys: pytest.CaptureFixture[str]) -> None:
    gauss = shown(capsys, "gauss")["formulation"]
    assert set(gauss["makes"].values()) == {"QP"}
    assert "friction" in gauss["refuses"]["a contact that slides with friction"]
    assert {"kkt", "daqp"} <= set(gauss["solvers"])
    assert "lemke" not in gauss["solvers"]
    kkt = shown(capsys, "kkt")["solver"]
    assert "quadratic programs with inequalities" in kkt["refuses"]
    osqp = shown(capsys, "osqp")["solver"]
    assert osqp["options"]["eps_abs"] == 1e-9
    assert "seconds" in osqp["meaning"]


def test_files_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path, clean_registry: None) -> None:
    mine = tmp_path / "my_pendulum.py"
    mine.write_text(
        "import gaussopt as go\n"
        "system = go.System(mass=[[1.0]], force=[-9.81])\n"
        "problem = go.Problem.of(system, q0=[1.5], t_end=0.1)\n"
    )
    of = shown(capsys, str(mine))["problem"]
    assert [c["q0"] for c in of["coordinates"]] == [1.5]
    assert of["sketch"] == ""
    assert of["use"] == f"gaussopt run {mine}"
    solver = tmp_path / "my_solver.py"
    solver.write_text(
        "from gaussopt.core.programs import LinearSystem\nfrom gaussopt.core.solver import Solver\n"
        "class Mine(Solver):\n    name, title, source = 'my-solver', 'Mine', 'me'\n    accepts = (LinearSystem,)\n"
        "    def setup(self, program): pass\n    def solve(self, start): pass\nsolver = Mine\n"
    )
    of = shown(capsys, str(solver))["solver"]
    assert of["takes"] == ["systems of linear equations"]
    assert of["options"] == {}
    assert of["use"] == f"GAUSSOPT_PLUGINS={solver} gaussopt run PROBLEM --solver my-solver"
