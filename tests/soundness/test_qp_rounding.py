"""Quadratic programs at rounding level: contradictions, error bounds and rows missed by little, from the campaign."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.judge import convex
from soundness.trials import calls, findings
from soundness.trials.findings import RIGHT, WRONG, Claim

import gaussopt as go
from gaussopt.certificates import qp as qp_certificate
from gaussopt.certificates.qp import classify_qp
from gaussopt.certificates.qp_verdict import meeting
from gaussopt.core.status import Status
from gaussopt.solving.verification import verify_answer

FAULTS = json.loads((Path(__file__).parent / "faults" / "qp_little.json").read_text())
"""Answers once called solved, or the bounds given with them, that the exact judge refuted."""
CONTRADICTORY = [fault for fault in FAULTS if fault["verdict"] == "infeasible"]
NEAR_FLAT, FROM_ZERO, ONE_ROW_SHORT, HARDLY_DEFINITE = (fault for fault in FAULTS if fault["verdict"] == "solved")


def judged(data: dict[str, Any]) -> convex.Truth:
    return convex.judge(data["P"], data["q"], data["A"], data["l"], data["u"])


def as_claim(fault: dict[str, Any]) -> Claim:
    qp = go.QP.from_mapping(fault["program"])
    found = go.certify_qp(qp, np.array(fault["x"]), np.array(fault["y"]))
    return Claim("solved" if found.passed() else "inaccurate", fault["x"], fault["y"], error_bound=found.error_bound)


@pytest.mark.parametrize("fault", CONTRADICTORY)
def test_contradictions_far_below_the_terms_of_the_answer_count(fault: dict[str, Any]) -> None:
    """Rows twenty times as large as their bounds contradict each other by 5e-13 of these."""
    qp = go.QP.from_mapping(fault["program"])
    truth = judged(fault["program"])
    assert truth.verdict == "infeasible"
    assert truth.contradiction == pytest.approx(5e-13, rel=1e-3)
    assert classify_qp(qp) is Status.INFEASIBLE
    assert as_claim(fault).status != "solved"
    assert calls.answer("qp", qp, fault["program"], "", fault["solver"]).status == "infeasible"


@pytest.mark.parametrize("far", [1.0, 1e3, 1e6, 1e8])
def test_an_answer_far_away_hides_no_contradiction(far: float) -> None:
    """Forces move the answer by much more than the bounds, so that rounding of A x exceeds the contradiction."""
    A = np.array([[1.0, 1.0], [1.0, 1.0]])
    qp = go.QP(np.eye(2), np.array([-far, far]), A, np.array([-np.inf, 1.0 + 1e-11]), np.array([1.0, np.inf]))
    assert classify_qp(qp) is Status.INFEASIBLE
    assert not go.certify_qp(qp, np.array([far + 0.5, 0.5 - far])).passed()


def test_rows_that_hold_are_not_asked_for_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear programs cost more than all else: inexact points of sound rows do without."""
    asked = []
    monkeypatch.setattr(qp_certificate, "classify", lambda qp: asked.append(qp) or Status.SOLVED)
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, m = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        A, x = rng.integers(-4, 5, (m, n)) / 4.0, rng.integers(-4, 5, n) / 2.0
        y = np.abs(rng.integers(0, 5, m) / 2.0)
        qp = go.QP(np.eye(n), A.T @ y - x, A, A @ x, np.full(m, np.inf))
        assert go.certify_qp(qp, x + 1e-10 * rng.standard_normal(n), y).verdict is Status.SOLVED
    assert len(asked) <= 1


def test_a_point_meets_rows_to_rounding_of_their_bounds() -> None:
    A = np.array([[0.5, 0.25], [-0.5, 0.125], [-0.5, 0.0]])
    b = np.array([-0.5, -0.25, 0.0])
    x = meeting(A, b, b, np.array([1.8e-15, -2.0]))
    assert x is not None
    assert np.abs(A @ np.asarray(x, dtype=float) - b).max() < 1e-15
    far = np.array([1e6, -2e6])
    assert meeting(np.vstack((A[0], A[0])), np.array([-0.5, -np.inf]), np.array([np.inf, -0.5]), far) is not None
    assert (
        meeting(np.vstack((A[0], A[0])), np.array([-0.5 * (1 - 1e-12), -np.inf]), np.array([np.inf, -0.5]), far) is None
    )


def test_error_bounds_count_what_rows_pass_on_of_flat_directions() -> None:
    """A slope of 1e-14 along a direction without curvature, which rows hold that also hold one of little curvature."""
    truth = judged(NEAR_FLAT["program"])
    assert not truth.definite
    claim = as_claim(NEAR_FLAT)
    assert claim.status == "solved"
    assert findings.of_qp(truth, claim).outcome == RIGHT
    assert claim.error_bound < 1e-10


def test_slope_that_no_row_with_a_force_takes_is_given_to_one_without() -> None:
    """Three directions without curvature, two rows with forces: rounding moves the minimiser to a third row."""
    truth, claim = judged(ONE_ROW_SHORT["program"]), as_claim(ONE_ROW_SHORT)
    assert claim.status == "solved"
    assert findings.of_qp(truth, claim).outcome == RIGHT


def test_a_matrix_whose_pivots_exceed_rounding_may_be_singular() -> None:
    """The answer runs 4e13 away along a direction without curvature, where the gradient is rounding."""
    truth = judged(HARDLY_DEFINITE["program"])
    assert not truth.definite
    assert as_claim(HARDLY_DEFINITE).status != "solved"


def combined(data: dict[str, Any], weight: float) -> dict[str, Any]:
    """The same program, a multiple of its first row, an equality, added to the last."""
    A, u = [list(row) for row in data["A"]], list(data["u"])
    A[-1] = [a + weight * b for a, b in zip(A[-1], A[0], strict=True)]
    u[-1] += weight * u[0]
    return {**data, "A": A, "u": u}


def in_units(data: dict[str, Any], unit: float) -> dict[str, Any]:
    """Bounds and answers in another unit."""
    turned = {key: [None if v is None else v * unit for v in data[key]] for key in ("l", "u")}
    return {**data, **turned}


@pytest.mark.parametrize("unit", [1.0, 2.0**-30])
@pytest.mark.parametrize(("off", "outcome"), [(2.4e-11, RIGHT), (4e-3, WRONG), (1e-2, WRONG), (1.0, WRONG)])
def test_a_bound_of_zero_is_judged_as_the_same_bound_written_otherwise(off: float, outcome: str, unit: float) -> None:
    """x1 <= 0 beside 3/2 x0 + 2 x1 = -3/2: the sum of both rows says the same, and its bound is not zero."""
    data = FROM_ZERO["program"]
    assert data["u"][-1] == 0
    assert data["l"][0] == data["u"][0] == -1.5
    x = [unit * float(-1 - Fraction(off) * 4 / 3), unit * off]
    for weight in (0.0, 1.0, -2.0):
        program = in_units(combined(data, weight), unit)
        assert findings.of_qp(judged(program), Claim("solved", x)).outcome == outcome
    assert findings.of_qp(judged(data), as_claim(FROM_ZERO)).outcome == RIGHT


@pytest.mark.parametrize(("off", "outcome"), [(2.3e-11, RIGHT), (1e-2, WRONG), (1.0, WRONG)])
def test_a_variable_fixed_at_zero_has_the_size_of_the_rows_that_hold_at_a_bound(off: float, outcome: str) -> None:
    """x0 = 0 beside -x0/2 - x1/2 - 2 x2 <= 2, which the minimiser (0, -2, -1/2) meets."""
    A = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-0.5, -0.5, -2.0]]
    zero = [[0.0] * 3] * 3
    data = {"P": zero, "q": [0.0, 4.0, 4.0], "A": A, "l": [0.0, -2.0, -1.0, 0.0], "u": [0.0, -0.5, -0.5, 2.0]}
    truth = judged(data)
    assert truth.x is not None
    least = [float(truth.x.fraction(i)) for i in range(3)]
    assert least == [0.0, -2.0, -0.5]
    assert findings.of_qp(truth, Claim("solved", [off, *least[1:]])).outcome == outcome


@pytest.mark.parametrize("size", [1.1e-16, 5.6e-17])
def test_bounds_that_stand_for_zero_do_not_make_a_right_answer_infeasible(size: float) -> None:
    """Rows that contradict each other by 1e-16 beside a bound of 1, as QSCORPIO's do: the answer is not refuted.

    Nor is it called solved; and rows that miss each other by what is no rounding are infeasible as before.
    """
    A = np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]])
    x, y = np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0, -1.0])

    def program(missed: float) -> go.QP:
        low, high = np.array([-missed, 0, 0, 1.0]), np.array([-missed, 0, 0, 2.0])
        return go.QP(np.eye(3), np.array([0, 0, -3.0]), A, low, high)

    assert go.solve(program(size), "highs").status is Status.NOT_PROVED
    for missed, status in ((size, "not_proved"), (1e-7, "infeasible"), (1e-11, "infeasible")):
        answer = {"x": x, "y": y}
        assert verify_answer(program(missed), answer, 1e-7)["status"] == status
    assert go.solve(program(1e-6), "highs").status is Status.INFEASIBLE
