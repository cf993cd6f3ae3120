"""Recommendations: what is measured, who has no part in them, and that no trajectory is computed by a pair."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from registrations import forget_after

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison import plan as planning
from gaussopt.comparison import recommend as recommending
from gaussopt.comparison.compare import carry_out
from gaussopt.comparison.items import end_within
from gaussopt.comparison.recommend import Choice, Recommendation
from gaussopt.comparison.results import Results
from gaussopt.comparison.step_table import label_of
from gaussopt.processes.workers import Workers

PLUGINS = Path(__file__).parents[1] / "plugins"

LYING_DOWN = """
import gaussopt as go
import sympy as sp

x, y, th, vx, vy, w, m, l, g, mu = sp.symbols("x y th vx vy w m l g mu")
feet = {"A": -1, "B": 1, "C": 0.5}
system = go.System.from_lagrangian(
    [x, y, th], [vx, vy, w], kinetic=m * (vx**2 + vy**2 + l**2 * w**2 / 3) / 2, potential=m * g * y,
    contacts=[go.Contact(n, position=(x + s * l * sp.cos(th), y + s * l * sp.sin(th)), mu=mu) for n, s in feet.items()],
    parameters={m: 1.0, l: 0.5, g: 9.81, mu: 0.0})
problem = go.Problem.of(system, q0=[0, 0.1, 0.2], v0=[1.0, 0, 0], t_end=0.6)
"""
"""A rod on three feet in a row: one end touches first, then all of it."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Recommendation, Results]]:
    """A recommendation for the rod and the comparison behind it, beside a solver that lies and one that is missing."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "lying_down.py").write_text(LYING_DOWN, encoding="utf-8")
    missing = (PLUGINS / "liar.py").read_text(encoding="utf-8").replace('"liar"', '"absent"')
    (folder / "absent.py").write_text(
        missing.replace("    source", '    requires = ("no_such_package",)\n    source', 1)
    )
    seen: list[Results] = []
    with pytest.MonkeyPatch.context() as patch:

        def watched(*given: Any, **more: Any) -> Results:
            seen.append(carry_out(*given, **more))
            return seen[-1]

        forget_after(patch)
        patch.setattr(recommending, "carry_out", watched)
        patch.setattr(recommending, "Workers", lambda jobs: Workers(1))
        # Of those who are installed some that are exact, one that is not, and one for many contacts.
        some = ["kkt", "daqp", "lemke", "enumerate", "hybrid", "liar"]
        patch.setattr(planning, "installed_solvers", lambda stochastic: some)
        patch.setattr(recommending, "EACH", 0.01)
        patch.setattr(recommending, "MOTION", 1e9)  # the whole motion, also where the machine is busy
        for file in (PLUGINS / "liar.py", folder / "absent.py"):
            go.register(file)
        yield go.recommend(str(folder / "lying_down.py")), seen[0]


def choice(found: Recommendation, purpose: str) -> Choice:
    (one,) = (c for c in found.choices if c.purpose == purpose)
    return one


def test_a_recommendation_is_measured_without_trajectories(measured: tuple[Recommendation, Results]) -> None:
    found, results = measured
    assert results.motions == ()
    assert results.meta["trajectories"] == ""
    assert [c.purpose for c in found.choices] == ["accuracy", "speed of re-solves", "many contacts"]
    assert 9 <= found.states <= 18
    assert found.states == sum(found.contacts.values())
    assert set(found.contacts) == {1, 3}
    for c in found.choices:
        assert c.certified < 1e-9
        assert c.error < 1e-9
        assert 0 < c.work <= c.seconds
    # Who is recommended was right at every state, and those who were not are none of the pairs that are counted.
    wrong = {(a.formulation, a.solver) for a in results.answers if a.refused or a.failure or not all(a.confirmed)}
    assert not wrong & {(c.formulation, c.solver) for c in found.choices}
    assert 0 < found.right < found.pairs


def test_choices_are_the_best_of_what_was_measured(measured: tuple[Recommendation, Results]) -> None:
    found, results = measured
    used = {(t.formulation, t.solver): t.step for t in results.times if t.solver != "liar"}  # the last start is used
    fast = choice(found, "speed of re-solves")
    assert used[fast.formulation, fast.solver] < 1.5 * min(used.values())
    assert fast.factor >= 1.0
    assert fast.next != label_of(fast.formulation, fast.solver)
    worst = {
        (a.formulation, a.solver): max(a.certified) for a in results.answers
        if (a.formulation, a.solver) in used and all(a.confirmed)
    }  # fmt: skip
    assert choice(found, "accuracy").certified <= max(10 * min(worst.values()), 1e-14)


def test_who_has_no_part_is_named_with_the_reason(measured: tuple[Recommendation, Results]) -> None:
    found, _ = measured
    said = found.left_out
    assert said["not installed: no_such_package"] == ("absent",)
    assert {"deap", "deap-cma"} <= set(said["stochastic, and not asked for"])
    assert "least-squares-as-printed" in said["not exact by its own account"]
    wrong = [names for reason, names in said.items() if reason.startswith("right at 0 of")]
    assert any("by liar" in name for names in wrong for name in names)
    assert any("velocity level" in reason and "impact" in names for reason, names in said.items())
    text = str(found)
    assert "For accuracy:" in text
    assert "For many contacts:" in text
    assert "where most are closed, 3 at" in text
    assert "on this machine" in text
    assert "liar" in text
    data = json.loads(json.dumps(found.to_mapping()))
    assert data["message"] == found.message
    assert data["choices"][0]["purpose"] == "accuracy"
    assert data["machine"]["Python"]
    with pytest.raises(AttributeError):
        found.states = 0  # type: ignore[misc]


def test_the_command(running: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommending, "EACH", 0.01)
    # Time for few answers: what was not tried is said, and what was is enough for an answer.
    monkeypatch.setattr(recommending, "ANSWERS", 0.1)
    assert run(["recommend", "crank-slider", "--set", "tau=0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "solved"
    assert data["problem"] == "crank-slider (tau=0)"
    assert data["source"] == "crank-slider (tau=0), own motion"
    assert data["choices"][0]["certified"] < 1e-9
    assert any(reason.startswith("not tried: the 0.1 s for all pairs were used up") for reason in data["left_out"])


def test_what_cannot_be_measured_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ("no-such-problem", "no-such-problem"), ("crank-slider --set no-such=1", "no-such"),
        ("crank-slider --tolerance -1", "tolerance is -1"),
    ):  # fmt: skip
        assert run(["recommend", *words.split()]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(go.BadInput, match="in no file"):
        go.recommend(go.Problem.of(go.System(mass=[[1.0]], force=[1.0]), q0=[0.0], t_end=1.0))
    file = tmp_path / "resting.py"  # it rests on its contacts from the beginning
    file.write_text(LYING_DOWN.replace("mu: 0.0", "mu: 0.5").replace("[0, 0.1, 0.2], v0=[1.0, 0, 0]", "[0, 0.0, 0.0]"))
    with pytest.raises(go.BadInput, match="cannot be measured: no state"):
        go.recommend(str(file))


def test_the_motion_is_as_long_as_there_is_time() -> None:
    entry = go.problem("pendulum")
    assert end_within(entry, 0.0) < entry.t_end / 10
    assert end_within(entry, math.inf) == entry.t_end
