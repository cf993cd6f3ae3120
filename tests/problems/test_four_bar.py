"""The four-bar linkage: a singular mass matrix, and what its source misprints."""

from __future__ import annotations

import numpy as np
import pytest

import gaussopt as go
from gaussopt.problems.four_bar import at_angle, upright


@pytest.mark.parametrize(("psi", "t_end", "final"), [(450.0, 2.0, 11.965684793427164), (0.0, 5.0, 0.74471104433616627)])
def test_motion_through_the_singular_position(psi: float, t_end: float, final: float) -> None:
    problem = go.problem("four-bar", psi=psi)
    motion = go.simulate(problem, stepper="dop853", rtol=1e-12, atol=1e-12, t_end=t_end, error_estimate=False)
    assert motion.q[-1, 0] == pytest.approx(final, abs=1e-8)
    crossed = np.pi / 2 if psi else -np.pi / 2
    assert motion.q[:, 0].min() < crossed < motion.q[:, 0].max()


@pytest.mark.parametrize(
    ("settings", "acceleration"),
    [
        ({}, 2.682), ({"variant": "printed-force"}, 1.94625), ({"variant": "printed-sign"}, -2.682),
        ({"tau3": 100.0}, 1.432),
    ],
)  # fmt: skip
def test_acceleration_at_the_start(settings: dict[str, object], acceleration: float) -> None:
    problem = go.problem("four-bar", **settings)
    a = go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0), "lagrange", "kkt").a
    assert a == pytest.approx([acceleration, acceleration, -acceleration], rel=1e-13)


def test_pseudo_inverse_of_the_mass_loses_the_hinge_torque() -> None:
    problem = go.problem("four-bar", tau3=100.0)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    answer = go.solve_step(step, "pinv-mass-as-printed", "kkt")
    assert answer.status is go.Status.INACCURATE
    assert answer.a[0] == pytest.approx(2.682, rel=1e-13)
    # The true error is 1.25 (1, 1, -1); in the mass norm 1.25 sqrt(64 + 16).
    assert answer.certificate.error_bound == pytest.approx(1.25 * 80**0.5, rel=1e-12)


def test_mass_norm_alone_would_accept_an_error_of_the_massless_coordinate() -> None:
    step = at_angle(1.0, 2.0)
    a = go.solve_step(step, "lagrange", "kkt").a
    wrong = a + np.array([0.0, 0.0, 1.0])
    certificate = go.certify(step, wrong)
    assert certificate.error_norm >= 1.0 - 1e-12
    assert not certificate.passed()


def test_printed_constraint_is_unique_and_wrong_at_the_pole() -> None:
    printed = go.solve_step(upright(2.0), "lagrange", "kkt")
    right = go.solve_step(at_angle(np.pi / 2, 2.0), "lagrange", "kkt")
    assert printed.a == pytest.approx([7.03125, 0, -7.03125], abs=1e-12)
    assert not printed.forces_unique
    assert right.a == pytest.approx([5.625, 5.625, -5.625], rel=1e-13)


def test_multiplier_of_the_printed_row_grows_like_one_over_the_distance() -> None:
    forces = [go.solve_step(at_angle(np.pi / 2 - eps, 2.0, "printed-constraint")).lam[0] for eps in (1e-2, 1e-3, 1e-4)]
    assert forces[1] / forces[0] == pytest.approx(10, rel=0.05)
    assert forces[2] / forces[1] == pytest.approx(10, rel=0.01)


def test_errata_name_their_place_and_kind() -> None:
    found = go.problem("four-bar").errata
    assert [e.id for e in found] == [f"002-{i}" for i in (1, 2, 3, 4, 5, 7)]
    assert all(e.where and e.kind for e in found)
    assert {e.id for e in found if e.doubt} == {"002-1", "002-3", "002-5"}


def test_pseudo_inverse_of_the_equations_is_right_and_that_of_the_mass_alone_would_lock_the_linkage() -> None:
    problem = go.problem("four-bar")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    K = np.block([[step.M, -step.J.T], [step.J, np.zeros((2, 2))]])
    assert (np.linalg.pinv(K) @ np.concatenate((step.force, step.gamma)))[:3] == pytest.approx([2.682, 2.682, -2.682])
    inverse = np.linalg.pinv(step.M)
    lam = np.linalg.lstsq(step.J @ inverse @ step.J.T, step.gamma - step.J @ inverse @ step.force, rcond=1e-12)[0]
    assert lam == pytest.approx([-58.86, -214.56], rel=1e-12)
    assert inverse @ (step.force + step.J.T @ lam) == pytest.approx(np.zeros(3), abs=1e-13)


@pytest.mark.parametrize(
    "erratum", [e for name in ("four-bar", "knife-edge-body") for e in go.problem(name).errata], ids=lambda e: e.id
)
def test_errata_are_confirmed(erratum: object) -> None:
    evidence = erratum.check()  # type: ignore[attr-defined]
    assert not evidence.holds
    assert all(np.isfinite(list(evidence.numbers.values())))


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"variant": "printed"}, "printed-"), ({"case": "NH-A"}, "known: none"), ({"psy": 1.0}, "'psi'")],
)
def test_unknown_settings(settings: dict[str, object], word: str) -> None:
    with pytest.raises(go.GaussoptError, match=word):
        go.problem("four-bar", **settings)


def test_a_case_sets_parameters_and_end_and_can_be_overridden() -> None:
    problem = go.problem("knife-edge-body", case="NH-B", F0=1.0)
    assert problem.t_end == 60.0
    assert problem.parameter_values["nu"] == 2.0
    assert problem.parameter_values["F0"] == 1.0
