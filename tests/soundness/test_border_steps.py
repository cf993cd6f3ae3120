"""Steps at borders that the random campaign found: each was called otherwise before."""

from __future__ import annotations

import numpy as np
import pytest
from soundness.judge import bilateral, complementarity, contact
from soundness.trials import calls, findings

import gaussopt as go
from gaussopt.certificates import certify


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


NEARLY_BALANCED = {
    "M": [[1.2022579371836846, -0.014446528815623695], [-0.014446528815623695, 1.034027148487024]],
    "Q": [-2.2653751004628218, 0.6335019111262817],
    "J_N": [[0.07008391103132253, -0.44036908372406314], [0.6431886276393208, 0.15677676515226743]],
    "zeta_N": [-1.6954156908368625, -2.5922754097317116],
    "J_T": [[[-0.6259654033325308, -2.1076815725677487], [-0.9653910963737273, -0.44298525719433796]],
            [[0.5336952364930534, 0.5292600679407912], [-0.5712643202053401, 0.01371328263461085]]],
    "zeta_T": [[0.49997963793130945, -0.7313930162320664], [1.831142864893187, 1.850048936519896]],
    "v_T": [[8.0, 15.0], [-8.0, -15.0]], "mu": [0.3607822856734331, 0.11045507688642126],
}  # fmt: skip


@pytest.mark.parametrize("formulation", ["lcp", "stick-slip"])
@pytest.mark.parametrize("solver", ["lemke", "enumerate"])
def test_rounding_where_friction_nearly_cancels_the_own_mass_is_stated(formulation, solver):
    """The contact operator is a difference of numbers a thousand times as large."""
    claim = calls.answer("step", calls.subject("step", NEARLY_BALANCED), NEARLY_BALANCED, formulation, solver)
    assert claim.status == "solved"
    assert findings.of_contact_step(contact.judge(NEARLY_BALANCED), claim).outcome == findings.RIGHT


def test_walls_a_little_apart_do_not_both_push():
    """Of walls 2e-9 apart one pushes; an answer that lies on both is as far off as they are apart."""
    data = {
        "M": [[2.0, 4.0, -4.0], [4.0, 8.5, -9.0], [-4.0, -9.0, 10.5]], "Q": [1.0, -3.0, 0.0], "J": [[-2.0, -1.5, -2.0]],
        "gamma": [2.0], "J_N": [[-1.5, -2.0, -1.0], [1.5, 2.0, 1.0]], "zeta_N": [-2.0, 2.000000002],
    }  # fmt: skip
    a, lam = np.array([0.7877237869001732, -1.115089515560058, -0.9514066502301688]), np.array([4.578005114946298])
    forces = np.array([41.04204451775316, 47.09319541266877])
    step = calls.subject("step", data)
    c = go.certify_contact(step, a, lam, forces, np.zeros(step.v_T.shape))
    claim = calls.claimed("solved" if c.passed() else "inaccurate", a, lam, forces, np.zeros(step.v_T.shape), c)
    assert findings.of_contact_step(contact.judge(data), claim).cause != "error bound below the error"


@pytest.mark.parametrize("solver", ["lemke", "principal-pivoting", "enumerate"])
def test_rays_far_larger_than_the_solutions_they_leave(solver):
    """All solutions but zero itself lie on rays, whose entries are eighteen powers of ten apart."""
    data = {
        "M": [[1.0, 2.0, -0.000244140625, 1125899906842624.0], [512.0, 1024.0, -0.125, 5.764607523034235e17],
              [-0.0625, -0.125, 1.52587890625e-05, -70368744177664.0],
              [0.0625, 0.125, -1.52587890625e-05, 70368744177664.0]],
        "q": [0.0, 281474976710656.0, 0.0, 0.0],
    }  # fmt: skip
    claim = calls.answer("lcp", calls.subject("lcp", data), data, "", solver)
    assert claim.status == "solved"
    assert findings.of_lcp(complementarity.judge(data["M"], data["q"]), claim).outcome == findings.RIGHT


@pytest.mark.parametrize("solver", ["lemke", "principal-pivoting", "enumerate"])
def test_units_hide_no_ray_of_solutions(solver):
    """A skew matrix, singular as all of odd size; one of the entries is twenty-two powers of ten below another."""
    data = {
        "M": [[0.0, -0.375, 12884901888.0], [0.375, 0.0, -3.410605131648481e-13],
              [-12884901888.0, 3.410605131648481e-13, 0.0]],
        "q": [48.0, 0.0, -4.3655745685100555e-11],
    }  # fmt: skip
    truth = complementarity.judge(data["M"], data["q"])
    assert not truth.unique
    claim = calls.answer("lcp", calls.subject("lcp", data), data, "", solver)
    assert claim.status == "solved"
    assert findings.of_lcp(truth, claim).outcome == findings.RIGHT


@pytest.mark.parametrize("size", [1e100, 1e200, 1e308])
def test_squares_beyond_the_range_of_numbers_excuse_no_point(size):
    """An answer that ran away, with duals that did, of contradictory rows and of sound ones."""
    data = {"P": [[1.0, 0.0], [0.0, 0.75]], "q": [-3.5, 3.0], "A": [[1.5, -1.0], [-3.0, 2.0]], "u": [None, None]}
    for l in ([2.0, -3.9], [2.0, -40.0]):
        qp = go.QP.from_mapping({**data, "l": l})
        c = go.certify_qp(qp, np.array([size, -size]), np.array([size, -size]))
        assert not c.passed()
        assert not go.certify_qp(qp, np.array([1.0, 2.0]), np.array([size, 0.5 * size])).passed()


@pytest.mark.parametrize("solver", ["lemke", "principal-pivoting", "enumerate"])
def test_contacts_that_separate_need_no_impulse(solver):
    """Nothing happens, and rounding of rounding in the laws of friction must not make that unlawful."""
    data = {
        "M": [[2.0, -4.0, 4.0, -2.0], [-4.0, 9.0, -7.0, 5.0], [4.0, -7.0, 11.0, -7.0], [-2.0, 5.0, -7.0, 15.0]],
        "Q": [-3.0, -3.0, -0.5, 4.0], "J_N": [[2.0, -1.0, -1.0, 2.0], [0.0, -1.0, -0.5, 0.5]], "zeta_N": [2.5, 3.0],
        "J_T": [[[-0.5, 2.0, 0.0, 1.5]], [[0.0, 2.0, -1.0, 1.0]]], "zeta_T": [[-2.0], [2.0]],
        "v_T": [[-2.0], [-0.5]], "mu": [1.0, 0.75], "v": [0.5, -0.5, -1.0, -0.5], "e_N": [0.5, 0.5],
        "e_T": [0.25, 0.5],
    }  # fmt: skip
    claim = calls.answer("step", calls.subject("step", data), data, "impact", solver)
    assert claim.status == "solved"
    assert findings.of_contact_step(contact.judge(contact.jump(data)), claim).outcome == findings.RIGHT


@pytest.mark.parametrize("gap", [1.2e-11, 1e-9, 1e-6])
def test_rows_of_a_program_that_contradict_each_other_by_little(gap):
    """The second row is 32 times the first; who solves the program inexactly meets both to the tolerance."""
    data = {
        "P": [[1.0, 0.0], [0.0, 0.25]], "q": [3.5, -4.0], "A": [[-0.5, -0.375], [-16.0, -12.0]],
        "l": [None, -12.0 + gap], "u": [-0.375, None],
    }  # fmt: skip
    qp = go.QP.from_mapping(data)
    x, y = np.array([-5.884615384615495, 8.846153846153493]), np.array([-31.218869588499253, 1.12462813617907])
    c = go.certify_qp(qp, x, y)
    assert not c.passed()
    for solver in ("daqp", "piqp", "osqp", "proxqp", "newton"):
        assert calls.answer("qp", qp, data, "", solver).status == "infeasible"
