"""All solutions of contact laws and complementarity problems: none is lost in a singular basis, none counted twice.

What the judge leaves undecided and by which units it measures is tested here too, on both sides of each limit.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.judge import complementarity, contact
from soundness.trials import calls, findings
from soundness.trials.findings import RIGHT, UNDECIDED, WRONG, Claim

from gaussopt.contact.operator import ContactOperator
from gaussopt.core.status import Status
from gaussopt.lcp import certificate as lcp_certificate
from gaussopt.lcp import certify_lcp, classify_matrix, enumerate_lcp
from gaussopt.lcp.matrix_classes import unit_diagonal

FAULTS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "faults" / "solution_sets.json").read_text())
TOLERANCE = 1e-7


def solved(x: list[float], **more: Any) -> Claim:
    return Claim("solved", x, error_bound=1.0, **more)


# -- continua that a singular basis holds ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ray_of_friction", "continuum_of_redundant_contacts", "ray_of_an_empty_contact"])
def test_no_continuum_of_contact_forces_is_missed(name: str) -> None:
    truth = contact.judge(FAULTS[name])
    verdict = ContactOperator.of(calls.subject("step", FAULTS[name])).complementarity.uniqueness()
    assert str(verdict.status) == truth.verdict
    assert not truth.forces_unique
    assert not verdict.forces_unique


@pytest.mark.parametrize("name", ["ray_of_an_empty_column", "ray_of_the_second_column"])
def test_no_ray_beside_one_w_is_missed(name: str) -> None:
    """Entries of the null vector that vanish are left at 1e-31, below which they mean nothing."""
    data = FAULTS[name]
    assert not complementarity.judge(data["M"], data["q"]).unique
    certificate = certify_lcp(calls.subject("lcp", data), None)
    assert str(certificate.verdict) == "solved"
    assert not certificate.unique


@pytest.mark.parametrize("name", ["continuum_in_units", "continuum_beside_a_point", "vertex_in_a_small_row"])
def test_no_continuum_of_a_complementarity_problem_is_missed(name: str) -> None:
    truth = complementarity.judge(FAULTS[name]["M"], FAULTS[name]["q"])
    assert truth.verdict == "acceleration_not_unique"
    assert str(enumerate_lcp(calls.subject("lcp", FAULTS[name])).status) == truth.verdict


def test_small_entries_of_a_ray_are_kept() -> None:
    """Of a skew matrix, whose null vector (c, -b, a) spans twenty-two powers of ten, w does not move along the ray."""
    a, b, c = -0.375, 3 * 2.0**32, -1.5 * 2.0**-42
    M = np.array([[0.0, a, b], [-a, 0.0, c], [-b, -c, 0.0]])
    found = enumerate_lcp(calls.subject("lcp", {"M": M, "q": [48.0, 0.0, -48.0 * c / a]}))
    ray = np.vstack([face.rays for face in found.faces])
    assert len(ray) == 1
    assert np.allclose(ray[0] / ray[0][2], [c / a, -b / a, 1.0], rtol=1e-12, atol=0.0)


def test_a_ray_holds_in_rows_whose_entries_are_small() -> None:
    """Scaled by their largest entries, the rows of this basis hide that w falls along one of two null vectors."""
    found = enumerate_lcp(calls.subject("lcp", FAULTS["small_entry_of_a_ray"]))
    assert str(found.status) == "solved"
    assert not found.unique
    assert [face.rays.tolist() for face in found.faces] == [[[1.0, 0.0, 0.0]]]


def test_vertices_are_found_in_the_scale_of_small_rows() -> None:
    """Scaled by largest entries they lie in the rounding of larger rows; that left undecided what is no single w."""
    fault = FAULTS["vertices_in_rounding"]
    found = enumerate_lcp(calls.subject("lcp", fault))
    assert found.decided
    assert str(found.status) == complementarity.judge(fault["M"], fault["q"]).verdict == "multiple_solutions"


def test_where_rounding_hides_a_singular_basis_nothing_is_called_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = calls.subject("lcp", {"M": np.zeros((1, 1)), "q": [1.0]})
    assert certify_lcp(plain, None).unique
    undecided = replace(enumerate_lcp(plain), unique=False, decided=False)
    monkeypatch.setattr(lcp_certificate, "enumerate_lcp", lambda _: undecided)
    certificate = certify_lcp(plain, np.zeros(1))
    assert certificate.passed()
    assert certificate.unique is None
    assert certificate.z_range is None


# -- rounding is no acceleration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["held_coordinate", "held_coordinates_in_units", "no_bias", "no_bias_twice", "no_bias_and_a_ray",
     "friction_that_cancels"],
)  # fmt: skip
def test_rounding_of_accelerations_decides_nothing(name: str) -> None:
    """Of coordinates that joints hold, without contact forces, and of friction that cancels the normal force."""
    truth = contact.judge(FAULTS[name])
    verdict = ContactOperator.of(calls.subject("step", FAULTS[name])).complementarity.uniqueness()
    assert str(verdict.status) == truth.verdict == "solved"
    assert verdict.forces_unique == truth.forces_unique


def test_a_contradiction_beside_terms_that_cancel_is_none_of_their_rounding() -> None:
    """Opposed contacts that contradict by 2.5e-9 of 2.5, where terms of 300 cancel in the accelerations."""
    data = FAULTS["opposed_beside_large_terms"]
    assert contact.judge(data).verdict == "infeasible"
    assert ContactOperator.of(calls.subject("step", data)).complementarity.uniqueness().status is Status.INFEASIBLE


@pytest.mark.parametrize("bias", [1e-12, -1e-12])
def test_small_accelerations_are_no_rounding(bias: float) -> None:
    """A contact that opens or closes by 1e-12 of the terms keeps its sign."""
    data = {
        "M": [[1.0]], "Q": [1.0 + bias], "J_N": [[1.0]], "zeta_N": [-1.0], "J_T": [[[1.0]]], "zeta_T": [[0.0]],
        "v_T": [[1.0]], "mu": [0.0],
    }  # fmt: skip
    op = ContactOperator.of(calls.subject("step", data))
    assert op.start[0] == pytest.approx(bias, rel=1e-3)


# -- singular matrices are no P-matrices -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rank_two_of_three_contacts", "small_minor"])
def test_rounding_beside_a_small_minor_makes_no_p_matrix(name: str) -> None:
    op = ContactOperator.of(calls.subject("step", FAULTS[name]))
    assert not contact.judge(FAULTS[name]).forces_unique
    assert classify_matrix(op.delassus).p_matrix is False
    assert not op.complementarity.uniqueness().forces_unique


def test_p_matrices_with_small_minors_stay_p_matrices() -> None:
    for gap in (1e-3, 1e-6, 1e-9):
        assert classify_matrix(np.array([[1.0, 1.0 - gap, 0.0], [1.0, 1.0, 0.0], [-3.0, 2.0, 1.0]])).p_matrix


# -- units of pairs whose diagonal is zero -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["no_diagonal", "no_diagonal_in_a_row"])
def test_units_do_not_depend_on_units(name: str) -> None:
    M = np.array(FAULTS[name]["M"])
    for seed in range(5):
        u = 2.0 ** np.random.default_rng(seed).integers(-20, 21, len(M))
        scaled = u[:, None] * M * u
        assert np.allclose(unit_diagonal(scaled) * u, unit_diagonal(M), rtol=1e-13)
        judged = [findings.units(complementarity.matrix(A, len(M))) for A in (M, scaled)]
        assert np.allclose(np.array(judged[1]) * u, judged[0], rtol=1e-13)


def test_pairs_without_a_diagonal_do_not_hide_an_error_of_the_others() -> None:
    """z_5 is off by 1e-5 of itself; what the first pair is measured by must not make that small."""
    data = FAULTS["no_diagonal_in_a_row"]
    lcp = calls.subject("lcp", data)
    assert not certify_lcp(lcp, np.array([0.0, 0.125, 0.0, 0.0, 320.0037634940883])).passed(TOLERANCE)
    assert certify_lcp(lcp, np.array([0.0, 0.125, 0.0, 0.0, 320.0])).passed(TOLERANCE)


def test_what_causes_next_to_nothing_is_no_error() -> None:
    """z_1 = 0.28 changes w by 1e-91 of it; the judge and the certificate measure it by what M and q call for."""
    data = FAULTS["no_diagonal_at_all"]
    truth = complementarity.judge(data["M"], data["q"])
    assert findings.of_lcp(truth, solved([0.28, 0.0])).outcome == RIGHT
    assert findings.of_lcp(truth, solved([0.28e91, 0.0])).outcome == WRONG
    truth = complementarity.judge(FAULTS["no_diagonal"]["M"], FAULTS["no_diagonal"]["q"])
    z = [0.0, 2.288818359375e-05, 0.0, 0.0]
    for off, outcome in ((1.85e-6, RIGHT), (1.0, WRONG)):
        assert findings.of_lcp(truth, solved([*z[:2], off, 0.0])).outcome == outcome


# -- what the judge allows ---------------------------------------------------------------------------------


def test_z_near_a_continuum_is_right_and_far_from_it_wrong() -> None:
    data = FAULTS["near_a_ray"]
    truth = complementarity.judge(data["M"], data["q"])
    z = np.array([0.0, 0.0, 0.0, 9.5367431640625e-07, 0.00146484375])
    ray = np.array([98304.0, 0.0, 8388608.0, 1.0, 1024.0])
    for off, outcome in ((5e-9, RIGHT), (1e-3, WRONG)):
        for start in (z, z + 1e-6 * ray):
            moved = start + np.array([0.0, 0.0, 0.0, 0.0, off])
            assert findings.of_lcp(truth, solved(moved.tolist(), forces_unique=False)).outcome == outcome


@pytest.mark.parametrize(("contradiction", "outcome"), [(5e-10, UNDECIDED), (1e-8, WRONG), (1e-4, WRONG)])
def test_opposed_contacts_contradict_beside_the_terms_of_their_accelerations(
    contradiction: float, outcome: str
) -> None:
    """What two contacts without forces call for is the sum of terms up to 28, and 4e-11 of these count as rounding."""
    data = {**FAULTS["opposed_contacts"], "zeta_N": [-0.5, 0.5 - contradiction]}
    truth = contact.judge(data)
    assert truth.verdict == "infeasible"
    claim = solved([0.72, -6.64, -15.72, 7.0], lam_N=[1.96, 0.0], lam_T=[[0.0], [0.0]], forces_unique=False)
    assert findings.of_contact_step(truth, claim).outcome == outcome
    if outcome == WRONG:
        assert str(ContactOperator.of(calls.subject("step", data)).complementarity.uniqueness().status) == "infeasible"


@pytest.mark.parametrize(("apart", "outcome"), [(1.0, UNDECIDED), (1e2, WRONG), (1e6, WRONG)])
def test_solutions_next_to_each_other_are_undecided(apart: float, outcome: str) -> None:
    data = dict(FAULTS["two_solutions_nearby"])
    data["zeta_N"] = [1.5, -1.5 + 1.5e-9 * apart]
    truth = contact.judge(data)
    assert truth.verdict == "multiple_solutions"
    assert len(truth.a) == 2
    for a in truth.a:
        bare = solved(a.floats(), forces_unique=False)
        assert findings.of_contact_step(truth, bare).outcome == outcome
        off = solved([v + 1e-4 for v in a.floats()], forces_unique=False)
        assert findings.of_contact_step(truth, off).outcome == WRONG
