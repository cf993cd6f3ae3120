"""Linear systems and least squares in mixed units, singular, contradictory and huge: against exact rational answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve
from soundness.judge.exact import fractions, integers, matrix, product, solve

import gaussopt as go
from gaussopt.certificates.linear import LinearCertificate, certify_linear
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.kinds import page_of

Rng = np.random.Generator
Numbers = list[Fraction]


def dyadic(rng: Rng, *shape: int) -> Any:
    """Small numbers that rounding does not touch, a quarter of them zero."""
    return rng.integers(-6, 7, shape) * 2.0 ** rng.integers(-3, 2, shape) * (rng.random(shape) < 0.75)


def solved(K: list[Numbers], b: Numbers) -> Numbers | None:
    """A solution of K x = b, free unknowns zero; None if there is none."""
    n = len(K[0])
    found = solve([integers([*row, value]) for row, value in zip(K, b, strict=True)], n)
    return None if found is None else [found.point.fraction(i) for i in range(n)]


def shortest(A: Any, b: Any) -> Numbers:
    """The least-squares solution of least norm: A^T A x = A^T b with x = A^T z, exactly."""
    columns = matrix(A.T, len(b))
    normal = [product(columns, column) for column in columns]
    # x = N w with N = A^T A: N N w = A^T b has a solution, and N w is the shortest.
    w = solved([product(normal, row) for row in normal], product(columns, fractions(b)))
    assert w is not None  # normal equations contradict each other nowhere
    return product(normal, w)


def violated(K: Any, b: Any, truth: Numbers, x: Any) -> float:
    """Largest residual of a row relative to its own terms at the solution."""
    rows, right = matrix(K, len(truth)), fractions(b)
    met, size = product(rows, fractions(x)), [abs(value) for value in truth]
    terms = product([[abs(a) for a in row] for row in rows], size)
    shares = ((abs(s - v), abs(v) + t) for s, v, t in zip(met, right, terms, strict=True) if s != v)
    return max((float(off / all_) if all_ else np.inf for off, all_ in shares), default=0.0)


def system(rng: Rng) -> tuple[Any, Any]:
    """Square, of any rank; right sides of singular ones consistent or not."""
    n = int(rng.integers(1, 5))
    K = dyadic(rng, n, n)
    if n > 1 and rng.random() < 0.4:
        K[-1] = K[0] * rng.choice([1.0, -2.0, 0.5])
    b = K @ dyadic(rng, n) if rng.random() < 0.7 else dyadic(rng, n)
    return K, b


def certified(program: Any, x: np.ndarray) -> LinearCertificate:
    """The certificate of a point by the page of its program."""
    return page_of(program).certify(program, RawSolution(x, None, go.Status.SOLVED), 1e-7)


def test_systems_in_any_units() -> None:
    """Right points pass, points off by 1e-5 in one coordinate that a row sees do not, contradictions are told."""
    rng, passed, refused, contradictory = np.random.default_rng(7), 0, 0, 0
    for _ in range(250):
        K, b = system(rng)
        n = len(b)
        d, r = 2.0 ** rng.integers(-40, 41, n), 2.0 ** rng.integers(-40, 41, n)
        K, b = K * d * r[:, None], b * r
        truth = solved(matrix(K, len(b)), fractions(b))
        program = go.LinearSystem(K, b)
        if truth is None:
            found = certify_linear(program, np.linalg.lstsq(K, b, rcond=None)[0])
            assert found.contradictory
            assert not found.passed()
            contradictory += 1
            continue
        x = np.array([float(value) for value in truth])
        if violated(K, b, truth, x) < 1e-14:
            assert certify_linear(program, x).passed()
            assert not certify_linear(program, x).contradictory
            passed += 1
        for j in range(n):
            off = np.where(np.arange(n) == j, x * (1 + 1e-5), x)
            if violated(K, b, truth, off) > 1e-6:
                assert not certify_linear(program, off).passed()
                refused += 1
    assert min(passed, refused) > 100
    assert contradictory > 20


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_one_large_row_hides_no_other(unit: float) -> None:
    program = go.LinearSystem(np.diag([1e12, 1.0]) * unit, np.array([1e12, 1.0]) * unit)
    assert certify_linear(program, np.ones(2)).passed()
    assert not certify_linear(program, np.array([1.0, 1.0 + 1e-5])).passed()
    assert not certify_linear(program, np.array([1.0, 0.0])).passed()


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_one_large_block_hides_no_other(unit: float) -> None:
    """Rows that share no unknown have nothing to do with each other, whatever their units."""
    K = np.array([[unit, unit, 0.0], [unit, -unit, 0.0], [0.0, 0.0, 1e9]])
    program = go.LinearSystem(K, np.array([unit, 0.0, 1e9]))
    assert certify_linear(program, np.array([0.5, 0.5, 1.0])).passed()
    assert not certify_linear(program, np.array([0.50001, 0.50001, 1.0])).passed()


@pytest.mark.parametrize("unit", [1e-200, 1e-155, 1e155, 1e200])
def test_norms_whose_squares_overflow(unit: float) -> None:
    """Squares of these numbers are infinite or zero: a wrong point must not pass, a right one must."""
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    x = np.array([1.0, -2.0])
    for program in (
        go.LinearSystem(unit * K, unit * (K @ x)), go.LeastSquares(unit * K, unit * (K @ x), 2),
        go.LeastSquares(unit * K, unit * (K @ x), 2, minimum_norm=True),
    ):  # fmt: skip
        assert certified(program, x).passed()
        assert not certified(program, x * (1 + 1e-5)).passed()
        assert not certified(program, 0.0 * x).passed()
    far = go.LinearSystem(K, unit * (K @ x))
    assert certify_linear(far, unit * x).passed()
    assert not certify_linear(far, unit * x * (1 + 1e-5)).passed()


@pytest.mark.parametrize("excess", [1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_contradictions_count_in_their_own_rows(excess: float, unit: float) -> None:
    """Two equal rows with right sides that differ, beside a row of size 1e9."""
    K = np.array([[unit, unit, 0.0], [unit, unit, 0.0], [0.0, 0.0, 1e9]])
    wrong = go.LinearSystem(K, np.array([unit, unit * (1 + excess), 1e9]))
    assert certify_linear(wrong, np.array([0.5, 0.5, 1.0])).contradictory
    right = go.LinearSystem(K, np.array([unit, unit, 1e9]))
    assert not certify_linear(right, np.array([0.5, 0.5, 1.0])).contradictory
    assert certify_linear(right, np.array([0.5, 0.5, 1.0])).passed()


@pytest.mark.parametrize("minimum_norm", [False, True])
def test_least_squares_of_any_rank(minimum_norm: bool) -> None:
    """The exact answer passes; one off by 1e-4 does not, nor, if the shortest is asked for, one beside it."""
    rng, count, beside = np.random.default_rng(11), 0, 0
    for _ in range(200):
        m, n = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        A, b = dyadic(rng, m, n), dyadic(rng, m)
        if m > 1 and rng.random() < 0.4:
            A[-1] = A[0]
        rank = int(np.linalg.matrix_rank(A))
        if not rank:
            continue
        A, b = (2.0 ** int(rng.integers(-40, 41)) * part for part in (A, b))
        if not minimum_norm and rank == n:
            A = A * 2.0 ** rng.integers(-40, 41, n)
        truth = shortest(A, b)
        x = np.array([float(value) for value in truth])
        program = go.LeastSquares(A, b, rank, minimum_norm=minimum_norm)
        assert certified(program, x).passed()
        if not x.any():
            continue
        count += 1
        assert not certified(program, x * (1 + 1e-4)).passed()
        if minimum_norm and rank < n:
            free = np.linalg.svd(A)[2][-1]
            assert not certified(program, x + 1e-4 * np.abs(x).max() * free).passed()
            beside += 1
    assert count > 80
    assert beside > 10 or not minimum_norm


def test_solvers_agree_in_mixed_units() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        K, b = system(rng)
        truth = solved(matrix(K, len(b)), fractions(b))
        d, r = 2.0 ** rng.integers(-12, 13, len(b)), 2.0 ** rng.integers(-12, 13, len(b))
        solution = go.solve(go.LinearSystem(K * d * r[:, None], b * r))
        if truth is None:
            assert solution.status is Status.INFEASIBLE
        else:
            assert solution.status is Status.SOLVED
            assert violated(K * d * r[:, None], b * r, [v / Fraction(u) for v, u in zip(truth, d, strict=True)],
                            solution.x) < 1e-6  # fmt: skip


@pytest.mark.parametrize("off", [0.0, 1e-5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_answer_to_a_sparse_system_is_no_proof_that_it_has_no_solution(seed: int, off: float) -> None:
    """Every answer to a sparse system whose residual was too large was called infeasible."""
    rng = np.random.default_rng(seed)
    K = sparse.random(60, 60, 0.1, random_state=seed) + 2 * sparse.eye(60)
    regular = go.LinearSystem((K + K.T).tocsr(), rng.normal(size=60))
    x = spsolve(regular.K.tocsc(), regular.b) + off * rng.normal(size=60)
    status = page_of(regular).judge(regular, RawSolution(x, None, Status.SOLVED), 1e-7)[0]
    assert status is (Status.INACCURATE if off else Status.SOLVED)
    twice = regular.K.tolil()
    twice[5] = twice[7]
    twice[:, 5] = twice[:, 7]
    apart = regular.b.copy()
    apart[5] = apart[7] + 1.0
    singular = go.LinearSystem(twice.tocsr(), apart)
    status = page_of(singular).judge(singular, RawSolution(x, None, Status.SOLVED), 1e-7)[0]
    assert status is Status.INFEASIBLE
