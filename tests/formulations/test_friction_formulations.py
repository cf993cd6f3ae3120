"""The formulations of sliding friction against each other and against their own conditions, on random systems."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.contact.operator import ContactOperator
from gaussopt.contact.qp_equivalence import criterion
from gaussopt.formulations.frozen_friction import contraction
from gaussopt.formulations.joint_force_qp import joint_pull

seeds = st.integers(0, 2**32 - 1)
SOLVED = go.Status.SOLVED
BY = {
    "lcp": "lemke", "lcp-qp": "daqp", "weighted-normal-force-qp": "daqp", "frozen-friction": "daqp",
    "stick-slip": "newton",
}  # fmt: skip
SCALE = 1e-7
"""Certified accuracy of every answer, relative; two of them may differ by twice that."""


def random_step(seed: int, n: int, m: int, k: int, mu: float, d: int = 1) -> go.StepData:
    """Contacts pressed together, so that most of them carry a force."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    J_N = rng.standard_normal((k, n))
    return go.StepData.from_mapping({
        "M": root @ root.T + np.eye(n), "Q": rng.standard_normal(n) - 3 * J_N.sum(axis=0),
        "J": rng.standard_normal((m, n)), "gamma": rng.standard_normal(m), "J_N": J_N,
        "zeta_N": rng.standard_normal(k), "J_T": rng.standard_normal((k, d, n)),
        "zeta_T": rng.standard_normal((k, d)), "v_T": rng.standard_normal((k, d)), "mu": np.full(k, mu),
    })  # fmt: skip


def regular(step: go.StepData) -> bool:
    rows = np.vstack((step.J, step.J_N))
    return bool(np.linalg.svd(rows, compute_uv=False)[-1] > 0.1)


shapes = st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(1, 2))  # k, m, d


@given(seed=seeds, shape=shapes, mu=st.sampled_from([0.0, 0.1, 0.3, 0.6]))
def test_all_formulations_that_fit_agree(seed: int, shape: tuple[int, int, int], mu: float) -> None:
    k, m, d = shape
    step = random_step(seed, k + m + 2, m, k, mu, d)
    assume(regular(step))
    answers, refused = {}, {}
    for formulation, solver in BY.items():
        try:
            answers[formulation] = go.solve_step(step, formulation, solver)
        except (go.NotAccepted, go.IllPosed) as refusal:
            refused[formulation] = str(refusal)
    # lcp and stick-slip take every step with slip; the others say why not.
    assert {"lcp", "stick-slip"} <= answers.keys()
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in refused.values())
    reference = answers["lcp"]
    A = ContactOperator.of(step).delassus
    definite = bool(np.linalg.eigvalsh(A + A.T)[0] > 1e-9)
    assert ("lcp-qp" in answers) or not definite
    if definite:
        assert reference.status is SOLVED
        assert reference.contact.reason == "positive definite"
    if k == 1:
        assert ("weighted-normal-force-qp" in answers) is bool(A[0, 0] > 0)
    rho = contraction(ContactOperator.of(step))
    assert ("frozen-friction" in answers) is (rho < 1)
    if rho < 1:
        assert definite  # papers.md 2.1: the contraction implies it
    for formulation, answer in answers.items():
        assert answer.status is reference.status, (formulation, answer.message)
        if answer.status is not SOLVED:
            continue
        e = answer.a - reference.a
        bound = 2 * SCALE * (1 + np.sqrt(reference.a @ step.M @ reference.a))
        assert np.sqrt(e @ step.M @ e) <= bound, formulation
        size = 1 + np.abs(reference.lam_N).max()
        tight = 1e-6 * np.linalg.cond(A) * size
        assert answer.lam_N == pytest.approx(reference.lam_N, abs=tight), formulation
        assert answer.lam_T == pytest.approx(reference.lam_T, abs=tight), formulation


@given(seed=seeds, k=st.integers(1, 3), m=st.integers(0, 2))
def test_without_friction_all_are_gauss(seed: int, k: int, m: int) -> None:
    step = random_step(seed, k + m + 2, m, k, 0.0)
    assume(regular(step))
    reference = go.solve_step(step, "lcp", "enumerate")
    assert reference.status is SOLVED
    bound = 2 * SCALE * (1 + np.sqrt(reference.a @ step.M @ reference.a))
    for formulation, solver in (
        ("gauss", "daqp"), ("dual", "daqp"), ("lcp", "lemke"), ("lcp-qp", "daqp"), ("normal-force-qp", "newton"),
        ("weighted-normal-force-qp", "daqp"), ("stick-slip", "lemke"), ("frozen-friction", "daqp"),
    ):  # fmt: skip
        answer = go.solve_step(step, formulation, solver)
        assert answer.status is SOLVED, (formulation, answer.message)
        e = answer.a - reference.a
        assert np.sqrt(e @ step.M @ e) <= bound, formulation
    # ell vanishes without friction, so eq. (24) is right as well.
    assert go.solve_step(step, "joint-force-qp", "daqp").status is SOLVED
    # One QP and one more to see that nothing changes.
    assert go.solve_step(step, "frozen-friction", "daqp").details["programs"] <= 2
    assert go.solve_step(step, "frozen-friction", "daqp").details["contraction"] == 0.0


def sampled_lcps(count: int) -> list[go.LCP]:
    """Positive definite, not symmetric, n = 2 to 5."""
    rng = np.random.default_rng(5)
    found = []
    for i in range(count):
        n = 2 + i % 4
        root, skew = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        found.append(go.LCP(root @ root.T + 0.3 * np.eye(n) + 0.5 * (skew - skew.T), rng.standard_normal(n)))
    return found


def test_eta_predicts_where_the_printed_program_is_the_lcp() -> None:
    """Against the optimality conditions themselves: w >= 0 and sym(A) z = A^T eta with eta >= 0, eta . w = 0."""
    equal = different = 0
    for lcp in sampled_lcps(80):
        z = go.enumerate_lcp(lcp).solutions[0]
        x = go.solve(go.QP(0.5 * (lcp.M + lcp.M.T), np.zeros(lcp.n), lcp.M, -lcp.q, np.full(lcp.n, np.inf)), "daqp")
        assert x.status is SOLVED
        apart = float(np.abs(x.x - z).max())
        if criterion(lcp, z).predicts:
            equal += 1
            assert apart <= 1e-6 * (1 + np.abs(z).max())
        else:
            different += 1
            assert apart > 1e-6 * (1 + np.abs(z).max())
    assert min(equal, different) >= 10


@pytest.mark.parametrize("k", [1, 2, 3])
def test_eta_with_ell_predicts_where_the_joint_program_is_the_lcp(k: int) -> None:
    """papers.md 2.1, F8j; the answer passes its certificate exactly where it is predicted to be the mechanics'."""
    outcomes = []
    for seed in range(30):
        step = random_step(seed, k + 4, 2, k, 0.4)
        op = ContactOperator.of(step)
        if not regular(step) or np.linalg.eigvalsh(op.delassus + op.delassus.T)[0] < 0.01:
            continue
        reference = go.solve_step(step, "lcp", "enumerate")
        ell = joint_pull(op)
        # The definition: friction directions times what the joints do to the free acceleration.
        a0 = np.linalg.solve(step.M, step.force)
        along = step.J_T[:, 0] @ (op.joints.a_J - a0)
        assert ell == pytest.approx(step.sigma[:, 0] * step.mu * along, abs=1e-9 * (1 + np.abs(ell).max()))
        predicted = criterion(op.lcp, reference.lam_N, ell).predicts
        for solver in ("daqp", "newton"):
            answer = go.solve_step(step, "joint-force-qp", solver)
            assert answer.certificate.passed(1e-6) is predicted, (seed, solver)
            assert (answer.status is SOLVED) <= predicted
            assert answer.details["ell"] == pytest.approx(ell.tolist(), abs=1e-12)
        if k == 1:
            A, B = op.delassus[0, 0], op.bias[0]
            assert answer.lam_N[0] == pytest.approx(max(-B / A, ell[0] / (2 * A)), rel=1e-6, abs=1e-7)
        outcomes.append(predicted)
    assert 3 <= sum(outcomes) <= len(outcomes) - 3


def test_joint_program_is_the_objective_over_all_forces() -> None:
    """The reduced program against eq. (24) written out in F = (lam, lam_N) and solved as it stands."""
    solved = 0
    for seed in range(12):
        step = random_step(seed, 6, 2, 2, 0.3)
        op = ContactOperator.of(step)
        if not regular(step) or np.linalg.eigvalsh(op.delassus + op.delassus.T)[0] < 0.05:
            continue
        G = np.hstack((step.J.T, step.J_N.T))
        GH = np.hstack((step.J.T, step.friction_map))
        inverse = np.linalg.inv(step.M)
        H = G.T @ inverse @ GH
        a0 = inverse @ step.force
        rows = np.vstack((step.J, step.J_N)) @ inverse @ GH
        lower = np.concatenate((step.gamma - step.J @ a0, -step.zeta_N - step.J_N @ a0))
        # On the joints' rows lam is affine in lam_N; there the objective is convex.
        S = np.linalg.inv(rows[:2, :2])
        T = np.vstack((-S @ rows[:2, 2:], np.eye(2)))
        t = np.concatenate((S @ lower[:2], np.zeros(2)))
        P = 0.5 * T.T @ (H + H.T) @ T
        qp = go.QP(
            0.5 * (P + P.T), 0.5 * T.T @ (H + H.T) @ t, rows[2:] @ T, lower[2:] - rows[2:] @ t, np.full(2, np.inf)
        )
        direct = go.solve(qp, "daqp")
        answer = go.solve_step(step, "joint-force-qp", "daqp")
        assert direct.status is SOLVED
        assert answer.lam_N == pytest.approx(direct.x, abs=1e-6 * (1 + np.abs(direct.x).max()))
        assert answer.lam == pytest.approx((T @ direct.x + t)[:2], abs=1e-5 * (1 + np.abs(t).max()))
        solved += 1
    assert solved >= 5


def iterates(step: go.StepData, count: int) -> list[np.ndarray]:
    """The iteration by hand: normal forces of frictionless steps with the friction of the last ones applied."""
    lam_N = np.zeros(step.k)
    found = [lam_N]
    for _ in range(count):
        lam_T = step.sigma * (step.mu * lam_N)[:, None]
        Q = step.Q + np.einsum("kdn,kd->n", step.J_T, lam_T)
        smooth = go.StepData.from_mapping({**step.to_mapping(), "Q": Q, "mu": np.zeros(step.k)})
        lam_N = go.solve_step(smooth, "lcp", "enumerate").lam_N
        found.append(lam_N)
    return found


@pytest.mark.parametrize("k", [1, 2, 3])
def test_frozen_friction_contracts_as_it_says(k: int) -> None:
    taken = 0
    for seed in range(25):
        step = random_step(seed, k + 3, 1, k, 0.3)
        if not regular(step):
            continue
        op = ContactOperator.of(step)
        W = step.J_N @ op.joints.root
        A0 = W @ W.T
        rho = contraction(op)
        C = op.delassus - A0
        values, vectors = np.linalg.eigh(A0)
        half = vectors / np.sqrt(values)
        assert rho == pytest.approx(np.linalg.norm(half.T @ C @ half, 2), rel=1e-9)
        if k == 1:
            assert rho == pytest.approx(abs(C[0, 0]) / A0[0, 0], rel=1e-12)
        if rho > 0.9:
            continue
        taken += 1
        answer = go.solve_step(step, "frozen-friction", "daqp")
        assert answer.status is SOLVED
        assert answer.details["contraction"] == rho
        true = go.solve_step(step, "lcp", "enumerate").lam_N
        length = [float(np.sqrt((x - true) @ A0 @ (x - true))) for x in iterates(step, 8)]
        for before, after in itertools.pairwise(length):
            assert after <= rho * before * (1 + 1e-9) + 1e-11 * (1 + np.abs(true).max())
        # As many QPs as the factor needs for 1e-13, and no more than a few beyond.
        needed = np.log(1e-13) / np.log(max(rho, 1e-9))
        assert answer.details["programs"] <= needed + 6
    assert taken >= 8


@pytest.mark.parametrize(("theta", "rho"), [(45.0, 0.1225), (60.0, 0.2044), (85.0, 0.3403), (88.0, 0.3454)])
def test_the_stated_factors_of_the_bars(theta: float, rho: float) -> None:
    """Table of papers.md 2.1, both ends sliding to the left."""
    angle = np.radians(theta)
    problem = go.problem("two-bar", theta1_0=angle, theta2_0=np.pi / 2 - angle, omega1_0=0.0, omega2_0=0.0)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert (step.v_T < 0).all()
    assert contraction(ContactOperator.of(step)) == pytest.approx(rho, abs=5e-5)


def two_contacts(A: Any, b: Any) -> go.StepData:
    """A step whose contact operator is a given matrix, for |A_ij| that friction of two free masses can make."""
    A = np.array(A, dtype=float)
    # Two unit masses that each contact pushes apart; mu sigma J_T makes up the rest of the column.
    return go.StepData.from_mapping({
        "M": np.eye(2), "Q": np.array(b, dtype=float), "J_N": np.eye(2), "zeta_N": [0.0, 0.0],
        "J_T": (A - np.eye(2)).T, "zeta_T": [0.0, 0.0], "v_T": [-1.0, -1.0],
        "mu": np.abs(A - np.eye(2)).any(axis=0).astype(float),
    })  # fmt: skip


@pytest.mark.parametrize(("formulation", "A", "words"), [
    ("lcp-qp", [[1, 3], [0, 1]], ("not positive semidefinite", "lemke")),
    ("weighted-normal-force-qp", [[2, 1], [0, 2]], ("only one of them vanishes", "lcp")),
    ("weighted-normal-force-qp", [[2, 1], [-1, 2]], ("differ in sign",)),
    ("weighted-normal-force-qp", [[1, 3], [1, 1]], ("no P-matrix",)),
    ("frozen-friction", [[1, 3], [0, 1]], ("need not contract", "3")),
    ("normal-force-qp", [[1, 3], [1, 1]], ("not positive definite",)),
    ("gauss", [[2, 1], [0, 2]], ("contact 1", "friction")),
    ("dual", [[2, 1], [0, 2]], ("contact 1", "friction")),
])  # fmt: skip
def test_refusals_give_the_reason(formulation: str, A: Any, words: tuple[str, ...], assert_sentence: Any) -> None:
    step = two_contacts(A, [-2, 1])
    np.testing.assert_allclose(ContactOperator.of(step).delassus, A, atol=1e-14)
    with pytest.raises((go.NotAccepted, go.IllPosed)) as caught:
        go.formulate(step, formulation)
    assert_sentence(caught.value, *words)


def test_the_smallest_example_where_the_printed_program_errs() -> None:
    """A = (2, 1; 0, 2), B = (-2, 1): the LCP gives (1, 0), the printed program (7/8, 1/4)."""
    step = two_contacts([[2, 1], [0, 2]], [-2, 1])
    right = go.solve_step(step, "lcp", "lemke")
    assert right.lam_N == pytest.approx([1, 0], abs=1e-14)
    for solver in ("newton", "daqp"):
        wrong = go.solve_step(step, "normal-force-qp", solver)
        assert wrong.status is go.Status.INACCURATE
        assert wrong.lam_N == pytest.approx([0.875, 0.25], abs=1e-9)
        e = wrong.a - right.a
        assert wrong.certificate.error_bound >= np.sqrt(e @ step.M @ e) * (1 - 1e-9)


@pytest.mark.parametrize("formulation", ["lcp", "lcp-qp", "normal-force-qp", "weighted-normal-force-qp",
                                         "joint-force-qp", "frozen-friction"])  # fmt: skip
def test_zero_slip_is_referred_to_stick_slip(formulation: str, assert_sentence: Any) -> None:
    problem = go.problem("box", case="stick")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    with pytest.raises(go.NotAccepted) as caught:
        go.solve_step(step, formulation, "newton")
    assert_sentence(caught.value, "zero slip", "stick-slip")


@pytest.mark.parametrize("formulation", ["lcp", "stick-slip", "frozen-friction"])
def test_a_step_without_contacts_is_referred_to_gauss(formulation: str, assert_sentence: Any) -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [1.0]})
    with pytest.raises(go.NotAccepted) as caught:
        go.solve_step(step, formulation, "newton")
    assert_sentence(caught.value, "no closed contacts", "gauss")


def test_redundant_contacts_are_refused_where_multipliers_are_iterated(assert_sentence: Any) -> None:
    problem = go.problem("box", case="slide")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    for formulation in ("frozen-friction", "normal-force-qp"):
        with pytest.raises(go.NotAccepted) as caught:
            go.formulate(step, formulation)
        assert_sentence(caught.value, "redundant", "lcp")


@pytest.mark.parametrize(("change", "words"), [
    ({"g_N": [-1e-3, 0.0]}, ("penetrates", "-0.001")),
    ({"g_N": [0.0, 0.0], "gdot_N": [0.0, -0.5]}, ("impacts", "-0.5")),
])  # fmt: skip
def test_contacts_that_are_no_contacts_are_refused(change: dict[str, Any], words: tuple[str, ...],
                                                   assert_sentence: Any) -> None:  # fmt: skip
    step = go.StepData.from_mapping({**two_contacts([[2, 1], [0, 2]], [-2, 1]).to_mapping(), **change})
    with pytest.raises(go.BadInput) as caught:
        go.solve_step(step, "lcp", "lemke")
    assert_sentence(caught.value, *words)


def test_open_contacts_take_no_part() -> None:
    step = two_contacts([[2, 1], [0, 2]], [-2, -1])
    apart = go.StepData.from_mapping({**step.to_mapping(), "g_N": [0.0, 0.3], "gdot_N": [0.0, -1.0]})
    answer = go.solve_step(apart, "lcp", "lemke")
    assert answer.lam_N == pytest.approx([1.0, 0.0])
    assert answer.lam_T[1].tolist() == [0.0]
    leaving = go.StepData.from_mapping({**step.to_mapping(), "g_N": [0.0, 0.0], "gdot_N": [0.0, 1.0]})
    assert go.solve_step(leaving, "lcp", "lemke").lam_N == pytest.approx([1.0, 0.0])
