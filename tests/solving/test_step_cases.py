"""Every formulation and every solver on every stated step without contacts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import sample

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import missing_packages

ENTRIES = {s: registry.load("solver", s) for s in go.names("solver")}
SOLVERS = [s for s, entry in ENTRIES.items() if not entry.stochastic and not missing_packages(entry)]
FORMULATIONS = [f for f in go.names("formulation") if registry.load("formulation", f).exact]
EQUATIONS = ("lagrange", "routh", "null-space", "quasi-velocity", "udwadia-kalaba")
COARSE = ("highs", "scs")
"""Solvers whose own accuracy is worse than the default tolerance on some of these steps."""


@pytest.fixture(scope="session")
def steps(data: Callable[[str], Any]) -> list[tuple[str, go.StepData, dict[str, Any]]]:
    return [
        (c["name"], go.StepData.from_mapping(c["problem"]), c["expect"]["gauss"])
        for c in data("step_cases.json")
        if c["kind"] == "step" and "gauss" in c["expect"] and not c["problem"].get("J_N")
    ]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_right_status_and_acceleration(
    formulation: str, solver: str, steps: list[tuple[str, go.StepData, dict[str, Any]]]
) -> None:
    taken = 0
    for name, step, expected in steps:
        try:
            answer = go.solve_step(step, formulation, solver)
        except go.NotAccepted:
            continue
        taken += 1
        where = f"{name}: {answer.message}"
        status = expected["status"]
        if status == "unbounded" and formulation in EQUATIONS:
            status = "infeasible"  # equations have no objective to be unbounded
        if status == "solved" and solver in COARSE and str(answer.status) != "solved":
            assert str(answer.status) in ("inaccurate", "iteration_limit", "solver_error"), where
            continue
        assert str(answer.status) == status, where
        if status == "solved":
            assert answer.forces_unique is expected["forces_unique"], where
            a = np.array(expected["a"])
            e = answer.a - a
            scale = 1 + np.abs(a).max()
            # The certificate's bound covers the error; the file states its own values to 6e-14 relative.
            floor = 10 * answer.certificate.rounding_floor + 1e-12 * scale
            assert np.sqrt(e @ step.M @ e) <= 1.01 * answer.certificate.error_bound + floor, where
            assert np.abs(e).max() <= 1.01 * answer.certificate.error_norm + floor, where
    if taken == 0:
        step = steps[0][1]
        reason = registry.load("formulation", formulation).refuses(step)
        assert reason or solver in _solvers_that_refuse(formulation, step)


def _solvers_that_refuse(formulation: str, step: go.StepData) -> list[str]:
    program = go.formulate(step, formulation)
    return [s for s in SOLVERS if go.make_solver(s).refuses(program)]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["contradictory", "free bounded", "free unbounded"])
@pytest.mark.parametrize("seed", sample(range(2), range(4)))
def test_ill_posed_steps_are_never_solved(seed: int, kind: str, solver: str) -> None:
    """Random steps with dependent rows or without mass in a direction, for every formulation that takes them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 6))
    root = rng.standard_normal((n, n))
    M, Q = root @ root.T, rng.standard_normal(n)
    J = rng.standard_normal((2, n))
    gamma = rng.standard_normal(2)
    if kind == "contradictory":
        J, gamma = np.vstack((J, J[0] - 2 * J[1])), np.append(gamma, gamma[0] - 2 * gamma[1] + 1.0)
        expected = {"infeasible"}
    else:
        d = rng.standard_normal(n)
        d /= np.linalg.norm(d)
        P = np.eye(n) - np.outer(d, d)
        M, J = P @ M @ P, J @ P
        M = 0.5 * (M + M.T)
        Q = P @ Q
        expected = {"acceleration_not_unique"}
        if kind == "free unbounded":
            Q, expected = Q + d, {"unbounded", "infeasible"}
    step = go.StepData.from_mapping({"M": M, "Q": Q, "J": J, "gamma": gamma})
    for formulation in FORMULATIONS:
        try:
            answer = go.solve_step(step, formulation, solver)
        except go.NotAccepted:
            continue
        assert str(answer.status) in expected, (formulation, answer.message)
        assert answer.a is None


@pytest.mark.parametrize("seed", range(6))
def test_singular_mass_and_redundant_rows_agree(seed: int) -> None:
    """All formulations that take a step with singular M and dependent rows find the same acceleration."""
    rng = np.random.default_rng(100 + seed)
    n = 5
    root = rng.standard_normal((n, 3))
    J = rng.standard_normal((3, n))
    J = np.vstack((J, J[0] + J[1]))
    gamma = J @ rng.standard_normal(n)
    step = go.StepData.from_mapping({"M": root @ root.T, "Q": rng.standard_normal(n), "J": J, "gamma": gamma})
    reference = go.solve_step(step, "lagrange", "kkt")
    assert reference.status is go.Status.SOLVED
    assert not reference.forces_unique
    taken = []
    for formulation in FORMULATIONS:
        try:
            answer = go.solve_step(step, formulation, "kkt")
        except go.NotAccepted:
            continue
        taken.append(formulation)
        assert answer.status is go.Status.SOLVED, (formulation, answer.message)
        scale = 1 + np.abs(reference.a).max()
        # Both are certified; the condition number of the reduced mass matrix is at most some 1e4 here.
        assert np.abs(answer.a - reference.a).max() <= 1e-10 * scale, formulation
        force = step.M @ answer.a - step.force
        assert np.abs(step.J.T @ answer.lam - force).max() <= 1e-9 * (1 + np.abs(force).max()), formulation
    assert {"gauss", "lagrange", "null-space", "routh", "udwadia-kalaba"} <= set(taken)


def test_minimum_norm_multipliers() -> None:
    step = go.StepData.from_mapping(
        {"M": [[1, 0], [0, 1]], "Q": [0, -9.81], "J": [[0.6, 0.8], [1.2, 1.6]], "gamma": [-1, -2]}
    )
    lam = go.solve_step(step, "lagrange", "kkt").lam
    # Of all lam with J^T lam = M a - Q the one of least norm lies in the range of J: lam2 = 2 lam1.
    assert lam[1] == pytest.approx(2 * lam[0], rel=1e-12)
    assert step.J.T @ lam == pytest.approx(np.array([4.1088, -4.3316]) - np.array([0, -9.81]), rel=1e-12)
