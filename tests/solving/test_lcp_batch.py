"""Batches of LCPs: each answer is what solving the problem alone would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.solving.lcp_batch import solve_batch

S = go.Status
SOLVERS = ["newton", "enumerate", "pgs", "lemke"]


def definite(count: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((count, n, n))
    return A @ A.swapaxes(1, 2) + 0.5 * np.eye(n), rng.standard_normal((count, n))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_definite_problems(solver: str, n: int) -> None:
    M, q = definite(50, n)
    answers = solve_batch(M, q, solver)
    assert answers.solved.all()
    assert answers.z.shape == answers.w.shape == q.shape
    assert (answers.residual <= 1e-12).all()
    for i in range(0, 50, 7):
        alone = go.solve(go.LCP(M[i], q[i]), "enumerate")
        np.testing.assert_allclose(answers.z[i], alone.x, rtol=0, atol=1e-11 * (1 + np.abs(alone.x).max()))
        np.testing.assert_allclose(answers.w[i], M[i] @ answers.z[i] + q[i], rtol=0, atol=1e-14 * 100)


@pytest.mark.parametrize("solver", SOLVERS)
def test_p_matrices_that_are_not_definite(solver: str) -> None:
    rng = np.random.default_rng(4)
    M = np.triu(3.0 * rng.standard_normal((40, 4, 4)), 1) + np.eye(4)
    q = rng.standard_normal((40, 4))
    answers = solve_batch(M, q, solver)
    assert answers.solved.all()
    for i in range(40):
        truth = go.enumerate_lcp(go.LCP(M[i], q[i])).solutions[0]
        np.testing.assert_allclose(answers.z[i], truth, rtol=0, atol=1e-10 * (1 + truth.max()))


@pytest.mark.parametrize("solver", ["newton", "enumerate", "lemke"])
def test_each_problem_has_the_status_that_it_has_alone(solver: str) -> None:
    rng = np.random.default_rng(1)
    M, q = rng.standard_normal((80, 3, 3)), rng.standard_normal((80, 3))
    M[0], q[0] = np.ones((3, 3)), -1.0  # z not unique, w unique
    M[1], q[1] = -np.eye(3), 1.0
    answers = solve_batch(M, q, solver)
    truth = [go.enumerate_lcp(go.LCP(M[i], q[i])) for i in range(80)]
    assert answers.status[:2] == (S.SOLVED, S.MULTIPLE_SOLUTIONS)
    assert {S.SOLVED, S.NO_SOLUTION, S.MULTIPLE_SOLUTIONS} <= set(answers.status)
    for i, (status, known) in enumerate(zip(answers.status, truth, strict=True)):
        if known.status is not S.SOLVED:
            assert status is known.status
        elif status is S.SOLVED and known.unique:
            np.testing.assert_allclose(answers.z[i], known.solutions[0], rtol=0, atol=1e-9)
        elif status is not S.SOLVED:
            assert solver != "enumerate"
            assert status is S.SOLVER_ERROR


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_matrix_for_all(solver: str) -> None:
    M = np.array([[2.0, 1.0], [0.0, 2.0]])
    q = np.array([[-2.0, 1.0], [1.0, 1.0], [-2.0, -2.0]])
    answers = solve_batch(M, q, solver)
    assert answers.solved.all()
    np.testing.assert_allclose(answers.z, [[1, 0], [0, 0], [0.5, 1]], atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_nothing_to_solve(solver: str, shape: tuple[int, int]) -> None:
    answers = solve_batch(np.zeros((*shape, shape[1])) + np.eye(shape[1]), np.zeros(shape), solver)
    assert answers.z.shape == shape
    assert answers.solved.all()
    assert len(answers.status) == shape[0]


def test_units_do_not_matter() -> None:
    M, q = definite(30, 4, seed=2)
    s = 10.0 ** np.random.default_rng(3).uniform(-5, 5, (30, 4))
    for solver in SOLVERS:
        plain = solve_batch(M, q, solver)
        scaled = solve_batch(s[:, :, None] * M * s[:, None, :], s * q, solver)
        assert scaled.solved.all()
        np.testing.assert_allclose(s * scaled.z, plain.z, rtol=0, atol=1e-10 * (1 + np.abs(plain.z).max()))


def test_answers_that_are_not_good_enough_are_not_called_solved() -> None:
    M, q = definite(20, 5)
    answers = solve_batch(M, q, "pgs", max_iter=2)
    assert S.ITERATION_LIMIT in answers.status
    for i, status in enumerate(answers.status):
        exact = go.enumerate_lcp(go.LCP(M[i], q[i])).solutions[0]
        if status is S.SOLVED:
            np.testing.assert_allclose(answers.z[i], exact, rtol=0, atol=1e-5)


def test_a_matrix_on_which_the_active_sets_cycle() -> None:
    M = np.array([[1.0, 0, 3], [3, 1, 0], [0, 3, 1]])
    q = np.array([[-1.0, -1.0, -1.0], [-1.0, 0.5, 0.5], [-1.0, -2.0, 0.1]])
    answers = solve_batch(M, q, "newton")
    assert answers.solved.all()
    for z, q_i in zip(answers.z, q, strict=True):
        np.testing.assert_allclose(z, go.enumerate_lcp(go.LCP(M, q_i)).solutions[0], atol=1e-13)


@pytest.mark.parametrize(
    ("M", "q", "solver", "options", "culprit"),
    [
        (np.ones((2, 3, 3)), np.ones((3, 3)), "newton", {}, "M"),
        (np.ones((3, 2)), np.ones((3, 3)), "newton", {}, "M"),
        (np.ones((3, 3)), np.ones(3), "newton", {}, "q"),
        (np.full((1, 2, 2), np.nan), np.ones((1, 2)), "newton", {}, "M[0, 0, 0]"),
        (np.eye(2), [[1.0, np.inf]], "newton", {}, "q[0, 1]"),
        (np.eye(2), [[1.0, 1.0]], "newton", {"functoin": "min"}, "function"),
        (-np.eye(2), [[1.0, 1.0]], "pgs", {}, "problem 0"),
        (np.eye(2), [[1.0, 1.0]], "osqp", {}, "LCP"),
        (np.eye(13), np.ones((1, 13)), "enumerate", {}, "13 pairs"),
        (np.eye(2), [[1.0, 1.0]], "newton", {"tolerance": -1.0}, "tolerance"),
    ],
)
def test_bad_input(
    M: Any, q: Any, solver: str, options: dict[str, Any], culprit: str, assert_sentence: Callable[..., None]
) -> None:
    with pytest.raises(go.GaussoptError) as error:
        solve_batch(M, q, solver, **options)
    assert_sentence(error.value, culprit)
