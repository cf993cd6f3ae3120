"""What a change of a solver did: right and wrong steps, times beyond the noise, the machine's pace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparison_records import answers, refused, times

from gaussopt.cli.main import run
from gaussopt.comparison.changes import ALONE, changes, sentences
from gaussopt.comparison.results import Results
from gaussopt.core.errors import BadInput
from gaussopt.reporting.document import Items
from gaussopt.reporting.sections.comparison import document

SOLVERS = ("mine", "kkt", "osqp", "daqp")
CONTROLS = {"kkt": 1.6, "osqp": 1.55, "daqp": 1.65}


def results(verdicts: str, factors: dict[str, float], code: str, seed: int, steps: int = 20) -> Results:
    """A comparison of SOLVERS: `verdicts` are those of "mine", `factors` multiply noisy times of 20 microseconds."""
    rng = np.random.default_rng(seed)
    asked = tuple(answers(s, verdicts if s == "mine" else "c" * steps) for s in SOLVERS)
    clock = tuple(
        times(s, (20e-6 * factors.get(s, 1.0) * np.exp(rng.normal(0, 0.05, steps))).tolist()) for s in SOLVERS
    )

    def environment(digest: str) -> dict[str, Any]:
        return {"python": "3", "gaussopt": "1", "packages": {}, "code": {"core": "a", "part": digest}}

    parts = {f"solver {s}": environment(code if s == "mine" else "same") for s in SOLVERS}
    meta = {"tolerance": 1e-7, "code": {**parts, "formulation gauss": environment("same")}}
    return Results(asked, clock, (), {}, meta)


BEFORE = results("c" * 20, {}, "old", 1)


@pytest.mark.parametrize(("own", "verdict"), [(0.8, "faster"), (1.6, "same"), (3.2, "slower")])
def test_a_change_of_speed_is_told_from_the_pace_of_the_machine(own: float, verdict: str) -> None:
    found = changes(BEFORE, results("c" * 20, {"mine": own, **CONTROLS}, "new", 2))
    (mine,) = (p for p in found.pairs if p.changed)
    assert "part" in mine.changed
    assert mine.speed == verdict
    assert mine.factor == pytest.approx(own / 1.6, rel=0.06)
    assert mine.low is not None
    assert mine.high is not None
    assert mine.low < own / 1.6 < mine.high
    assert list(found.pace.values()) == pytest.approx([1.6], rel=0.04)
    assert {p.speed for p in found.pairs if not p.changed} == {""}
    assert found.worse is (verdict == "slower")
    text = "\n".join(sentences(found))
    assert (f"gauss by mine on {mine.source} is {verdict}" in text) is (verdict != "same")


def test_the_same_code_is_never_called_faster_or_slower() -> None:
    for seed in range(40):
        one, other = (results("c" * 20, {}, code, 1000 * seed + i) for i, code in enumerate(("old", "new")))
        assert [p.speed for p in changes(one, other).pairs if p.changed] == ["same"]


def test_without_a_control_only_large_factors_count() -> None:
    for factor, verdict in ((1.3, "same"), (2.0, "slower"), (0.5, "faster")):
        new = results("c" * 20, dict.fromkeys(SOLVERS, factor), "new", 2)
        found = changes(BEFORE, Results(new.answers, new.times, (), {}, {"tolerance": 1e-7}))
        assert {p.speed for p in found.pairs} == {verdict}
        assert {p.noise for p in found.pairs} == {ALONE}


def test_steps_that_became_right_or_wrong() -> None:
    old, new = results("cccl" * 5, {}, "old", 1), results("cclc" * 5, {}, "new", 1)
    found = changes(old, new)
    mine = found.pairs[0]
    assert (mine.gained, mine.lost, mine.false_before, mine.false_after) == (5, 5, 5, 5)
    assert mine.worse
    assert "5 steps became right, 5 became wrong" in "\n".join(sentences(found))
    assert not changes(old, results("c" * 20, {}, "new", 1)).worse


def test_a_pair_that_is_refused_now_is_worse_and_the_report_says_so() -> None:
    same = results("c" * 20, {}, "old", 1)
    for name in ("mine", ""):  # the solver refuses, or the formulation, whoever solves it
        left = tuple(a for a in same.answers if name and a.solver != name)
        new = Results((*left, refused(name)), same.times, (), {}, same.meta)
        found = changes(BEFORE, new)
        gone = set(SOLVERS) if not name else {"mine"}
        assert set(found.refused) == {f"gauss by {s} on four-bar, A" for s in gone}
        assert found.worse
        assert not found.absent
        (section,) = (s for s in document(replace(new, times=()), found).sections if s.anchor == "changes")
        said = [str(item) for block in section.blocks if isinstance(block, Items) for item in block.items]
        assert "gauss by mine on four-bar, A answered then and is refused now: it takes linear systems only." in said


def test_what_cannot_be_compared(assert_sentence: Callable[..., None]) -> None:
    other = results("c" * 20, {}, "new", 1)
    with pytest.raises(BadInput) as error:
        changes(BEFORE, Results(other.answers, other.times, (), {}, {**other.meta, "tolerance": 1e-3}))
    assert_sentence(error.value, "tolerance", "1e-07", "0.001")
    with pytest.raises(BadInput) as error:
        changes(BEFORE, Results(tuple(answers("kkt", "c") for _ in "x"), (), (), {}, other.meta))
    assert_sentence(error.value, "no pair")


def test_the_command_says_what_a_change_of_a_solver_did(
    running: None, compare: Callable[..., Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    clean_registry: None, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    docs = (Path(__file__).parents[2] / "docs" / "tutorials" / "own-solver.md").read_text()
    text = docs.split("%%writefile schur.py\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "schur.py"
    file.write_text(text)
    monkeypatch.setenv("GAUSSOPT_PLUGINS", str(file))
    first, again = (
        compare("crank-slider", "gauss", ["schur", "kkt"], stride=50, motions=False, time_budget=0.01, out="mine")
        for _ in range(2)
    )
    assert "Every pair has the code and the packages that it had then." in sentences(changes(first, again))
    file.write_text(text.replace("X[:, :-1] @ y, y,", "X[:, :-1] @ y * 1.001, y,"))
    from gaussopt.core import registry

    registry.register(file)
    asked = ["compare", "crank-slider", "--formulations", "gauss", "--solvers", "schur,kkt", "--stride", "50"]
    asked += ["--no-motions", "--time-budget", "0.01", "--out", "mine", "--against", "mine", "--json"]
    assert run(asked) == 1
    said = capsys.readouterr()
    found = json.loads(said.out)["against"]
    assert found["worse"]
    assert all(p["lost"] == 5 and "solver schur" in p["changed"] for p in found["pairs"] if p["solver"] == "schur")
    assert not any(p["lost"] or p["changed"] for p in found["pairs"] if p["solver"] == "kkt")
    assert "Worse than before: gauss by schur on" in said.err
    assert "What changed since the earlier comparison" in (tmp_path / "mine" / "index.html").read_text(encoding="utf-8")
    assert run(["report", "mine", "--against", "absent"]) == 2


def test_few_steps_have_the_range_of_their_factors_around_the_factor_and_no_confidence() -> None:
    before = results("ccc", {}, "old", 1, steps=3)
    after = results("ccc", {"mine": 0.1}, "new", 2, steps=3)
    uneven = next(t for t in after.times if t.solver == "mine")
    steps = tuple(t * f for t, f in zip(uneven.per_step, (1.0, 1.0, 4.0), strict=True))
    clock = tuple(replace(t, per_step=steps) if t is uneven else t for t in after.times)
    found = changes(before, replace(after, times=clock))
    (mine,) = (p for p in found.pairs if p.changed)
    then = next(t for t in before.times if t.solver == "mine").per_step
    factors = np.array(steps) / np.array(then)
    (pace,) = found.pace.values()
    assert mine.timed == 3
    assert mine.low is not None
    assert mine.high is not None
    assert mine.low <= factors.min() / pace
    assert mine.high >= factors.max() / pace
    (line,) = (x for x in sentences(found) if "is faster" in x)
    assert "range over 3 steps" in line
    assert "99%" not in line
