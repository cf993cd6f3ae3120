"""Comparisons of contact problems with friction cones: files and folders of them, exact solvers beside relaxations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.file_sources import programs_of
from gaussopt.comparison.performance_profiles import costs
from gaussopt.comparison.results import Results
from gaussopt.reporting.sections import who_solved
from gaussopt.reporting.sections.grouping import groups

W = np.eye(3) + 0.1 * np.ones((3, 3))
STICKS = go.ConeComplementarity(W, np.array([-1.0, 0.1, 0.05]), np.array([0.5]))
SLIDES = go.ConeComplementarity(W, np.array([-1.0, 2.0, 0.5]), np.array([0.5]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two contacts in two formats, a table beside them, and a file that is something else."""
    found = tmp_path_factory.mktemp("contacts")
    (found / "a.json").write_text(json.dumps(STICKS.to_mapping()), encoding="utf-8")
    go.write_fclib(found / "b.hdf5", SLIDES)
    (found / "notes.csv").write_text("a,b\n", encoding="utf-8")
    (found / "other.json").write_text('{"what": 1}', encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def compared(take_running: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Results]:
    out = tmp_path_factory.mktemp("compared")
    formulations = "coulomb-soccp,coulomb-ccp,coulomb-pyramid:16,aclm"
    words = ["--formulations", formulations, "--solvers", "hybrid,clarabel,lemke,kkt"]
    with pytest.MonkeyPatch.context() as patch:
        take_running(patch)
        code = run(["compare", "--contact", str(folder), *words, "--time-budget", "0.01", "--out", str(out)])
    return code, Results.load(out)


def test_exact_solvers_are_confirmed_and_relaxations_are_told_apart(compared: tuple[int, Results]) -> None:
    code, results = compared
    assert code == 0
    said = {(a.formulation, a.solver, a.source.part): a for a in results.answers}
    assert {key[:2] for key in said} == {
        ("coulomb-soccp", "hybrid"), ("coulomb-ccp", "clarabel"), ("coulomb-pyramid:16", "lemke"), ("aclm", "clarabel"),
    }  # fmt: skip
    assert {a.start for a in results.answers} == {"setup"}  # one file is no start for another
    for right in (("coulomb-soccp", "hybrid"), ("aclm", "clarabel")):
        assert [said[*right, file].status for file in ("a.json", "b.hdf5")] == [["solved"], ["solved"]]
    # The block that sticks is right without the shift and with facets; the one that slides is lifted, and turned.
    for wrong in (("coulomb-ccp", "clarabel"), ("coulomb-pyramid:16", "lemke")):
        sticks, slides = (said[*wrong, file] for file in ("a.json", "b.hdf5"))
        assert not slides.exact
        assert (sticks.status, slides.status) == (["solved"], ["inaccurate"])
        assert sticks.claim == slides.claim == ["solved"]
        assert slides.certified[0] > 1e-3
        assert max(slides.primal + slides.dual + slides.gap) < 1e-6
    # Each file has a clock of its own.
    assert {(t.formulation, t.solver, t.source.part) for t in results.times} == set(said)
    assert all(t.work > 0 for t in results.times)


def test_the_report_tells_who_solved_which_file(compared: tuple[int, Results]) -> None:
    _, results = compared
    [group] = groups(results)
    files = results.meta["files"][group.name]
    assert files == ["a.json", "b.hdf5"]
    a, b = who_solved.table(group, files).rows
    assert (a[0], a[1]) == ("a.json", "4 of 4")
    assert b == ("b.hdf5", "2 of 4", "aclm: clarabel; coulomb-soccp: hybrid", "inaccurate 2")


def test_limits_and_refusals_are_of_one_file(tmp_path: Path, guests: None, compare: Any) -> None:
    """One that is hard for a solver, or that it refuses, costs that file and not the folder."""
    for name, mu in (("a-easy", 0.5), ("b-hard", 0.6), ("c-refused", 0.7), ("d-easy", 0.5)):
        problem = go.ConeComplementarity(W, STICKS.q, np.array([mu]))
        (tmp_path / f"{name}.json").write_text(json.dumps(problem.to_mapping()), encoding="utf-8")
    files, solvers = programs_of(tmp_path, contacts=True), ["slow-or-choosy", "hybrid"]
    results = compare(files, ["coulomb-soccp"], solvers, case_limit=2.0, time_budget=0.01)
    own = {a.source.part[0]: a for a in results.answers if a.solver == "slow-or-choosy"}
    assert own["a"].status == own["d"].status == ["solved"]
    assert own["b"].failure == "time limit: no answer within 2 s"
    assert "too slippery" in own["c"].refused
    assert len(results.failures) == 1
    timed = {t.source.part[0] for t in results.times if t.solver == "slow-or-choosy"}
    assert timed == {"a", "d"}
    assert {t.source.part[0] for t in results.times if t.solver == "hybrid"} == set("abcd")
    found = costs(results.answers, results.times, formulation="coulomb-soccp")
    assert dict(zip(found.names, found.failures.tolist(), strict=True)) == {"hybrid": 0, "slow-or-choosy": 1}
    assert found.refused.sum(axis=0).tolist() == [int(name == "slow-or-choosy") for name in found.names]
    alone = compare(programs_of(tmp_path / "b-hard.json", contacts=True), ["coulomb-soccp"], solvers, case_limit=2.0)
    [group] = groups(alone)
    assert [*who_solved.table(group, ["b-hard.json"]).rows] == [
        ("b-hard.json", "1 of 2", "coulomb-soccp: hybrid", "time limit 1")
    ]


def test_a_file_that_holds_something_else_is_named(folder: Path, capsys: Any, tmp_path: Path) -> None:
    found: list[str] = []
    assert len(programs_of(folder, found.append, contacts=True)) == 2
    assert found[0].startswith("other.json is left out: The file has no 'kind'")
    (tmp_path / "x.json").write_text('{"what": 1}', encoding="utf-8")
    assert run(["compare", "--contact", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "holds no contacts with friction cones" in capsys.readouterr().err
    assert run(["compare", "--contact", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(STICKS.to_mapping()), encoding="utf-8")
    (spec,) = programs_of(file, contacts=True)
    assert spec.source.name == "a"
    file.write_text(json.dumps(SLIDES.to_mapping()), encoding="utf-8")
    with pytest.raises(go.BadInput, match="has changed since the comparison began"):
        spec.items()
