"""Contact steps at borders: what runs away never passes, what is true does, and solvers find it.

The truth is computed in rational arithmetic (`exact_laws`) from the numbers of the step alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soundness.border_steps import border_step, runaways
from soundness.exact_laws import ContactStep, Row, contact_step

import gaussopt as go
from gaussopt.certificates.contact import certify_contact
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.arrays import Vector
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.lcp import certify_lcp

FAULTS = Path(__file__).parent / "faults"
SOLVERS = ("enumerate", "lemke", "newton", "principal-pivoting", "pgs")
SEEDS = range(160)
VERDICTS = {Status.SOLVED: "one", Status.NO_SOLUTION: "none", Status.INFEASIBLE: "none"}


def read(name: str) -> dict[str, Any]:
    """A committed step."""
    mapping: dict[str, Any] = json.loads((FAULTS / f"{name}.json").read_text())
    return mapping


def floats(x: Row) -> Vector:
    """Fractions as floats."""
    return np.array([float(v) for v in x])


@cache
def truth(seed: int) -> tuple[StepData, ContactStep]:
    """A step and all that is true of it."""
    mapping = border_step(seed)
    return StepData.from_mapping(mapping), contact_step(mapping)


def true_candidates(step: StepData, exact: ContactStep) -> Iterator[tuple[Vector, Vector, Vector]]:
    """All vertices of the solution set: a, lam_N, lam_T."""
    op = ContactOperator.of(step)
    for _, z in exact.found.vertices:
        yield floats(exact.acceleration(z)), *op.split(floats(exact.forces(z)))


def miss(step: StepData, exact: ContactStep, a: Vector) -> float:
    """Distance to the nearest true acceleration, relative to what the step calls for, masses being 1."""
    d = np.sqrt(np.diag(step.M))
    size = float(np.linalg.norm(step.force / d))
    found = [floats(t) * d for t in exact.accelerations]
    distances = (np.linalg.norm(a * d - t) / max(size + float(np.linalg.norm(t)), 1e-300) for t in found)
    return float(min(distances, default=np.inf))


@pytest.mark.parametrize("seed", SEEDS)
def test_verdict_is_that_of_exact_arithmetic(seed: int) -> None:
    step, exact = truth(seed)
    verdict = ContactOperator.of(step).complementarity.uniqueness()
    assert VERDICTS.get(verdict.status, "many") == exact.verdict
    if exact.verdict == "one" and verdict.forces_unique:
        assert exact.forces_unique


@pytest.mark.parametrize("seed", SEEDS)
def test_no_runaway_passes(seed: int) -> None:
    step, exact = truth(seed)
    op = ContactOperator.of(step)
    for x in runaways(op, seed):
        a = op.acceleration(x)
        if miss(step, exact, a) > 1e-6:
            assert not certify_contact(step, a, np.zeros(0), *op.split(x)).passed(), x


@pytest.mark.parametrize("seed", SEEDS)
def test_every_true_solution_passes(seed: int) -> None:
    step, exact = truth(seed)
    if exact.verdict == "one":
        for a, lam_N, lam_T in true_candidates(step, exact):
            assert certify_contact(step, a, np.zeros(0), lam_N, lam_T).passed()


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
            assert exact.verdict == "one", solver
            assert miss(step, exact, answer.a) <= 1e-6, solver


@pytest.mark.parametrize("solver", SOLVERS[:-1])
@pytest.mark.parametrize("name", ["painleve_border_small", "painleve_border_step", "borderx_1", "border_1"])
def test_reproducers_end_right(name: str, solver: str) -> None:
    step = StepData.from_mapping(read(name))
    # The thirds of border_1 are rounded, and with them a tie of which rounding must not decide.
    expected = np.array([0.0, 4.0, -2.0]) if name == "border_1" else floats(contact_step(read(name)).accelerations[0])
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
    assert contact_step(mapping).verdict == "one"
    assert not contact_step(mapping).forces_unique
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
    assert contact_step(mapping).verdict == "none"
    step = StepData.from_mapping(mapping)
    for solver in SOLVERS[:-1]:
        assert go.solve_step(step, "stick-slip", solver).status is Status.INFEASIBLE
