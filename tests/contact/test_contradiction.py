"""Proofs that no contact forces obey the laws, on steps whose modes can all be tried and on steps with solutions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import gaussopt as go
from gaussopt.contact.contradiction import contradictory
from gaussopt.contact.operator import ContactOperator

NONE, SOLVED = go.Status.NO_SOLUTION, go.Status.SOLVED


def arms(rng: np.random.Generator, rests: int, slides: int, n: int = 6) -> go.StepData:
    """Contacts in general position on n coordinates: the first rest, the others slide, all with much friction."""
    k = rests + slides
    v_T = rng.normal(size=(k, 2))
    v_T[:rests] = 0.0
    given = {"M": np.diag(rng.uniform(0.5, 2.0, n)), "Q": 5 * rng.normal(size=n), "mu": rng.uniform(0.5, 2.0, k),
             "J_N": rng.normal(size=(k, n)), "zeta_N": rng.normal(size=k), "J_T": rng.normal(size=(k, 2, n)),
             "zeta_T": rng.normal(size=(k, 2)), "v_T": v_T}  # fmt: skip
    return go.StepData.from_mapping(given)


def test_a_proof_is_found_exactly_where_no_mode_is_possible() -> None:
    """Contacts that slide are open or closed, and enumeration tries all cases."""
    rng, seen = np.random.default_rng(2), Counter[bool]()
    for _ in range(60):
        op = ContactOperator.of(arms(rng, 0, 4))
        impossible = not op.complementarity.enumerated.solutions
        assert contradictory(op) == impossible
        seen[impossible] += 1
    assert min(seen[True], seen[False]) >= 5


def test_no_proof_is_found_where_contacts_that_rest_and_slide_have_forces() -> None:
    """The forces come first: each contact is open, sticks, or begins to slip against its friction."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        step = arms(rng, 3, 3)
        lam_N, sticks = rng.uniform(0.1, 1.0, 6) * rng.integers(0, 2, 6), rng.integers(0, 2, 3)
        angle, share = rng.uniform(0, 2 * np.pi, 3), np.where(sticks, rng.uniform(0, 1, 3), 1.0)
        lam_T = step.sigma * (step.mu * lam_N)[:, None]
        along = np.column_stack((np.cos(angle), np.sin(angle)))
        lam_T[:3] = (share * step.mu[:3] * lam_N[:3])[:, None] * along
        a = np.linalg.solve(step.M, step.Q + step.J_N.T @ lam_N + np.einsum("kdn,kd->n", step.J_T, lam_T))
        s = np.where(sticks[:, None], 0.0, -rng.uniform(0.1, 1.0, (3, 1)) * along)
        zeta_N = np.where(lam_N > 0, 0.0, rng.uniform(0, 1, 6)) - step.J_N @ a
        zeta_T = step.zeta_T.copy()
        zeta_T[:3] = s - step.J_T[:3] @ a
        made = replace(step, zeta_N=zeta_N, zeta_T=zeta_T)
        assert not contradictory(ContactOperator.of(made))


def test_contacts_that_just_stay_closed_without_forces_are_no_contradiction() -> None:
    """All gap accelerations are zero but for rounding, which a nearly singular mass matrix makes larger."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        step, root = arms(rng, 1, 3, n=3), rng.normal(size=(3, 3))
        M = root @ root.T + 1e-6 * np.eye(3)
        made = replace(step, M=M, zeta_N=-step.J_N @ np.linalg.solve(M, step.Q), mu=np.full(4, 10.0))
        assert not contradictory(ContactOperator.of(made))


def slides(rests: int) -> go.StepData:
    """Two slides whose tips their own friction pushes on and the other's force lifts, beside 13 balls on the floor."""
    n = 2 + 3 * 13
    J_N, J_T, v_T, Q = np.zeros((15, n)), np.zeros((15, 2, n)), np.zeros((15, 2)), np.zeros(n)
    J_N[:2, :2], J_T[[0, 1], 0, [0, 1]], v_T[:2, 0], Q[:2] = [[-1.0, 0.25], [0.25, -1.0]], 3.0, -0.25, 0.125
    for i in range(2, 15):
        at = 2 + 3 * (i - 2)
        J_N[i, at], J_T[i, 0, at + 1], J_T[i, 1, at + 2], Q[at] = 1.0, 1.0, 1.0, -9.81
        v_T[i, 1] = 0.0 if i < 2 + rests else 0.25
    given = {"M": np.eye(n), "Q": Q, "J_N": J_N, "zeta_N": np.zeros(15), "J_T": J_T, "zeta_T": np.zeros((15, 2)),
             "v_T": v_T, "mu": [1.0] * 15}  # fmt: skip
    return go.StepData.from_mapping(given)


@pytest.mark.parametrize("rests", [0, 5])
@pytest.mark.parametrize("pair", [(), ("coulomb-soccp", "hybrid")])
def test_contacts_that_no_forces_keep_from_closing_together_prove_that_there_is_no_solution(
    rests: int, pair: tuple[str, ...]
) -> None:
    """There are too many modes to try. All numbers are powers of two, so that the sums are exact."""
    step = slides(rests)
    answer = go.solve_step(step, *pair)
    assert answer.status is NONE
    assert answer.certificate.contact.reason == "contradiction"
    assert "Whichever contacts are open" in answer.message
    response = step.J_N[:2] @ (step.J_N[:2] + step.mu[:2, None] * np.einsum("kdn,kd->kn", step.J_T, step.sigma)[:2]).T
    assert (response.max(axis=1) > 0).all()  # neither contact is jammed by itself
    assert (response.sum(axis=0) < 0).all()  # but whatever pushes, the sum of both gap accelerations falls
    assert (step.J_N[:2] @ step.Q).sum() < 0


def test_slides_with_less_friction_are_held() -> None:
    answer = go.solve_step(replace(slides(5), mu=np.full(15, 0.125)))
    assert answer.status is SOLVED
    assert answer.a[:2] == pytest.approx(0.0, abs=1e-9)
