"""Sparse matrices of steps, systems and programs: what is accepted, and what is said of what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gaussopt as go
from gaussopt.core.programs import QP
from gaussopt.core.sparse_arrays import Pattern, as_sparse, block_layout, check_sparse_mass, from_triplets, to_triplets
from gaussopt.kinds import files as problem_files
from gaussopt.linalg.redundancy import rank_report
from gaussopt.modelling.chain import Chain

RNG = np.random.default_rng(1)


def blocks_of(sizes: list[int]) -> np.ndarray:
    """A block diagonal, positive definite matrix."""
    parts = [(lambda r: r @ r.T + np.eye(b))(RNG.standard_normal((b, b))) for b in sizes]
    return sparse.block_diag(parts).toarray()


def pendulums(mass: Any, J: Any = None) -> go.System:
    """Two points with a constraint between them."""
    rows = sparse.coo_array(([1.0, -1.0], ([0, 0], [1, 3])), shape=(1, 4)) if J is None else J
    return go.System(mass, np.array([0.0, -1.0, 0.0, -2.0]), lambda t, q, v: (rows, [0.0]), name="pair")


def test_any_format_becomes_canonical() -> None:
    twice = sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    for value in (twice, twice.tocsc(), sparse.csr_matrix(twice), twice.toarray()):
        A = as_sparse("A", value, (2, 2))
        assert A.has_canonical_format
        np.testing.assert_array_equal(A.toarray(), [[0, 3], [5, 0]])
    assert len(twice.data) == 3  # what was given stays as it was


def test_a_step_is_sparse_through_and_through() -> None:
    step = pendulums(sparse.diags_array(np.ones(4))).evaluate(0.0, np.zeros(4), np.zeros(4))
    assert step.sparse
    assert step.finite()
    assert (step.n, step.m, step.k) == (4, 1, 0)
    answer = go.solve_step(step, "gauss", "sparse-kkt")
    np.testing.assert_allclose(answer.a, [0, -1.5, 0, -1.5], atol=1e-14)
    np.testing.assert_allclose(answer.lam, [-0.5], atol=1e-14)


def test_dense_rows_beside_a_sparse_mass_become_sparse() -> None:
    step = pendulums(sparse.eye_array(4), np.array([[0.0, 1.0, 0.0, -1.0]])).evaluate(0.0, np.zeros(4), np.zeros(4))
    assert step.sparse
    free = go.System(sparse.eye_array(2), np.ones(2)).evaluate(0.0, np.zeros(2), np.zeros(2))
    assert free.sparse
    np.testing.assert_array_equal(go.solve_step(free, "gauss", "sparse-kkt").a, [1.0, 1.0])


@pytest.mark.parametrize(
    ("mass", "words"),
    [
        (sparse.eye_array(3), r"shape \(3, 3\), expected \(4, 4\)"),
        (sparse.diags_array([1.0, np.nan, 1.0, 1.0]), r"\[1, 1\] is nan"),
        (sparse.diags_array([1.0, 1.0, -2.0, 1.0]), r"indefinite: entry \[2, 2\] is -2"),
        (sparse.csr_array(np.eye(4) + 0.5 * np.eye(4, k=1)), "not symmetric"),
        (sparse.csr_array(np.kron(np.eye(2), [[1.0, 2.0], [2.0, 1.0]])), r"block of the coordinates \[0, 1\]"),
    ],
)
def test_what_is_no_mass_matrix_is_named(mass: Any, words: str) -> None:
    with pytest.raises(go.BadInput, match=words):
        pendulums(mass).evaluate(0.0, np.zeros(4), np.zeros(4))
    with pytest.raises(go.BadInput, match=words):
        pendulums(lambda t, q, v: mass).evaluate(0.0, np.zeros(4), np.zeros(4))


def test_a_mass_matrix_of_one_large_block_is_refused() -> None:
    n = 100
    full = sparse.csr_array(np.eye(n) + 0.01)
    with pytest.raises(go.BadInput, match="couples 100 coordinates"):
        check_sparse_mass(full)


def test_bad_rows_are_named_with_their_state() -> None:
    J = sparse.coo_array(([1.0, np.inf], ([0, 0], [1, 3])), shape=(1, 4))
    with pytest.raises(go.BadInput, match=r"equality \(J\) of 'pair'\[0, 3\] is inf.*at t = 0"):
        pendulums(sparse.eye_array(4), J).evaluate(0.0, np.zeros(4), np.zeros(4))
    with pytest.raises(go.BadInput, match="contacts need a dense M"):
        go.System(sparse.eye_array(1), [0.0], contacts=lambda t, q, v: {"g_N": q}).evaluate(0.0, [1.0], [0.0])


def test_blocks_are_found_wherever_they_lie() -> None:
    M = blocks_of([1, 3, 2, 3])
    order = RNG.permutation(len(M))
    shuffled = sparse.csr_array(M[np.ix_(order, order)])
    seen = np.zeros_like(M)
    for blocks in block_layout(Pattern.of(shuffled)):
        for i, block in zip(blocks.members, blocks.dense(shuffled.data), strict=True):
            seen[np.ix_(i, i)] = block
    np.testing.assert_array_equal(seen, shuffled.toarray())
    np.testing.assert_array_equal(check_sparse_mass(shuffled).toarray(), shuffled.toarray())


def test_patterns_are_equal_by_places_not_numbers() -> None:
    A = sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    assert Pattern.of(A) == Pattern.of(sparse.csr_array(5 * A))
    assert Pattern.of(A) != Pattern.of(sparse.csr_array(A.T))


def test_steps_and_programs_survive_a_file(tmp_path: Path) -> None:
    chain = Chain(4)
    step = chain.system.evaluate(0.0, *chain.arc(1.0))
    file = tmp_path / "step.json"
    file.write_text(json.dumps(step.to_mapping()), encoding="utf-8")
    again = problem_files.load(file)
    assert isinstance(again, go.StepData)
    assert again.sparse
    assert again.to_mapping() == step.to_mapping()
    program = go.formulate(step, "gauss")
    assert isinstance(program, QP)
    read = QP.from_mapping(json.loads(json.dumps(program.to_mapping())))
    assert read.sparse
    assert read.pattern == program.pattern
    A = sparse.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(from_triplets("A", to_triplets(A), A.shape).toarray(), A.toarray())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"M": {"row": [0]}}, "M is no sparse matrix"),
        ({"J_N": [[1.0, 0.0]]}, "need dense ones"),
        ({"gamma": None}, "'J' is given without 'gamma'"),
        ({"J": None}, "'gamma' is given without 'J'"),
        ({"gamma": [1.0, 2.0]}, "gamma has shape"),
    ],
)
def test_sparse_steps_from_elsewhere_are_checked(change: dict[str, Any], words: str) -> None:
    data = {"M": sparse.eye_array(2), "Q": [1.0, 0.0], "J": sparse.csr_array([[1.0, 1.0]]), "gamma": [0.0]}
    assert go.solve_step(go.StepData.from_mapping(data), "gauss", "sparse-kkt").status is go.Status.SOLVED
    with pytest.raises(go.BadInput, match=words):
        go.StepData.from_mapping({**data, **change})


def test_sparse_programs_are_solved_and_certified() -> None:
    chain = Chain(30)
    step = chain.system.evaluate(0.0, *chain.arc(1.0))
    for name in ("gauss", "lagrange"):
        solution = go.solve(go.formulate(step, name), "sparse-kkt")
        assert solution.status is go.Status.SOLVED, solution.message
        assert solution.x is not None
    qp = go.formulate(step, "gauss")
    assert isinstance(qp, QP)
    best = go.solve(qp, "sparse-kkt")
    assert best.certificate["error_bound"] <= 1e-12
    assert best.x is not None
    from gaussopt.certificates.qp import certify_qp

    assert not certify_qp(qp, best.x + 1e-3).passed()
    assert certify_qp(qp, best.x).passed()  # duals are found where none are given
    wider = QP.from_mapping({**qp.to_mapping(), "u": [float(x) + (i == 1) for i, x in enumerate(qp.u)]})
    assert wider.sparse
    assert go.solve(wider, "clarabel").status is go.Status.SOLVED


@pytest.mark.parametrize("formulation", ["gauss", "lagrange"])
def test_massless_coordinates_and_redundant_rows(formulation: str) -> None:
    """What is solved densely is solved sparsely, in units that span four decades."""
    rng, solved = np.random.default_rng(11), 0
    for k in range(120):
        n = int(rng.integers(2, 10))
        J = rng.normal(size=(int(rng.integers(1, n + 1)), n)) * (rng.random(n) < 0.8)
        J = np.vstack((J, 2.0 * J[:1] - J[-1:])) if k % 3 == 0 else J
        unit = 10.0 ** rng.integers(-2, 3, n)
        M = np.diag(rng.uniform(0.1, 5.0, n) * (rng.random(n) < 0.7) / unit**2)
        numbers = {"M": M, "Q": rng.normal(size=n) / unit, "J": J / unit, "gamma": J @ rng.normal(size=n)}
        if k % 6 == 0:
            numbers["gamma"][-1] += 0.1  # contradicts the rows it depends on
        dense = go.solve_step(go.StepData.from_mapping({"kind": "step", **numbers}), formulation, "kkt")
        numbers |= {"M": sparse.csr_array(M), "J": sparse.csr_array(J / unit)}
        found = go.solve_step(go.StepData.from_mapping({"kind": "step", **numbers}), formulation, "sparse-kkt")
        if dense.status is go.Status.SOLVED:
            assert found.status is go.Status.SOLVED, k
            np.testing.assert_allclose(found.a / unit, dense.a / unit, atol=1e-6 * (1 + np.abs(dense.a / unit).max()))
            solved += 1
        else:
            assert found.status is dense.status, (k, found.message)
    assert solved > 60


@pytest.mark.parametrize("solver", ["sparse-kkt", "osqp"])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csc_matrix])
def test_sparse_programs_of_any_format_are_the_same(form: Any, solver: str) -> None:
    A, b = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 3.0])
    answer = go.solve(QP(form(np.eye(2)), np.zeros(2), form(A), b, b), solver)
    assert answer.status is go.Status.SOLVED
    np.testing.assert_allclose(answer.x, [1.0, 2.0], atol=1e-9)


@pytest.mark.parametrize("solver", ["sparse-kkt", "osqp"])
def test_programs_of_sparse_steps_are_solved_by_themselves(solver: str) -> None:
    chain = Chain(5)
    step = chain.system.evaluate(0.0, *chain.hanging())
    answer = go.solve(go.formulate(step, "gauss"), solver)
    assert answer.status is go.Status.SOLVED
    np.testing.assert_allclose(answer.x, go.solve_step(step, "gauss", "sparse-kkt").a, atol=1e-6)


@pytest.mark.parametrize("pull", [0.0, 2.0])
def test_a_free_direction_is_no_contradiction_of_rows(pull: float) -> None:
    numbers = {"Q": [1.0, -9.8, 3.0, pull], "gamma": [1.0]}
    M, J = np.diag([1.0, 2.0, 3.0, 0.0]), np.array([[1.0, 0.0, 1.0, 0.0]])
    dense = go.solve_step(go.StepData.from_mapping({"M": M, "J": J, **numbers}), "gauss", "kkt")
    step = go.StepData.from_mapping({"M": sparse.csr_array(M), "J": sparse.csr_array(J), **numbers})
    found = go.solve_step(step, "gauss", "sparse-kkt")
    assert found.status is dense.status
    assert found.forces_unique is dense.forces_unique is True
    assert "Row" not in found.message


def test_ranks_of_sparse_steps_are_not_guessed() -> None:
    chain = Chain(3)
    with pytest.raises(go.NotAccepted, match="dense"):
        rank_report(chain.system.evaluate(0.0, *chain.hanging()))


def test_rows_that_contradict_positions_are_found() -> None:
    chain = Chain(50)
    q, v = chain.arc(1.0)

    pins = chain.linkage

    def system(**parts: Any) -> go.System:
        return go.System(
            chain.system._mass, chain.system._force, lambda t, q, v: (parts.get("J", pins.rows)(q), pins.gamma(q, v)),
            position=lambda t, q: parts.get("gaps", pins.gaps)(q), name="typed",
        )  # fmt: skip

    system().check_rows(0.0, q, v)

    def wrong(q: np.ndarray) -> Any:
        J = chain.linkage.rows(q)
        J.data[41] *= 1.1
        return J

    with pytest.raises(go.BadInput, match="contradicts equality"):
        system(J=wrong).check_rows(0.0, q, v)


def test_sparse_rows_beside_a_dense_mass_become_sparse() -> None:
    settings: dict[str, Any] = {"q0": np.zeros(4), "v0": np.zeros(4), "dt": 0.1, "t_end": 0.3}
    mixed, whole = (go.simulate(pendulums(M), **settings) for M in (np.eye(4), sparse.eye_array(4)))
    np.testing.assert_array_equal(mixed.q, whole.q)
    assert mixed.meta["solver"] == "sparse-kkt"
    held = go.System(
        np.eye(1), [0.0], lambda t, q, v: (sparse.csr_array([[1.0]]), [0.0]), contacts=lambda t, q, v: {"g_N": q}
    )
    with pytest.raises(go.BadInput, match="contacts need a dense M and a dense J"):
        held.evaluate(0.0, [1.0], [0.0])


@pytest.mark.parametrize("solver", ["osqp", "clarabel", "scs", "highs"])
def test_solvers_that_take_compressed_columns_take_sparse_programs(solver: str) -> None:
    chain = Chain(5)
    answer = go.solve_step(chain.system.evaluate(0.0, *chain.hanging()), "gauss", solver)
    assert answer.status is go.Status.SOLVED, answer.message
