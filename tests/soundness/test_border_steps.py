"""Steps at borders that the random campaign found: each was called otherwise before."""

from __future__ import annotations

import numpy as np
import pytest
from soundness.judge import bilateral, contact
from soundness.trials import calls, findings

import gaussopt as go
from gaussopt.certificate import certify


@pytest.mark.parametrize("gamma", [2.0194839173657902e-28, 2.0**-52, -1e-300])
@pytest.mark.parametrize("formulation", ["gauss", "dual", "lagrange", "null-space"])
def test_a_row_of_zeros_holds_no_rounding(gamma, formulation):
    data = {
        "M": [[0.75, 0.0], [0.0, 1.5]], "Q": [-1.5e12, 4.0], "J": [[0.0, 0.0], [-1.5, 1.5], [-3.0, 3.0]],
        "gamma": [gamma, 3.0, 6.0],
    }  # fmt: skip
    assert bilateral.judge(data).verdict == "infeasible"
    assert calls.answer("step", calls.subject("step", data), data, formulation, "kkt").status == "infeasible"


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_forces_on_coordinates_without_mass_are_compared_with_forces(unit):
    """Without mass the size of accelerations says nothing of forces."""
    data = {
        "M": [[0.0, 0.0], [0.0, 0.0]], "Q": [unit * 1e-9, -unit * 2e-9], "J": [[1.0, 0.0], [0.0, 1.0]],
        "gamma": [1e3, 1e3],
    }  # fmt: skip
    step = go.StepData.from_mapping(data)
    a, lam = np.array([1e3, 1e3]), -step.Q
    assert certify(step, a, lam).passed()
    for wrong in (1.01 * lam, 0.0 * lam, -lam):
        assert not certify(step, a, wrong).passed()
    sparse = calls.sparse_step(data)
    assert certify(sparse, a, lam).passed()
    assert not certify(sparse, a, 1.01 * lam).passed()


def test_rows_of_joints_beside_contacts_hold_to_rounding_of_their_terms():
    """Each row beside its own terms, which cancel here: gamma is zero and the accelerations are 1e8."""
    data = {
        "M": [[2.0, 0.0, -4.0, -4.0], [0.0, 0.5, -0.5, -1.0], [-4.0, -0.5, 12.5, 17.0], [-4.0, -1.0, 17.0, 26.5]],
        "Q": [100663296.0, -100663296.0, 100663296.0, -67108864.0], "J": [[8192.0, 2048.0, 0.0, -2048.0]],
        "gamma": [0.0], "J_N": [[1.0, -1.0, -2.0, 1.5]], "zeta_N": [201326592.0],
    }  # fmt: skip
    for solver in ("lemke", "principal-pivoting", "enumerate"):
        claim = calls.answer("step", calls.subject("step", data), data, "lcp", solver)
        assert claim.status == "solved"
        assert findings.of_contact_step(contact.judge(data), claim).outcome == findings.RIGHT
