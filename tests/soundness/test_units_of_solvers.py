"""Units and sizes of the numbers of a program do not decide whether DAQP solves it."""

from __future__ import annotations

import numpy as np
import pytest
from soundness.judge import bilateral, convex
from soundness.trials import calls, findings

STEP = {
    "M": [[0.25, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 3.0]], "Q": [1.0, -0.5, 0.25], "J": [[0.5, -1.0, 1.5]],
    "gamma": [0.75],
}  # fmt: skip


@pytest.mark.parametrize("exponent", [-400, -100, -30, 30, 77, 104, 400])
def test_forces_of_any_size(exponent):
    data = {**STEP, **{key: (np.array(STEP[key]) * 2.0**exponent).tolist() for key in ("Q", "gamma")}}
    claim = calls.answer("step", calls.subject("step", data), data, "gauss", "daqp")
    assert claim.status == "solved"
    assert findings.of_step(bilateral.judge(data), claim).outcome == findings.RIGHT


def test_a_program_in_mixed_units():
    data = {
        "P": [[512.0, 0.0, 0.0625, 0.0078125], [0.0, 131072.0, 4.0, -0.5],
              [0.0625, 4.0, 0.00014495849609375, -1.811981201171875e-05],
              [0.0078125, -0.5, -1.811981201171875e-05, 3.933906555175781e-06]],
        "q": [24.0, 64.0, 0.001953125, -6.103515625e-05],
        "A": [[0.5, -4.0, 0.0001220703125, -7.62939453125e-06]], "l": [0.001953125], "u": [None],
    }  # fmt: skip
    claim = calls.answer("qp", calls.subject("qp", data), data, "", "daqp")
    assert claim.status == "solved"
    assert findings.of_qp(convex.judge(*data.values()), claim).outcome == findings.RIGHT
