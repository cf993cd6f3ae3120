"""Steps and LCPs of which one part is beyond the rounding of another: each is judged in its own unit."""

from __future__ import annotations

import numpy as np
import pytest
from soundness.trials import calls, findings, work
from soundness.trials.families import Program

import gaussopt as go


def finding(kind, data, formulation, solver):
    """What the exact judge says of an answer."""
    truth, compare = work.judged(Program(kind, "", data, 0))
    short = "step" if kind.endswith("step") else kind
    return compare(truth, calls.answer(short, calls.subject(short, data), data, formulation, solver))


def test_rows_without_mass_are_met_beside_huge_forces():
    """Rounding of a force of 1e12 hid the acceleration, and the certificate looked through the same factors."""
    data = {"M": [[0.0]], "Q": [1.1175870895385742e-08], "J": [[-6.776263578034403e-21]],
            "gamma": [2.7284841053187847e-12]}  # fmt: skip
    step = calls.sparse_step(data)
    right = -402653184.0
    answer = go.solve_step(step, "gauss", "sparse-kkt")
    assert str(answer.status) == "solved"
    assert answer.a == pytest.approx([right], rel=1e-12)
    assert not go.certify(step, 1.9 * np.array([right]), None).passed()


def test_pairs_that_nothing_ties_together_have_units_of_their_own():
    """A second solution, 1e-91 in z and 0.5 in w, was rounding beside the w of another pair."""
    M, q = [[0.0, 0.0], [4.074071952668972e90, -2.037035976334486e90]], [1.0, 0.5]
    found = go.enumerate_lcp(go.LCP(np.array(M), np.array(q)))
    assert str(found.status) == "multiple_solutions"
    assert [float(z[1]) for z in found.points] == pytest.approx([0.0, 0.5 / 2.037035976334486e90], rel=1e-12)
    assert finding("lcp", {"M": M, "q": q}, "", "lemke").outcome == findings.RIGHTLY


@pytest.mark.parametrize(("formulation", "solver"), [("lcp", "lemke"), ("lcp-qp", "piqp"), ("stick-slip", "lemke")])
def test_forces_that_are_rounding_balance(formulation, solver):
    """An open contact and a joint without force: multipliers of 1e-17 were off by half of themselves."""
    data = {
        "M": [[0.5, 0.0], [0.0, 0.0]], "Q": [0.0, 0.0], "J": [[2.0, 1.0]], "gamma": [-2.0], "J_N": [[-1.5, -1.5]],
        "zeta_N": [-1.5], "J_T": [[[-0.5, 1.5]]], "zeta_T": [[-2.0]], "v_T": [[0.0]], "mu": [0.0],
    }  # fmt: skip
    assert finding("contact step", data, formulation, solver).outcome == findings.RIGHT


def test_what_a_coordinate_is_measured_by_does_not_depend_on_the_order():
    """Two coordinates without mass that hang on each other."""
    data = {"M": [[0.0, 0.0], [0.0, 0.0]], "Q": [1.0, -24.0], "J": [[-2.0, -3e-18], [0.0, 4.0]], "gamma": [1.0, 2.0]}
    turned = {**data, "Q": data["Q"][::-1], "J": [row[::-1] for row in data["J"]]}
    own, other = (findings.measures(work.bilateral.judge(d).step) for d in (data, turned))
    assert own == other[::-1] == [2.0, 4.0]


@pytest.mark.parametrize(("formulation", "solver"), [("lcp", "principal-pivoting"), ("stick-slip", "enumerate")])
def test_a_ray_is_found_beside_two_contacts_that_are_one(formulation, solver):
    """The force of the first contact may be as large as it likes and opens the second; rounding had hidden the ray."""
    data = {
        "M": [[1.0, 1.0], [1.0, 1.5]], "Q": [4.0, -1.5], "zeta_N": [-1.0, -0.5, 2.0, 2.0],
        "J_N": [[0.5, 0.5], [-1.5, 0.5], [-1.0, -1.0], [-1.0, -1.0]],
        "J_T": [[[-0.5, 0.0]], [[-1.0, -0.5]], [[2.0, -1.0]], [[2.0, -1.0]]],
        "zeta_T": [[1.5], [0.5], [0.5], [0.5]], "v_T": [[-2.0], [1.0], [1.0], [1.0]], "mu": [1.0, 0.25, 0.375, 0.375],
    }  # fmt: skip
    assert finding("contact step", data, formulation, solver).outcome == findings.RIGHTLY
