"""Steps without contacts against exact arithmetic: units decide nothing, small contradictions are found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from soundness.judge import bilateral
from soundness.judge.exact import difference
from soundness.trials import calls, conditions, findings
from soundness.trials.families import BILATERAL, in_units, plain

import gaussopt as go
from gaussopt.certificates import certify

pytestmark = pytest.mark.campaigns

TRIALS = 600
FAMILIES = ("small numbers", "singular mass", "redundant rows", "contradictory rows", "as many rows as coordinates")
FORMULATIONS = ("gauss", "lagrange", "null-space", "least-squares", "udwadia-kalaba", "dual", "routh")
EQUATIONS = ("lagrange", "null-space", "udwadia-kalaba", "routh")
"""Formulations without an objective, for which an unbounded step is a contradiction."""


def drawn(seed: int, scaled: bool) -> dict[str, Any]:
    """A step of small numbers, in random units or in those it is drawn in."""
    _, make = BILATERAL[FAMILIES[seed % len(FAMILIES)]]
    return plain((in_units(make) if scaled else make)(np.random.default_rng(seed)))


@pytest.fixture(scope="module")
def trials() -> list[tuple[bilateral.Truth, go.StepData]]:
    made = [drawn(seed, seed % 4 != 0) for seed in range(TRIALS)]
    return [(bilateral.judge(data), go.StepData.from_mapping(data)) for data in made]


def judged(truth: bilateral.Truth, answer: go.Answer, formulation: str) -> str:
    """What is to be said of an answer."""
    said, claim = str(answer.status), calls.of_answer(answer)
    found = findings.of_step(truth, claim)
    if found.outcome == findings.UNDECIDED:
        return "undecided"
    if found.outcome == findings.WRONG:
        return found.cause
    if truth.verdict != "solved":
        expected = "infeasible" if truth.verdict == "unbounded" and formulation in EQUATIONS else truth.verdict
        return "right" if said == expected or findings.near_border(truth) else f"{said} instead of {expected}"
    if said == "solved":
        assert truth.a is not None
        error = findings.in_units(truth.step, difference(claim.x or (), truth.a))
        exact = findings.in_units(truth.step, truth.a)
        size = exact + findings.natural(truth.step)
        return "right" if error <= 1e-6 * size else f"wrong by {error / size:.2g}"
    if said in findings.VERDICTS:
        return f"{said} instead of solved"
    return "refused" if conditions.well("step", truth) else "ill-conditioned"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_no_verdict_is_wrong_whatever_the_units(
    formulation: str, trials: list[tuple[bilateral.Truth, go.StepData]]
) -> None:
    found: Counter[str] = Counter()
    for truth, step in trials:
        try:
            answer = go.solve_step(step, formulation, "kkt")
        except go.NotAccepted:
            continue
        found[judged(truth, answer, formulation)] += 1
    assert set(found) <= {"right", "undecided", "refused", "ill-conditioned"}, found
    assert found["right"] > TRIALS / 4, found
    # Those that form a difference of large numbers lose the digits of an acceleration that is zero.
    most = {"gauss": 0, "lagrange": 0, "least-squares": 0, "null-space": 1}.get(formulation, 4)
    assert found["refused"] <= most, found


def test_no_unit_changes_a_verdict() -> None:
    """Units of coordinates, rows, masses and time; contradictions next to the threshold included."""
    for seed in range(TRIALS):
        data, other = drawn(seed, False), drawn(seed, True)
        truth = bilateral.judge(data)
        if 0.01 < truth.contradiction / bilateral.band(truth.step) < 32:
            continue
        first, second = (certify(go.StepData.from_mapping(x), None) for x in (data, other))
        assert first.verdict is second.verdict, seed
        assert first.forces_unique is second.forces_unique, seed


@pytest.mark.parametrize(
    ("gamma", "status"),
    [
        ([1e-10, 3e-10], "infeasible"),
        ([1e-200, 3e-200], "infeasible"),
        ([1.0, 1.0 + 1e-12], "infeasible"),
        ([1e-10, 1e-10 * (1 + bilateral.EPS)], "solved"),
        ([1.0, 1.0 + bilateral.EPS], "solved"),
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
