"""Sequences written for other programs, and read back."""

from __future__ import annotations

import json
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import qpsolvers

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.items import states_of
from gaussopt.comparison.sequence_files import export_sequence, read_sequence, to_qpsolvers
from gaussopt.comparison.sources import ExportedSequence, convex_set

STRIDE = 40


@pytest.mark.parametrize(
    ("problem", "formulation"),
    [("crank-slider", "gauss"), ("crank-slider", "least-squares"), ("two-bar", "lcp-qp"), ("two-bar", "stick-slip")],
)
def test_what_is_read_is_what_was_written(problem: str, formulation: str, tmp_path: Path) -> None:
    entry = go.problem(problem)
    manifest = export_sequence(entry, formulation, tmp_path / "out", stride=STRIDE)
    programs = read_sequence(tmp_path / "out")
    steps = [i.data for i in states_of(entry, manifest["reference"], STRIDE)]
    assert len(programs) == len(steps) == manifest["count"] > 2
    for program, step, row in zip(programs, steps, manifest["programs"], strict=True):
        assert isinstance(step, go.StepData)
        original = go.formulate(step, formulation)
        if isinstance(original, go.LeastSquares):
            original = original.as_qp()
        assert type(program) is type(original)
        names = ("M", "q") if isinstance(original, go.LCP) else ("P", "q", "A", "l", "u")
        for name in names:
            np.testing.assert_array_equal(getattr(program, name), getattr(original, name))
        x = np.array(row["solution"])
        certificate = go.certify_lcp(program, x) if isinstance(program, go.LCP) else go.certify_qp(program, x)
        assert certificate.passed()


def test_qpsolvers_loads_and_solves_them(tmp_path: Path) -> None:
    manifest = export_sequence(go.problem("two-bar"), "lcp-qp", tmp_path / "out", stride=STRIDE)
    for row in manifest["programs"]:
        problem = qpsolvers.Problem.load(tmp_path / "out" / row["file"])
        solution = qpsolvers.solve_problem(problem, solver="daqp")
        assert solution.found
        np.testing.assert_allclose(solution.x, row["solution"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", sorted(convex_set()))
def test_every_kind_of_row_goes_over(name: str) -> None:
    contents = convex_set()[name]
    qp = go.QP.from_mapping(contents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsolvers.warnings.SparseConversionWarning)
        solution = qpsolvers.solve_problem(to_qpsolvers(qp), solver="clarabel")
    assert solution.found
    assert abs(qp.objective(solution.x) + contents["r"] - contents["optimal"]) < 1e-5 * (1 + abs(contents["optimal"]))


def test_the_test_set_reads_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for qpbenchmark, which is no dependency: same base class and factory, nothing behind them."""
    export_sequence(go.problem("four-bar"), "gauss", tmp_path / "out", stride=100)

    class Problem:
        from_qpsolvers = staticmethod(lambda qp, name: (name, qp.P.shape))

    class TestSet:
        __test__ = False

        def define_tolerances(self) -> None: ...
        def define_solver_settings(self) -> None: ...

    module = types.ModuleType("qpbenchmark")
    module.Problem, module.TestSet = Problem, TestSet  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "qpbenchmark", module)
    source = tmp_path / "out" / "step_sequence.py"
    scope: dict[str, object] = {"__file__": str(source)}
    exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), scope)
    found = list(scope["StepSequence"]())  # type: ignore[operator]
    assert found == [("00000", (3, 3)), ("00001", (3, 3)), ("00002", (3, 3))]


def test_a_replayed_sequence_gives_what_the_steps_gave(tmp_path: Path, compare: Callable[..., go.Results]) -> None:
    export_sequence(go.problem("two-bar"), "lcp-qp", tmp_path / "out", stride=STRIDE)
    results = compare(
        ExportedSequence.of(tmp_path / "out"), None, ["daqp", "osqp", "newton"], time_budget=0.01
    )  # fmt: skip
    assert results.failures == {}
    assert {r.source.label for r in results.answers} == {"two-bar as lcp-qp, two-bar-contact"}
    for r in results.answers:
        assert r.formulation == ""
        assert all(r.confirmed)
        assert max(r.certified) < 1e-7
    assert {(t.solver, t.start) for t in results.times} == {(r.solver, r.start) for r in results.answers}


def test_damage_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_sequence(go.problem("four-bar"), "gauss", out, stride=100)
    with pytest.raises(go.BadInput, match="not empty"):
        export_sequence(go.problem("four-bar"), "gauss", out, stride=100)
    good = (out / "00001.npz").read_bytes()
    (out / "00001.npz").write_bytes(good[:-1])
    with pytest.raises(go.BadInput, match=r"00001\.npz"):
        ExportedSequence.of(out)
    (out / "00001.npz").unlink()
    (out / "00002.npz").rename(out / "00003.npz")  # other files with similar names are no advice here
    with pytest.raises(go.BadInput, match=r"00001\.npz, which the manifest names, is missing; export .* again\.$"):
        ExportedSequence.of(out)
    (out / "00001.npz").write_bytes(good)
    (out / "00003.npz").rename(out / "00002.npz")
    spec = ExportedSequence.of(out)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    (out / "manifest.json").write_text(json.dumps({**manifest, "count": 0}), encoding="utf-8")
    with pytest.raises(go.BadInput, match="has changed"):
        spec.items()
    (out / "manifest.json").write_text(json.dumps({**manifest, "format": 99}), encoding="utf-8")
    with pytest.raises(go.BadInput, match="format 1"):
        ExportedSequence.of(out)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    arguments = ["export", "crank-slider", "--formulation", "gauss", "--set", "tau=0", "--stride", "100", "--out", out]
    assert run([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kind"], data["count"], data["certified"]) == ("qp", 3, 3)
    assert run([*arguments, "--json"]) == 2
    assert "not empty" in json.loads(capsys.readouterr().out)["message"]
    assert run(["export", "crank-slider", "--formulation", "gauss", "--reference", "x", "--out", out, "--json"]) == 2
    assert "crank-A-2s" in json.loads(capsys.readouterr().out)["message"]
