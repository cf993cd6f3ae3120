"""The contact operator against the formulas it stands for, in every shape of joints, units and dead centres."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.contact.operator import ContactOperator, eliminate_joints

seeds = st.integers(0, 2**32 - 1)
KINDS = ("regular", "redundant", "singular mass", "singular mass and redundant")


def random_step(rng: np.random.Generator, kind: str, n: int, m: int, k: int, d: int = 1, rest: int = 0) -> go.StepData:
    """Random joints and contacts; `rest` of the contacts have no slip. Rows of J are as regular as M with them."""
    rank = n if "singular" not in kind else max(n - m, 1)
    root = rng.standard_normal((n, rank))
    M = root @ root.T + (np.eye(n) if rank == n else 0.0)
    J, gamma = rng.standard_normal((m, n)), rng.standard_normal(m)
    if "redundant" in kind and m:
        mix = rng.standard_normal((2, m))
        J, gamma = np.vstack((J, mix @ J)), np.concatenate((gamma, mix @ gamma))
    v_T = rng.standard_normal((k, d)) + 0.1
    v_T[:rest] = 0.0
    return go.StepData.from_mapping({
        "M": 0.5 * (M + M.T), "Q": 5 * rng.standard_normal(n), "h": rng.standard_normal(n), "J": J, "gamma": gamma,
        "J_N": rng.standard_normal((k, n)), "zeta_N": rng.standard_normal(k), "J_T": rng.standard_normal((k, d, n)),
        "zeta_T": rng.standard_normal((k, d)), "v_T": v_T, "mu": rng.uniform(0.1, 0.6, k),
    })  # fmt: skip


def kkt_response(step: go.StepData, f: np.ndarray) -> np.ndarray:
    """Acceleration under the additional force f, by the equations of motion as they stand; J may be redundant."""
    K = np.block([[step.M, -step.J.T], [step.J, np.zeros((step.m, step.m))]])
    right = np.concatenate((step.force + f, step.gamma))
    return np.linalg.lstsq(K, right, rcond=1e-12)[0][: step.n]


sizes = st.tuples(st.integers(2, 6), st.integers(0, 3), st.integers(1, 4)).filter(lambda s: s[1] < s[0])


@given(seed=seeds, size=sizes, kind=st.sampled_from(KINDS), d=st.integers(1, 2))
def test_operator_against_the_equations_of_motion(seed: int, size: tuple[int, int, int], kind: str, d: int) -> None:
    """Delassus, bias, K, a_J and lift column by column from the saddle point system."""
    n, m, k = size
    rng = np.random.default_rng(seed)
    step = random_step(rng, kind, n, m, k, d)
    assume(m == 0 or np.linalg.cond(step.J[:m]) < 1e2)
    assume(np.linalg.matrix_rank(np.vstack((step.M, step.J)), 1e-3) == n)
    Z = np.linalg.svd(step.J[:m])[2][m:].T if m else np.eye(n)
    assume(np.linalg.cond(Z.T @ step.M @ Z) < 1e4)
    op = ContactOperator.of(step)
    free = kkt_response(step, np.zeros(n))
    scale = 1.0 + np.abs(free).max()
    assert op.joints.a_J == pytest.approx(free, abs=1e-9 * scale)
    assert step.J @ op.joints.a_J == pytest.approx(
        step.gamma, abs=1e-11 * (1 + np.abs(step.J).max(initial=0.0) * scale)
    )
    sigma = -step.v_T / np.linalg.norm(step.v_T, axis=1)[:, None]
    for j in range(k):
        f = step.J_N[j] + step.mu[j] * step.J_T[j].T @ sigma[j]
        column = kkt_response(step, f) - free
        assert op.delassus[:, j] == pytest.approx(step.J_N @ column, abs=1e-9 * (scale + np.abs(column).max()))
        assert op.joints.K @ f == pytest.approx(column, abs=1e-9 * (scale + np.abs(column).max()))
        # The joints' forces balance the rest of the contact force.
        residual = step.M @ (op.joints.K @ f) - f - step.J.T @ (op.joints.lift @ f)
        assert np.abs(residual).max() <= 1e-10 * (1 + np.abs(f).max()) * (1 + np.abs(step.M).max())
    assert op.bias == pytest.approx(step.J_N @ free + step.zeta_N, abs=1e-9 * scale)
    assert op.joints.root @ op.joints.root.T == pytest.approx(op.joints.K, abs=1e-12 * (1 + np.abs(op.joints.K).max()))
    if "singular" not in kind and "redundant" not in kind:
        # papers.md section 0, as it stands.
        inverse = np.linalg.inv(step.M)
        S = np.linalg.inv(step.J @ inverse @ step.J.T)
        H = inverse - inverse @ step.J.T @ S @ step.J @ inverse
        np.testing.assert_allclose(op.joints.K, H, rtol=0, atol=1e-9 * np.abs(inverse).max())
        a0 = inverse @ step.force
        assert op.joints.a_J == pytest.approx(
            a0 + inverse @ step.J.T @ S @ (step.gamma - step.J @ a0), abs=1e-9 * scale
        )


@given(seed=seeds, kind=st.sampled_from(KINDS))
def test_regular_and_rank_revealing_paths_agree(seed: int, kind: str) -> None:
    """One more row that repeats another one changes the path, and nothing else that is determined."""
    rng = np.random.default_rng(seed)
    step = random_step(rng, kind, 5, 2, 2)
    assume(np.linalg.cond(step.J[:2]) < 1e2)
    assume(np.linalg.cond(step.M) < 1e4 or "singular" in kind)
    Z = np.linalg.svd(step.J[:2])[2][2:].T
    assume(np.linalg.cond(Z.T @ step.M @ Z) < 1e3)
    twice = go.StepData.from_mapping({
        **step.to_mapping(), "J": np.vstack((step.J, 2 * step.J[0])), "gamma": np.append(step.gamma, 2 * step.gamma[0])
    })  # fmt: skip
    one, two = eliminate_joints(step), eliminate_joints(twice)
    np.testing.assert_allclose(two.K, one.K, rtol=0, atol=1e-10 * (1 + np.abs(one.K).max()))
    assert two.a_J == pytest.approx(one.a_J, abs=1e-10 * (1 + np.abs(one.a_J).max()))
    f = rng.standard_normal(5)
    assert twice.J.T @ (two.lift @ f) == pytest.approx(step.J.T @ (one.lift @ f), abs=1e-9 * (1 + np.abs(step.M).max()))


@given(
    seed=seeds, kind=st.sampled_from(KINDS), rest=st.integers(0, 2),
    units=st.lists(st.integers(-6, 6), min_size=4, max_size=4), mass=st.integers(-6, 6),
    rows=st.lists(st.integers(-6, 6), min_size=3, max_size=3),
)  # fmt: skip
def test_units_do_not_change_the_operator(
    seed: int, kind: str, rest: int, units: list[int], rows: list[int], mass: int
) -> None:
    """q = D q', joints multiplied by R, masses and forces by s: delassus / s, bias and modes stay."""
    rng = np.random.default_rng(seed)
    step = random_step(rng, kind, 4, 1, 2, rest=rest)
    assume(np.linalg.norm(step.J[0]) > 0.1)
    Z = np.linalg.svd(step.J[:1])[2][1:].T
    assume(np.linalg.cond(Z.T @ step.M @ Z) < 1e3)
    D, s = 10.0 ** np.array(units), 10.0**mass
    R = 10.0 ** np.array(rows[: step.m])
    other = go.StepData.from_mapping({
        "M": s * step.M * np.outer(D, D), "Q": s * step.Q * D, "h": s * step.h * D, "J": step.J * D * R[:, None],
        "gamma": step.gamma * R, "J_N": step.J_N * D, "zeta_N": step.zeta_N, "J_T": step.J_T * D,
        "zeta_T": step.zeta_T, "v_T": step.v_T, "mu": step.mu,
    })  # fmt: skip
    plain, scaled = ContactOperator.of(step), ContactOperator.of(other)
    size = np.abs(plain.response).max()
    assert scaled.response * s == pytest.approx(plain.response, abs=1e-8 * size)
    assert scaled.start == pytest.approx(plain.start, abs=1e-8 * (1 + np.abs(plain.start).max()))
    assert (scaled.inert == plain.inert).all()
    x = rng.uniform(0, 1, 2 + rest)
    a = plain.acceleration(x)
    assert scaled.acceleration(s * x) * D == pytest.approx(a, abs=1e-8 * (1 + np.abs(a).max()))


@given(seed=seeds, rest=st.integers(0, 3))
def test_the_lcp_says_what_the_laws_say(seed: int, rest: int) -> None:
    """Rows of the LCP: gap accelerations, slip accelerations, and what friction is short of its bound."""
    rng = np.random.default_rng(seed)
    step = random_step(rng, "regular", 5, 1, 3, rest=rest)
    op = ContactOperator.of(step)
    r = int(op.resting.sum())
    assert r == rest
    assert op.lcp.n == 3 + 2 * rest
    z = rng.uniform(0, 2, op.lcp.n)
    lam_N, lam_T = op.split(op.x(z))
    assert lam_N == pytest.approx(z[:3])
    sliding = ~op.resting
    assert lam_T[sliding, 0] == pytest.approx(-np.sign(step.v_T[sliding, 0]) * (step.mu * lam_N)[sliding])
    assert lam_T[op.resting, 0] == pytest.approx(z[3 : 3 + r] - (step.mu * lam_N)[op.resting])
    a = kkt_response(step, step.J_N.T @ lam_N + step.J_T[:, 0].T @ lam_T[:, 0])
    assert op.acceleration(op.x(z)) == pytest.approx(a, abs=1e-9 * (1 + np.abs(a).max()))
    w, kappa, short = np.split(op.lcp.w(z), [3, 3 + r])
    scale = 1e-9 * (1 + np.abs(a).max())
    assert w == pytest.approx(step.J_N @ a + step.zeta_N, abs=scale)
    s = step.J_T[op.resting, 0] @ a + step.zeta_T[op.resting, 0]
    assert kappa == pytest.approx(s + z[3 + r :] / op.complementarity.slip_mass, abs=scale)
    assert short == pytest.approx((step.mu * lam_N)[op.resting] - lam_T[op.resting, 0], abs=scale)
    assert op.unknowns(lam_N, lam_T) == pytest.approx(op.x(z))


def test_a_least_normal_force_shifts_the_lcp() -> None:
    rng = np.random.default_rng(3)
    step = random_step(rng, "regular", 4, 1, 2, rest=1)
    pressed = replace(step, least_N=np.array([0.7, 1.1]))
    op = ContactOperator.of(pressed)
    z = rng.uniform(0, 1, op.lcp.n)
    lam_N, lam_T = op.split(op.x(z))
    assert lam_N == pytest.approx(z[:2] + np.array([0.7, 1.1]))
    # The same forces cause the same gap acceleration in both.
    plain = ContactOperator.of(step)
    same = plain.x(np.concatenate((lam_N, [lam_T[0, 0] + step.mu[0] * lam_N[0]], z[3:])))
    assert same == pytest.approx(op.x(z))
    assert op.lcp.w(z)[:2] == pytest.approx(step.J_N @ plain.acceleration(same) + step.zeta_N)
    assert op.lcp.w(z)[3] == pytest.approx(step.mu[0] * lam_N[0] - lam_T[0, 0])


# -- dead centres ------------------------------------------------------------------------------------------


def held(tilt: float, scale: float = 1.0) -> go.StepData:
    """A particle on a vertical rail that is tilted by a rounding error, resting on a floor."""
    return go.StepData.from_mapping({
        "M": scale * np.eye(2), "Q": [3.0 * scale, -10.0 * scale], "J": [[1.0, tilt]], "gamma": [0.0],
        "J_N": [[0.0, 1.0]], "zeta_N": [0.0], "J_T": [[1.0, 0.0]], "zeta_T": [0.0], "mu": [0.5], "v_T": [0.0],
    })  # fmt: skip


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("tilt", [0.0, 1e-17, -1e-16, 3e-15])
def test_a_held_direction_is_inert(tilt: float, scale: float) -> None:
    """Where the joints hold a row up to rounding, friction there is open and moves nothing."""
    op = ContactOperator.of(held(tilt, scale))
    assert op.inert.tolist() == [False, True]
    assert (op.response[1] == 0).all()
    assert (op.response[:, 1] == 0).all()
    assert op.start[1] == 0
    answer = go.solve_step(held(tilt, scale), "stick-slip", "lemke")
    assert answer.status is go.Status.SOLVED
    assert answer.a == pytest.approx([0.0, 0.0], abs=1e-12)
    assert answer.lam_N == pytest.approx([10.0 * scale], rel=1e-12)
    assert not answer.forces_unique
    assert answer.contact.ranges["lam_T"] == pytest.approx(np.array([[-5.0, 5.0]]) * scale, rel=1e-9)


def test_a_direction_that_is_nearly_held_is_not_inert() -> None:
    op = ContactOperator.of(held(1e-4))
    assert not op.inert.any()


def test_the_guided_slider_at_its_dead_centre_is_inert() -> None:
    problem = go.problem("guided-slider-crank", case="dead-centre")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert ContactOperator.of(step).inert.tolist() == [False, True]


# -- what has no operator ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "words"), [
    ({"J": [[1.0, 0.0], [1.0, 0.0]], "gamma": [0.0, 1.0]}, "contradict"),
    ({"M": [[0.0, 0.0], [0.0, 1.0]]}, "mass"),
])  # fmt: skip
def test_ill_posed_joints_are_refused_with_the_reason(change: dict[str, Any], words: str, assert_sentence: Any) -> None:
    base = {"M": np.eye(2), "Q": [0.0, -1.0], "J_N": [[0.0, 1.0]], "zeta_N": [0.0]}
    step = go.StepData.from_mapping({**base, **change})
    with pytest.raises(go.NotAccepted) as caught:
        ContactOperator.of(step)
    assert_sentence(caught.value, words)


def test_stick_in_space_is_no_lcp(assert_sentence: Any) -> None:
    step = random_step(np.random.default_rng(0), "regular", 4, 0, 2, d=2, rest=1)
    with pytest.raises(go.NotAccepted) as caught:
        _ = ContactOperator.of(step).lcp
    assert_sentence(caught.value, "Contact 1", "two tangents")


def test_in_space_friction_opposes_the_slip() -> None:
    step = random_step(np.random.default_rng(5), "regular", 5, 1, 2, d=2)
    op = ContactOperator.of(step)
    lam_N, lam_T = op.split(np.array([2.0, 3.0]))
    assert np.linalg.norm(lam_T, axis=1) == pytest.approx(step.mu * lam_N, rel=1e-14)
    assert np.einsum("kd,kd->k", lam_T, step.v_T) == pytest.approx(-step.mu * lam_N * step.speed, rel=1e-14)
    f = step.J_N.T @ lam_N + np.einsum("kdn,kd->n", step.J_T, lam_T)
    a = kkt_response(step, f)
    assert op.acceleration(np.array([2.0, 3.0])) == pytest.approx(a, abs=1e-9 * np.abs(a).max())
