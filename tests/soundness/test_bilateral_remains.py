"""What a campaign of random steps without contacts brought to light, one test a cause."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from soundness.judge import bilateral
from soundness.judge.exact import difference, length
from soundness.trials import calls, findings
from soundness.trials.findings import RIGHT, UNDECIDED, WRONG, Claim

import gaussopt as go
from gaussopt.certificates import certify
from gaussopt.formulations.base import Candidate
from gaussopt.formulations.gauss import Gauss
from gaussopt.solving.step_solver import StepSolver

FAULTS = Path(__file__).parent / "faults"

# Thrice the same row, and one of zeros. The right-hand sides of the three differ by 2.5e-13, and 8 max(m, n) eps of
# their terms |J| |a| + |gamma| = 15.6 are 1.1e-13.
THREE_AND_ZERO: dict[str, Any] = {
    "M": [[0.5, 0.0], [0.0, 1.0]],
    "Q": [4.0, -3.5],
    "J": [[-2.0, -1.5], [0.0, 0.0], [-2.0, -1.5], [4.0, 3.0]],
    "gamma": [-0.25000000000025, 0.0, -0.25, 0.5],
}


def judged(data: dict[str, Any], formulation: str = "gauss", solver: str = "kkt") -> findings.Finding:
    """What the exact judge says of the answer to a step."""
    answer = go.solve_step(go.StepData.from_mapping(data), formulation, solver)
    assert answer.status is go.Status.SOLVED, answer.message
    return findings.of_step(bilateral.judge(data), calls.of_answer(answer))


def test_a_row_of_zeros_makes_no_contradiction_of_rounding() -> None:
    J, gamma = THREE_AND_ZERO["J"], THREE_AND_ZERO["gamma"]
    without = {**THREE_AND_ZERO, "J": [J[0], *J[2:]], "gamma": [gamma[0], *gamma[2:]]}
    for data in (without, THREE_AND_ZERO):
        assert judged(data).outcome == UNDECIDED


@pytest.mark.parametrize(("row", "gamma"), [(1, 1e-300), (0, -0.250000000005)])
def test_beside_a_row_of_zeros_contradictions_count_as_ever(row: int, gamma: float) -> None:
    data = {**THREE_AND_ZERO, "gamma": [*THREE_AND_ZERO["gamma"]]}
    data["gamma"][row] = gamma
    found = findings.of_step(
        bilateral.judge(data), Claim("solved", [3.9024390243902, -5.036585365853], error_bound=1.0)
    )
    assert found.outcome == WRONG
    assert found.cause == "solved, but infeasible"


HARDLY_ANY_MASS: dict[str, Any] = {
    "M": [[0.0, 0.0, 0.0], [0.0, 16.0, 2.0**-42], [0.0, 2.0**-42, 2.0**-88]],
    "Q": [-(2.0**-70), -(2.0**-17), 2.0**-64],
    "J": [[-(2.0**-14), 2.0**38, 3 * 2.0**-11], [2.0**-48, 0.0, -(2.0**-44)], [-(2.0**-29), -(2.0**23), -(2.0**-23)]],
    "gamma": [-114688.0, 3 * 2.0**-20, 0.0],
}
"""A coordinate without mass that the rows join to a coordinate with hardly any mass, beside a mass of 16."""


def test_forces_balance_without_mass_also_beside_hardly_any() -> None:
    """Multipliers off by 5 % once passed: 1e-9 of the force on the mass of 16, 3 % of that on the light coordinate."""
    x, lam = [864958691.5555555, -2.450413174099392e-07, 3728270.222222224], [3.8148e-17, 1.1845e-06, 7.0686e-13]
    truth, step = bilateral.judge(HARDLY_ANY_MASS), go.StepData.from_mapping(HARDLY_ANY_MASS)
    found = findings.of_step(truth, Claim("solved", x, lam=lam, error_bound=1e-21, rounding_floor=1e-21))
    assert found.cause == "forces do not balance where there is no mass"
    assert not go.certify(step, np.array(x), np.array(lam)).passed()
    assert judged(HARDLY_ANY_MASS).outcome == RIGHT


def test_what_contradicts_is_taken_out_exactly() -> None:
    rows = [[Fraction(v) for v in row] for row in ((3, 1), (0, 0), (3, 1), (0, 2), (6, 4))]
    P = bilateral.idle_part(rows, 2)
    for j in range(2):
        assert not any(sum(a * row[j] for a, row in zip(line, rows, strict=True)) for line in P)
    square = [[sum(a * b for a, b in zip(line, column, strict=True)) for column in zip(*P, strict=True)] for line in P]
    assert square == P
    assert sum(P[i][i] for i in range(5)) == 3  # five rows of rank two
    assert P[1] == [0, 1, 0, 0, 0]
    assert not any(bilateral.idle_part(rows[2:4], 2)[0])
    approximate = np.linalg.svd(np.array(rows, dtype=float))[0][:, 2:]
    assert np.allclose(np.array(P, dtype=float), approximate @ approximate.T, atol=1e-12)


def sparse(data: dict[str, Any]) -> go.StepData:
    return go.StepData.from_mapping({**data, "M": csr_array(np.array(data["M"])), "J": csr_array(np.array(data["J"]))})


def test_the_floor_of_a_sparse_step_covers_the_rounding_of_its_rows() -> None:
    data = {
        "M": [[4.0, 4.0], [4.0, 4.0]],
        "Q": [-2.5, -1.0],
        "J": [[2.0, 0.0], [1.0, 0.5], [1.0, -0.5]],
        "gamma": [-3.0, -1.0, -2.0],
    }
    a = [-1.5, 1.0 + 2**-52]  # J a = gamma in floats, and yet the second entry is one rounding off
    found = certify(sparse(data), np.array(a))
    truth = bilateral.judge(data)
    assert truth.a is not None
    error = length(difference(a, truth.a), truth.step.M)
    assert error == 2**-51
    assert error <= found.error_bound + found.rounding_floor


def test_floors_of_sparse_and_dense_steps_are_of_one_size() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        n, m = 4, 3
        J = rng.integers(-2, 3, (m, n)).astype(float)
        J = np.vstack((J, J[0] + J[1], J[1] - J[2]))
        root = rng.integers(-2, 3, (n - 1, n)).astype(float)
        a, lam = rng.integers(-3, 4, n).astype(float), rng.integers(-3, 4, m + 2).astype(float)
        M = root.T @ root
        data = {"M": M, "Q": M @ a - J.T @ lam, "J": J, "gamma": J @ a}
        step = go.StepData.from_mapping(data)
        dense = certify(step, a)
        if dense.verdict is go.Status.SOLVED and dense.condition < 1e4:
            assert certify(sparse(data), a).rounding_floor > 0.2 * dense.rounding_floor


@pytest.mark.parametrize("formulation", ["dual", "routh", "udwadia-kalaba"])
def test_formulations_with_an_inverse_mass_matrix_regain_the_digits_that_they_subtract(formulation: str) -> None:
    data = json.loads((FAULTS / "nearly_massless_step.json").read_text(encoding="utf-8"))
    step = go.StepData.from_mapping(data)
    assert np.linalg.cond(step.M) > 1e14  # and yet the row holds what has little mass
    answer = go.solve_step(step, formulation, "kkt")
    assert answer.status is go.Status.SOLVED, answer.message
    assert answer.certificate.relative_error < 1e-12
    assert judged(data, formulation).outcome == RIGHT
    truth = bilateral.judge(data)
    assert truth.a is not None
    assert np.allclose(answer.a, truth.a.floats(), rtol=1e-9)


@pytest.mark.parametrize("formulation", ["dual", "routh", "udwadia-kalaba"])
def test_errors_of_a_solver_are_not_refined_away(formulation: str) -> None:
    data = json.loads((FAULTS / "nearly_massless_step.json").read_text(encoding="utf-8"))
    step = go.StepData.from_mapping(data)
    driver = StepSolver(formulation, "kkt")
    program, more = driver.formulation.apply(step)
    x = driver.sequence.solve(program)[0].x
    assert x is not None
    for off, exact in ((0.0, True), (1e-9, False)):
        y = x * (1.0 + off)
        found = Candidate(*driver.formulation.recover(more, y, None))
        assert (driver.formulation.refined(step, program, y, found) is not None) == exact


class Rough(Gauss):
    """A formulation of somebody else's that reads its answer back roughly, and knows better when asked."""

    name = "rough"
    better: Any = None

    def recover(self, data: go.StepData, x: Any, y: Any) -> Any:
        return x * 1.001, y

    def refined(self, step: go.StepData, program: Any, x: Any, found: Candidate) -> Any:
        step.M.flags.writeable = found.a.flags.writeable = True
        step.M[:], found.a[:] = 7.0, 7.0
        return (x, None) if self.better is None else self.better


def test_a_foreign_formulation_may_refine_but_change_nothing() -> None:
    data = {"M": [[2.0, 0.0], [0.0, 1.0]], "Q": [1.0, 2.0], "J": [[1.0, 1.0]], "gamma": [0.5]}
    for better, status in ((None, go.Status.SOLVED), ((np.array([9.0, 9.0]), None), go.Status.INACCURATE)):
        rough = Rough()
        rough.better = better
        answer = StepSolver(rough).solve(go.StepData.from_mapping(data))
        assert answer.status is status
        assert answer.a is not None
        assert not (answer.a == 7.0).any()
    rough.better = (np.zeros(3), None)
    with pytest.raises(go.BadInput, match="acceleration"):
        StepSolver(rough).solve(go.StepData.from_mapping(data))


def test_multipliers_rounded_to_floats_balance_nothing_to_the_last_digit() -> None:
    # No mass and no force: the multipliers of the three rows cancel but for the rounding of each.
    data = {"M": [[0.0]], "Q": [0.0], "J": [[-1.0], [-1.0], [-2.0]], "gamma": [-0.5, -0.5, -1.0]}
    truth = bilateral.judge(data)
    third = 2.0 / 3.0
    rounded = [third, 1.0 - third + 2.0**-53, -0.5]
    off = [third, 1.0 - third + 2.0**-40, -0.5]
    for lam, outcome in ((rounded, RIGHT), (off, WRONG)):
        assert sum(a * Fraction(v) for a, v in zip((1, 1, 2), lam, strict=True)) != 0
        assert findings.of_step(truth, Claim("solved", [0.5], lam=lam, error_bound=0.0)).outcome == outcome


def test_sparse_equations_whose_rows_depend_on_each_other_are_solved_in_any_units() -> None:
    data = json.loads((FAULTS / "redundant_rows_in_units.json").read_text(encoding="utf-8"))
    answer = go.solve_step(sparse(data), "lagrange", "sparse-kkt")
    assert answer.status is go.Status.SOLVED, answer.message
    truth = bilateral.judge(data)
    assert truth.a is not None
    assert np.allclose(answer.a, truth.a.floats(), rtol=1e-6)


def test_forces_on_a_light_coordinate_are_measured_by_its_mass() -> None:
    """M is singular, M_33 is 0.004 beside rows of 4e6: forces that miss 1.6 there, 5e-7 of ||a||_M, once passed."""
    fault = json.loads((FAULTS / "forces_of_a_light_coordinate.json").read_text())
    step = go.StepData.from_mapping(fault["program"])
    a, lam = np.array(fault["x"]), np.array(fault["lam"])
    claim = Claim("solved", fault["x"], fault["lam"])
    assert findings.of_step(bilateral.judge(fault["program"]), claim).outcome == WRONG
    found = certify(step, a, lam)
    assert found.error_bound < 1e-7 * found.norm_a
    assert not found.passed()
    assert certify(step, a, found.lam).passed()
