"""Pivoting kernels: equal to enumeration, warm as cold, compiled as plain, honest where there is nothing to find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.core.solver import make_solver
from gaussopt.lcp import enumerate_lcp
from gaussopt.lcp.pivoting import RAY, SOLVED, eliminate, solve_lcp

S = go.Status


def solved(M: Any, q: Any, guess: Any = None, path: bool = True) -> tuple[int, np.ndarray, np.ndarray]:
    q = np.array(q, dtype=float)
    n = len(q)
    M = np.array(M, dtype=float).reshape(n, n)
    active = np.zeros(n, np.int64) if guess is None else np.array(guess, dtype=np.int64)
    z, w, error = np.empty(n), np.empty(n), np.empty(n)
    code, _ = solve_lcp(M, q, active, z, w, error, 1000, path)
    return int(code), z, w


def violation(M: np.ndarray, q: np.ndarray, z: np.ndarray) -> float:
    """Natural residual by rows, relative to the terms of each."""
    size = np.abs(M) @ np.abs(z) + np.abs(q) + np.abs(z) + 1e-300
    return float((np.abs(np.minimum(z, M @ z + q)) / size).max(initial=0.0))


def made(seed: int, n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rank = max(1, n // 2) if kind == "redundant" else n
    A = rng.standard_normal((n, rank))
    M = A @ A.T
    if kind == "P":
        M = M + 0.1 * np.eye(n) + 2.0 * (B := rng.standard_normal((n, n))) - 2.0 * B.T
    if kind == "definite":
        M = M + 0.1 * np.eye(n)
    # Feasible by construction, also where M is singular: w = M z + q at a complementary pair.
    positive = rng.random(n) < 0.6
    z, w = np.where(positive, rng.random(n), 0.0), np.where(positive, 0.0, rng.random(n))
    scale = 10.0 ** rng.integers(-3, 4, n)  # contacts of different masses
    M = scale[:, None] * M * scale
    return M, scale * w - M @ (z / scale)


@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(["definite", "P", "redundant"]))
def test_every_solvable_problem_is_solved(seed: int, n: int, kind: str) -> None:
    M, q = made(seed, n, kind)
    code, z, w = solved(M, q)
    assert code == SOLVED
    assert (z >= 0).all()
    assert violation(M, q, z) <= 1e-11
    found = enumerate_lcp(go.LCP(M, q))
    unit = np.sqrt(M.diagonal())
    expected = found.representatives[0]  # w is determined, z too unless rows depend on each other
    size = np.abs(M) @ np.abs(z) + np.abs(q)
    assert (np.abs(w - (M @ expected + q)) <= 1e-7 * size.max() * np.maximum(unit, 1.0) + 1e-9 * size).all()
    if kind != "redundant":
        np.testing.assert_allclose(z * unit, expected * unit, rtol=0, atol=1e-7 * (1 + np.abs(z * unit).max()))


@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from(["definite", "P"]))
def test_warm_is_cold(seed: int, n: int, kind: str) -> None:
    M, q = made(seed, n, kind)
    _, cold, _ = solved(M, q)
    for guess in (np.ones(n), cold > 0, np.random.default_rng(seed).integers(0, 2, n)):
        code, warm, _ = solved(M, q, guess)
        assert code == SOLVED
        np.testing.assert_allclose(warm, cold, rtol=1e-9, atol=1e-12 * (1 + np.abs(cold).max()))


@pytest.mark.parametrize("feet", [3, 4, 8])
def test_a_table_with_too_many_feet(feet: int) -> None:
    angle = 2 * np.pi * np.arange(feet) / feet
    rows = np.column_stack((np.ones(feet), np.cos(angle), np.sin(angle)))
    for load in ([0.0, 0.0], [0.3, 0.1], [0.9, 0.0]):
        q = rows @ np.array([-9.81, *(-9.81 * np.array(load))])
        code, z, _ = solved(rows @ rows.T, q, np.ones(feet))
        assert code == SOLVED
        assert violation(rows @ rows.T, q, z) <= 1e-12


def test_what_has_no_solution_is_not_solved() -> None:
    # Two rows that contradict each other, and a Painleve state.
    assert solved([[1, -1], [-1, 1]], [-1, -1])[0] != SOLVED
    assert solved([[-1.0]], [-1.0])[0] == RAY
    assert go.solve(go.LCP(np.array([[-1.0]]), np.array([-1.0])), "principal-pivoting").status is S.NO_SOLUTION


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_nothing_false_is_called_solved(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    M, q = rng.integers(-3, 4, (n, n)).astype(float), rng.integers(-3, 4, n).astype(float)
    code, z, w = solved(M, q)
    if code == SOLVED:
        assert (z >= 0).all()
        assert violation(M, q, z) <= 1e-11
        assert (w >= -1e-9).all()


def test_without_a_path_only_sets_are_tried() -> None:
    assert solved([[0, 1], [-1, 0]], [-1, 1], path=False)[0] in (SOLVED, 1)
    assert solved([[2, 1], [1, 2]], [-5, -6], path=False)[0] == SOLVED


def test_elimination_reveals_the_rank() -> None:
    rng = np.random.default_rng(3)
    for rank in range(6):
        A = rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 5))
        assert eliminate(A, np.empty(5, np.int64), np.empty(5, np.int64), 5) == rank if rank else True


def test_a_start_saves_sets() -> None:
    M, q = made(5, 8, "definite")
    solver = make_solver("principal-pivoting")
    solver.setup(go.LCP(M, q))
    cold = solver.solve(None)
    assert cold.x is not None
    warm = solver.solve((cold.x, None))
    assert warm.iterations == 1 < cold.iterations
    np.testing.assert_allclose(warm.x, cold.x, rtol=1e-12)


def test_large_problems_go_to_lemke() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((80, 40))
    problem = go.LCP(A @ A.T, -np.abs(rng.standard_normal(80)) @ (A @ A.T) * 0.1 - 0.0)
    assert go.solve(problem, "principal-pivoting").status is S.SOLVED


PLAIN = """
import json, sys
import numpy as np
from gaussopt.jit.kernel import COMPILED
from gaussopt.lcp.pivoting import solve_lcp
assert not COMPILED
out = []
for M, q in json.load(sys.stdin):
    M, q = np.array(M), np.array(q)
    n = len(q)
    z, w, error = np.empty(n), np.empty(n), np.empty(n)
    code, pivots = solve_lcp(M, q, np.zeros(n, np.int64), z, w, error, 1000, True)
    out.append([int(code), int(pivots), z.tolist()])
print(json.dumps(out))
"""


def test_compiled_as_plain() -> None:
    problems = [made(seed, 1 + seed % 7, kind) for seed in range(12) for kind in ("definite", "P", "redundant")]
    given = json.dumps([[M.tolist(), q.tolist()] for M, q in problems])
    environment = {**os.environ, "GAUSSOPT_COMPILE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], input=given, env=environment, capture_output=True, text=True, check=True
    )
    for (M, q), (code, _, z) in zip(problems, json.loads(done.stdout), strict=True):
        ours, own, _ = solved(M, q)
        assert code == ours == SOLVED
        np.testing.assert_allclose(own, z, rtol=1e-10, atol=1e-13 * (1 + np.abs(own).max()))
