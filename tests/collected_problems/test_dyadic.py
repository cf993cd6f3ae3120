"""Short numbers do not depend on rounding errors, and exact solutions are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from gaussopt.collected_problems.dyadic import cholesky, refined, short, significant
from gaussopt.linalg import rational

RNG = np.random.default_rng(3)


def test_rounding_removes_noise() -> None:
    x = RNG.normal(size=(50, 50))
    noisy = x * (1.0 + 1e-15 * RNG.normal(size=x.shape))
    for way in (short, significant):
        assert np.array_equal(way(x), way(noisy))
        assert np.array_equal(way(way(x)), way(x))
        assert np.abs(way(x) - x).max() < 2.0**-14 * np.abs(x).max()


def test_exact_solutions_satisfy_their_equations() -> None:
    for n in (1, 2, 5, 9):
        A, b = (rational.exact(RNG.integers(-4, 5, size=size) / by) for size, by in (((n, n), 8), (n, 4)))
        found = rational.solve(A, b)
        assert (found is None) == (rational.determinant(A) == 0)
        assert found is None or (A @ found == b).all()
        both = rational.solve(A, np.column_stack((b, 2 * b)))
        assert found is None or (both == np.column_stack((found, 2 * found))).all()
    assert rational.solve(rational.exact(np.ones((2, 2))), rational.exact(np.ones(2))) is None


def test_refined_solutions_have_more_digits_than_floats() -> None:
    n = 40
    A = csr_array(2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    b = short(RNG.normal(size=n))
    exact = rational.solve(rational.exact(A.toarray()), rational.exact(b))
    assert exact is not None
    assert max(abs(x - y) for x, y in zip(refined(A, b), exact, strict=True)) < Fraction(1, 2**100)


def test_a_factor_leaves_a_dominant_rest() -> None:
    B = RNG.integers(-3, 4, size=(30, 30)).astype(float)
    S = B @ B.T + np.eye(30)
    L = np.zeros((30, 30))
    for i, line in enumerate(cholesky(S) or []):
        L[i, : len(line)] = line
    rest = S - L @ L.T
    assert (2 * rest.diagonal() > np.abs(rest).sum(axis=1)).all()
