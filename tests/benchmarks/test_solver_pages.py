"""The benchmarks of adapters and of folders of programs: what they compare and count. Nothing here is timed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io, sparse

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages

FOLDER = Path(__file__).parents[2] / "benchmarks"
CALLS = ("osqp", "piqp:dense", "piqp:sparse", "proxqp:dense", "proxqp:sparse", "daqp", "clarabel", "scs", "highs",
         "kkt", "sparse-kkt")  # fmt: skip

HERE = [name for name in CALLS if not missing_packages(registry.load("solver", name.partition(":")[0]))]


@pytest.mark.parametrize("kind", ["dense", "sparse in dense arrays", "sparse"])
@pytest.mark.parametrize("name", HERE)
def test_the_adapter_and_the_call_by_hand_answer_alike(load: Any, name: str, kind: str) -> None:
    """At set-up and at re-solves; else the ratio of their times would say nothing."""
    adapters, by_hand = load("adapters"), load("by_hand")
    if not adapters.fits(name, kind, 10):
        pytest.skip("the solver does not take such programs")
    qps = adapters.programs(10, kind, name in ("kkt", "sparse-kkt"))
    solver, hand, state = go.make_solver(name), by_hand.CALLS[name], None
    for k, qp in enumerate(qps):
        (solver.update if k else solver.setup)(qp)
        state, x = hand.again(state, qp, solver.options) if k else hand.begin(qp, solver.options)
        mine = solver.solve(None).x
        assert mine is not None
        np.testing.assert_allclose(mine, x, rtol=0, atol=1e-8 * (1 + np.abs(x).max()))


@pytest.fixture
def known(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A file as those of Maros and Meszaros, with bounds of 1e20 and a row that bounds nothing, and its minimiser."""
    P, A = (
        sparse.csc_matrix(np.diag([2.0, 1.0, 4.0])),
        sparse.csc_matrix([[1.0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    )
    path = tmp_path / "THREE.mat"
    bounds = {"l": np.array([[1.0], [0.5], [-1e20], [-1e20]]), "u": np.array([[1.0], [1e20], [1e20], [0.05]])}
    io.savemat(path, {"P": P, "q": np.zeros((3, 1)), "A": A, **bounds})
    return path, np.array([0.5, 0.45, 0.05])


def test_a_file_is_read_answered_judged_and_measured(load: Any, known: Any, tmp_path: Path) -> None:
    folder = load("qp_folder")
    path, x = known
    assert folder.unknowns(path) == 3
    assert folder.read(path).m == 3
    answers = {"daqp": folder.answer(path, "daqp"), "kkt": folder.answer(path, "kkt")}
    assert answers["kkt"]["claim"] == "not taken"
    np.testing.assert_allclose(answers["daqp"]["x"], x, rtol=0, atol=1e-12)
    rows = [{"problem": "THREE", "solver": s, **folder.verdict(path, answers, s)} for s in answers]
    assert [row["status"] for row in rows] == ["solved", "not taken"]
    (tmp_path / "answers").mkdir()
    np.savez(tmp_path / "answers" / "THREE.daqp.npz", **answers["daqp"])
    assert folder.measure_errors([path], ["daqp"], tmp_path / "answers", rows) == {}
    assert rows[0]["true_error"] <= 1e-12
    assert rows[0]["true_error"] <= rows[0]["error_bound"] + rows[0]["floor"]
    given = {"most": 1000, "seconds": 20.0, "prove": 60.0}
    page = load("qp_folder_page").page(rows, ["THREE"], {}, ["daqp", "kkt"], given)
    assert "**1 of 1 (100.0 %)**" in page
    assert "called inaccurate: 0.**" in page


def test_the_reference_is_the_minimiser_whatever_answer_it_begins_from(load: Any, known: Any) -> None:
    reference, folder = load("qp_folder_reference"), load("qp_folder")
    path, x = known
    qp = folder.read(path)
    assert reference.curved(qp)
    assert not reference.curved(go.QP(0 * qp.P, qp.q, qp.A, qp.l, qp.u))
    for start in (x, x + 0.3, np.zeros(3)):
        for y in (np.zeros(qp.m), np.ones(qp.m)):
            found = reference.reference(qp, [(start, y)])
            assert reference.distance(qp, x, found.x) <= 1e-15


def test_what_a_verdict_counts_as(load: Any) -> None:
    page = load("qp_folder_page")
    for claim, status, column in (
        ("solved", "inaccurate", "false claims"), ("solved", "infeasible", "false claims"),
        ("inaccurate", "inaccurate", "inaccurate"), ("solved", "not_proved", "not proved"),
        ("iteration_limit", "solved", "solved"), ("iteration_limit", "iteration_limit", "failed"),
        ("solved", "not judged: no answer in time", "not judged"), ("not taken", "not taken", "not taken"),
    ):  # fmt: skip
        assert page.kind({"claim": claim, "status": status}) == column
    assert page.small({"three": [1e-9, 0.0, 1e-10]})
    assert not page.small({"three": [1e-9, 0.0, 2e-9]})
    assert not page.small({"three": [math.inf] * 3})


def test_residuals_are_those_of_the_answer_itself(load: Any, known: Any) -> None:
    """A force towards a bound that is not there is a dual residual."""
    folder = load("qp_folder")
    qp = folder.read(known[0])
    y = qp.P @ known[1]  # two equal forces in all: those of the sum, of the lower bound and of the upper one
    duals = np.array([y[1], y[0] - y[1], y[2] - y[1]])
    assert max(folder.residuals(qp, known[1], duals)) <= 1e-15
    duals[2] = 1.0
    assert folder.residuals(qp, known[1], duals)[1] == pytest.approx(0.25)
    assert folder.residuals(qp, known[1], None)[0] == math.inf
