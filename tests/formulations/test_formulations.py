from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaussopt as go
from gaussopt.core import registry

JOINED = go.StepData.from_mapping({"M": [[1.0, 0.0], [0.0, 1.0]], "Q": [0.0, 1.0], "J": [[1.0, 1.0]], "gamma": [0.0]})
TOUCHING = go.StepData.from_mapping({"M": [[1.0]], "Q": [0.0], "J_N": [[1.0]], "zeta_N": [0.0]})


def takes(name: str, step: go.StepData) -> bool:
    return registry.load("formulation", name).refuses(step) is None


EXACT = [
    name
    for name in go.names("formulation")
    if registry.load("formulation", name).exact
    and (takes(name, JOINED) or not takes(name, TOUCHING))
    and name != "coulomb-soccp"  # takes steps with contacts in space
]
ANY_STEP = [name for name in EXACT if name != "quasi-velocity"]
"""Exact formulations that need nothing of the system but its step data."""
PRINTED = ["least-squares-as-printed", "pinv-mass-as-printed"]
STATED = ["gauss", "lagrange", "udwadia-kalaba", *PRINTED]
INF = float("inf")


def step_of(M: Any, Q: Any, J: Any = None, gamma: Any = None, **more: Any) -> go.StepData:
    return go.StepData.from_mapping({"M": M, "Q": Q, "J": J, "gamma": gamma, **more})


@pytest.fixture(scope="session")
def cases(data: Callable[[str], Any]) -> list[tuple[str, go.StepData, str, dict[str, Any]]]:
    """Steps without contacts: name, step, formulation, expectation."""
    return [
        (case["name"], go.StepData.from_mapping(case["problem"]), formulation, expected)
        for case in data("step_cases.json")
        if case["kind"] == "step" and not case["problem"].get("J_N")
        for formulation, expected in case["expect"].items()
        if formulation in STATED
    ]


def test_the_stated_cases_come_out(cases: list[tuple[str, go.StepData, str, dict[str, Any]]]) -> None:
    assert len(cases) == 77
    for name, step, formulation, expected in cases:
        where = f"{name}, {formulation}"
        # Of a formula kept as printed, "solved" means: this is what it returns.
        tolerance = INF if formulation in PRINTED else 1e-7
        answer = go.solve_step(step, formulation, "kkt", tolerance=tolerance)
        assert str(answer.status) == expected["status"], where
        if "a" in expected:
            a = np.array(expected["a"])
            # "worst 6e-14 relative" is what the file states of itself; another conditioning may cost a digit.
            np.testing.assert_allclose(answer.a, a, rtol=0, atol=1e-12 * (1 + np.abs(a).max()), err_msg=where)
        if "lam" in expected:
            force = step.J.T @ np.array(expected["lam"])
            np.testing.assert_allclose(
                step.J.T @ answer.lam, force, rtol=0, atol=1e-12 * (1 + np.abs(step.force).max()), err_msg=where
            )
        if formulation in EXACT and "forces_unique" in expected:
            assert answer.forces_unique is expected["forces_unique"], where


def test_least_squares_agrees_with_gauss_on_the_stated_cases(
    cases: list[tuple[str, go.StepData, str, dict[str, Any]]],
) -> None:
    compared = 0
    for name, step, formulation, expected in cases:
        if formulation == "gauss" and np.linalg.matrix_rank(step.M) == step.n and expected["status"] == "solved":
            a = np.array(expected["a"])
            answer = go.solve_step(step, "least-squares")
            np.testing.assert_allclose(answer.a, a, rtol=0, atol=1e-12 * (1 + np.abs(a).max()), err_msg=name)
            compared += 1
    assert compared == 10


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6), data=st.data())
def test_exact_formulations_agree(seed: int, n: int, data: st.DataObject) -> None:
    m = data.draw(st.integers(0, n))
    rng = np.random.default_rng(seed)
    root, J = rng.standard_normal((n, n)), rng.standard_normal((m, n))
    step = go.StepData.smooth(
        root @ root.T + np.eye(n), rng.standard_normal(n), 10 * rng.standard_normal(n), J, rng.standard_normal(m),
        0.0, np.zeros(n), np.zeros(n),
    )  # fmt: skip
    singular = np.linalg.svd(J, compute_uv=False).min(initial=1.0)
    answers = {name: go.solve_step(step, name) for name in ANY_STEP if m or name not in ("dual", "routh")}
    reference = answers["lagrange"].a
    assert reference is not None
    scale = 1 + np.abs(reference).max()
    for name, answer in answers.items():
        assert answer.status is go.Status.SOLVED, name
        # Rounding times the condition numbers of M (below 100) and of J.
        np.testing.assert_allclose(answer.a, reference, rtol=0, atol=1e-12 * scale / singular, err_msg=name)
        force = step.M @ reference + step.h - step.Q
        np.testing.assert_allclose(step.J.T @ answer.lam, force, atol=1e-10 * scale / singular, err_msg=name)


@pytest.mark.parametrize("formulation", ANY_STEP)
@pytest.mark.parametrize("exponent", [-6, -3, 3, 6])
def test_other_units_of_length_and_mass_give_the_same_motion(
    formulation: str, exponent: int, crank: go.Problem
) -> None:
    """Lengths in units of 10^-k m, angles in rad, so that the coordinates' scales differ by 10^k."""
    rows = crank.reference("crank-A-2s")
    step = crank.system.evaluate(rows.t[40], rows.q[40], rows.v[40])
    unit = np.where(np.isin(np.arange(7), (2, 5)), 1.0, 10.0**exponent)
    scaled = go.StepData.smooth(
        step.M / np.outer(unit, unit), step.h / unit, step.Q / unit, step.J / unit, step.gamma, 0.0, step.q, step.v
    )
    answer = go.solve_step(scaled, formulation)
    assert answer.status is go.Status.SOLVED
    # The detour over J^+ works in the unweighted metric and pays for the condition number of J.
    lost = 2.2e-16 * scaled.n * np.linalg.cond(scaled.J) if formulation == "least-squares" else 0.0
    np.testing.assert_allclose(
        answer.a / unit, rows.a[40], rtol=0, atol=max(1e-10, lost) * (1 + np.abs(rows.a[40]).max())
    )


@pytest.mark.parametrize("formulation", ANY_STEP)
def test_tiny_masses_are_not_mistaken_for_none(formulation: str) -> None:
    """A silicon resonator of a picogram beside a constraint whose row has size 1."""
    answer = go.solve_step(step_of(1e-15 * np.eye(2), [0.0, 3e-15], [[1.0, 0.0]], [2.0]), formulation)
    assert answer.status is go.Status.SOLVED
    np.testing.assert_allclose(answer.a, [2.0, 3.0], rtol=1e-14)


def test_as_printed_is_exact_exactly_where_the_theory_says() -> None:
    """Eq. (16) equals the Gauss minimiser for all forces if and only if ker J is M-invariant."""
    J, gamma = [[1.0, 1.0, 0.0]], [0.5]
    Q = [1.0, -2.0, 3.0]
    for M, invariant in (
        (2.0 * np.eye(3), True),
        (np.diag([2.0, 2.0, 5.0]), True),  # not a multiple of the unit matrix
        (np.diag([2.0, 3.0, 5.0]), False),
    ):
        step = step_of(M, Q, J, gamma)
        printed = go.solve_step(step, "least-squares-as-printed")
        assert (printed.status is go.Status.SOLVED) is invariant
        wrong = go.solve_step(step, "least-squares-as-printed", tolerance=INF)
        a0 = step.force / np.diag(step.M)
        unweighted = a0 + np.linalg.pinv(step.J) @ (step.gamma - step.J @ a0)
        np.testing.assert_allclose(wrong.a, unweighted, rtol=1e-13)
        np.testing.assert_allclose(step.J @ wrong.a, step.gamma, atol=1e-14)  # which is why this check is not enough


def test_only_what_is_kept_as_printed_is_marked_as_wrong() -> None:
    wrong = [name for name in go.names("formulation") if not registry.load("formulation", name).exact]
    assert wrong == sorted([*PRINTED, "joint-force-qp", "normal-force-qp"])


def test_programs_are_of_the_stated_kinds(crank: go.Problem) -> None:
    step = crank.system.evaluate(0.0, crank.q0, crank.v0)
    qp = go.formulate(step, "gauss")
    assert isinstance(qp, go.QP)
    assert qp.equality.all()
    np.testing.assert_array_equal(qp.P, step.M)
    np.testing.assert_array_equal(qp.q, -step.force)
    system = go.formulate(step, "lagrange")
    assert isinstance(system, go.LinearSystem)
    np.testing.assert_array_equal(system.K, system.K.T)
    squares = go.formulate(step, "least-squares")
    assert isinstance(squares, go.LeastSquares)
    assert squares.rank == 1


@pytest.mark.parametrize("formulation", [name for name in go.names("formulation") if not takes(name, TOUCHING)])
def test_contacts_are_refused(formulation: str, assert_sentence: Callable[..., None]) -> None:
    step = step_of([[1.0]], [0.0], J_N=[[1.0]], zeta_N=[0.0])
    for attempt in (go.formulate, go.solve_step):
        with pytest.raises(go.NotAccepted) as caught:
            attempt(step, formulation)
        assert_sentence(caught.value, repr(formulation), "1")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("formulation", ["least-squares", "least-squares-as-printed"])
@pytest.mark.parametrize("rows", [{"J": [[1.0, 1.0]], "gamma": [0.0]}, {}])
def test_a_singular_mass_matrix_has_no_square_root(
    formulation: str, rows: dict[str, Any], assert_sentence: Callable[..., None]
) -> None:
    step = step_of([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], **rows)
    with pytest.raises(go.NotAccepted) as caught:
        go.solve_step(step, formulation)
    assert_sentence(caught.value, repr(formulation), "singular", "gauss")


def test_an_unknown_formulation_gets_the_nearest(crank: go.Problem) -> None:
    step = crank.system.evaluate(0.0, crank.q0, crank.v0)
    for attempt in (go.formulate, go.solve_step):
        with pytest.raises(go.UnknownName, match="did you mean 'least-squares'"):
            attempt(step, "least-square")
