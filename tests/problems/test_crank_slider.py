"""The crank-slider of Yuan & Ge 2016 against its reference trajectories, row by row, and its errata."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import sample

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.solver import make_solver

inf = float("inf")
REFERENCES = ["crank-A-2s", "crank-A-20s", "crank-B-20s"]
FORMULATIONS = ["gauss", "lagrange", "least-squares"]
SOLVERS = ["cvxpy", "deap", "deap-cma", "kkt", "newton", "osqp"]
SLOW = ("cvxpy", "deap", "deap-cma")


def steps_of(crank: go.Problem, name: str, every: int = 1) -> list[tuple[go.StepData, np.ndarray]]:
    reference = next(r for r in crank.references if r.name == name)
    problem = crank.at(**reference.parameters)
    rows = problem.reference(name)
    states = list(zip(rows.t, rows.q, rows.v, rows.a, strict=True))[::every]
    return [(problem.system.evaluate(t, q, v), a) for t, q, v, a in states]


@pytest.mark.parametrize("every", sample([5], [1]))
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_pairs_agree_with_the_reference_accelerations(
    name: str, formulation: str, solver: str, every: int, crank: go.Problem
) -> None:
    steps = steps_of(crank, name, 20 * every if solver in SLOW else every)
    if make_solver(solver).refuses(go.formulate(steps[0][0], formulation)):
        assert formulation == "lagrange"
        assert solver in ("cvxpy", "newton", "osqp")
        return
    exact = registry.load("solver", solver).exact
    pair = go.StepSolver(formulation, solver, tolerance=1e-7 if exact else inf)
    for step, a in steps:
        answer = pair.solve(step)
        assert answer.status is go.Status.SOLVED
        error, c = answer.a - a, answer.certificate
        if exact:
            assert np.abs(error).max() <= 1e-10 * (1 + np.abs(a).max())
        else:
            # Within the certified bound, its rounding floor, and the reference's own distance to the truth of
            # this step, which its 1e-13 in the state makes of it.
            own = go.certify(step, a).error_bound
            assert math.sqrt(error @ step.M @ error) <= c.error_bound * (1 + 1e-6) + 10 * c.rounding_floor + own


@pytest.mark.parametrize("name", REFERENCES)
def test_the_reference_passes_its_own_certificate(name: str, crank: go.Problem) -> None:
    for step, a in steps_of(crank, name):
        c = go.certify(step, a)
        assert c.passed(1e-10)
        assert c.forces_unique


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_joint_forces_and_energies_agree_with_the_reference(name: str, formulation: str, crank: go.Problem) -> None:
    reference = next(r for r in crank.references if r.name == name)
    problem = crank.at(**reference.parameters)
    rows = problem.reference(name)
    for (step, _), lam, energy in zip(steps_of(crank, name), rows.lam, rows.energy, strict=True):
        answer = go.solve_step(step, formulation)
        np.testing.assert_allclose(answer.lam, lam, rtol=0, atol=1e-10 * (1 + np.abs(lam).max()))
        ours = problem.system.energy(step.t, step.q, step.v)
        assert ours.total == pytest.approx(energy, rel=1e-12, abs=1e-12)


def test_hard_solvers_are_good_solvers_here(crank: go.Problem) -> None:
    """OSQP and CVXPY are certified within the default tolerance on every row tried, without being told to."""
    for solver in ("osqp", "cvxpy"):
        pair = go.StepSolver("gauss", solver)
        for step, _ in steps_of(crank, "crank-A-2s", 20):
            assert pair.solve(step).status is go.Status.SOLVED


@pytest.mark.parametrize(
    ("tau", "printed", "exact"), [(-0.5, -666.84572655381, -156.57953216374), (0.0, -1.35872896228, -98.1)]
)
@pytest.mark.parametrize("solver", ["kkt", "newton"])
def test_equation_16_as_printed(tau: float, printed: float, exact: float, solver: str, crank: go.Problem) -> None:
    problem = crank.at(tau=tau)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert go.solve_step(step).a[2] == pytest.approx(exact, abs=1e-10)
    refused = go.solve_step(step, "least-squares-as-printed", solver)
    assert refused.status is go.Status.INACCURATE
    assert "certificate fails" in refused.message
    recorded = go.solve_step(step, "least-squares-as-printed", solver, tolerance=inf)
    assert recorded.a[2] == pytest.approx(printed, abs=1e-10)
    error = recorded.a - go.solve_step(step).a
    assert recorded.certificate.error_bound == pytest.approx(math.sqrt(error @ step.M @ error), rel=1e-10)
    assert recorded.certificate.constraint_residual <= 1e-12
    # Closed forms of papers.md 1.4.
    p = problem.parameter_values
    l1, r = p["l1"], p["l1"] / p["l2"]
    assert printed == pytest.approx((tau / p["I1"] - p["g"] * l1) / (1 + l1**2 / 2 + r**2), abs=1e-10)
    m = p["m1"] + p["m2"]
    assert exact == pytest.approx((tau - m * p["g"] * l1 / 2) / (m * l1**2 / 3), abs=1e-10)


def test_the_wrong_formula_is_wrong_along_the_whole_motion(crank: go.Problem) -> None:
    errors, costs = [], []
    for step, a in steps_of(crank, "crank-A-2s"):
        wrong = go.solve_step(step, "least-squares-as-printed", tolerance=inf).a
        errors.append(np.linalg.norm(wrong - a) / np.linalg.norm(a))
        a0 = step.force / np.diag(step.M)
        costs.append(((wrong - a0) @ step.M @ (wrong - a0)) / ((a - a0) @ step.M @ (a - a0)))
    # Table 1.4: median 3.13, largest 28.6; Gauss's function: median ratio 3.4, largest 27, never below 1.
    assert np.median(errors) == pytest.approx(3.13, abs=0.005)
    assert max(errors) == pytest.approx(28.6, abs=0.05)
    assert np.median(costs) == pytest.approx(3.4, abs=0.05)
    assert max(costs) == pytest.approx(27, abs=0.5)
    assert min(costs) >= 1 - 1e-9


def test_the_model_is_the_papers(crank: go.Problem) -> None:
    """M, Q, J and gamma of papers.md 1.2 at a state off every symmetry."""
    p = crank.parameter_values
    q = np.array([0.1, 0.2, 0.7, 0.3, -0.1, -0.4, 0.6])
    v = np.array([0.3, -0.2, 1.5, 0.4, 0.9, -2.5, 0.8])
    step = crank.system.evaluate(0.0, q, v)
    l1, l2 = p["l1"], p["l2"]
    (s1, s2), (c1, c2), (w1, w2) = np.sin(q[[2, 5]]), np.cos(q[[2, 5]]), v[[2, 5]]
    m1, m2, m3 = p["m1"], p["m2"], p["m3"]
    np.testing.assert_allclose(step.M, np.diag([m1, m1, m1 * l1**2 / 12, m2, m2, m2 * l2**2 / 12, m3]), rtol=1e-15)
    spring = p["k"] * (l1 + l2 - q[6]) - p["c"] * v[6]
    np.testing.assert_allclose(step.force, [0, -m1 * 9.81, -0.5, 0, -m2 * 9.81, 0, spring], rtol=1e-14)
    J = [
        [1, 0, l1 / 2 * s1, 0, 0, 0, 0],
        [0, 1, -l1 / 2 * c1, 0, 0, 0, 0],
        [0, 0, -l1 * s1, -1, 0, -l2 / 2 * s2, 0],
        [0, 0, l1 * c1, 0, -1, l2 / 2 * c2, 0],
        [0, 0, 0, 1, 0, -l2 / 2 * s2, -1],
        [0, 0, 0, 0, 1, l2 / 2 * c2, 0],
    ]
    np.testing.assert_allclose(step.J, J, rtol=1e-14)
    gamma = [
        -l1 / 2 * c1 * w1**2,
        -l1 / 2 * s1 * w1**2,
        l1 * c1 * w1**2 + l2 / 2 * c2 * w2**2,
        l1 * s1 * w1**2 + l2 / 2 * s2 * w2**2,
        l2 / 2 * c2 * w2**2,
        l2 / 2 * s2 * w2**2,
    ]
    np.testing.assert_allclose(step.gamma, gamma, rtol=1e-14)


def test_rest_angles_of_the_paper(crank: go.Problem) -> None:
    """Static equilibrium where the paper's table says, reached from the constraints alone."""
    for tau, angle in ((0.0, -1.432934), (-0.5, -2.017244)):
        problem = crank.at(tau=tau)
        p = problem.parameter_values
        l1, l2 = p["l1"], p["l2"]
        th2 = math.asin(-l1 / l2 * math.sin(angle))
        tip = l1 * np.array([math.cos(angle), math.sin(angle)])
        half = l2 / 2 * np.array([math.cos(th2), math.sin(th2)])
        q = np.array([*tip / 2, angle, *(tip + half), th2, tip[0] + 2 * half[0]])
        assert np.abs(problem.system.position_residual(0.0, q)).max() <= 1e-15
        a = go.solve_step(problem.system.evaluate(0.0, q, np.zeros(7))).a
        # Six digits of the angle: the stiffness about the rest position is below 150 / s^2 (pendulum and spring).
        assert abs(a[2]) <= 150 * 5e-7


def test_parameters_state_units_and_what_is_our_choice(crank: go.Problem) -> None:
    by_name = {p.name: p for p in crank.parameters}
    assert {name for name, p in by_name.items() if not p.printed} == {"g", "I1", "I2"}
    assert all(p.unit and p.meaning for p in crank.parameters)
    assert by_name["tau"].value == -0.5
    assert crank.parameter_values == crank.system.parameters


def test_other_parameters_give_another_consistent_start(crank: go.Problem) -> None:
    long = crank.at(l1=0.2, l2=0.7)
    assert np.abs(long.system.position_residual(0.0, long.q0)).max() <= 1e-15
    assert long.q0[6] == pytest.approx(0.9, rel=1e-15)
    assert crank.q0[6] == pytest.approx(0.71, rel=1e-15)
    # The equations are derived once for all parameter values.
    assert long.system._module is crank.system._module


def test_another_start_stays_with_other_parameters(crank: go.Problem) -> None:
    q0, v0 = np.arange(7.0), np.ones(7)
    moved = crank.at(q0=q0).at(tau=0.0).at(v0=v0)
    np.testing.assert_array_equal(moved.q0, q0)
    np.testing.assert_array_equal(moved.v0, v0)
    assert moved.parameter_values["tau"] == 0.0
    assert moved.coordinates == ("x1", "y1", "theta1", "x2", "y2", "theta2", "x3")


def test_references_are_complete_and_consistent(crank: go.Problem) -> None:
    assert [r.name for r in crank.references] == REFERENCES
    for reference in crank.references:
        problem = crank.at(**reference.parameters)
        rows = problem.reference(reference.name)
        assert len(rows.t) == 201
        assert rows.q.shape == rows.v.shape == rows.a.shape == (201, 7)
        assert rows.lam.shape == (201, 6)
        np.testing.assert_allclose(rows.q[0], problem.q0, rtol=2.3e-16)  # the sum of lengths may round
        for t, q, v in zip(rows.t, rows.q, rows.v, strict=True):
            scale = 1 + np.abs(v).max()
            assert np.abs(problem.system.position_residual(t, q)).max() <= 4e-14
            assert np.abs(problem.system.velocity_residual(t, q, v)).max() <= 4e-14 * scale
    with pytest.raises(go.UnknownName, match="did you mean 'crank-A-2s'"):
        crank.reference("crank-A-2")


# What papers.md lists as evidence, in the order of the numbers that the program gives; None where it lists none. Its
# relative errors of accelerations mix metres and radians; those of 000-2 and 000-5 here are in the mass norm.
EVIDENCE: dict[str, list[Any]] = {
    "000-1": [-666.84572655381, -156.57953216374],
    "000-2": [0.205, 0.508, None],
    "000-3": [None],
    "000-4": [3.09],
    "000-5": [-666.84572655381, -156.57953216374, -1.35872896228, -98.1, 1.208, 3.419, None],
    "000-6": [-90.319, -156.57953216374],
    "000-7": [None, None, None],
    "000-8": [6.0, None, None],
    "000-10": [None, -48.5, 3.14],
}


@pytest.mark.parametrize("erratum_id", EVIDENCE)
def test_errata_are_confirmed_by_computation(erratum_id: str, crank: go.Problem) -> None:
    erratum = next(e for e in crank.errata if e.id == erratum_id)
    evidence = erratum.check()
    assert evidence.holds is False
    assert evidence.sentence
    numbers = list(evidence.numbers.values())
    assert len(numbers) == len(EVIDENCE[erratum_id])
    assert np.isfinite(numbers).all()
    for number, stated in zip(numbers, EVIDENCE[erratum_id], strict=True):
        if stated is not None:
            digits = len(repr(stated).partition(".")[2])
            # 000-10 is stated for 40 to 60 s and measured from 5 to 10 s; the speed has settled to a few per cent.
            accuracy = 0.05 * abs(stated) if erratum_id == "000-10" else 0.51 * 10.0**-digits
            assert number == pytest.approx(stated, abs=accuracy)


def test_every_erratum_is_tested(crank: go.Problem) -> None:
    assert [e.id for e in crank.errata] == list(EVIDENCE)
