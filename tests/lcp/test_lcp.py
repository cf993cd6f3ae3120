"""What the core knows of LCPs: matrix classes, all solutions, ranges, certificates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as options
from hypothesis import strategies as st
from samples import sample
from scipy.optimize import linprog

import gaussopt as go
from gaussopt.core.errors import NotAccepted
from gaussopt.lcp import certify_lcp, classify_matrix, enumerate_lcp, polish

S = go.Status
inf = np.inf


def lcp(M: Any, q: Any) -> go.LCP:
    q = np.array(q, dtype=float)
    return go.LCP(np.array(M, dtype=float).reshape(len(q), len(q)), q)


def scales(rng: np.random.Generator, n: int) -> np.ndarray:
    return 10.0 ** rng.uniform(-6, 6, n)


def random_matrix(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    A = rng.standard_normal((n, n))
    if kind == "definite":
        return A @ A.T + 0.1 * np.eye(n) + 0.5 * (A - A.T)
    if kind == "symmetric definite":
        return A @ A.T + 0.1 * np.eye(n)
    if kind == "P":
        # Block triangular with definite blocks of size one: all principal minors positive, rarely definite.
        order = rng.permutation(n)
        return (np.triu(5.0 * A, 1) + np.diag(0.5 + rng.random(n)))[np.ix_(order, order)]
    if kind == "semidefinite":
        G = rng.standard_normal((n, max(1, n - 2)))
        return G @ G.T
    return A


@pytest.mark.parametrize(
    ("M", "symmetric", "definite", "semidefinite", "p_matrix"),
    [
        ([[2, 1], [1, 2]], True, True, True, True), ([[2, 1], [0, 2]], False, True, True, True),
        ([[1, 4], [0, 1]], False, False, False, True),  # P, symmetric part indefinite
        ([[1, 1], [1, 1]], True, False, True, False),
        ([[0, 1], [-1, 0]], False, False, True, False),
        ([[0, 0], [0, 1]], True, False, True, False),
        ([[1, 2], [2, 1]], True, False, False, False),
        ([[-0.5]], True, False, False, False), ([[0]], True, False, True, False),
        ([[1, 3, 0], [0, 1, 3], [3, 0, 1]], False, False, False, True),
        ([[1e-12, 0], [0, 1e12]], True, True, True, True),
    ],
)  # fmt: skip
def test_classes(M: Any, symmetric: bool, definite: bool, semidefinite: bool, p_matrix: bool) -> None:
    M = np.array(M, dtype=float)
    c = classify_matrix(M)
    assert (c.symmetric, c.positive_definite, c.positive_semidefinite, c.p_matrix) == (
        symmetric, definite, semidefinite, p_matrix,
    )  # fmt: skip
    assert c.sentence.endswith(".")


def all_minors_positive(M: np.ndarray) -> bool:
    n = len(M)
    sets = (list(s) for k in range(1, n + 1) for s in combinations(range(n), k))
    return all(np.linalg.det(M[np.ix_(s, s)]) > 0 for s in sets)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5), shift=st.sampled_from([0.0, 1.0, 3.0]))
def test_p_matrices_by_their_minors_whatever_the_scaling(seed: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n)) + shift * np.eye(n)
    expected = all_minors_positive(M)
    assert classify_matrix(M).p_matrix == expected
    assert classify_matrix(scales(rng, n)[:, None] * M * scales(rng, n)).p_matrix == expected


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("kind", ["definite", "P", "semidefinite", "any"])
def test_units_do_not_change_the_class(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    M, s = random_matrix(rng, kind, n), scales(rng, n)
    a, b = classify_matrix(M), classify_matrix(s[:, None] * M * s)
    assert (a.symmetric, a.positive_definite, a.positive_semidefinite, a.p_matrix) == (
        b.symmetric, b.positive_definite, b.positive_semidefinite, b.p_matrix,
    )  # fmt: skip
    if kind == "definite":
        assert a.positive_definite
    if kind == "semidefinite" and n > 1:
        assert (a.positive_definite, a.positive_semidefinite) == (False, True)


def test_too_many_minors_are_not_guessed() -> None:
    n = 20
    definite = np.eye(n)
    assert classify_matrix(definite).p_matrix is True
    unknown = np.eye(n)
    unknown[0, 1] = 4.0
    assert classify_matrix(unknown).p_matrix is None
    known = unknown.copy()
    known[1, 0] = 1.0
    assert classify_matrix(known).p_matrix is False


@given(m=st.floats(-3, 3), q=st.floats(-3, 3))
def test_one_pair_by_hand(m: float, q: float) -> None:
    m, q = round(m, 3), round(q, 3)
    found = enumerate_lcp(lcp([[m]], [q]))
    expected = {0.0} if q >= 0 else set()
    if m != 0 and -q / m > 0:
        expected.add(-q / m)
    if m == 0 and q == 0:
        assert found.status is S.SOLVED
        assert not found.unique
        np.testing.assert_array_equal(found.ranges(), [[0, inf]])
        return
    assert sorted(z[0] for z in found.solutions) == pytest.approx(sorted(expected), rel=1e-14)
    assert found.status is (S.NO_SOLUTION, S.SOLVED, S.MULTIPLE_SOLUTIONS)[len(expected)]
    assert found.unique == (len(expected) == 1)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5), scaled=st.booleans())
def test_regular_problems_against_one_basis_after_the_other(seed: int, n: int, scaled: bool) -> None:
    rng = np.random.default_rng(seed)
    M, q = rng.standard_normal((n, n)), rng.standard_normal(n)
    expected = []
    for k in range(n + 1):
        for s in map(list, combinations(range(n), k)):
            z = np.zeros(n)
            z[s] = np.linalg.solve(M[np.ix_(s, s)], -q[s])
            w = M @ z + q
            if (z >= 0).all() and (np.delete(w, s) >= 0).all():
                expected.append(z)
    R, C = (scales(rng, n), scales(rng, n)) if scaled else (np.ones(n), np.ones(n))
    found = enumerate_lcp(lcp(R[:, None] * M * C, R * q))
    assert len(found.solutions) == len(expected)
    key = lambda z: tuple(np.round(z, 6))  # noqa: E731
    for z, reference in zip(sorted((C * z for z in found.solutions), key=key), sorted(expected, key=key), strict=True):
        np.testing.assert_allclose(z, reference, rtol=0, atol=1e-9 * (1 + np.abs(reference).max()))
    assert found.status is (S.NO_SOLUTION, S.SOLVED)[len(expected)] if len(expected) < 2 else S.MULTIPLE_SOLUTIONS


@pytest.mark.parametrize(
    ("M", "q", "status", "unique", "ranges"),
    [
        ([[1, 1], [1, 1]], [-1, -1], S.SOLVED, False, [[0, 1], [0, 1]]),
        ([[1, 1], [1, 1]], [-1, -2], S.SOLVED, True, [[0, 0], [2, 2]]),
        ([[1, -1], [-1, 1]], [-1, 0], S.NO_SOLUTION, False, None),
        ([[1, -1], [-1, 1]], [-1, 1], S.SOLVED, False, [[1, inf], [0, inf]]),
        ([[1, -1], [-1, 1]], [-1, 2], S.SOLVED, True, [[1, 1], [0, 0]]),
        ([[0, 1], [-1, 0]], [0, 0], S.ACCELERATION_NOT_UNIQUE, False, [[0, 0], [0, inf]]),
        ([[0, 1], [1, 0]], [-1, -1], S.SOLVED, True, [[1, 1], [1, 1]]),
        ([[1, 2], [2, 1]], [-1, -1], S.MULTIPLE_SOLUTIONS, False, [[0, 1], [0, 1]]),
        ([[0, 0], [0, 0]], [1, 0], S.SOLVED, False, [[0, 0], [0, inf]]),
        ([[0, 0], [0, 0]], [-1, 0], S.NO_SOLUTION, False, None),
        (-np.eye(3), [1, 1, 1], S.MULTIPLE_SOLUTIONS, False, [[0, 1]] * 3),
        (np.ones((3, 3)), [-1, -1, -1], S.SOLVED, False, [[0, 1]] * 3),
        ([[1, 1], [1, 1]], [0, 0], S.SOLVED, True, [[0, 0], [0, 0]]),
        ([[1, 0], [0, 1]], [0, 0], S.SOLVED, True, [[0, 0], [0, 0]]),
        ([[-1]], [0], S.SOLVED, True, [[0, 0]]),
        # Two redundant pairs beside one that has two solutions of its own: continua with different w.
        ([[1, 1, 0], [1, 1, 0], [0, 0, -1]], [-1, -1, 1], S.MULTIPLE_SOLUTIONS, False, [[0, 1]] * 3),
        (np.zeros((0, 0)), [], S.SOLVED, True, np.zeros((0, 2))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scale", [0, 1, 2])
def test_small_cases_by_hand(M: Any, q: Any, status: S, unique: bool, ranges: Any, scale: int) -> None:
    n = len(q)
    rng = np.random.default_rng(scale)
    R, C = (scales(rng, n), scales(rng, n)) if scale else (np.ones(n), np.ones(n))
    problem = lcp(R[:, None] * np.array(M, dtype=float).reshape(n, n) * C, R * np.array(q, dtype=float))
    found = enumerate_lcp(problem)
    assert (found.status, found.unique) == (status, unique)
    if ranges is not None:
        np.testing.assert_allclose(found.ranges(np.diag(C)), ranges, rtol=1e-9, atol=1e-9)
    else:
        assert found.solutions == ()
        assert found.count == 0
    for z in found.solutions:
        w = R * np.array(q) + R * (np.array(M, dtype=float).reshape(n, n) @ (C * z))
        assert (z >= 0).all()
        assert (np.abs(np.minimum(C * z, w / R)) <= 1e-9).all()


def test_several_w_are_counted_and_all_are_listed() -> None:
    found = enumerate_lcp(lcp(-np.eye(4), np.ones(4)))
    assert found.count == 16
    assert {tuple(z) for z in found.solutions} == {tuple(map(float, f"{k:04b}")) for k in range(16)}
    for z, w in zip(found.representatives, found.observed, strict=True):
        np.testing.assert_array_equal(w, 1.0 - z)


def test_the_observed_quantity_decides() -> None:
    # z is not determined; w is; what rubs with coefficients (0, 1) is not.
    problem = lcp([[1, 1], [1, 1]], [-1, -1])
    assert enumerate_lcp(problem).status is S.SOLVED
    assert enumerate_lcp(problem, np.array([[1.0, 1.0]]), np.array([3.0])).status is S.SOLVED
    moving = enumerate_lcp(problem, np.array([[0.0, 1.0]]), np.array([3.0]))
    assert moving.status is S.ACCELERATION_NOT_UNIQUE
    np.testing.assert_allclose(moving.ranges(np.array([[0.0, 1.0]]), np.array([3.0])), [[3, 4]], rtol=1e-14)
    # Two solutions that move alike.
    two = lcp([[-0.5]], [2])
    assert enumerate_lcp(two, np.zeros((3, 1)), np.ones(3)).status is S.SOLVED
    assert not enumerate_lcp(two, np.zeros((3, 1)), np.ones(3)).unique


def polyhedron_ranges(M: np.ndarray, q: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Ranges over all complementary bases by linear programs, independent of vertices and rays."""
    n = len(q)
    low, high = np.full(len(C), inf), np.full(len(C), -inf)
    for bits in range(2**n):
        S_ = np.array([bits >> i & 1 for i in range(n)], dtype=bool)
        bounds = [(0, None if s else 0) for s in S_]
        given: dict[str, Any] = {"bounds": bounds}
        if S_.any():
            given |= {"A_eq": M[S_], "b_eq": -q[S_]}
        if (~S_).any():
            given |= {"A_ub": -M[~S_], "b_ub": q[~S_]}
        for i, c in enumerate(C):
            for sign in (1, -1):
                result = linprog(sign * c, **given)
                if result.status == 0:
                    low[i], high[i] = min(low[i], sign * result.fun), max(high[i], sign * result.fun)
                elif result.status == 3:
                    if sign == 1:
                        low[i] = -inf
                    else:
                        high[i] = inf
    return np.column_stack((low, high))


@pytest.mark.parametrize("seed", sample(range(10), range(30)))
def test_ranges_of_rank_deficient_problems_against_linear_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    rank = int(rng.integers(0, n))
    G = rng.integers(-2, 3, (n, rank)).astype(float)
    H = G if seed % 2 else rng.integers(-2, 3, (n, rank)).astype(float)
    M = G @ H.T
    z, w = rng.integers(0, 3, n).astype(float), rng.integers(0, 3, n).astype(float)
    w[z > 0] = 0.0
    q = w - M @ z  # so that a solution exists
    C = np.vstack((np.eye(n), rng.standard_normal((2, n))))
    found = enumerate_lcp(lcp(M, q))
    assert found.status is not S.NO_SOLUTION
    np.testing.assert_allclose(found.ranges(C), polyhedron_ranges(M, q, C), rtol=1e-7, atol=1e-7)
    R, D = scales(rng, n), scales(rng, n)
    scaled = enumerate_lcp(lcp(R[:, None] * M * D, R * q))
    assert (scaled.status, scaled.unique) == (found.status, found.unique)
    np.testing.assert_allclose(scaled.ranges(C * D), found.ranges(C), rtol=1e-8, atol=1e-8)


def test_symmetric_semidefinite_problems_determine_w() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        G = rng.standard_normal((n, int(rng.integers(1, n))))
        z, w = np.maximum(rng.standard_normal(n), 0), np.maximum(rng.standard_normal(n), 0)
        w[z > 0] = 0.0
        found = enumerate_lcp(lcp(G @ G.T, w - G @ (G.T @ z)))
        assert found.status is S.SOLVED
        np.testing.assert_allclose(found.observed[0], w, rtol=0, atol=1e-10 * (1 + np.abs(w).max()))


def test_three_redundant_contacts_of_a_box() -> None:
    J = np.array([[0, 1, -0.5], [0, 1, 0], [0, 1, 0.5]])
    M = np.diag([2.0, 2.0, 2.0 * 1.25 / 12])
    found = enumerate_lcp(lcp(J @ np.linalg.solve(M, J.T), [-9.81] * 3))
    assert found.status is S.SOLVED
    np.testing.assert_allclose(found.ranges(), [[0, 9.81], [0, 19.62], [0, 9.81]], atol=1e-12)


def test_enumeration_stops_at_its_limit(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(NotAccepted) as error:
        enumerate_lcp(lcp(np.eye(13), np.ones(13)))
    assert_sentence(error.value, "13")


@options(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 6),
    kind=st.sampled_from(["definite", "symmetric definite", "P"]),
    error=st.sampled_from([0.0, 1e-12, 1e-8, 1e-3, 1.0]),
    scaled=st.sampled_from(["no", "units", "rows"]),
)
def test_bounds_cover_the_error(seed: int, n: int, kind: str, error: float, scaled: str) -> None:
    rng = np.random.default_rng(seed)
    M = random_matrix(rng, kind, n)
    z = np.maximum(rng.standard_normal(n), 0)
    w = np.where(z > 0, 0.0, np.maximum(rng.standard_normal(n), 0))
    R = scales(rng, n) if scaled != "no" else np.ones(n)
    C = R if scaled == "units" else np.ones(n)
    M, z, w = R[:, None] * M * C, z / C, R * w
    problem = lcp(M, w - M @ z)
    candidate = np.maximum(z + error * rng.standard_normal(n) / C, 0)
    certificate = certify_lcp(problem, candidate)
    assert certificate.verdict is S.SOLVED
    assert certificate.unique
    d = 1 / np.sqrt(M.diagonal())
    # q = w - M z carries rounding of its own, which shifts the solution by so much:
    rounding = 1e-13 * np.linalg.cond(d[:, None] * M * d) * np.linalg.norm(z / d)
    assert np.linalg.norm((candidate - z) / d) <= certificate.error_bound + rounding
    if error == 0.0 and kind != "P":
        assert certificate.passed()
    if np.linalg.norm((candidate - z) / d) > 1e-6 * (np.linalg.norm(z / d) + np.linalg.norm(d * problem.q)):
        assert not certificate.passed()


def test_the_bounds_are_not_vacuous() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(1, 6))
        M = random_matrix(rng, "definite", n)
        d = 1 / np.sqrt(M.diagonal())
        A = d[:, None] * M * d
        z, error = np.abs(rng.standard_normal(n)), 1e-6 * rng.standard_normal(n)
        certificate = certify_lcp(lcp(M, -M @ z), z + error)
        # The natural map is Lipschitz continuous with 1 + ||A||.
        factor = (1 + np.linalg.norm(A, 2)) ** 2 / np.linalg.eigvalsh(0.5 * (A + A.T))[0]
        assert certificate.error_bound <= 1.01 * factor * np.linalg.norm(error / d)


def test_a_row_of_its_own_scale_is_not_hidden_by_the_others() -> None:
    problem = lcp(np.diag([1.0, 1e-12]), [-1, -1e-12])
    assert certify_lcp(problem, np.array([1.0, 1.0])).passed()
    assert not certify_lcp(problem, np.array([1.0, 0.0])).passed()
    small = lcp(np.eye(2), [-1, -1e-9])
    assert not certify_lcp(small, np.array([1.0, 0.0])).passed()


@pytest.mark.parametrize(
    ("M", "q", "z", "verdict", "passed"),
    [
        ([[-0.5]], [2], [0], S.MULTIPLE_SOLUTIONS, False),
        ([[-0.5]], [2], [4], S.MULTIPLE_SOLUTIONS, False),
        ([[-0.5]], [-2], [0], S.NO_SOLUTION, False),
        ([[1, 1], [1, 1]], [-1, -1], [0.25, 0.75], S.SOLVED, True),
        ([[1, 1], [1, 1]], [-1, -1], [0.25, 0.8], S.SOLVED, False),
        ([[1, -1], [-1, 1]], [-1, 1], [7.5, 6.5], S.SOLVED, True),
        ([[0, 1], [-1, 0]], [0, 0], [0, 1], S.ACCELERATION_NOT_UNIQUE, False),
        ([[0, 1], [1, 0]], [-1, -1], [1, 1], S.SOLVED, True),
        ([[0, 1], [1, 0]], [-1, -1], [1, 1.01], S.SOLVED, False),
        ([[1, 4], [0, 1]], [-1, 1], [1, 0], S.SOLVED, True),
    ],
)
def test_verdicts(M: Any, q: Any, z: Any, verdict: S, passed: bool) -> None:
    certificate = certify_lcp(lcp(M, q), np.array(z, dtype=float))
    assert certificate.verdict is verdict
    assert certificate.passed() == passed
    assert certificate.to_mapping()["verdict"] == str(verdict)


def test_large_problems_say_what_was_not_decided() -> None:
    rng = np.random.default_rng(5)
    n = 15
    unknown = np.eye(n)
    unknown[0, 1] = 4.0
    certificate = certify_lcp(lcp(unknown, -np.ones(n)), np.linalg.solve(unknown, np.ones(n)))
    assert certificate.verdict is None
    solution = go.solve(lcp(unknown, -np.ones(n) - 4 * np.eye(n)[0]), "lemke")
    assert "not decided" in solution.message
    G = rng.standard_normal((n, 3))
    z = np.maximum(rng.standard_normal(n), 0)
    flat = certify_lcp(lcp(G @ G.T, -G @ (G.T @ z)), z)
    assert flat.verdict is S.SOLVED
    assert flat.unique is None
    assert certify_lcp(lcp(-np.eye(n), -np.ones(n)), None).verdict is S.NO_SOLUTION


def test_polish_keeps_the_better_point() -> None:
    problem = lcp([[2, 1], [1, 2]], [-5, -6])
    np.testing.assert_allclose(polish(problem, np.array([1.3, 2.4])), [4 / 3, 7 / 3], rtol=1e-15)
    flat = lcp([[1, 1], [1, 1]], [-1, -1])
    z = polish(flat, np.array([0.3, 0.6]))
    np.testing.assert_allclose(z.sum(), 1.0, rtol=1e-15)


def contacts(seed: int) -> tuple[go.LCP, np.ndarray]:
    """Redundant contacts of a body on a slope, pulled along it only: q cancels to rounding noise."""
    rng = np.random.default_rng(seed)
    n, angle = int(rng.integers(2, 6)), rng.uniform(0, 2 * np.pi)
    normal = np.array([np.sin(angle), np.cos(angle)])
    J = np.column_stack((np.tile(normal, (n, 1)), rng.uniform(-1, 1, n)))
    if seed % 2:
        J[1] = -J[0]  # an opposite wall
    pull = 9.81 * np.array([normal[1], -normal[0], 0.0])
    units = scales(rng, n)
    A = units[:, None] * (J @ np.linalg.solve(np.diag([2, 2, 0.2]), J.T)) * units
    return go.LCP(A, units * (J @ pull)), units * (np.abs(J) @ np.abs(pull))


@pytest.mark.parametrize("seed", range(40))
def test_rounding_noise_in_q_decides_nothing(seed: int) -> None:
    problem, size = contacts(seed)
    assert np.abs(problem.q).max() <= 1e-14 * size.max()
    found = enumerate_lcp(problem, size=size)
    assert found.status is S.SOLVED
    assert (np.abs(found.observed[0]) <= 1e-12 * size).all()


def test_singular_basis_with_a_harmless_looking_inverse() -> None:
    """A sticking contact: the basis {lam_N, kappa_L} is exactly singular, but rounding gives it an inverse."""
    M = np.array([[0.18949122, 0.60273535, 0.0], [-1.40644068, 0.80367041, 1.0], [5.0, -1.0, 0.0]])
    q = np.array([-9.7628453, -0.09359425, 0.0])
    found = go.enumerate_lcp(go.LCP(M, q))
    assert found.status is go.Status.SOLVED
    assert found.unique
    z = found.points[0]
    assert np.abs(z * (M @ z + q)).max() <= 1e-10
    assert np.abs(z[:2] - np.linalg.solve(M[:2, :2], -q[:2])).max() <= 1e-10
