"""What is said of a contact step before it is solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go


@pytest.fixture(scope="module")
def steps(data: Callable[[str], Any]) -> dict[str, tuple[go.StepData, dict[str, Any]]]:
    return {
        c["name"]: (go.StepData.from_mapping(c["problem"]), c["expect"])
        for c in data("step_cases.json")
        if c["kind"] == "step" and c["problem"].get("J_N")
    }


@pytest.mark.parametrize(
    ("name", "painleve"),
    [("rod_inconsistent", True), ("rod_indeterminate", True), ("rod_carriage_indeterminate", True),
     ("rod_regular", False), ("twobar_60_pull20", False), ("box3_slide", False), ("box3_slide_mu_differs", False)],
)  # fmt: skip
def test_painleve_is_friction_and_not_redundancy(
    name: str, painleve: bool, steps: dict[str, tuple[go.StepData, dict[str, Any]]]
) -> None:
    assert go.classify_step(steps[name][0]).painleve is painleve


def test_status_and_criterion_agree_with_what_solving_finds(
    steps: dict[str, tuple[go.StepData, dict[str, Any]]],
) -> None:
    judged = 0
    for name, (step, expect) in steps.items():
        found = go.classify_step(step)
        assert str(found.verdict.status) == expect["stick-slip"]["status"], name
        assert found.to_mapping()["status"] == expect["stick-slip"]["status"]
        if found.printed_is_lcp is None:
            continue
        judged += 1
        printed, true = (np.array(expect[f]["a"]) for f in ("normal-force-qp", "stick-slip"))
        assert found.printed_is_lcp is bool(np.abs(printed - true).max() <= 1e-9 * (1 + np.abs(true).max())), name
    assert judged >= 20


def test_weights_are_given_where_the_weighted_program_is_stated(
    steps: dict[str, tuple[go.StepData, dict[str, Any]]],
) -> None:
    for name, (step, expect) in steps.items():
        if "weighted-normal-force-qp" in expect:
            found = go.classify_step(step)
            assert found.weights is not None, name
            D = found.weights[:, None] * found.delassus
            assert np.abs(D - D.T).max() <= 1e-9 * np.abs(D).max(), name
