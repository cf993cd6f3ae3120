"""Steps without contacts against exact rational arithmetic: units decide nothing, small contradictions are found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from soundness.exact_bilateral import EPS, Trial, Truth, in_units, trial, truth

import gaussopt as go
from gaussopt.certificates import certify

TRIALS = 1200
FORMULATIONS = ("gauss", "lagrange", "null-space", "least-squares", "udwadia-kalaba", "dual", "routh")
EQUATIONS = ("lagrange", "null-space", "udwadia-kalaba", "routh")
"""Formulations without an objective, for which an unbounded step is a contradiction."""

DECIDED = 32.0
"""Times of the stated threshold beyond which what contradicts is decided."""


@pytest.fixture(scope="module")
def trials() -> list[tuple[Trial, Truth, go.StepData]]:
    made = [trial(seed) for seed in range(TRIALS)]
    return [(each, truth(each.data), go.StepData.from_mapping(each.data)) for each in made]


def threshold(step: go.StepData) -> float:
    """8 max(m, n) eps."""
    return 8 * max(step.n, step.m) * EPS


def judged(each: Trial, true: Truth, step: go.StepData, answer: go.Answer, formulation: str) -> str:
    """What is to be said of an answer."""
    said = str(answer.status)
    if true.share and true.share <= DECIDED * threshold(step):
        return "undecided"
    if true.status != "solved":
        expected = "infeasible" if true.status == "unbounded" and formulation in EQUATIONS else true.status
        return "right" if said == expected else f"{said} instead of {expected}"
    if said == "solved":
        exact = np.array([float(x) for x in true.a])
        error = np.linalg.norm((answer.a - exact) * each.unit)
        size = np.linalg.norm(exact * each.unit) + np.linalg.norm(step.Q / each.unit)
        return "right" if error <= 1e-6 * size else f"wrong by {error / size:.2g}"
    if said in ("infeasible", "unbounded", "acceleration_not_unique"):
        return f"{said} instead of solved"
    return "refused" if each.well else "ill-conditioned"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_no_verdict_is_wrong_whatever_the_units(
    formulation: str, trials: list[tuple[Trial, Truth, go.StepData]]
) -> None:
    found: Counter[str] = Counter()
    for each, true, step in trials:
        try:
            answer = go.solve_step(step, formulation, "kkt")
        except go.NotAccepted:
            continue
        found[judged(each, true, step, answer, formulation)] += 1
    allowed = {"right", "undecided", "refused", "ill-conditioned"}
    assert set(found) <= allowed, found
    # Those that form a a difference of large numbers lose the digits of an acceleration that is zero.
    most = {"gauss": 0, "lagrange": 0, "least-squares": 0, "null-space": 1}.get(formulation, 4)
    assert found["refused"] <= most, found


@pytest.mark.parametrize(
    ("gamma", "status"),
    [
        ([1e-10, 3e-10], "infeasible"),
        ([1e-200, 3e-200], "infeasible"),
        ([1.0, 1.0 + 1e-12], "infeasible"),
        ([1e-10, 1e-10 * (1 + EPS)], "solved"),
        ([1.0, 1.0 + EPS], "solved"),
        ([0.0, 0.0], "solved"),
        ([0.0, 1e-300], "infeasible"),
    ],
)
def test_a_contradiction_is_measured_beside_the_data(gamma: list[float], status: str) -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [0.0], "J": [[1.0], [1.0]], "gamma": gamma})
    answer = go.solve_step(step)
    assert str(answer.status) == status, answer.message
    if status == "infeasible":
        assert "Row 2 of J is 1 x row 1, but gamma differs by" in answer.message


def test_a_step_of_a_motion_holds_the_rounding_of_its_evaluation() -> None:
    """Terms of gamma that cancel are not seen in it: what is left of them is no contradiction."""
    data = {"M": [[1.0]], "Q": [9.81], "J": [[1.0], [1.0]], "gamma": [1e-17, 3e-17]}
    assert go.solve_step(go.StepData.from_mapping(data)).status is go.Status.INFEASIBLE
    assert go.solve_step(go.StepData.from_mapping({**data, "v": [1.0]})).status is go.Status.SOLVED
    far = go.StepData.from_mapping({**data, "gamma": [1e-6, 3e-6], "v": [1.0]})
    assert go.solve_step(far).status is go.Status.INFEASIBLE


def rescaled(data: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same step in other units."""
    rng = np.random.default_rng(seed)
    D, R = 2.0 ** rng.integers(-30, 31, len(data["M"])), 2.0 ** rng.integers(-30, 31, len(data["J"]))
    mass, time = 2.0 ** rng.integers(-40, 41, 2)
    return in_units(data, D, R, mass, time)


def test_no_unit_changes_a_verdict() -> None:
    """Units of coordinates, rows, mass and time; contradictions next to the threshold included."""
    for seed in range(600):
        data = trial(seed, 0).data
        plain, other = (go.StepData.from_mapping(x) for x in (data, rescaled(data, seed)))
        first, second = certify(plain, None), certify(other, None)
        share = truth(data).share / threshold(plain)
        if 0.01 < share < DECIDED:
            continue
        assert first.verdict is second.verdict, seed
        assert first.forces_unique is second.forces_unique, seed


@pytest.mark.parametrize("size", [1e160, 1e-160, 1e300])
def test_numbers_whose_squares_overflow_or_vanish_pass_nothing_wrong(size: float) -> None:
    step = go.StepData.from_mapping(
        {"M": [[1.0, 0.0], [0.0, 1.0]], "Q": [size, size], "J": [[1.0, 1.0]], "gamma": [0.0]}
    )
    assert not certify(step, np.array([size, size])).passed()
    assert not certify(step, np.array([0.25 * size, -0.2 * size])).passed()
    assert not certify(step, np.zeros(2), np.array([-0.5 * size])).passed()
    assert certify(step, np.zeros(2), np.array([-size])).passed() or size > 1.0


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-12, 1e-100])
def test_forces_and_massless_coordinates_are_held_to_the_size_of_the_step(size: float) -> None:
    """The "1 +" of the tolerance has a unit: far below it answers must be right beside the step itself."""
    step = go.StepData.from_mapping(
        {"M": [[1.0, 0.0], [0.0, 0.0]], "Q": [2 * size, 0.0], "J": [[1.0, -1.0], [0.0, 1.0]], "gamma": [0.0, size]}
    )
    a, lam = np.array([size, size]), np.array([-size, -size])
    assert certify(step, a, lam).passed()
    assert not certify(step, a, 1.01 * lam).passed()
    assert not certify(step, np.array([size, 0.0]), lam).passed()
    assert not certify(step, np.array([0.0, 0.0]), lam).passed()
