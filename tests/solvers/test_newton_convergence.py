"""The convergence of semismooth Newton: quadratic on strictly complementary programs, one step without pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import make_solver
from gaussopt.solvers._semismooth import Complementarity, fischer_burmeister, semismooth_newton

S = go.Status
ROUNDING = 1e-12
"""Residuals below this size are noise; scaled variables are of the order of one."""


def raw(program: go.QP | go.LCP, **options: Any) -> RawSolution:
    solver = make_solver("newton", options)
    solver.setup(program)
    return solver.solve(None)


def complementary_qp(seed: int) -> tuple[go.QP, np.ndarray]:
    """A strictly convex program made from its solution: active rows push, the others have slack."""
    rng = np.random.default_rng(seed)
    n, m = 6, 9
    root, A, x = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.standard_normal(n)
    P = root @ root.T + np.eye(n)
    active = np.arange(m) < 4
    y = np.where(active, 0.5 + rng.random(m), 0.0)
    l = A @ x - np.where(active, 0.0, 0.5 + rng.random(m))
    return go.QP(P, A.T @ y - P @ x, A, l, np.full(m, np.inf)), x


def complementary_lcp(seed: int) -> tuple[go.LCP, np.ndarray]:
    """A P-matrix that is neither symmetric nor definite, with z_i + w_i > 0 for every pair."""
    rng = np.random.default_rng(seed)
    n = 8
    order = rng.permutation(n)
    M = (np.triu(2.0 * rng.standard_normal((n, n)), 1) + np.diag(0.5 + rng.random(n)))[np.ix_(order, order)]
    push = np.arange(n) < 4
    z, w = np.where(push, 0.5 + rng.random(n), 0.0), np.where(push, 0.0, 0.5 + rng.random(n))
    return go.LCP(M, w - M @ z), z


def orders(history: tuple[float, ...]) -> np.ndarray:
    """log r_{k+1} / log r_k of the steps that end above rounding and begin where the iteration is local."""
    r = np.array(history)
    local = (r[:-1] < 0.1) & (r[1:] > ROUNDING)
    return np.log(r[1:][local]) / np.log(r[:-1][local])


@pytest.mark.parametrize("make", [complementary_qp, complementary_lcp], ids=["qp", "lcp"])
def test_convergence_is_quadratic(make: Any) -> None:
    seen: list[float] = []
    for seed in range(20):
        program, x = make(seed)
        answer = raw(program)
        assert answer.claim is S.SOLVED
        np.testing.assert_allclose(answer.x, x, atol=1e-11)
        r = np.array(answer.history)
        assert len(r) == answer.iterations + 1
        # r_{k+1} <= C r_k^2 with one C for all of the last steps, whose residuals span many decades.
        last = (r[:-1] < 1e-2) & (r[1:] > ROUNDING)
        assert (r[1:][last] <= 200 * r[:-1][last] ** 2).all()
        seen.extend(orders(answer.history)[-1:])
    # Within the few steps that double precision leaves room for, the exponent comes close to two.
    assert len(seen) >= 10
    assert np.median(seen) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("function", ["fischer-burmeister", "min"])
def test_equalities_alone_take_one_step(function: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        root, A, b = rng.standard_normal((5, 5)), rng.standard_normal((3, 5)), rng.standard_normal(3)
        answer = raw(go.QP(root @ root.T + np.eye(5), rng.standard_normal(5), A, b, b), function=function)
        assert (answer.claim, answer.iterations) == (S.SOLVED, 1)
        assert answer.history[0] > 0.1
        assert answer.history[1] < 1e-12


def test_min_ends_in_finitely_many_steps() -> None:
    """Phi is then piecewise linear: once the active set is right, the next step is exact."""
    for seed in range(10):
        answer = raw(complementary_qp(seed)[0], function="min")
        assert answer.claim is S.SOLVED
        assert answer.history[-1] < 1e-12
        if answer.iterations > 1:
            assert answer.history[-2] > 1e-6


def test_the_history_begins_at_the_start_given() -> None:
    program, z = complementary_lcp(3)
    solver = make_solver("newton")
    assert solver.warm_starts
    solver.setup(program)
    answer = solver.solve((z, None))
    assert answer.iterations == 0
    assert len(answer.history) == 1
    assert answer.history[0] < 1e-12
    assert go.solve(program, "newton").history == raw(program).history


def test_nothing_to_do_is_recorded_too() -> None:
    assert raw(go.LCP(np.eye(2), np.ones(2))).history == (0.0,)


def test_a_limit_keeps_the_residuals() -> None:
    program, _ = complementary_lcp(4)
    full = raw(program)
    assert full.iterations > 2
    cut = raw(program, max_iter=2, fallback=False)
    assert cut.history == full.history[:3]


def test_the_complementarity_function_vanishes_where_it_should() -> None:
    a, b = np.array([0.0, 2.0, 0.0, -1.0, 1.0, 3.0]), np.array([0.0, 0.0, 3.0, 0.0, 1.0, -4.0])
    phi = fischer_burmeister(a, b)
    np.testing.assert_array_equal(phi[:3], 0.0)
    assert (phi[[3, 5]] < 0).all()
    assert phi[4] > 0


def test_the_jacobian_is_that_of_phi() -> None:
    rng = np.random.default_rng(5)
    paired = np.array([False, True, True, False, True])
    for natural in (False, True):
        problem = Complementarity(rng.standard_normal((5, 5)), rng.standard_normal(5), paired, natural)
        z, d = rng.standard_normal(5), 1e-7 * rng.standard_normal(5)
        phi = [problem.phi(point, problem.w(point)) for point in (z - d, z + d)]
        np.testing.assert_allclose(problem.jacobian(z, problem.w(z)) @ d, 0.5 * (phi[1] - phi[0]), atol=1e-13)


def test_values_that_are_no_numbers_do_not_converge() -> None:
    problem = Complementarity(np.array([[np.nan]]), np.ones(1), np.array([True]))
    assert not semismooth_newton(problem, np.zeros(1), 1e-12, 5).converged
