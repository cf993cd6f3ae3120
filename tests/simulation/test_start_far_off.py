"""A start that the projection has to move far is told of."""

from __future__ import annotations

import math

import gaussopt as go


def test_a_start_far_off_the_constraints_is_told() -> None:
    q = go.problem("crank-slider").q0
    near = go.simulate("crank-slider", q0=q + 1e-3, stabilisation="projection", t_end=0.01)
    assert not any("far off the constraints" in sentence for sentence in near.warnings)
    turned = q.copy()
    turned[5] += 4 * math.pi  # the angle of the coupler alone, which a pin does not see, is no error
    assert not go.simulate("crank-slider", q0=turned, stabilisation="projection", t_end=0.01).message.count("far off")
    off = q.copy()
    off[0] += 3.0
    told = go.simulate("crank-slider", q0=off, stabilisation="projection", t_end=0.01)
    assert "The start was far off the constraints: the projection moved " in told.message
