"""Contact problems built to measure, and what keeps many contacts in memory that grows with their number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import gaussopt as go
from gaussopt.cone.sweeps import Sweeps
from gaussopt.core.delassus import DelassusProduct, formed
from gaussopt.linalg.cones import residual
from gaussopt.modelling.contact_piles import box_wall, random_contacts, sphere_pile

MANY = 130
"""Contacts of an operator that is not kept dense."""


@pytest.mark.parametrize("make", [sphere_pile, box_wall, random_contacts])
def test_a_problem_has_the_contacts_that_were_asked_for(make: object) -> None:
    for contacts in (1, 7, 160):
        given = make(contacts, mu=0.3)  # type: ignore[operator]
        assert given.k == given.local.k == (-(-contacts // 4) * 4 if make is box_wall else contacts)
        assert (given.local.q[::3] < 0).any()


def test_bodies_push_each_other_alike() -> None:
    for given in (sphere_pile(MANY), box_wall(MANY)):
        H = np.asarray(sparse.csr_array(given.H).toarray())
        bodies = H.reshape(-1, 6, H.shape[1])
        touched = bodies.any(axis=1).sum(axis=0)
        inner = touched == 2
        assert inner.sum() > MANY
        assert np.abs(bodies[:, :3].sum(axis=0))[:, inner].max() <= 1e-15  # impulses add up to nothing
        assert np.allclose((bodies[:, :3] ** 2).sum(axis=1).sum(axis=0), touched)


def test_the_rank_is_what_was_asked_for() -> None:
    W = random_contacts(40, deficiency=11).local.W
    assert np.linalg.matrix_rank(np.asarray(W), tol=1e-9) == 120 - 11


def test_blocks_factors_and_a_dense_operator_are_one() -> None:
    problem, r = sphere_pile(MANY, speed=0.5).local, np.random.default_rng(1).normal(size=3 * MANY)
    assert isinstance(problem.W, DelassusProduct)
    blocks = go.ConeComplementarity(formed(problem.W), problem.q, problem.mu)
    full = go.ConeComplementarity(problem.W.toarray(), problem.q, problem.mu)
    assert np.allclose(problem.W @ r, full.W @ r, rtol=1e-13, atol=1e-9)
    assert residual(problem, r) == pytest.approx(residual(full, r), rel=1e-12)
    swept = []
    for given in (problem, blocks, full):
        sweeps = Sweeps(given)
        sweeps.run(20)
        swept.append(sweeps.r)
    assert np.allclose(swept[0], swept[2], rtol=1e-9, atol=1e-15)
    assert np.allclose(swept[1], swept[2], rtol=1e-9, atol=1e-15)
    again = go.ConeComplementarity.from_mapping(blocks.to_mapping())
    assert np.array_equal(again.W.toarray(), blocks.W.toarray())  # type: ignore[attr-defined]
    assert go.ConeComplementarity.from_mapping(vars(full)).sparse


def test_threads_do_not_change_an_answer() -> None:
    problem = sphere_pile(MANY, speed=0.5).local
    one, two = (Sweeps(problem, threads) for threads in (1, 2))
    for sweeps in (one, two):
        sweeps.run(30)
    assert np.array_equal(one.r, two.r)
    assert residual(problem, one.r) < 1e-2


@pytest.mark.parametrize("make", [sphere_pile, box_wall])
def test_what_stands_stays_at_rest(make: object) -> None:
    problem = make(MANY).local  # type: ignore[operator]
    found = go.solve(problem, "hybrid")
    assert found.status is go.Status.SOLVED
    assert found.certificate["residual"] <= 1e-12
    assert found.x is not None
    assert np.linalg.norm(problem.u(found.x)) <= 1e-9 * np.linalg.norm(problem.q)


def test_many_contacts_are_read_and_written(tmp_path: Path) -> None:
    given = sphere_pile(MANY, speed=0.5)
    for problem in (given, given.local):
        go.write_fclib(tmp_path / "pile.hdf5", problem)
        again = go.read_problem(tmp_path / "pile.hdf5")
        local = again.local if isinstance(again, go.GlobalContacts) else again
        assert isinstance(local, go.ConeComplementarity)
        assert local.sparse
        r = np.ones(3 * MANY)
        assert np.allclose(local.u(r), given.local.u(r), rtol=1e-12, atol=1e-12)


def test_what_needs_a_dense_operator_says_so() -> None:
    with pytest.raises(go.NotAccepted, match="use hybrid or nsgs"):
        go.solve(sphere_pile(MANY).local, "enumerate-cone")
    with pytest.raises(go.BadInput, match="deficiency is 400"):
        random_contacts(100, deficiency=400)
