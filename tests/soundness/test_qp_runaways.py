"""Answers that run away along directions without curvature, right answers that were refused, and bounds that are tight.

Rows and objectives are judged by the data of the program: beside its own huge terms every answer would be right.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from soundness.judge import convex
from soundness.judge.exact import difference, integers, length, rank
from soundness.test_qp_units import scaled
from soundness.trials import findings, qp_families, work
from soundness.trials.findings import RIGHT, WRONG, Claim

import gaussopt as go
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.status import Status
from gaussopt.solving.verification import verified, verify_answer

pytestmark = pytest.mark.campaigns

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "faults" / "qp_runaways.json").read_text())
RUNAWAYS = [name for name, case in CASES.items() if "wrong" in case]
EPS = float(np.finfo(float).eps)


def program(name: str) -> go.QP:
    return go.QP.from_mapping(CASES[name]["program"])


def truth_of(qp: go.QP) -> convex.Truth:
    return convex.judge(qp.P, qp.q, qp.A, qp.l, qp.u)


@pytest.mark.parametrize("name", RUNAWAYS)
def test_runaway_answers_of_solvers_are_not_solved(name: str) -> None:
    """Once called solved: off by 16 % to 63 % of the least value, with rows missed by up to 20, or 3e-6 beside 1e14."""
    qp, case = program(name), CASES[name]
    x, y, right = (np.array(case[key]) for key in ("wrong", "duals", "right"))
    truth = truth_of(qp)
    assert truth.least is not None
    assert abs(qp.objective(x) / float(truth.least) - 1.0) > 1e-6
    assert findings.of_qp(truth, Claim("solved", x.tolist())).outcome == WRONG
    assert findings.of_qp(truth, Claim("solved", right.tolist())).outcome == RIGHT
    rng = np.random.default_rng(4)
    for _ in range(4):
        assert not go.certify_qp(qp, x, y).passed()
        assert not go.certify_qp(qp, x).passed()
        assert go.certify_qp(qp, right).passed()
        d, r = (2.0 ** rng.integers(-30, 31, k) for k in (qp.n, qp.m))
        qp, x, y, right = scaled(qp, d, r), x / d, y / r, right / d


@pytest.mark.parametrize("name", CASES)
def test_solvers_agree_on_the_objective_where_they_are_called_solved(name: str) -> None:
    qp = program(name)
    least = truth_of(qp).least
    assert least is not None
    found = 0
    # Of the plunge proxqp takes more than a million iterations to its limit.
    for solver in ("daqp", "piqp", "clarabel", "highs", "newton", "scs", *["proxqp"] * (name != "plunge")):
        try:
            answer = go.solve(qp, solver)
        except (go.NotAccepted, go.MissingBackend):
            continue
        if answer.status is Status.SOLVED:
            found += 1
            assert answer.x is not None
            assert qp.objective(answer.x) == pytest.approx(float(least), rel=1e-6)
    assert found


def test_rounding_does_not_hide_what_a_far_point_misses() -> None:
    """2 x0 - 3/2 x1 is 0 in floats and -6e-5 in truth at x0 = -6.5e11, which nothing in the program calls for."""
    qp, case = program("hidden_by_rounding"), CASES["hidden_by_rounding"]
    x = np.array(case["hidden"])
    assert not np.maximum(qp.l - qp.A @ x, qp.A @ x - qp.u).max() > 0
    assert findings.of_qp(truth_of(qp), Claim("solved", x.tolist())).outcome == WRONG
    assert not go.certify_qp(qp, x).passed()
    assert go.certify_qp(qp, np.array(case["right"])).passed()


def test_a_row_with_two_bounds_is_judged_by_them() -> None:
    """3/32 x1 is 2 % beyond its box; other rows would let x1 move 1e18 times as far, and no cost sees the miss."""
    qp, case = program("boxed_beside_far_rows"), CASES["boxed_beside_far_rows"]
    x, y, right = (np.array(case[key]) for key in ("missed", "duals", "right"))
    assert findings.of_qp(truth_of(qp), Claim("solved", x.tolist())).outcome == WRONG
    assert not go.certify_qp(qp, x, y).passed()
    assert not go.certify_qp(qp, x).passed()
    assert go.certify_qp(qp, right).passed()


def test_a_sparse_row_is_judged_by_its_bound() -> None:
    """x1 - x2 = 1 is missed by 1 at x1 = x2 = 1e17, whose terms are 1e17."""
    nothing, row, one = csr_array((2, 2)), csr_array(np.array([[1.0, -1.0]])), np.ones(1)
    for qp in (
        go.QP(nothing, np.zeros(2), row, one, one),
        go.QP(np.zeros((2, 2)), np.zeros(2), row.toarray(), one, one),
    ):
        assert go.certify_qp(qp, np.array([1.0, 0.0])).passed()
        assert not go.certify_qp(qp, np.array([1e17, 1e17])).passed()
        assert not go.certify_qp(qp, np.array([1e9 + 1.0001, 1e9])).passed()


def test_a_bound_of_rounding_is_no_scale_of_its_row() -> None:
    """A bound of 1.4e-14 that ought to be 0, as published data have them, beside unknowns of size 1."""
    A = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    low = np.array([1.4e-14, 1.0, 0.0])
    qp = go.QP(2.0 * np.eye(3), np.array([1.0, -1.0, 2.0]), A, low, np.array([np.inf, 1.0, np.inf]))
    for off in (1e-15, -2e-15, 4e-15):
        certificate = go.certify_qp(qp, np.array([0.5 + off, 0.5 - 2 * off, off]))
        assert certificate.passed()
        assert certificate.error_bound < 1e-11
    assert not go.certify_qp(qp, np.array([0.5, 0.5 + 1e-5, -1e-5])).passed()


def test_small_residuals_are_never_called_inaccurate_and_prove_nothing() -> None:
    """In units of 1e-12 every residual is below 1e-9, whatever the point: not proved, and not solved."""
    tiny = 1e-12
    qp = go.QP(np.eye(2), -tiny * np.ones(2), np.eye(2), np.zeros(2), tiny * np.array([0.5, 2.0]))
    raw = RawSolution(np.zeros(2), np.zeros(2), Status.SOLVED)
    found = verified(qp, raw, Timing())
    assert found.status is Status.NOT_PROVED
    assert found.status == "not_proved"
    assert "nothing is confirmed" in found.message
    assert verify_answer(qp, {"x": np.zeros(2), "y": None}, 1e-7)["status"] == "not_proved"
    assert verified(qp, RawSolution(tiny * np.array([0.5, 1.0]), None, Status.SOLVED), Timing()).status is Status.SOLVED
    assert verified(qp, raw, Timing(), 1e-9).status is Status.INACCURATE
    large = go.QP(np.eye(2), -np.ones(2), np.eye(2), np.zeros(2), np.array([0.5, 2.0]))
    assert verified(large, raw, Timing()).status is Status.INACCURATE


def test_two_answers_may_not_contradict_each_other() -> None:
    """Whatever the judge lets pass: 0.4 apart at a least value of 1e4 is more than both admit."""
    qp = go.QP(np.zeros((1, 1)), np.ones(1), np.eye(1), np.array([1e4]), np.array([np.inf]))
    truth = truth_of(qp)
    first = Claim("solved", [1e4], objective_gap=1e-4)
    for off, gap, wrong in ((4e-1, 1e-4, True), (4e-1, 1.0, False), (1e-4, 0.0, False)):
        found = findings.of_pair(truth, first, Claim("solved", [1e4 + off], objective_gap=gap))
        assert (found is not None and found.outcome == WRONG) == wrong


def definite_where_feasible(truth: convex.Truth) -> bool:
    """Whether P is positive definite in the directions that the equalities leave free."""
    held = [row for row, l, u in zip(truth.A, truth.l, truth.u, strict=True) if l is not None and l == u]
    return rank([integers(row) for row in (*truth.P, *held)], len(truth.q)) == len(truth.q)


def test_error_bounds_are_finite_and_tight_where_the_minimiser_is_unique() -> None:
    """At most 100 times the true error and the rounding floor, whoever found the point and however far off it is."""
    rng, tried = np.random.default_rng(9), 0
    names = [name for name in qp_families.QPS if name not in ("linear", "units of linear")]
    for number in range(260):
        data = work.arrays(qp_families.QPS[names[number % len(names)]][1](rng))
        data = work.without_infinity(data)
        try:
            qp = go.QP.from_mapping(data)
        except go.BadInput:
            continue
        truth = convex.judge(data["P"], data["q"], data["A"], data["l"], data["u"])
        if truth.verdict != "solved" or not qp.P.any() or not definite_where_feasible(truth):
            continue
        assert truth.x is not None
        least = np.array(truth.x.floats())
        unit = 1.0 / np.sqrt(np.where(qp.P.diagonal() > 0, qp.P.diagonal(), np.inf))
        unit = np.where(unit > 0, unit, np.abs(least).max()) * float(
            np.abs(least / np.where(unit > 0, unit, 1.0)).max()
        )
        far = [10.0 ** -rng.uniform(1, 12) * unit * rng.standard_normal(qp.n) for _ in range(2)]
        answers = [least, *(least + way for way in far)]
        answers += [
            a.x for a in (go.solve(qp, "daqp"), go.solve(qp, "osqp")) if a.status is Status.SOLVED and a.x is not None
        ]
        for x in answers:
            tried += 1
            found = go.certify_qp(qp, x)
            error = length(difference(x.tolist(), truth.x), truth.P)
            whole = float(np.abs(x) @ np.abs(qp.P) @ np.abs(x)) + float(np.abs(qp.q) @ np.abs(x))
            floor = 16 * (qp.n + qp.m + 4) * EPS * max(found.scale, math.sqrt(whole))
            assert found.error_bound <= 100 * error + 10 * floor
            assert error <= found.error_bound * (1 + 1e-6) + floor + 1e-13
    assert tried > 400


def test_the_new_families_hold_runaways() -> None:
    """Free directions that far rows bound, with costs: solvable, and points along them are lies."""
    rng = np.random.default_rng(3)
    solved = free = 0
    for _ in range(60):
        data = qp_families.far_rows(rng)
        truth = convex.judge(data["P"], data["q"], data["A"], data["l"], data["u"])
        solved += truth.verdict == "solved"
        free += not truth.definite
        if truth.verdict == "solved":
            assert truth.x is not None
            qp = go.QP(data["P"], data["q"], data["A"], data["l"], data["u"])
            for name, x in work.lies.runaways(rng, qp, np.array(truth.x.floats())):
                claim = Claim("solved" if go.certify_qp(qp, x).passed() else "inaccurate", x.tolist())
                assert findings.of_qp(truth, claim).outcome != WRONG, name
    assert solved > 20
    assert free > 50
