"""The certificate against solutions in fifty-digit arithmetic."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.certificates.base import explain

seeds = st.integers(0, 2**32 - 1)
SOLVED, INFEASIBLE = go.Status.SOLVED, go.Status.INFEASIBLE
UNBOUNDED, NOT_UNIQUE = go.Status.UNBOUNDED, go.Status.ACCELERATION_NOT_UNIQUE


def step_of(M: Any, Q: Any, J: Any = None, gamma: Any = None, h: Any = None) -> go.StepData:
    return go.StepData.from_mapping({"M": M, "Q": Q, "J": J, "gamma": gamma, "h": h})


def true_error(step: go.StepData, a: np.ndarray, rows: int) -> tuple[np.ndarray, float, float]:
    """a*, ||a - a*||_M and ||a - a*||_2 with the first `rows` rows, which are independent and imply the others."""
    n, m = step.n, rows
    with mp.workdps(50):
        K, b = mp.zeros(n + m, n + m), mp.zeros(n + m, 1)
        for i in range(n):
            b[i] = mp.mpf(float(step.Q[i])) - mp.mpf(float(step.h[i]))
            for j in range(n):
                K[i, j] = mp.mpf(float(step.M[i, j]))
        for i in range(m):
            b[n + i] = mp.mpf(float(step.gamma[i]))
            for j in range(n):
                K[n + i, j] = K[j, n + i] = mp.mpf(float(step.J[i, j]))
        x = mp.lu_solve(K, b)
        e = [mp.mpf(float(a[i])) - x[i] for i in range(n)]
        square = sum(e[i] * mp.mpf(float(step.M[i, j])) * e[j] for i in range(n) for j in range(n))
        norm = mp.sqrt(sum(u * u for u in e))
        return np.array([float(x[i]) for i in range(n)]), float(mp.sqrt(max(square, 0))), float(norm)


def regular_step(seed: int, n: int, m: int) -> go.StepData:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    M = root @ root.T + 0.1 * np.eye(n)
    return step_of(
        0.5 * (M + M.T), 10 * rng.standard_normal(n), rng.standard_normal((m, n)), rng.standard_normal(m),
        rng.standard_normal(n),
    )  # fmt: skip


sizes = st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@given(seed=seeds, size=sizes, exponent=st.integers(-16, 2))
@example(seed=307, size=(4, 3), exponent=-8)  # forces of 3e4 that nearly cancel
def test_the_bound_is_the_distance_to_the_minimiser(seed: int, size: tuple[int, int], exponent: int) -> None:
    step = regular_step(seed, *size)
    assume(size[1] == 0 or np.linalg.cond(step.J) < 1e3)
    a_star, *_ = true_error(step, np.zeros(step.n), step.m)
    a = a_star + 10.0**exponent * np.random.default_rng(seed + 1).standard_normal(step.n)
    _, error, norm = true_error(step, a, step.m)
    c = go.certify(step, a)
    assert c.verdict is SOLVED
    # The stated accuracy: exact up to the rounding floor, of which the order of magnitude is known.
    assert abs(c.error_bound - error) <= 10 * c.rounding_floor + 1e-9 * error
    # The 2-norm of the error comes out of J M^-1 J^T, whose condition number costs digits.
    inverse_root = np.sqrt(np.linalg.norm(np.linalg.inv(step.M), 2))
    lost = 2.2e-15 * np.linalg.cond(step.M) * (np.linalg.cond(step.J) ** 2 if step.m else 1.0)
    assert abs(c.error_norm - norm) <= 10 * c.rounding_floor * inverse_root + max(1e-9, lost) * norm
    # The floor itself is rounding: nine digits at condition numbers of at most 1e3 and 1e3.
    assert c.rounding_floor <= 1e-9 * (1.0 + c.norm_a + np.abs(step.force).max())


@given(seed=seeds, exponent=st.integers(-12, 1), extra=st.integers(0, 2))
def test_the_bound_with_a_singular_mass_matrix_and_redundant_rows(seed: int, exponent: int, extra: int) -> None:
    """Small integers, so that ranks and dependencies are exact."""
    rng = np.random.default_rng(seed)
    n, m, rank = 4, 2, int(rng.integers(1, 5))
    root = rng.integers(-3, 4, (n, rank)).astype(float)
    M, J, gamma = root @ root.T, rng.integers(-3, 4, (m, n)).astype(float), rng.integers(-5, 6, m).astype(float)
    mix = rng.integers(-2, 3, (extra, m)).astype(float)
    assume(np.linalg.matrix_rank(J) == m)
    assume(np.linalg.matrix_rank(np.vstack((M, J))) == n)
    step = step_of(M, rng.integers(-9, 10, n), np.vstack((J, mix @ J)), np.concatenate((gamma, mix @ gamma)))
    a_star, *_ = true_error(step, np.zeros(n), m)
    a = a_star + 10.0**exponent * rng.standard_normal(n)
    _, error, norm = true_error(step, a, m)
    c = go.certify(step, a)
    assert c.verdict is SOLVED
    assert c.forces_unique is (extra == 0)
    assert c.singular_mass == (np.linalg.matrix_rank(M) < n)
    if c.singular_mass:
        # papers.md 7.1: exact to 1e-7 relative at errors down to 1e-4 where the conditioning is good.
        assume(c.condition < 1e4)
    assert abs(c.error_bound - error) <= 10 * c.rounding_floor + 1e-7 * error
    # The mass norm sees the 2-norm's floor through the smallest mass, which the condition number limits.
    assert (
        abs(c.error_norm - norm)
        <= 1e2 * c.rounding_floor * math.sqrt(np.nan_to_num(c.condition, nan=1e4)) + 1e-7 * norm
    )


@given(seed=seeds, size=sizes)
@example(seed=423, size=(2, 2))
def test_the_forces_of_the_certificate_hold_the_minimiser(seed: int, size: tuple[int, int]) -> None:
    step = regular_step(seed, *size)
    assume(size[1] == 0 or np.linalg.cond(step.J) < 1e3)
    a_star, *_ = true_error(step, np.zeros(step.n), step.m)
    c = go.certify(step, a_star)
    gap = step.M @ a_star - step.force - step.J.T @ c.lam
    scale = np.abs(step.M) @ np.abs(a_star) + np.abs(step.force) + np.abs(step.J.T) @ np.abs(c.lam)
    assert (np.abs(gap) <= 1e-10 * (1 + scale.max())).all()
    assert c.at_rounding_level
    assert c.passed(1e-10)


@given(seed=seeds, size=sizes)
def test_wrong_forces_do_not_pass_with_a_right_acceleration(seed: int, size: tuple[int, int]) -> None:
    step = regular_step(seed, *size)
    assume(step.m > 0 and np.linalg.cond(step.J) < 1e3)
    a_star, *_ = true_error(step, np.zeros(step.n), step.m)
    right = go.certify(step, a_star).lam
    assert go.certify(step, a_star, right).passed()
    wrong = right + np.random.default_rng(seed).standard_normal(step.m)
    c = go.certify(step, a_star, wrong)
    # The residual is the resultant of the wrong part of the forces, in the norm of M^-1.
    resultant = step.J.T @ (wrong - right)
    expected = math.sqrt(resultant @ np.linalg.solve(step.M, resultant))
    assert c.force_residual == pytest.approx(expected, rel=1e-6)
    assert not c.passed()
    assert "forces" in explain(c, 1e-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("singular", [False, True])
def test_forces_that_are_no_numbers_are_infinitely_wrong(singular: bool) -> None:
    step = step_of(np.diag([1.0, 0.0 if singular else 1.0]), [1.0, 0.0], [[0.0, 1.0]], [1.0])
    c = go.certify(step, np.array([1.0, 1.0]), np.array([np.nan]))
    assert c.force_residual == float("inf")
    assert c.error_bound <= 1e-15
    assert not c.passed()


def test_redundant_rows_leave_the_forces_open() -> None:
    step = step_of(np.eye(2), [0.0, -9.81], [[0.6, 0.8], [1.2, 1.6]], [-1.0, -2.0])
    a = np.array([4.1088, -4.3316])
    resultant = step.M @ a - step.force
    first = resultant @ [0.6, 0.8]
    for share in (0.0, 0.3, 1.0, -5.0):
        lam = np.array([share * first, (1 - share) * first / 2])
        c = go.certify(step, a, lam)
        assert c.passed(1e-12)
        assert not c.forces_unique


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (step_of(np.eye(2), [0, -9.81], [[1, 0], [1, 0]], [0, 1]), INFEASIBLE),
        (step_of(np.eye(2), [0, -9.81], [[0, 0]], [1]), INFEASIBLE),
        (step_of(np.zeros((2, 2)), [0, 0], [[1, 0], [2, 0]], [1, 1]), INFEASIBLE),
        (step_of(np.diag([1.0, 0, 0]), [1, 0, 0], [[0, 1, 1]], [0]), NOT_UNIQUE),
        (step_of(np.diag([1.0, 0, 0]), [1, 1, 0], [[0, 1, 1]], [0]), UNBOUNDED),
        (step_of(np.diag([1.0, 0]), [1, 0]), NOT_UNIQUE),
        (step_of(np.diag([1.0, 0]), [1, 1]), UNBOUNDED),
        (step_of(np.zeros((1, 1)), [0]), NOT_UNIQUE),
        (step_of(np.zeros((1, 1)), [0], [[1]], [3]), SOLVED),
        (step_of(np.ones((2, 2)), [1, 1], [[1, -1]], [0]), SOLVED),
        (step_of(np.ones((2, 2)), [1, -1]), UNBOUNDED),
        (step_of(np.eye(2), [1, 1], [[0, 0]], [0]), SOLVED),
    ],
)
@pytest.mark.parametrize("candidate", [None, [0.3, -0.2, 0.1], "solver"])
def test_the_verdict_on_the_step(step: go.StepData, verdict: go.Status, candidate: Any) -> None:
    if candidate == "solver":
        assert go.solve_step(step).status is verdict
        return
    c = go.certify(step, None if candidate is None else np.array(candidate[: step.n]))
    assert c.verdict is verdict
    if verdict is not SOLVED:
        assert not c.passed(float("inf"))
        assert c.error_bound == float("inf")
        assert explain(c, 1e-7) == verdict.sentence


@given(
    seed=seeds,
    exponents=st.lists(st.integers(-6, 6), min_size=3, max_size=3),
    rows=st.lists(st.integers(-6, 6), min_size=2, max_size=2),
    kind=st.sampled_from(["regular", "singular mass", "redundant", "contradictory", "free", "pulled"]),
)
def test_units_change_neither_verdict_nor_bound(seed: int, exponents: list[int], rows: list[int], kind: str) -> None:
    """q = D q' and rows multiplied by R: the mass norm of the error is a number with a unit of its own."""
    rng = np.random.default_rng(seed)
    root, J, gamma = rng.standard_normal((3, 3)), rng.standard_normal((2, 3)), rng.standard_normal(2)
    M = root @ root.T + 0.5 * np.eye(3)
    Q = rng.standard_normal(3)
    if kind != "regular":
        M, J[:, 2] = M.copy(), 0.0
        M[2], M[:, 2], Q[2] = 0.0, 0.0, 0.0
    if kind == "singular mass":
        J[1] = [0.5, 0.0, 1.0]
    if kind in ("redundant", "contradictory"):
        M[2, 2] = 1.0
        J[1], gamma[1] = 3 * J[0], 3 * gamma[0] + (kind == "contradictory")
    if kind == "pulled":
        Q[2] = 1.0
    verdicts = {"contradictory": INFEASIBLE, "free": NOT_UNIQUE, "pulled": UNBOUNDED}
    a = rng.standard_normal(3)
    D, R = 10.0 ** np.array(exponents), 10.0 ** np.array(rows)
    assume(np.linalg.cond(J[:, :2]) < 1e3 or kind in ("redundant", "contradictory", "singular mass"))
    plain = go.certify(step_of(M, Q, J, gamma), a)
    other = go.certify(step_of(M * np.outer(D, D), Q * D, J * D * R[:, None], gamma * R), a / D)
    assert plain.verdict is other.verdict is verdicts.get(kind, SOLVED)
    assert plain.forces_unique is other.forces_unique
    if plain.verdict is SOLVED:
        # Rounding of the scaled data, magnified by condition numbers of 1e3 at most: nine digits stay.
        assert other.error_bound == pytest.approx(plain.error_bound, rel=1e-9)


def test_nothing_and_nan_are_not_certified() -> None:
    step = regular_step(0, 3, 1)
    for a in (None, np.full(3, np.nan), np.array([0.0, np.inf, 0.0])):
        c = go.certify(step, a)
        assert c.verdict is SOLVED  # of the step
        assert c.error_bound == float("inf")
        assert not c.passed()
        assert not c.passed(float("inf"))
        assert "no finite acceleration" in explain(c, 1e-7)


def test_passing_is_relative_to_the_acceleration_plus_one() -> None:
    M = np.diag([4.0, 9.0])
    step = step_of(M, [8.0, 9.0], [[0.0, 1.0]], [1.0])  # a* = (2, 1)
    norm = math.sqrt(4 * 4 + 9)
    for factor, passes in ((0.9, True), (1.1, False)):
        # An error of 2 d in the mass norm, along the free direction.
        d = factor * 1e-7 * (1 + norm) / 2
        c = go.certify(step, np.array([2.0 + d, 1.0]))
        assert c.error_bound == pytest.approx(2 * d, rel=1e-6)
        assert c.relative_error == pytest.approx(factor * 1e-7, rel=1e-6)
        assert c.passed() is passes
        assert c.passed(1e-6)
    assert step.gamma == step.J @ [2.0 + 1.0, 1.0]  # a constraint check would accept this error of 1
    assert not go.certify(step, np.array([3.0, 1.0])).passed(1e-2)


def test_light_directions_need_their_constraint_residual() -> None:
    """A mass so small that its error hides in the mass norm must still satisfy its constraint."""
    step = step_of(np.diag([1.0, 1e-20]), [1.0, 0.0], [[0.0, 1.0]], [1.0])
    c = go.certify(step, np.array([1.0, 1.1]))
    assert c.error_bound <= 1e-10
    assert c.constraint_residual == pytest.approx(0.1, rel=1e-12)
    assert not c.passed()


def test_the_null_space_of_a_singular_mass_matrix_counts() -> None:
    step = step_of(np.diag([1.0, 0.0]), [1.0, 0.0], [[0.0, 1.0]], [1.0])
    c = go.certify(step, np.array([1.0, 1.5]))
    assert c.singular_mass
    assert c.error_bound <= 1e-15
    assert c.error_norm == pytest.approx(0.5, rel=1e-12)
    assert not c.passed()


def test_contacts_are_not_certified_here() -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [0.0], "J_N": [[1.0]], "zeta_N": [0.0]})
    with pytest.raises(go.NotAccepted, match="1 contacts"):
        go.certify(step, np.zeros(1))


@pytest.mark.parametrize(
    ("M", "reason"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "indefinite"),
        ([[-1.0, 0.0], [0.0, 1.0]], "indefinite"),
        ([[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
    ],
)
def test_what_is_no_mass_matrix_is_not_certified(M: Any, reason: str) -> None:
    none = np.zeros((0, 2))
    step = go.StepData.smooth(np.array(M), np.zeros(2), np.ones(2), none, np.zeros(0), 0.0, np.zeros(2), np.zeros(2))
    with pytest.raises(go.BadInput, match=reason):
        go.certify(step, np.ones(2))


def test_json_has_no_infinities() -> None:
    c = go.certify(step_of(np.eye(2), [0, 0], [[1, 0], [1, 0]], [0, 1]), np.zeros(2)).to_mapping()
    assert c["verdict"] == "infeasible"
    assert c["error_bound"] is None
    assert c["rounding_floor"] is None
