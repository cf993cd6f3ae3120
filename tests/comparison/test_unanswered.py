"""Sources with contacts that are open or at rest at the start, and sources that nobody answers to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.results import UNFIT, Results, unanswered
from gaussopt.comparison.sources import problem_specs

BLOCK = """
import sympy as sp
import gaussopt as go

x, y, vx, vy, m, g, mu = sp.symbols("x y vx vy m g mu")
system = go.System.from_lagrangian(
    [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, potential=m * g * y, forces=[{force}, 0],
    contacts=[go.Contact("foot", position=(x, y), mu=mu, e_N=0)], parameters={{m: 1.0, g: 9.81, mu: 0.3}})
problem = go.Problem.of(system, q0=[0.0, {height}], v0=[{slip}, 0.0], t_end=0.5)
"""


def write(folder: Path, name: str, height: float, slip: float, force: float = 0.0) -> Path:
    file = folder / f"{name}.py"
    file.write_text(BLOCK.format(height=height, slip=slip, force=force))
    return file


def test_a_contact_that_is_open_at_the_start_is_judged_where_it_slides(tmp_path: Path) -> None:
    (spec,) = problem_specs(go.problem(str(write(tmp_path, "falling", 0.1, 2.0))), 10)
    step = spec.typical()
    assert step.k == 1
    assert not step.resting.any()
    assert step.t > 0.14  # it has landed
    assert all(item.data.k == 1 for item in spec.items())  # type: ignore[union-attr]
    reason = "contact 1 has friction (mu = 0.3)"
    assert spec.worded(reason, step) == "contact 'foot' has friction (mu = 0.3)"


def test_a_motion_that_only_flies_is_asked_as_smooth_steps_and_a_source_without_answers_is_named_with_the_reason(
    running: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flying, resting = write(tmp_path, "flying", 10.0, 2.0), write(tmp_path, "resting", 0.0, 0.0)
    sliding = write(tmp_path, "sliding", 0.0, 9.0)
    (spec,) = problem_specs(go.problem(str(flying)), 10)
    assert spec.typical().k == 0
    assert [item.data.k for item in spec.items()] == [0] * 11  # type: ignore[union-attr]
    asked = ["--formulations", "gauss,stick-slip,lcp", "--solvers", "kkt,lemke,pgs", "--time-budget", "0"]
    asked += ["--no-motions", "--json", "--out"]
    code = run(["compare", str(flying), str(resting), str(sliding), *asked, str(tmp_path / "both")])
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert (code, data["status"]) == (0, "solved")
    records = [r for r in Results.load(tmp_path / "both").answers if r.source.name == "flying" and not r.refused]
    assert {(r.formulation, r.solver, all(r.confirmed)) for r in records} == {("gauss", "kkt", True)}
    assert set(data["unanswered"]) == {"resting, own motion"}
    assert "No pair answers the steps of resting, own motion: no state of the source" in said.err
    assert run(["compare", str(resting), *asked, str(tmp_path / "one")]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], data["answers"]) == ("bad_input", 0)
    assert "no state of the source" in data["unanswered"]["resting, own motion"]


def test_a_source_that_no_pair_was_formed_for() -> None:
    assert unanswered(["a"], []) == {"a": UNFIT}
