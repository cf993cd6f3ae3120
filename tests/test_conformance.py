"""Every formulation and every stepper passes the checks of `gaussopt.testing`, and wrong ones do not."""

from __future__ import annotations

from pathlib import Path

import pytest

import gaussopt as go
from gaussopt import testing

WRONG = {
    "forgetful": """
from dataclasses import replace
from gaussopt.formulations.gauss import Gauss

class Forgetful(Gauss):
    name, title = "forgetful", "Gauss's program without the right-hand side of its rows"

    def apply(self, step):
        return super().apply(replace(step, gamma=0.0 * step.gamma))

formulation = Forgetful()
""",
    "late": """
from gaussopt.integration.steppers.rk4 import RK4

class Late(RK4):
    name, title = "late", "Runge and Kutta's method at a later time"

    def step(self, motion, t, q, u, dt):
        return super().step(motion, t + 0.25 * dt, q, u, dt)

stepper = Late()
""",
}


@pytest.fixture
def wrong(clean_registry: None, tmp_path: Path) -> None:
    for name, text in WRONG.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        go.register(tmp_path / f"{name}.py")


@pytest.mark.parametrize("formulation", go.names("formulation"))
def test_formulations_give_the_acceleration_or_refuse(formulation: str) -> None:
    for case in testing.steps():
        testing.check_formulation(formulation, case)


@pytest.mark.parametrize("stepper", go.names("stepper"))
def test_steppers_keep_what_they_say(stepper: str) -> None:
    testing.check_stepper(stepper)


def test_a_wrong_formulation_is_found_out(wrong: None) -> None:
    cases = {case.name: case for case in testing.steps()}
    testing.check_formulation("forgetful", cases["free"])
    with pytest.raises(AssertionError, match="forgetful is exact, and ends 'constrained' as inaccurate"):
        testing.check_formulation("forgetful", cases["constrained"])


def test_a_wrong_stepper_is_found_out(wrong: None) -> None:
    with pytest.raises(AssertionError, match=r"Halving the step of late gains the order 1\.\d+, not 4"):
        testing.check_stepper("late")
