"""Contacts whose own blocks of W vanish or nearly do: what moves nothing, or runs away, is never called a solution."""

from __future__ import annotations

import numpy as np
import pytest
from samples import sample
from soundness import vanishing_contacts as vanishing

import gaussopt as go


def test_an_impulse_that_swallows_the_velocity_is_no_solution():
    problem = go.ConeComplementarity(np.zeros((3, 3)), np.array([-1.0, 0.5, 0.0]), np.array([0.5]))
    runaway = 6.504978840563443e17 * np.array([1.0, -0.5, 0.0])
    found = go.certify_cone(problem, runaway)
    assert not found.passed()
    assert not found.passed(1e-2)
    assert go.solve(problem, "extragradient").status is not go.Status.SOLVED


@pytest.mark.parametrize("own", [1e-12 * np.eye(3), [[0, 1e-3, 0], [-1e-3, 1e-13, 0], [0, 0, 1e-13]]])
def test_an_open_contact_that_hardly_moves_takes_no_impulse(own):
    """Its own unit of impulses, 3 kg over the trace of its block, would call 100 N s nothing."""
    W = np.block([[np.array(own), np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
    problem = go.ConeComplementarity(W, np.array([0.5, 0.0, 0.0, -1.0, 0.0, 0.0]), np.array([0.5, 0.5]))
    right = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    wrong = right + np.array([100.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert go.certify_cone(problem, right).passed()
    assert not go.certify_cone(problem, wrong).passed()


@pytest.mark.parametrize("times", sample([1], [1, 6]))
@pytest.mark.parametrize("solver", vanishing.solvers())
def test_answers_called_solved_are_solutions(solver, times):
    """By exact arithmetic; `soundness/vanishing_contacts.py` asks of 10,000 problems what this asks of a few."""
    source, solved = vanishing.problems(7), 0
    slow = solver in ("hybrid", "enumerate-cone", "prox", "admm", "extragradient", "nsn-fb", "clarabel")
    for _ in range(times * (5 if slow else 25)):
        problem = next(source)
        found = vanishing.ask(solver, problem, 300)
        if found is not None and found.status is go.Status.SOLVED:
            solved += 1
            assert not vanishing.refuted(problem, found.x), problem
    assert solved


def test_huge_impulses_along_directions_that_move_nothing_never_pass():
    """Whoever proposes them: in every problem made by hand, at sizes from 1 to 1e150."""
    rng, source = np.random.default_rng(41), vanishing.problems(8)
    for _ in range(300):
        problem = next(source)
        r = np.zeros(problem.n)
        for i in range(problem.k):
            way = np.array([1.0, *(rng.uniform(-0.7, 0.7, 2) * problem.mu[i])])
            r[3 * i : 3 * i + 3] = 10.0 ** rng.uniform(0, 150) * way
        if go.certify_cone(problem, r, existence=False).passed():
            assert not vanishing.refuted(problem, r), problem
