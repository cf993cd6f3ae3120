"""Programs whose answers the campaign refuted once: what the exact judge says of them now (`faults/answers.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from soundness.trials import calls, work
from soundness.trials.families import Program
from soundness.trials.findings import Finding

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "faults" / "answers.json").read_text())


def finding(kind: str, data: dict[str, Any], formulation: str, solver: str) -> Finding:
    """What the exact judge says of an answer."""
    truth, compare = work.judged(Program(kind, "", data, 0))
    short = "step" if kind.endswith("step") else kind
    return compare(truth, calls.answer(short, calls.subject(short, data), data, formulation, solver))


@pytest.mark.parametrize(
    ("case", "formulation", "solver"),
    [
        pytest.param(case, *pair, id="-".join(filter(None, (case["what"], *pair))))
        for case in CASES
        for pair in case["pairs"]
    ],
)
def test_an_answer_once_refuted_is_right(case: dict[str, Any], formulation: str, solver: str) -> None:
    assert finding(case["kind"], case["data"], formulation, solver).outcome == case["outcome"]
