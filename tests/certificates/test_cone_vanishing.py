"""Contacts whose own blocks of W vanish or nearly do: impulses that run away are never called a solution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages

CLASSES = {name: registry.load("solver", name) for name in registry.names("solver")}
SOLVERS = [n for n, c in CLASSES.items() if go.ConeComplementarity in c.accepts and not missing_packages(c)]


def missed(problem, r):
    """How far u~ is outside K* and r outside K, beside |q| and beside |r| with rho |q|: u in exact numbers."""
    x = [Fraction(v) for v in r.tolist()]
    W, q = problem.W.tolist(), problem.q.tolist()
    u = np.array([
        float(sum((Fraction(w) * y for w, y in zip(row, x, strict=True)), Fraction(b)))
        for row, b in zip(W, q, strict=True)
    ]).reshape(-1, 3)  # fmt: skip
    p = r.reshape(-1, 3)
    # u~ = u + mu |u_T| e_N is in K* where mu |u_T| <= u_N + mu |u_T|: where no contact closes further.
    closing = np.maximum(-u[:, 0], 0.0).max()
    outside = np.maximum(np.hypot(p[:, 1], p[:, 2]) - problem.mu * p[:, 0], -p[:, 0]).max()
    size = np.abs(problem.q).max()
    return closing / size, max(outside, 0.0) / max(np.abs(r).max(), 1e-300)


def made(rng):
    """One to three contacts; some blocks vanish, some are smaller by up to sixteen powers of ten."""
    k = int(rng.integers(1, 4))
    B = rng.standard_normal((int(rng.integers(1, 3 * k + 1)), 3 * k))
    size = np.repeat(rng.choice([0.0, 1e-8, 1e-5, 1e-2, 1.0], k), 3)
    B = B * size
    mu = rng.choice([0.0, 0.3, 1.0], k)
    return go.ConeComplementarity(B.T @ B, rng.standard_normal(3 * k), mu)


def test_an_impulse_that_swallows_the_velocity_is_no_solution():
    problem = go.ConeComplementarity(np.zeros((3, 3)), np.array([-1.0, 0.5, 0.0]), np.array([0.5]))
    runaway = 6.504978840563443e17 * np.array([1.0, -0.5, 0.0])
    found = go.certify_cone(problem, runaway)
    assert not found.passed()
    assert not found.passed(1e-2)
    assert go.solve(problem, "extragradient").status is not go.Status.SOLVED


@pytest.mark.parametrize("solver", SOLVERS)
def test_answers_called_solved_close_no_contact(solver):
    rng, solved = np.random.default_rng(40), 0
    slow = solver in ("hybrid", "enumerate-cone", "prox", "admm", "extragradient", "clarabel")
    for _ in range(6 if slow else 25):
        problem = made(rng)
        try:
            found = go.solve(problem, solver)
        except go.NotAccepted:
            continue
        if found.status is go.Status.SOLVED:
            solved += 1
            closing, outside = missed(problem, found.x)
            assert closing <= 1e-6, problem
            assert outside <= 1e-6, problem
    assert solved or slow


def test_huge_impulses_along_directions_that_move_nothing_never_pass():
    """Whoever proposes them: in every problem made by hand, at sizes from 1 to 1e150."""
    rng = np.random.default_rng(41)
    for _ in range(300):
        problem = made(rng)
        r = np.zeros(problem.n)
        for i in range(problem.k):
            way = np.array([1.0, *(rng.uniform(-0.7, 0.7, 2) * problem.mu[i])])
            r[3 * i : 3 * i + 3] = 10.0 ** rng.uniform(0, 150) * way
        if go.certify_cone(problem, r, existence=False).passed():
            closing, outside = missed(problem, r)
            assert max(closing, outside) <= 1e-6
