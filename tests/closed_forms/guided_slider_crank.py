"""Closed forms of the problem guided-slider-crank."""

from __future__ import annotations

from dataclasses import replace

from gaussopt.core.step_data import StepData


def other_wall(step: StepData) -> StepData:
    """The same state with the contact on the upper wall: the gap is -y3, the slip stays."""
    assert step.g_N is not None
    assert step.gdot_N is not None
    return replace(step, J_N=-step.J_N, zeta_N=-step.zeta_N, g_N=-step.g_N, gdot_N=-step.gdot_N)
