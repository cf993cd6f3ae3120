"""Losses of the objective that large forces hid, right points that were refused, and distances where P is singular."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness import qp_judge
from soundness.qp_judge import Exact
from soundness.test_qp_units import exact, nearly, random_program, refuted, scaled, wrong_points

import gaussopt as go
from gaussopt.certificates.qp import classify_qp

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "faults" / "qp_gaps.json").read_text())


def program(name: str) -> go.QP:
    return go.QP.from_mapping(CASES[name]["program"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["wrong"]])
def test_a_large_force_hides_no_loss(name: str) -> None:
    """A coordinate that its rows hold near zero counts by its own size, not by how far its forces would take it."""
    qp = program(name)
    truth = exact(qp)
    for x in CASES[name]["wrong"]:
        assert refuted(qp, truth, np.array(x))
        assert not go.certify_qp(qp, np.array(x)).passed()


@pytest.mark.parametrize("name", CASES)
def test_right_points_pass_in_any_units(name: str) -> None:
    """Among them: duals that cancel each other, energies that are rounding, forces far larger than the curvature."""
    qp, x = program(name), np.array(CASES[name]["right"])
    assert nearly(qp, exact(qp), x)
    rng = np.random.default_rng(2)
    for _ in range(3):
        assert go.certify_qp(qp, x).passed()
        d, r = (2.0 ** rng.integers(-30, 31, k) for k in (qp.n, qp.m))
        qp, x = scaled(qp, d, r), x / d


def test_what_is_the_same_at_all_feasible_points_is_no_size() -> None:
    """The first coordinate of the program is tiny; a coordinate that a row fixes adds 1 to the objective."""
    small = program("tiny_by_cancellation")
    P, A = np.zeros((3, 3)), np.zeros((3, 3))
    P[:2, :2], A[:2, :2], A[2, 2] = small.P, small.A, 1.0
    qp = go.QP(P, np.append(small.q, 1.0), A, np.append(small.l, 1.0), np.append(small.u, 1.0))
    for x in CASES["tiny_by_cancellation"]["wrong"]:
        assert not go.certify_qp(qp, np.append(x, 1.0)).passed()
    assert go.certify_qp(qp, np.append(CASES["tiny_by_cancellation"]["right"], 1.0)).passed()


def test_half_an_objective_has_its_distance() -> None:
    """qp_semidefinite: the loss of 1/2 is a distance of 1 in the norm of P."""
    data = json.loads((Path(__file__).parent / "faults" / "qp_semidefinite.json").read_text())
    wrong = np.array(json.loads((Path(__file__).parent / "faults" / "qp_semidefinite_wrong.json").read_text())["x"])
    found = go.certify_qp(go.QP.from_mapping(data), wrong)
    assert found.error_bound >= 1.0 - 1e-12
    assert not found.passed()


def in_norm(qp: go.QP, truth: Exact, x: Any) -> float:
    """||x - x*||_P; P x* is the same for all minimisers."""
    off = [float(a - b) for a, b in zip(qp_judge.exact(x), truth.x, strict=True)]
    return float(np.sqrt(max(np.array(off) @ qp.P @ np.array(off), 0.0)))


def test_the_bound_of_singular_programs_holds() -> None:
    """Of random programs whose P is singular and not zero, at points off by anything between nothing and 1."""
    rng, told = np.random.default_rng(31), 0
    for _ in range(160):
        qp = random_program(rng)
        truth = exact(qp)
        points = list(wrong_points(rng, qp, truth))
        if truth.verdict != "solved" or not qp.P.any() or np.linalg.matrix_rank(qp.P) == qp.n:
            continue
        for x in points:
            found = go.certify_qp(qp, x)
            if np.isfinite(found.error_bound):
                told += 1
                rounding = 1e-12 * found.scale + 1e-14 * float(np.sqrt(np.abs(x) @ np.abs(qp.P) @ np.abs(x)))
                assert in_norm(qp, truth, x) <= found.error_bound * (1 + 1e-9) + rounding
                assert "without curvature" in found.to_mapping().get("distance", "without curvature")
    assert told > 150


def test_rounding_of_flat_directions_is_no_descent() -> None:
    """Forces beside a flat direction, and forces of 100 in it that cancel to 2, do not make a program unbounded."""
    beside = go.QP(
        np.array([[0.0625, -1.5, 1.25], [-1.5, 36.0, -30.0], [1.25, -30.0, 50.0]]), np.array([0.0, 0.0, 0.75]),
        np.zeros((0, 3)), np.zeros(0), np.zeros(0),
    )  # fmt: skip
    root = np.array([[0.625, 5.0, 5.0]])
    cancelling = go.QP(
        root.T @ root, np.array([12.5, 97.75, 101.5]), np.array([[0.0, -6.0, 4.0], [0.0, -12.0, 8.0]]),
        np.array([32.0, 64.0]), np.array([32.25, np.inf]),
    )  # fmt: skip
    for qp in (beside, cancelling):
        assert exact(qp).verdict == "solved"
        assert str(classify_qp(qp)) == "solved"
    assert go.certify_qp(beside, np.array([0.0, -0.025, -0.03])).passed()
    pushed = go.QP(beside.P, np.array([1e-6, 0.0, 0.75]), beside.A, beside.l, beside.u)
    assert str(classify_qp(pushed)) == exact(pushed).verdict == "unbounded"
