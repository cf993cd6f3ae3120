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
from gaussopt.contact_certificate import certify_contact, decide
from gaussopt.contact_operator import ContactOperator
from gaussopt.status import Status
from gaussopt.stepdata import StepData, Vector

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
    verdict = decide(ContactOperator.of(step))
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
    right = answer.a is not None and np.abs(answer.a - expected).max() <= 1e-9 * (1 + np.abs(expected).max())
    assert right or answer.status is not Status.SOLVED
