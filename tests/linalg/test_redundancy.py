"""Which rows depend on which."""

from __future__ import annotations

import numpy as np
import pytest

import gaussopt as go


def step(M: object, J: object, gamma: object) -> go.StepData:
    return go.StepData.from_mapping({"M": M, "Q": np.zeros(len(M)), "J": J, "gamma": gamma})  # type: ignore[arg-type]


def test_regular_step() -> None:
    report = go.rank_report(step(np.eye(3), [[1, 0, 0], [0, 1, 0]], [0, 0]))
    assert report.regular
    assert report.sentences() == []
    assert (report.rank_M, report.rank_J, report.rank_MJ) == (3, 2, 3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_dependent_row_is_expressed_by_the_others(scale: float) -> None:
    J = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, -3.0]])
    J[2] *= scale  # a row's unit must not matter
    report = go.rank_report(step(np.eye(3), J, [1.0, 1.0, -1.0 * scale]))
    (dependency,) = report.dependencies
    assert dependency.row == 2
    assert dependency.coefficients == pytest.approx({0: 2.0 * scale, 1: -3.0 * scale}, rel=1e-12)
    assert dependency.contradiction == 0.0
    assert report.open_multipliers == (0, 1, 2)
    assert "Row 3 of J is" in report.sentences()[0]


def test_contradiction_is_measured() -> None:
    report = go.rank_report(step(np.eye(2), [[1, 0], [2, 0]], [1.0, 2.5]))
    assert report.dependencies[0].contradiction == pytest.approx(0.5)


def test_only_the_dependent_multipliers_are_open() -> None:
    report = go.rank_report(step(np.eye(3), [[1, 0, 0], [0, 1, 0], [0, 2, 0]], [0, 0, 0]))
    assert report.open_multipliers == (1, 2)


def test_free_directions() -> None:
    report = go.rank_report(step(np.diag([1.0, 0.0, 0.0]), [[0, 1, 1]], [0]))
    assert report.rank_MJ == 2
    direction = report.free_directions[:, 0]
    assert direction / direction[1] == pytest.approx([0, 1, -1], abs=1e-14)


def test_zero_row() -> None:
    report = go.rank_report(step(np.eye(2), [[0, 0], [1, 0]], [0, 0]))
    assert report.sentences()[0] == "Row 1 of J is zero."
    assert report.open_multipliers == (0,)
