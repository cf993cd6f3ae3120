"""Residuals of programs at any point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.comparison.sources import convex_set
from gaussopt.kinds import Residuals, residuals


@pytest.mark.parametrize("name", sorted(convex_set()))
def test_small_at_the_minimiser_and_large_elsewhere(name: str) -> None:
    qp = go.QP.from_mapping(convex_set()[name])
    solution = go.solve(qp, "newton")
    assert solution.x is not None
    found = residuals(qp, solution.x, solution.y)
    assert max(found) < 1e-9
    away = residuals(qp, solution.x + 1.0, solution.y)
    assert max(away) > 1e-3


def test_each_residual_sees_its_own_condition() -> None:
    # min 1/2 x^2 - 2 x subject to x <= 1: x = 1, y = -1.
    qp = go.QP(np.eye(1), np.array([-2.0]), np.eye(1), np.array([-np.inf]), np.array([1.0]))
    assert residuals(qp, np.array([1.0]), np.array([-1.0])) == Residuals(0.0, 0.0, 0.0)
    assert residuals(qp, np.array([1.5]), np.array([-0.5])) == Residuals(0.5 / 2.5, 0.0, pytest.approx(0.25 / 5.875))
    assert residuals(qp, np.array([1.0]), np.array([0.0])) == Residuals(0.0, 1.0 / 3.0, 0.0)


@given(st.integers(0, 10_000))
def test_lcp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    B = rng.standard_normal((n, n))
    lcp = go.LCP(B @ B.T + np.eye(n), rng.standard_normal(n))
    z = go.solve(lcp, "lemke").x
    assert z is not None
    assert max(residuals(lcp, z, None)) < 1e-12
    assert residuals(lcp, z - 1.0, None).primal > 0.0
    assert residuals(lcp, z + 1.0, None).gap > 0.0


def test_systems_and_least_squares() -> None:
    K, b = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 4.0])
    assert max(residuals(go.LinearSystem(K, b), np.ones(2), None)) == 0.0
    assert residuals(go.LinearSystem(K, b), np.zeros(2), None).primal == 4.0 / 5.0
    problem = go.LeastSquares(np.array([[1.0], [1.0]]), np.array([0.0, 2.0]), 1)
    assert max(residuals(problem, np.ones(1), None)) == 0.0
    assert residuals(problem, np.zeros(1), None).dual > 0.1


def test_no_point_has_infinite_residuals() -> None:
    qp = go.QP.from_mapping({"P": [[1.0]], "q": [1.0]})
    for x in (None, np.array([np.nan]), np.zeros(2)):
        assert residuals(qp, x, None) == Residuals()
