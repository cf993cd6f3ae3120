"""A sample of the campaign of estimated errors, one motion for each form and stepper; the whole is `estimates.py`."""

import pytest
from soundness import estimates

pytestmark = pytest.mark.campaigns

SEEDS = (3, 5, 11, 13, 18, 21, 25, 31, 33, 39, 41, 45, 49, 55, 57, 65, 68, 73, 77, 142)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_estimate_is_that_of_the_motion(seed: int) -> None:
    row = estimates.trial(seed)
    assert row["status"] == "solved", row["message"]
    assert not estimates.silent(row), row
    assert not estimates.low(row), row


def test_the_sample_holds_every_kind_form_and_stepper() -> None:
    made = [estimates.motion(seed) for seed in SEEDS]
    assert {(m.form, m.stepper) for m in made} == set(estimates.PAIRS)
    assert {m.kind for m in made} == set(estimates.KINDS)
