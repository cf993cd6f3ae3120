"""A sample of the campaign of mechanisms in guides; the whole of it is `guides.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from soundness import guides

import gaussopt as go

pytestmark = pytest.mark.campaigns

SEEDS = (2, 7, 12, 14, 19, 21, 23, 24, 26, 33)


@pytest.mark.parametrize("seed", SEEDS)
def test_guides_are_the_coordinates_along_them(seed: int) -> None:
    row = guides.judged(seed)
    assert row["wrong"] == []
    assert row["status"] == ("solved", "solved"), row["message"]


def test_the_sample_holds_every_kind_of_guide_and_law() -> None:
    made = [guides.trial(seed) for seed in SEEDS]
    assert {m.family for m in made} == set(guides.FAMILIES) - {"rail", "bar"}
    assert {m.settings["impact"] for m in made} == {"newton", "poisson"}
    assert {m.settings["stepper"] for m in made} >= {"rk4", "moreau-jean"}


def test_the_judge_sees_a_guide_that_lets_go() -> None:
    """An impact of which one impulse is left out is refuted."""
    made = guides.trial(19)
    motion = guides.simulate(made, True)
    event = next(e for e in motion.events if e["kind"] == "impact")
    assert guides.momentum(made, motion, event) == []
    after = np.array(event["v_after"]) + np.array([0.0, 0.1, *np.zeros(len(event["v_after"]) - 2)])
    found = guides.momentum(made, motion, event | {"v_after": after.tolist()})
    assert "momentum" in found
    assert "a guide lets go" in found


def test_the_judge_of_modes_against_a_closed_form() -> None:
    """A point in a rough guide meets a slope: the guide takes the impulse across it, and rubs in proportion."""
    c, s, mu = np.cos(0.3), np.sin(0.3), 0.2
    v = np.array([1.0, 0.0])
    J_N = np.array([[0.0, 1.0], [-c, s]])
    step = go.StepData.from_mapping({
        "M": np.eye(2), "Q": np.zeros(2), "J_N": J_N, "zeta_N": np.zeros(2), "J_T": [[[1.0, 0.0]], [[s, c]]],
        "mu": [mu, 0.0],
    })  # fmt: skip
    step = replace(step, v=v, gdot_N=J_N @ v, v_T=np.array([[1.0], [0.0]]), e_N=np.array([0.7, 0.5]))
    (dv,) = guides.impact_by_modes(step, np.array([True, False]), "newton")
    assert dv == pytest.approx([-1.5, 0.0])


@pytest.mark.parametrize("seed", [356, 404])
def test_a_limit_that_is_left_by_rounding_ends_no_motion(seed: int) -> None:
    """Where redundant contacts share friction, the interval of an event may end before its level is reached."""
    row = guides.judged(seed)
    assert "crashed" not in row["status"]
    assert row["wrong"] == []
