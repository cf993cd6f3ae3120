from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quadratic_programs import program

import gaussopt as go
from gaussopt.certificates.qp import classify_qp

EPS = 2.2e-16
inf = np.inf
seeds = st.integers(0, 2**32 - 1)


def solved_program(seed: int, n: int, m: int) -> tuple[go.QP, np.ndarray, np.ndarray]:
    """A strictly convex program made from its own optimality conditions: qp, x*, y*."""
    rng = np.random.default_rng(seed)
    root, A, x = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.standard_normal(n)
    P = root @ root.T + np.eye(n)
    kind = rng.integers(0, 4, m)  # equality, at the lower bound, at the upper bound, in between
    z, gap, force = A @ x, 0.1 + rng.random((2, m)), 0.1 + rng.random(m)
    l = np.where(kind <= 1, z, np.where(rng.random(m) < 0.5, z - gap[0], -inf))
    u = np.where((kind == 0) | (kind == 2), z, np.where(rng.random(m) < 0.5, z + gap[1], inf))
    y = np.select([kind == 0, kind == 1, kind == 2], [rng.standard_normal(m), force, -force], 0.0)
    return go.QP(P, A.T @ y - P @ x, A, l, u), x, y


def distance(qp: go.QP, x: np.ndarray, x_star: np.ndarray) -> float:
    return math.sqrt((x - x_star) @ qp.P @ (x - x_star))


def gap_floor(qp: go.QP, x: np.ndarray, y: np.ndarray) -> float:
    """What the rounding of the duality gap leaves open: sqrt(2 delta), delta from the size of its terms."""
    bounds = np.concatenate((qp.l[np.isfinite(qp.l)], qp.u[np.isfinite(qp.u)]))
    terms = np.abs(x) @ np.abs(qp.P) @ np.abs(x) + np.abs(qp.q) @ np.abs(x)
    terms += np.abs(y).sum() * (1 + np.abs(bounds).max(initial=0.0) + (np.abs(qp.A) @ np.abs(x)).max(initial=0.0))
    return math.sqrt(2 * 10 * qp.n * EPS * (1 + terms))


@given(seed=seeds, n=st.integers(1, 5), m=st.integers(0, 6), exponent=st.integers(-10, 1), own_duals=st.booleans())
def test_the_bound_holds(seed: int, n: int, m: int, exponent: int, own_duals: bool) -> None:
    """Whatever point and duals are given, feasible or not, the minimiser is within the bound."""
    qp, x_star, y_star = solved_program(seed, n, m)
    rng = np.random.default_rng(seed + 1)
    x = x_star + 10.0**exponent * rng.standard_normal(n)
    y = y_star + 10.0**exponent * rng.standard_normal(m) if own_duals else None
    c = go.certify_qp(qp, x, y)
    assert c.verdict is go.Status.SOLVED
    assert c.error_bound >= distance(qp, x, x_star) - gap_floor(qp, x, c.y)


@given(seed=seeds, n=st.integers(1, 5), m=st.integers(0, 6))
def test_the_minimiser_passes(seed: int, n: int, m: int) -> None:
    qp, x, y = solved_program(seed, n, m)
    c = go.certify_qp(qp, x, y)
    assert c.relative_residual <= 1e-13
    assert c.error_bound <= gap_floor(qp, x, y)
    assert c.passed()


@given(seed=seeds, n=st.integers(1, 5), m=st.integers(0, 6))
def test_duals_are_found_if_none_are_given(seed: int, n: int, m: int) -> None:
    qp, x, _ = solved_program(seed, n, m)
    c = go.certify_qp(qp, x)
    # The bounded least squares that finds them stops at 1e-14 of a squared residual.
    assert c.relative_residual <= 1e-6
    assert go.certify_qp(qp, x, c.y).relative_residual == c.relative_residual


@given(seed=seeds, n=st.integers(1, 5), m=st.integers(0, 6))
def test_a_wrong_point_does_not_pass(seed: int, n: int, m: int) -> None:
    qp, x, y = solved_program(seed, n, m)
    wrong = x + np.random.default_rng(seed).standard_normal(n)
    assert not go.certify_qp(qp, wrong, y).passed()
    assert not go.certify_qp(qp, wrong).passed()


def test_an_exact_point_still_has_a_bound_of_rounding_size() -> None:
    """The gap of a point is only known to rounding; a bound of zero for a point that is off is no bound."""
    qp = program(np.eye(2), [1, 1], [[1, 0]], [1], [1])
    off = np.array([1.0, -1.0 - 1e-9])
    assert go.certify_qp(qp, off, np.array([2.0])).error_bound >= 1e-9


def test_every_residual_is_what_it_says() -> None:
    qp = program(np.diag([2.0, 4.0]), [-2.0, 0.0], [[1, 0], [0, 1]], [2, -1], [inf, 1])
    c = go.certify_qp(qp, np.array([1.5, 0.25]), np.array([0.5, -0.5]))
    assert c.primal_residual == 0.5
    # P x + q - A^T y = (3 - 2 - 0.5, 1 + 0.5)
    assert c.dual_residual == 1.5
    # row 1 below its lower bound by 0.5, row 2 at a distance 0.75 from its upper bound
    assert c.complementarity == 0.5 * 0.5 + 0.5 * 0.75
    assert not c.passed()


def test_a_force_towards_an_absent_bound_is_a_residual() -> None:
    qp = program([[1.0]], [0.0], [[1.0]], [-inf], [0.0])
    assert go.certify_qp(qp, np.zeros(1), np.array([-3.0])).dual_residual == 3.0
    pulling = go.certify_qp(qp, np.array([3.0]), np.array([3.0]))
    assert pulling.dual_residual == 3.0
    assert not pulling.passed()


def test_the_wrong_sign_is_not_complementary() -> None:
    qp = program([[1.0]], [-2.0], [[1.0]], [1.0], [5.0])
    # At the lower bound x = 1 the gradient is -1: only a force from the upper bound could hold it.
    assert not go.certify_qp(qp, np.array([1.0]), np.array([-1.0])).passed()


@pytest.mark.parametrize(
    ("qp", "verdict"),
    [
        (program(np.eye(2), [1, 1]), "solved"),
        (program(np.zeros((2, 2)), [0, 0]), "solved"),
        (program(np.diag([1, 0]), [1, 1]), "unbounded"),
        (program(np.diag([1, 0]), [1, 1], [[0, 1]], [-3], [inf]), "solved"),
        (program(np.diag([1, 0]), [1, 1], [[0, 1]], [-inf], [3]), "unbounded"),
        (program(np.diag([1, 0]), [1, 0], [[0, 1]], [-inf], [3]), "solved"),
        (program(np.ones((2, 2)), [1, -1], [[1, 1]], [0], [0]), "unbounded"),
        (program(np.zeros((2, 2)), [1, 1], np.eye(2), [0, 0], [inf, inf]), "solved"),
        (program(np.zeros((2, 2)), [-1, 1], np.eye(2), [0, 0], [inf, inf]), "unbounded"),
        (program(np.eye(2), [1, 1], [[1, 0], [1, 0]], [0, 1], [0, 1]), "infeasible"),
        (program(np.eye(2), [1, 1], [[1, 0], [1, 0]], [-inf, 1], [0, inf]), "infeasible"),
        (program(np.eye(2), [1, 1], [[1, 0], [1, 0]], [-inf, 1], [1, inf]), "solved"),
        (program(np.eye(2), [1, 1], [[0, 0]], [1], [1]), "infeasible"),
        (program(np.eye(2), [1, 1], [[0, 0]], [1], [inf]), "infeasible"),
        (program(np.eye(2), [1, 1], [[0, 0]], [0], [0]), "solved"),
        # contradictory and with a ray of descent: without a feasible point there is nothing to descend from
        (program(np.diag([1, 0]), [1, 1], [[1, 0], [1, 0]], [0, 1], [0, 1]), "infeasible"),
    ],
)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_classification(qp: go.QP, verdict: str, unit: float) -> None:
    scaled = go.QP(qp.P, qp.q, unit * qp.A, unit * qp.l, unit * qp.u)
    assert str(classify_qp(scaled)) == verdict
    assert str(go.certify_qp(scaled, None).verdict) == verdict
    assert str(classify_qp(go.QP(unit * qp.P, unit * qp.q, qp.A, qp.l, qp.u))) == verdict


def test_nothing_and_nan_do_not_pass_at_any_tolerance() -> None:
    qp = program(np.eye(2), [1, 1])
    for x in (None, np.array([np.nan, 0.0])):
        c = go.certify_qp(qp, x)
        assert c.error_bound == inf
        assert not c.passed()
        assert not c.passed(inf)


@pytest.mark.filterwarnings("error")
def test_an_infinite_tolerance_still_gives_the_best_bound() -> None:
    """A study of an inexact solver records the bounds; they must not get worse because nothing is refused."""
    qp = program(np.eye(2), [-5, -5], [[1, 0], [0, 1], [1, 1]], [-inf, -inf, -inf], [1, 1, 3])
    x = np.array([1.0, 0.999])  # 1e-3 from the minimiser; the third row is slack
    assert go.certify_qp(qp, x, tolerance=inf).error_bound <= 2 * go.certify_qp(qp, x).error_bound


def test_the_bound_of_the_semidefinite_case_says_what_it_does_not_see(assert_optimal: Callable[..., None]) -> None:
    qp = program(np.diag([1, 0]), [0, 1], [[0, 1]], [-3], [inf])
    c = go.certify_qp(qp, np.array([0.0, -3.0]), np.array([1.0]))
    assert c.error_bound == 0.0
    assert "without curvature" in c.to_mapping()["distance"]
    assert c.passed()
    assert_optimal(qp, np.array([0.0, -3.0]), c.y, 1e-15)
    assert not go.certify_qp(qp, np.array([0.0, -2.0]), np.array([1.0])).passed()
    off = go.certify_qp(qp, np.array([0.5, -3.0]), np.array([1.0]))
    assert off.error_bound == pytest.approx(0.5)
    assert not off.passed()


@pytest.mark.parametrize("small", [1e-6, 1e-12])
def test_a_badly_scaled_program_is_not_unbounded(small: float) -> None:
    qp = go.QP.from_mapping({"kind": "qp", "P": [[1e6, 0], [0, small]], "q": [1.0, 1.0]})
    assert classify_qp(qp) is go.Status.SOLVED
    assert go.solve(qp, "kkt").status is go.Status.SOLVED
