"""A sample of the campaign of random motions; the whole of it is `motions.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from soundness import motions

import gaussopt as go

pytestmark = pytest.mark.campaigns

SEEDS = (4, 6, 12, 18, 38, 40, 54, 1, 7, 26, 29, 45, 51, 58, 70)
"""The first seven missed an impact or an event where one cubic was looked at in each step."""


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_missed_and_nothing_invented(seed: int) -> None:
    row = motions.trial(seed)
    assert row["missed"] == []
    assert row["phantoms"] == []
    assert row["status"] in ("solved", "accumulation")
    assert row["flights"] + row["closed"] > 0 or row["stepper"] in motions.STEPPING


def test_a_contact_that_opens_while_it_sticks_has_no_direction_of_friction() -> None:
    row = motions.trial(291)
    assert row["status"] == "solved", row["message"]
    assert row["missed"] == row["phantoms"] == []


def test_the_end_of_a_step_counts_whatever_the_path_within_is_worth() -> None:
    """Of a method of order one the path within a step is that of neither its end nor its beginning."""
    assert motions.trial(998)["phantoms"] == []


def test_the_sample_holds_every_family_and_stepper() -> None:
    chosen = [motions.motion(seed) for seed in SEEDS]
    assert {m.family for m in chosen} == set(motions.FAMILIES)
    assert {m.stepper for m in chosen} >= {*motions.ADAPTIVE, *motions.FIXED}


def test_the_judge_sees_what_is_missed_and_what_is_invented() -> None:
    made = motions.motion(0)
    made = motions.Motion(0, "rod", {**made.parameters, "length": 1.0}, [0, 1.0, 0.3], [0, 0, 20.0], 0.6, "rk45", None,
                          ("turn", 1.0, 0.99, 0))  # fmt: skip
    settings = {"q0": made.q0, "v0": made.v0, "t_end": 0.6, "stepper": "rk45", "step_folder": None}
    seen = motions.judge(made, go.simulate(made.system(), events=made.events(), **settings))
    assert seen["missed"] == seen["phantoms"] == []
    assert seen["impacts"] > 0 < seen["marks"]
    # A motion without a floor, told as one over a floor, goes through it; an impact in the air is invented.
    high = go.simulate(made.system(), **{**settings, "q0": [0, 101.0, 0.3]})
    lower = go.Trajectory(**{**vars_of(high), "q": high.q - np.array([0, 100.0, 0])})
    missed = motions.judge(made, lower)["missed"]
    assert any("contact" in x for x in missed)
    assert any("event" in x for x in missed)
    invented = {"t": 0.0, "kind": "impact", "contacts": ["P0"], "gap_rates": [-1.0]}
    assert motions.judge(made, go.Trajectory(**{**vars_of(high), "events": (invented,)}))["phantoms"]


def vars_of(traj: go.Trajectory) -> dict[str, object]:
    return {name: getattr(traj, name) for name in traj.__dataclass_fields__}


def test_the_campaign_resumes_and_writes_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, page = tmp_path / "motions.jsonl", tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["motions.py", "--count", "2", "--out", str(out), "--summary", str(page)])
    monkeypatch.setattr("sys.path", [*sys.path])
    page.write_text("# Page\n\n<!-- motions -->\nold\n<!-- /motions -->\n\nkept\n")
    assert motions.main() == 0
    text, rows = page.read_text(), out.read_text()
    assert [json.loads(line)["seed"] for line in rows.splitlines()] == [0, 1]
    assert "old" not in text
    assert text.startswith("# Page\n\n<!-- motions -->\n## Motions\n")
    assert text.endswith("<!-- /motions -->\n\nkept\n")
    page.unlink()
    assert motions.main() == 0
    assert out.read_text() == rows
    assert page.read_text().startswith("# Soundness\n\n<!-- motions -->\n## Motions\n")
