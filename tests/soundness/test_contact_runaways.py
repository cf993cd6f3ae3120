"""Contact steps at borders: what runs away never passes, what is true does, and solvers find it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.judge import contact
from soundness.judge.exact import difference, length
from soundness.trials import findings
from soundness.trials.contact_families import border, in_units, painleve_without_slip, redundant_contacts
from soundness.trials.families import plain

import gaussopt as go
from gaussopt.certificates.contact import certify_contact
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.lcp import certify_lcp

pytestmark = pytest.mark.campaigns

FAULTS = Path(__file__).parent / "faults"
SOLVERS = ("enumerate", "lemke", "newton", "principal-pivoting", "pgs")
MAKERS = (border, in_units(border), redundant_contacts, painleve_without_slip)
SEEDS = range(160)


def read(name: str) -> dict[str, Any]:
    """A committed step."""
    mapping: dict[str, Any] = json.loads((FAULTS / f"{name}.json").read_text())
    return mapping


@cache
def truth(seed: int) -> tuple[StepData, contact.Truth]:
    """A step without joints at the border of what is solvable, and all that is true of it."""
    rng = np.random.default_rng(seed)
    data = {"J": [0.0]}
    while len(data["J"]):
        data = MAKERS[seed % len(MAKERS)](rng)
    mapping = plain(data)
    return StepData.from_mapping(mapping), contact.judge(mapping)


def miss(exact: contact.Truth, a: Vector) -> float:
    """Distance to the nearest true acceleration, relative to what the step calls for, in the mass norm."""
    size, M = findings.natural(exact.step), exact.step.M
    distances = (length(difference(a.tolist(), t), M) / max(size + length(t, M), 1e-300) for t in exact.a)
    return min(distances, default=np.inf)


def runaways(op: ContactOperator, seed: int, count: int = 12) -> Iterator[Vector]:
    """Contact forces x far along directions in which the operator hardly responds, and the same made consistent."""
    random = np.random.default_rng(seed)
    size, k = len(op.response), op.k
    scale = float(np.abs(op.step.force).max(initial=0.0)) or 1.0
    directions = list(np.eye(size)[:k])
    for _ in range(count):
        part = random.random(k) < 0.6
        block = op.response[:k, :k][np.ix_(part, part)]
        if block.size:
            null = np.zeros(size)
            null[:k][part] = np.linalg.svd(block)[2][-1]
            directions += [null, -null]
        directions.append(np.concatenate((random.random(k) * part, np.zeros(size - k))))
    for direction in directions:
        x = direction * scale * 10.0 ** random.uniform(6, 17)
        x[k:] = random.uniform(-1, 1, size - k) * op.step.mu[op.resting] * np.maximum(x[:k][op.resting], 0.0)
        yield x
        yield solved_beside(op, x)


def solved_beside(op: ContactOperator, x: Vector) -> Vector:
    """The forces moved by least squares, so that the accelerations of the pushing contacts vanish up to rounding."""
    push = np.flatnonzero(x > 0)
    if not len(push):
        return x
    value = op.start + op.response @ x
    moved = x.copy()
    moved[push] -= np.linalg.lstsq(op.response[np.ix_(push, push)], value[push], rcond=1e-10)[0]
    return np.maximum(moved, 0.0) if op.step.mu.size == len(x) else moved


@pytest.mark.parametrize("seed", SEEDS)
def test_the_verdict_and_what_passes_are_those_of_exact_arithmetic(seed: int) -> None:
    """The uniqueness, every true solution where there is one, and no forces that run away."""
    step, exact = truth(seed)
    op, none = ContactOperator.of(step), np.zeros(0)
    verdict = op.complementarity.uniqueness()
    assert str(verdict.status) == exact.verdict
    if exact.verdict == "solved":
        assert not verdict.forces_unique or exact.forces_unique
        for vertex in {v for part in exact.parts for v in part.vertices}:
            assert exact.laws is not None
            a = np.array(exact.laws.acceleration(vertex).floats())
            assert certify_contact(step, a, none, *op.split(np.array(vertex.floats()))).passed()
    for x in runaways(op, seed):
        a = op.acceleration(x)
        if miss(exact, a) > 1e-6:
            assert not certify_contact(step, a, none, *op.split(x)).passed(), x


@pytest.mark.parametrize("seed", SEEDS)
def test_solvers_are_solved_only_where_right(seed: int) -> None:
    step, exact = truth(seed)
    for solver in SOLVERS:
        try:
            answer = go.solve_step(step, "stick-slip", solver)
        except go.NotAccepted:
            assert solver == "pgs"
            continue
        if answer.status is Status.SOLVED:
            assert answer.a is not None
            assert exact.verdict == "solved", solver
            assert miss(exact, answer.a) <= 1e-6, solver


@pytest.mark.parametrize("solver", SOLVERS[:-1])
@pytest.mark.parametrize("name", ["painleve_border_small", "painleve_border_step", "borderx_1", "border_1"])
def test_reproducers_end_right(name: str, solver: str) -> None:
    step = StepData.from_mapping(read(name))
    # The thirds of border_1 are rounded, and with them a tie of which rounding must not decide.
    expected = np.array([0.0, 4.0, -2.0]) if name == "border_1" else np.array(contact.judge(read(name)).a[0].floats())
    answer = go.solve_step(step, "stick-slip", solver)
    assert answer.status is Status.SOLVED
    assert answer.a is not None
    assert np.abs(answer.a - expected).max() <= 1e-9 * (1 + np.abs(expected).max())


@pytest.mark.parametrize("solver", SOLVERS[:-1])
def test_a_sum_that_cancels_to_rounding_does_not_contradict_anything(solver: str) -> None:
    """A contact whose forces cause nothing and whose acceleration is 4 - 4: any normal force will do."""
    answer = go.solve_step(StepData.from_mapping(read("enumerate_inconsistent_step")), "stick-slip", solver)
    assert answer.status is Status.SOLVED
    assert answer.a == pytest.approx([4.0])
    assert not answer.forces_unique


@pytest.mark.parametrize("solver", SOLVERS[:-1])
def test_forces_that_oppose_each_other_are_not_unique(solver: str) -> None:
    mapping = read("forces_unique_step")
    truth = contact.judge(mapping)
    assert (truth.verdict, truth.forces_unique) == ("solved", False)
    answer = go.solve_step(StepData.from_mapping(mapping), "stick-slip", solver)
    assert answer.status is Status.SOLVED
    assert not answer.forces_unique
    assert answer.contact is not None
    assert answer.contact.ranges is not None
    assert np.isinf(answer.contact.ranges["lam_N"][[0, 2], 1]).all()


@pytest.mark.parametrize("pairs", [2, 13, 20])
@pytest.mark.parametrize("q", [3.0, 3.0 * 2.0**-40, 3.0 * 2.0**40])
def test_no_runaway_of_a_complementarity_problem_passes(pairs: int, q: float) -> None:
    """Pair 0 has no response: w_0 = q > 0 whatever z_0 is, so that z_0 = 0."""
    M, right = np.diag([0.0] + [1.0] * (pairs - 1)), np.array([q] + [-q] * (pairs - 1))
    z = np.array([0.0] + [q] * (pairs - 1))
    assert certify_lcp(go.LCP(M, right), z).passed()
    for far in (1e8, 1e12, 1e17):
        z[0] = far * q
        assert not certify_lcp(go.LCP(M, right), z).passed()
    for solver in ("lemke", "newton", "principal-pivoting"):
        solution = go.solve(go.LCP(M, right), solver)
        assert solution.status is Status.SOLVED
        assert solution.x is not None
        assert solution.x[0] == 0.0


def test_no_runaway_beside_singular_pairs_passes() -> None:
    """M z + q = 0 has no solution, but rounding of M gives one of size 1e16; 16 pairs are too many to enumerate."""
    block = np.array([[1.0, 1.0], [1.0, 1.0]])
    M = np.kron(np.eye(8), block)
    q = np.tile([-3.0, -1.0], 8)
    z = np.tile([3.0, 0.0], 8)
    assert certify_lcp(go.LCP(M, q), z).passed()
    assert not certify_lcp(go.LCP(M, q), np.tile([2e16, -2e16], 8)).passed()
    assert not certify_lcp(go.LCP(M, q), np.tile([1e16, 2.0], 8)).passed()


@pytest.mark.parametrize("size", [1e155, 1e158])
def test_norms_beyond_the_range_of_numbers_prove_nothing(size: float) -> None:
    """A body that leaves its wall: the square of its acceleration is infinite, that of a wrong one's error is not."""
    data = {"M": [[1.0]], "Q": [size], "J_N": [[1.0]], "zeta_N": [0.0], "mu": [0.0]}
    mapping = {"kind": "step", **data, "J_T": [[1.0]], "zeta_T": [0.0], "v_T": [1.0]}
    step = StepData.from_mapping(mapping)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(go.NotAccepted, match="other units"):
        certify_contact(step, np.array([size + 1e153]), np.zeros(0), np.zeros(1))


@pytest.mark.parametrize("gap", [3e-9, 3e-10])
@pytest.mark.parametrize("unit", [1.0, 2.0**-40, 2.0**40])
def test_walls_that_contradict_each_other_by_little_have_no_solution(gap: float, unit: float) -> None:
    """Two walls face each other; one asks for a >= 3, the other for a <= 3 - gap."""
    mapping = {
        "kind": "step", "M": [[0.5]], "Q": [unit], "J_N": [[1.0], [-1.0]], "zeta_N": [-3 * unit, (3 - gap) * unit],
        "J_T": [[1.0], [1.0]], "zeta_T": [0.0, 0.0], "v_T": [1.0, 1.0], "mu": [0.0, 0.0],
    }  # fmt: skip
    assert contact.judge(mapping).verdict == "infeasible"
    step = StepData.from_mapping(mapping)
    for solver in SOLVERS[:-1]:
        assert go.solve_step(step, "stick-slip", solver).status is Status.INFEASIBLE
