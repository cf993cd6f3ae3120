"""Steps and programs of which one part is beyond the rounding of another: each is judged in its own unit."""

from __future__ import annotations

import numpy as np
import pytest
from soundness.judge import bilateral
from soundness.test_answers import finding
from soundness.trials import calls, findings, work
from soundness.trials.families import Program

import gaussopt as go
from gaussopt.certificates import certify


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


def test_what_a_coordinate_is_measured_by_does_not_depend_on_the_order():
    """Two coordinates without mass that hang on each other."""
    data = {"M": [[0.0, 0.0], [0.0, 0.0]], "Q": [1.0, -24.0], "J": [[-2.0, -3e-18], [0.0, 4.0]], "gamma": [1.0, 2.0]}
    turned = {**data, "Q": data["Q"][::-1], "J": [row[::-1] for row in data["J"]]}
    own, other = (findings.measures(bilateral.judge(d).step) for d in (data, turned))
    assert own == other[::-1] == [2.0, 3e-18]


def test_an_error_along_a_direction_without_mass_has_a_bound_of_rounding_only():
    """The mass norm of the error is a difference of terms 10^24 times its square: zero, it was said."""
    data = {
        "M": [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 16777216.0, 134217728.0, 131072.0, -131072.0],
              [0.0, 134217728.0, 1073741824.0, 1048576.0, -1048576.0], [0.0, 131072.0, 1048576.0, 1280.0, -768.0],
              [0.0, -131072.0, -1048576.0, -768.0, 1280.0]],
        "Q": [0.001220703125, 96.0, -1024.0, -0.5, -0.75],
        "J": [[-64.0, 1048576.0, 25165824.0, -32768.0, 24576.0], [-1.0, -16384.0, -393216.0, 256.0, -512.0],
              [-4.57763671875e-05, 5.0, 56.0, -0.03125, 0.01171875],
              [-0.00018310546875, -14.0, -80.0, -0.0625, 0.09375], [0.0, 0.0, 0.0, 0.0, 0.0],
              [0.375, -32768.0, -262144.0, 64.0, 128.0]],
        "gamma": [-260.0, 1.0625, -0.000209808349609375, -0.00064849853515625, 0.0, 0.4375],
    }  # fmt: skip
    truth, _ = work.judged(Program("step", "", data, 0))
    a = [
        1.3948914204338532,
        8.570286420456456e-05,
        -9.212874992756045e-06,
        -0.0011583859914538652,
        0.003959093538628775,
    ]
    found = go.certify(calls.subject("step", data), np.array(a), None)
    assert not found.passed()
    assert truth.a is not None
    error = findings.length(findings.difference(a, truth.a), truth.step.M)
    assert error <= found.error_bound + findings.FLOORS * found.rounding_floor
    right = np.array(truth.a.floats())
    assert go.certify(calls.subject("step", data), right, None).rounding_floor < 1e-12


def test_sparse_rows_that_nearly_depend_leave_no_error_unseen():
    """Refinement stopped at residuals of 1e-10, which a singular value of 5e-5 makes 3e-6 of the acceleration."""
    data = {
        "M": [[5.019936461512563, -1.5087241893671082, -1.2279276703030606, -0.7347915339140247, -0.8440628212294006],
              [-1.5087241893671082, 7.078887725712304, 2.937839677308833, 0.8291750025287918, 0.520896606538491],
              [-1.2279276703030606, 2.937839677308833, 8.376587394023774, 1.9063752078704423, 0.7571092389007483],
              [-0.7347915339140247, 0.8291750025287918, 1.9063752078704423, 3.4062326492875776, 0.5831712838936436],
              [-0.8440628212294006, 0.520896606538491, 0.7571092389007483, 0.5831712838936436, 4.210544683753313]],
        "Q": [-1.2767757051286621, 1.7612106477363145, 0.7809116093113864, 1.4527308188360175, -2.078421679084725],
        "J": [[0.09696037193948709, -1.8358452206567284, -1.805111370050796, 1.839708556239945, -0.1253561909841875],
              [-0.3837655919799993, 0.3362503354868511, 0.41167861896652314, -0.5140356145484661, -0.9008028835992258],
              [0.1179372428538594, -2.237864406187787, -2.200691111206978, 2.2431098110659256, -0.1528709293691066]],
        "gamma": [-0.5961440934652432, 0.23704756137930358, -0.8253351952994323],
    }  # fmt: skip
    truth, _ = work.judged(Program("step", "", data, 0))
    assert truth.a is not None
    for way in (0.0, 1e-9, 3e-6):
        a = np.array(truth.a.floats()) + way * np.array([1.0, -2.0, 0.5, -1.0, 0.1])
        found = go.certify(calls.sparse_step(data), a, None)
        error = findings.length(findings.difference(a.tolist(), truth.a), truth.step.M)
        assert error <= found.error_bound * 1.01 + findings.FLOORS * found.rounding_floor
    assert finding("step", data, "null-space", "kkt").outcome == findings.RIGHT


@pytest.mark.parametrize("unit", [2.0**-20, 1.0, 2.0**20])
def test_the_unit_of_a_coordinate_without_mass_says_nothing_of_what_a_step_calls_for(unit):
    data = {
        "M": [[536870912.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 2.0**-29]], "Q": [0.0, 0.0, 0.0],
        "J": [[1536.0, -4096.0 * unit, 2.86102294921875e-06], [-70368744177664.0, -105553116266496.0 * unit, -32768.0]],
        "gamma": [1.1641532182693481e-09, -128.0],
    }  # fmt: skip
    assert findings.natural(bilateral.judge(data).step) == pytest.approx(3.4e-8, rel=0.1)
    assert finding("step", data, "gauss", "osqp").outcome == findings.RIGHT


def test_far_along_a_direction_without_curvature_nothing_is_confirmed():
    """At 2e15 rounding of the gradient exceeds the cost: a far row seemed to push, the objective was 10^9 times off."""
    data = {
        "P": [[3.0, 4.5, 2.0, -3.0], [4.5, 7.25, 3.75, -4.25], [2.0, 3.75, 2.5, -2.0], [-3.0, -4.25, -2.0, 6.5]],
        "q": [-2.0, -5.5, -5.5, 2.5], "A": [[1.5, 2.0, -0.5, 2.0], [0.0, -1.0, -1.0, -0.5]],
        "l": [-1048576.0, -562949953421312.0], "u": [None, 562949953421312.0],
    }  # fmt: skip
    qp = go.QP.from_mapping(data)
    away = np.array([-2001599834386929.0, 1751399855088567.0, -1125899906842661.5, -125099989649186.36])
    assert not go.certify_qp(qp, away, np.array([2.5894464520240685e-18, 16.896461988288415])).passed()
    right = np.array([2581101.74556213, -2258465.0177514795, 1451873.5443786983, 161319.09467455623])
    assert go.certify_qp(qp, right).passed()


def test_multipliers_that_cancel_are_no_more_exact_than_their_rounding():
    data = {"M": [[3.637978807091713e-12]], "Q": [1.430511474609375e-06],
            "J": [[131072.0], [6.938893903907228e-18], [6.103515625e-05]],
            "gamma": [343597383680.0, 1.8189894035458565e-11, 160.0]}  # fmt: skip
    lam = np.array([2.5541189028758886, 3.950051137569358e22, -9975616805.530182])
    for step in (calls.subject("step", data), calls.sparse_step(data)):
        assert not go.certify(step, np.array([2621440.0]), lam).passed()
    assert finding("step", data, "gauss", "kkt").outcome == findings.RIGHT


FAR_ROWS = {
    "an unknown of a row of its own beside one of 1e12": (
        {"P": [[0.0, 0.0], [0.0, 0.0]], "q": [-2.0, 2.0], "A": [[0.0, 1.5], [-2.0, 0.5]],
         "l": [-8.0, -2199023255552.0], "u": [None, None]},
        [1099511627774.6667, -5.333373037920534], [1099511627774.6667, -16.0 / 3.0],
    ),
    "terms of 1e17 of a row whose bound is 1e9, where other solutions have none": (
        {"P": [[0.0] * 3] * 3, "q": [327680.0, -1024.0, 0.0006103515625],
         "A": [[68719476736.0, -536870912.0, 64.0], [805306368.0, 0.0, 2.0],
               [562949953421312.0, 35184372088832.0, 6291456.0]],
         "l": [-3.6893488147419103e19, -1073741824.0, None], "u": [None, None, None]},
        [-464320788.88281083, 31573813552.709732, 1.869602434712788e17], [0.0, 68719476672.0, -536870912.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAR_ROWS)
def test_a_row_is_measured_where_its_terms_are_least(name):
    data, wrong, right = FAR_ROWS[name]
    qp = go.QP.from_mapping(data)
    truth = findings.convex.judge(qp.P, qp.q, qp.A, qp.l, qp.u)
    for x, outcome in ((wrong, findings.WRONG), (right, findings.RIGHT)):
        assert go.certify_qp(qp, np.array(x)).passed() == (outcome == findings.RIGHT)
        assert findings.of_qp(truth, findings.Claim("solved", x)).outcome == outcome


# -- borders


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
    assert findings.of_contact_step(findings.contact.judge(data), claim).cause != "error bound below the error"


@pytest.mark.parametrize("size", [1e100, 1e200, 1e308])
def test_squares_beyond_the_range_of_numbers_excuse_no_point(size):
    """An answer that ran away, with duals that did, of contradictory rows and of sound ones."""
    data = {"P": [[1.0, 0.0], [0.0, 0.75]], "q": [-3.5, 3.0], "A": [[1.5, -1.0], [-3.0, 2.0]], "u": [None, None]}
    for l in ([2.0, -3.9], [2.0, -40.0]):
        qp = go.QP.from_mapping({**data, "l": l})
        c = go.certify_qp(qp, np.array([size, -size]), np.array([size, -size]))
        assert not c.passed()
        assert not go.certify_qp(qp, np.array([1.0, 2.0]), np.array([size, 0.5 * size])).passed()


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


# -- solvers


STEP = {
    "M": [[0.25, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 3.0]], "Q": [1.0, -0.5, 0.25], "J": [[0.5, -1.0, 1.5]],
    "gamma": [0.75],
}  # fmt: skip


@pytest.mark.parametrize("exponent", [-400, -100, -30, 30, 77, 104, 400])
def test_forces_of_any_size(exponent):
    data = {**STEP, **{key: (np.array(STEP[key]) * 2.0**exponent).tolist() for key in ("Q", "gamma")}}
    assert finding("step", data, "gauss", "daqp").outcome == findings.RIGHT


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
    assert finding("step", data, "lagrange", "sparse-kkt").outcome == findings.RIGHT
