"""Sparse saddle-point systems of every kind: trees, blocks, hubs, singular masses, dependent rows, contradictions."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gaussopt as go
from gaussopt.certificates import certify
from gaussopt.core.step_data import parts, sparse_step
from gaussopt.linalg import sparse_factors, sparse_saddle_point
from gaussopt.linalg.sparse_saddle_point import Saddle
from gaussopt.modelling.chain import Chain

SOLVED, Status = go.Status.SOLVED, go.Status


def step_of(M: Any, J: Any, Q: Any = None, gamma: Any = None) -> go.StepData:
    rng = np.random.default_rng(5)
    n, m = M.shape[0], J.shape[0]
    data = {
        "M": sparse.csr_array(M), "J": sparse.csr_array(J), "Q": rng.standard_normal(n) if Q is None else Q,
        "gamma": rng.standard_normal(m) if gamma is None else gamma,
    }  # fmt: skip
    return go.StepData.from_mapping(data)


def dense(step: go.StepData) -> go.StepData:
    M, J = parts(step)
    return go.StepData.from_mapping({"M": M.toarray(), "J": J.toarray(), "Q": step.Q, "gamma": step.gamma})


def tied(edges: list[tuple[int, int]], bodies: int, block: int = 2) -> go.StepData:
    """Bodies with dense blocks of mass, two random rows an edge; body -1 is the ground."""
    rng = np.random.default_rng(bodies)
    root = rng.standard_normal((bodies, block, block))
    M = sparse.block_diag(list(root @ root.transpose(0, 2, 1) + np.eye(block)))
    J = np.zeros((2 * len(edges), block * bodies))
    for e, pair in enumerate(edges):
        for i in pair:
            if i >= 0:
                J[2 * e : 2 * e + 2, block * i : block * (i + 1)] = rng.standard_normal((2, block))
    return step_of(M, J)


TREE = [((i - 1) // 2, i) for i in range(1, 64)]
STEPS = {
    "chain": tied([(i - 1, i) for i in range(30)], 30, 3),
    "tree": tied(TREE, 64, 3),
    "spatial tree": tied(TREE[:20], 21, 6),
    "large blocks": tied([(i - 1, i) for i in range(5)], 5, 14),
    "hub": tied([(0, i) for i in range(1, 150)], 150, 3),
    "ring": tied([(i, (i + 1) % 20) for i in range(20)], 20, 3),
    "no rows": tied([], 4, 3),
}


@pytest.fixture(params=["qdldl", "superlu"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "superlu":
        monkeypatch.setattr(sparse_factors.importlib.util, "find_spec", lambda name: None)
    elif importlib.util.find_spec("qdldl") is None:
        pytest.skip("qdldl is not installed")
    monkeypatch.setattr(sparse_saddle_point, "NARROW", 4)  # so that trees of this size are worth another order
    monkeypatch.setattr(sparse_saddle_point, "BAND_ADVANTAGE", 1)
    monkeypatch.setattr(sparse_saddle_point, "structure_of", lru_cache(maxsize=4)(sparse_saddle_point.Structure))
    return str(request.param)


@pytest.mark.parametrize("name", STEPS)
def test_answers_and_certificates_are_the_dense_ones(name: str, backend: str) -> None:
    step = STEPS[name]
    answer, exact = go.solve_step(step, "gauss", "sparse-kkt"), go.solve_step(dense(step), "gauss", "kkt")
    assert answer.status is SOLVED, answer.message
    assert answer.a is not None
    assert exact.a is not None
    np.testing.assert_allclose(answer.a, exact.a, atol=1e-10 * (1 + np.abs(exact.a).max()))
    off = answer.a + 1e-3 * np.cos(np.arange(step.n))
    ours, theirs = certify(step, off, answer.lam), certify(dense(step), off, answer.lam)
    for what in ("error_bound", "error_norm", "constraint_residual", "force_residual", "norm_a"):
        assert getattr(ours, what) == pytest.approx(getattr(theirs, what), rel=1e-4, abs=1e-12), what
    assert ours.forces_unique == theirs.forces_unique
    assert not ours.passed()
    best = certify(step, answer.a).lam
    np.testing.assert_allclose(best, exact.certificate.lam, atol=1e-9 * (1 + np.abs(best).max(initial=0.0)))


def test_what_is_eliminated_and_in_which_order(backend: str) -> None:
    kinds = {}
    for name, step in STEPS.items():
        saddle = Saddle.of(*parts(step))
        assert saddle is not None
        kinds[name] = (saddle.regular, saddle.structure.half_band > 0)
    assert kinds["chain"] == (True, True)
    assert kinds["tree"] == (True, False)
    assert kinds["hub"][0] is False  # its Schur complement would be full


def test_factors_of_trees_stay_sparse(backend: str) -> None:
    fill = []
    for bodies in (127, 1023):
        saddle = Saddle.of(*parts(tied([((i - 1) // 2, i) for i in range(1, bodies)], bodies, 3)))
        assert saddle is not None
        fill.append(saddle.factor.fill / bodies)
    assert fill[1] <= 1.1 * fill[0]


def test_updates_take_new_numbers(backend: str) -> None:
    from gaussopt.solving.step_solver import StepSolver

    for name in ("chain", "tree", "hub"):
        driver = StepSolver("gauss", "sparse-kkt")
        for factor in (1.0, 2.0, 0.5):
            _, J = parts(STEPS[name])
            scaled = J.copy()
            scaled.data = scaled.data * (1.0 + 0.1 * factor * np.sin(np.arange(len(J.data))))
            step = replace(STEPS[name], J=scaled)
            answer = driver.solve(step)
            assert answer.status is SOLVED, answer.message
            exact = go.solve_step(dense(step), "gauss", "kkt").a
            np.testing.assert_allclose(answer.a, exact, atol=1e-9 * (1 + np.abs(exact).max()))


def test_redundant_rows_leave_forces_open(backend: str) -> None:
    M, J = parts(STEPS["chain"])
    twice, gamma = sparse.vstack((J, 2 * J[:4])), np.concatenate((STEPS["chain"].gamma, 2 * STEPS["chain"].gamma[:4]))
    step = step_of(M, twice, STEPS["chain"].Q, gamma)
    answer = go.solve_step(step, "gauss", "sparse-kkt")
    assert answer.status is SOLVED, answer.message
    assert not answer.forces_unique
    np.testing.assert_allclose(answer.a, go.solve_step(STEPS["chain"], "gauss", "sparse-kkt").a, atol=1e-9)
    contrary = replace(step, gamma=np.concatenate((gamma[:-1], [gamma[-1] + 1e-3])))
    assert go.solve_step(contrary, "gauss", "sparse-kkt").status is Status.INFEASIBLE


def test_coordinates_without_mass_are_held_by_rows(backend: str) -> None:
    M, J = parts(STEPS["chain"])
    bare = sparse.block_diag((M, sparse.csr_array((1, 1))))
    row = sparse.csr_array(([1.0, -2.0], ([0, 0], [0, step_size := M.shape[0]])), shape=(1, step_size + 1))
    rows = sparse.vstack((sparse.hstack((J, sparse.csr_array((J.shape[0], 1)))), row))
    Q, gamma = np.append(STEPS["chain"].Q, 0.7), np.append(STEPS["chain"].gamma, 0.3)
    step = step_of(bare, rows, Q, gamma)
    answer, exact = go.solve_step(step, "gauss", "sparse-kkt"), go.solve_step(dense(step), "gauss", "kkt")
    assert answer.status is SOLVED, answer.message
    np.testing.assert_allclose(answer.a, exact.a, atol=1e-9)
    assert answer.certificate.singular_mass
    loose = sparse.hstack((J, sparse.csr_array((J.shape[0], 1))))
    pushed, idle = step_of(bare, loose, Q, gamma[:-1]), step_of(bare, loose, np.append(Q[:-1], 0.0), gamma[:-1])
    assert go.solve_step(pushed, "gauss", "sparse-kkt").status is Status.UNBOUNDED
    assert go.solve_step(idle, "gauss", "sparse-kkt").status is Status.ACCELERATION_NOT_UNIQUE


def test_what_cannot_be_resolved_does_not_pass(backend: str) -> None:
    # Two rows that differ by 1e-7: neither dependent nor safely independent for factors of double precision.
    M, J = parts(STEPS["chain"])
    near = J[:1].copy()
    near.data = near.data * (1.0 + 1e-7 * np.arange(len(near.data)))
    step = step_of(M, sparse.vstack((J, near)), STEPS["chain"].Q, np.append(STEPS["chain"].gamma, 1.0))
    answer = go.solve_step(step, "gauss", "sparse-kkt")
    if answer.status is SOLVED:  # then it must be right
        exact = go.solve_step(dense(step), "gauss", "kkt")
        assert exact.a is not None
        assert answer.a is not None
        assert np.abs(answer.a - exact.a).max() <= 1e-5 * np.abs(exact.a).max()
    else:
        assert answer.status is Status.INACCURATE


def test_sparse_step_without_state_has_none() -> None:
    M, J = parts(STEPS["ring"])
    step = sparse_step(M, np.zeros(60), np.zeros(60), J, np.zeros(40), 0.0, None, None)
    assert step.q is None
    assert step.finite()


def pair(closeness: float, miss: float = 0.0) -> go.StepData:
    """Three rows of the chain's step and their sum, but for a little."""
    M, J = parts(STEPS["chain"])
    rng = np.random.default_rng(2)
    last = sparse.csr_array(
        J[[3]] + J[[7]] - 2 * J[[11]] + closeness * sparse.csr_array(rng.standard_normal((1, J.shape[1])))
    )
    g = STEPS["chain"].gamma
    return step_of(M, sparse.vstack((J, last)), STEPS["chain"].Q, np.append(g, g[3] + g[7] - 2 * g[11] + miss))


def test_contradicting_rows_are_named_as_those_of_a_dense_step(backend: str) -> None:
    step = pair(0.0, 1e-3)
    found, expected = go.solve_step(step, "gauss", "sparse-kkt"), go.solve_step(dense(step), "gauss", "kkt")
    assert found.status is expected.status is Status.INFEASIBLE
    assert "is 1 x row 4 + 1 x row 8 + -2 x row 12, but gamma differs by 0.001" in found.message
    assert found.message == expected.message


@pytest.mark.parametrize("closeness", [1e-12, 1e-10, 1e-8])
def test_nearly_dependent_rows_are_named_and_their_step_does_not_pass(backend: str, closeness: float) -> None:
    """As independent rows they ask for another acceleration than as dependent ones."""
    step = pair(closeness)
    for answer in (go.solve_step(step, "gauss", "sparse-kkt"), go.solve_step(dense(step), "gauss", "kkt")):
        if answer.status is SOLVED:
            assert answer.forces_unique
            continue
        assert answer.status is Status.INACCURATE
        assert "4, 8, 12, 61 of J nearly depend on each other" in answer.message
        assert "kkt" not in answer.message


def test_entries_that_happen_to_be_zero_keep_their_places(backend: str) -> None:
    """The rows of a folded chain depend on each other, and some entries are zero where it lies level."""
    chain = Chain(2, end=(0.0, 0.0))
    before: Saddle | None = None
    for angle in (0.0, 1e-3, 0.0, 0.4, 0.5 * np.pi):
        step = chain.system.evaluate(0.0, *chain.state(np.array([angle, angle + np.pi])))
        before, fresh = Saddle.of(*parts(step), before), Saddle.of(*parts(step))
        assert before is not None
        assert fresh is not None
        assert not fresh.regular
        f, g = np.sin(np.arange(6.0)), parts(step)[1] @ np.cos(np.arange(6.0))
        np.testing.assert_allclose(before.solve(f, g, 1e-8).x, fresh.solve(f, g, 1e-8).x, atol=1e-6)
    q, v = chain.state(np.array([0.0, np.pi]))
    motion = go.simulate(chain.system, q0=q, v0=v, dt=0.01, t_end=0.3, step_folder=None)
    assert motion.status is SOLVED, motion.message
    assert not motion.forces_unique.any()
