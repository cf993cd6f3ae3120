"""Units and sizes of the numbers of a program do not decide whether DAQP and sparse linear algebra solve it."""

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


def test_far_bounds_say_nothing_of_the_size_of_the_answer():
    data = {
        "P": [[4.0, 4.0], [4.0, 6.0]], "q": [4.0, -0.5], "A": [[-1.5, -2.0], [1.0, 2.0], [-0.375, -0.5], [0.0, 0.0]],
        "l": [-4.5, None, -1.125, -1e9], "u": [-3.0, 4.0, -0.75, 1e9],
    }  # fmt: skip
    claim = calls.answer("qp", calls.subject("qp", data), data, "", "daqp")
    assert claim.status == "solved"


@pytest.mark.parametrize("span", [0, 6, 20, 40])
def test_sparse_equations_in_mixed_units(span):
    """The saddle-point matrix of a step with a zero row: singular, and solved in the units of the largest entry."""
    rng = np.random.default_rng(span)
    d, row = 2.0 ** rng.integers(-span, span + 1, 6), 2.0 ** rng.integers(-span, span + 1, 2)
    J = np.array([[768.0, 16.0, -512.0, -32.0, -384.0, -1.0], [0.0] * 6]) * d * row[:, None]
    data = {
        "M": np.diag(np.array([3.0, 1.0, 4.0, 2.0, 0.5, 6.0]) * d * d).tolist(), "gamma": [17.0 * float(row[0]), 0.0],
        "Q": (np.array([-7.0, 0.0, -10.0, 4.0, 1.5, 3.0]) * d).tolist(), "J": J.tolist(),
    }  # fmt: skip
    claim = calls.answer("step", calls.subject("step", data), data, "lagrange", "sparse-kkt")
    assert claim.status == "solved"
    assert findings.of_step(bilateral.judge(data), claim).outcome == findings.RIGHT
