"""Folders of programs as sources: every format, pooled; a file that cannot be read is named, and the others go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.comparison.file_sources import programs_of
from gaussopt.comparison.plan import listed_sources, plan_of
from gaussopt.interchange import quadratic
from gaussopt.interchange.problem_reader import read_problem
from gaussopt.reporting.sections.comparison import document

INF = np.inf
P, q = np.array([[4.0, 1.0], [1.0, 2.0]]), np.array([1.0, -3.0])
G, h, A, b = np.array([[1.0, 2.0]]), np.array([1.5]), np.array([[1.0, -1.0]]), np.array([0.25])
LOW, HIGH = np.array([-INF, 0.0]), np.array([0.7, INF])

MPS = """* the same program
NAME          SAME
ROWS
 N  cost
 L  ineq
 E  eq
COLUMNS
    x1        cost      1.0   ineq      1.0
    x1        eq        1.0
    x2        cost     -3.0   ineq      2.0
    x2        eq       -1.0
RHS
    rhs       cost      7.0   ineq      1.5
    rhs       eq        0.25
BOUNDS
 MI bnd       x1
 UP bnd       x1        0.7
QUADOBJ
    x1        x1        4.0
    x1        x2        1.0
    x2        x2        2.0
ENDATA
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One program in every format, others, and files that are none."""
    folder = tmp_path / "mine"
    folder.mkdir()
    nothing = np.array(None)
    np.savez(folder / "archive.npz", P=P, q=q, G=G, h=h, A=A, b=b, lb=LOW, ub=HIGH)
    np.savez(folder / "free.npz", P=P, q=q, G=nothing, h=nothing, A=nothing, b=nothing, lb=nothing, ub=nothing)
    rows = scipy.sparse.csc_matrix(np.vstack((A, G, np.eye(2))))
    l, u = np.array([0.25, -1e20, -1e20, 0.0]), np.array([0.25, 1.5, 0.7, 1e20])
    scipy.io.savemat(
        folder / "matlab.mat", {"P": scipy.sparse.csc_matrix(P), "q": q, "A": rows, "l": l, "u": u, "r": 7.0}
    )
    (folder / "same.mps").write_text(MPS)
    (folder / "same2.qps").write_text(
        MPS.replace("QUADOBJ", "QMATRIX").replace(
            "    x2        x2  ", "    x2        x1        1.0\n    x2        x2  "
        )
    )
    (folder / "lcp.json").write_text(json.dumps({"kind": "lcp", "M": [[2.0]], "q": [-1.0]}))
    (folder / "notes.md").write_text("about them")
    (folder / "broken.mps").write_text("NAME\nROWS\n Q  what\n")
    (folder / "torn.npz").write_bytes((folder / "archive.npz").read_bytes()[:300])
    (folder / "whole.mps").write_text(MPS.replace("BOUNDS", "BOUNDS\n BV bnd       x2"))
    return folder


def test_every_format_is_the_same_program(folder: Path) -> None:
    sought = go.solve(
        go.QP(P, q, np.vstack((A, G, np.eye(2))), np.array([0.25, -INF, -INF, 0]), np.array([0.25, 1.5, 0.7, INF])),
        "daqp",
    )
    assert sought.status is go.Status.SOLVED
    for name in ("archive.npz", "matlab.mat", "same.mps", "same2.qps"):
        found = read_problem(folder / name)
        assert isinstance(found, go.QP)
        np.testing.assert_array_equal(found.P, P)
        np.testing.assert_array_equal(found.q, q)
        assert found.m == 4  # what bounds nothing is no row
        np.testing.assert_allclose(go.solve(found, "daqp").x, sought.x, atol=1e-10)
    free = read_problem(folder / "free.npz")
    assert isinstance(free, go.QP)
    assert free.m == 0


def test_maximising_is_minimising_the_negative(tmp_path: Path) -> None:
    path = tmp_path / "largest.mps"
    turned = MPS.replace("ROWS\n", "OBJSENSE\n    MAX\nROWS\n", 1)
    for value in ("4.0", "2.0", "1.0"):
        turned = turned.replace(f"        {value}\nENDATA", f"       -{value}\nENDATA")
    head, tail = turned.split("QUADOBJ")
    lines = [
        f"{line[:-3]}-{line[-3:]}" if line.startswith("    x") else line for line in tail.replace("-", "").splitlines()
    ]
    path.write_text(
        head.replace("cost      1.0", "cost     -1.0").replace("cost     -3.0", "cost      3.0")
        + "QUADOBJ"
        + "\n".join(lines)
        + "\n"
    )
    found = read_problem(path)
    assert isinstance(found, go.QP)
    np.testing.assert_array_equal(found.P, P)
    np.testing.assert_array_equal(found.q, q)


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(folder: Path) -> None:
    said: list[str] = []
    found = programs_of(folder, said.append)
    assert [s.source.name for s in found] == ["archive", "free", "lcp", "matlab", "same", "same2"]
    assert {s.source.part for s in found} == {"mine"}
    for name, why in (("broken.mps", "HiGHS"), ("torn.npz", "damaged"), ("whole.mps", "whole numbers")):
        (sentence,) = (s for s in said if s.startswith(name))
        assert why in sentence
        assert sentence.endswith(".")
    assert len(said) == 3
    with pytest.raises(go.BadInput, match="holds no programs"):
        programs_of(_emptied(folder), said.append)


def _emptied(folder: Path) -> Path:
    for file in folder.iterdir():
        if file.name not in ("broken.mps", "notes.md"):
            file.unlink()
    return folder


def test_a_folder_is_one_pool_of_a_comparison(
    running: None, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", str(folder), "--solvers", "daqp,piqp,lemke", "--time-budget", "0.01", "--json"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "broken.mps is left out" in said.err
    results = go.Results.load(tmp_path / "out")
    names = ("archive", "free", "matlab", "same", "same2")
    assert {(a.source.name, a.solver) for a in results.answers} == {
        ("lcp", "lemke"), *((n, s) for n in names for s in ("daqp", "piqp")),
    }  # fmt: skip
    assert all(all(a.confirmed) for a in results.answers)
    text = (tmp_path / "out" / "index.md").read_text()
    assert "Convex programs of mine" in text
    assert "Complementarity problems of mine" in text
    rows = [line for line in text.splitlines() if line.startswith("| [same2](single-problems.md#")]
    assert any("2 of 2" in row and "daqp, piqp" in row for row in rows)
    assert document(results).findings


def test_a_file_of_any_format_is_a_source(folder: Path, compare: Callable[..., go.Results]) -> None:
    answers = compare(folder / "same.mps", solvers=["piqp"], time_budget=0.0).answers
    assert {a.source.label for a in answers} == {"same"}
    assert all(all(a.confirmed) for a in answers)
    spec = programs_of(folder / "matlab.mat")[0]
    (folder / "matlab.mat").write_bytes(b"other")
    with pytest.raises(go.BadInput, match="has changed"):
        spec.items()


def test_a_folder_that_was_exported_is_a_sequence(tmp_path: Path) -> None:
    from gaussopt.comparison.sequence_files import export_sequence

    export_sequence(go.problem("four-bar"), "gauss", tmp_path / "sequence", stride=100)
    (spec,), _ = listed_sources(str(tmp_path / "sequence"), print)
    assert not isinstance(spec, str)
    assert spec.source.kind == "sequence"  # type: ignore[union-attr]


def test_a_set_of_qpbenchmark_needs_pyarrow_or_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns are those that qpbenchmark writes: matrices flattened, None for what is not there."""
    import pandas as pd

    path = tmp_path / "set.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr(quadratic, "find_spec", lambda name: None)
    with pytest.raises(go.MissingBackend, match=r"gaussopt\[parquet\]"):
        programs_of(path, print)
    frame = pd.DataFrame({
        "P": [P.ravel(), P.ravel()], "q": [q, q], "G": [G.ravel(), None], "h": [h, None], "A": [A.ravel(), None],
        "b": [b, None], "lb": [None, LOW], "ub": [None, np.ones(3)], "name": ["one", "torn"],
    })  # fmt: skip
    monkeypatch.setattr(quadratic, "find_spec", lambda name: True)
    monkeypatch.setattr(pd, "read_parquet", lambda file, engine: frame)
    said: list[str] = []
    (spec,) = programs_of(path, said.append)
    assert (spec.source.name, spec.source.part) == ("one", "set")
    program: Any = spec.typical()
    np.testing.assert_array_equal(program.A, np.vstack((G, A)))
    assert len(said) == 1
    assert "torn" in said[0]


def test_named_settings_are_printed_as_tolerances() -> None:
    asked: dict[str, Any] = {
        "steppers": ("rk4",), "dt": None, "t_end": None, "tolerance": 1e-7, "time_budget": 0.0, "case_limit": 10.0,
        "accuracy": ("default", "low", "high"),
    }  # fmt: skip
    plan = plan_of("four-bar", ["gauss"], ["osqp", "kkt", "osqp(polishing=no)"], False, 10, False, **asked)
    assert plan.solvers == (
        "osqp", "kkt", "osqp(polishing=False)", "osqp(eps_abs=0.001,eps_rel=0.001)",
        "osqp(polishing=False,eps_abs=0.001,eps_rel=0.001)", "osqp(eps_abs=1e-09,eps_rel=1e-09)",
        "osqp(polishing=False,eps_abs=1e-09,eps_rel=1e-09)",
    )  # fmt: skip
    with pytest.raises(go.UnknownName, match="mid"):
        plan_of("four-bar", None, ["osqp"], False, 10, False, **asked | {"accuracy": ["midd"]})
