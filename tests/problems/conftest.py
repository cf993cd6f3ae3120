"""Steps that are stated in tables, and those of problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gaussopt as go

ARRAYS = ("M", "h", "Q", "J", "gamma", "J_N", "zeta_N", "J_T", "zeta_T", "v_T", "mu")


@pytest.fixture(scope="session")
def assert_stated(data: Callable[[str], Any]) -> Callable[..., None]:
    """The arrays of a step are those of a stated case, to 1e-12."""
    cases = {c["name"]: c for c in data("step_cases.json")}

    def check(step: go.StepData, name: str) -> None:
        stated = go.StepData.from_mapping(cases[name]["problem"])
        for array in ARRAYS:
            assert getattr(step, array) == pytest.approx(getattr(stated, array), abs=1e-12), array

    return check


@pytest.fixture(scope="session")
def cases(data: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """The stated cases by name."""
    return {c["name"]: c for c in data("step_cases.json")}
