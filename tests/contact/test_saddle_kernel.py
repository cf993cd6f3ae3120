"""Factors of the saddle-point matrix: equal to numpy's solution, exact rows of joints, refused where not regular."""

from __future__ import annotations

import numpy as np
import pytest

from gaussopt.contact.saddle_kernel import factorise, respond
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel


@kernel
def responses(K: Matrix, n: int, L: Matrix, first: Index, b: Matrix, x: Matrix, norm: Vector, rest: Vector) -> int:
    """Pivots found, and all rows of x where they are all there are."""
    done = factorise(K, L, first, n)
    if done == len(K):
        for p in range(len(b)):
            respond(K, L, first, n, b, x, norm, rest, p)
    return done


def solved(M: np.ndarray, J: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Pivots, solutions, their mass norms, and the columns where the rows of L begin."""
    n, size = len(M), len(M) + len(J)
    K = np.zeros((size, size))
    K[:n, :n], K[n:, :n], K[:n, n:] = M, J, J.T
    L, first, x, norm = np.zeros_like(K), np.zeros(size, np.int64), np.zeros_like(b), np.zeros(len(b))
    done = int(responses(K, n, L, first, b, x, norm, np.zeros(size)))
    return done, x, norm, first


@pytest.mark.parametrize(("n", "m"), [(1, 0), (3, 0), (4, 1), (7, 4)])
def test_equal_to_numpy(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    A, J, b = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.standard_normal((3, n + m))
    M = A @ A.T + np.eye(n)
    done, x, norm, _ = solved(M, J, b)
    K = np.block([[M, J.T], [J, np.zeros((m, m))]])
    assert done == n + m
    np.testing.assert_allclose(x, np.linalg.solve(K, b.T).T, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(norm**2, np.einsum("pi,ij,pj->p", x[:, :n], M, x[:, :n]), rtol=1e-12)
    np.testing.assert_allclose(x[:, :n] @ J.T, b[:, n:], rtol=0, atol=1e-14 * (1 + np.abs(J).sum()))


def test_blocks_stay_blocks() -> None:
    block = np.array([[2.0, 0.5], [0.5, 1.0]])
    M = np.kron(np.eye(3), block)
    done, x, _, first = solved(M, np.zeros((0, 6)), np.ones((1, 6)))
    assert done == 6
    assert first.tolist() == [0, 0, 2, 2, 4, 4]
    np.testing.assert_allclose(M @ x[0], np.ones(6), rtol=1e-15)


def test_what_is_not_regular_is_refused_at_its_row() -> None:
    J = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    b = np.zeros((1, 5))
    assert solved(np.diag([1.0, 0.0, 1.0]), J[:0], b[:, :3])[0] == 1
    assert solved(np.diag([1.0, -1.0, 1.0]), J[:0], b[:, :3])[0] == 1
    assert solved(np.diag([1.0, np.nan, 1.0]), J[:0], b[:, :3])[0] == 1
    assert solved(np.eye(3), J, b)[0] == 4
    assert solved(np.eye(3), 0.0 * J, b)[0] == 3


def test_a_row_that_joints_hold_does_not_move() -> None:
    # The joint holds the first coordinate, whose force is large: nothing of it may be left by rounding.
    M, J = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 1e-9]])
    _, x, norm, _ = solved(M, J, np.array([[1e6, 1e-3, 0.0]]))
    assert abs(J[0] @ x[0, :2]) <= 1e-16 * np.abs(J[0]) @ np.abs(x[0, :2]) + 1e-22
    assert norm[0] == pytest.approx(np.sqrt(x[0, :2] @ M @ x[0, :2]))
