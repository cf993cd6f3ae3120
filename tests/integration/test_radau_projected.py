"""Radau IIA with projection: coefficients, order on constraints, a stiff mechanism; for redundant rows see bodies."""

import json
from importlib import resources

import numpy as np
import pytest

import gaussopt as go
from gaussopt.integration.steppers.radau_projected import ESTIMATE, GAMMA, A, C

PUBLISHED = json.loads(resources.files("gaussopt.problems").joinpath("data", "published.json").read_text("utf-8"))


def motion(problem, t_end, tolerance, **settings):
    found = go.simulate(
        problem, stepper="radau-projected", t_end=t_end, rtol=tolerance, atol=tolerance, error_estimate=False,
        **settings,
    )  # fmt: skip
    assert found.status is go.Status.SOLVED, found.message
    return found


def test_coefficients_are_those_of_radau():
    """Hairer & Wanner 1996, sections IV.5 and IV.8."""
    root = 6**0.5
    np.testing.assert_allclose(C, [(4 - root) / 10, (4 + root) / 10, 1.0], rtol=1e-14)
    np.testing.assert_allclose(A[-1], [(16 - root) / 36, (16 + root) / 36, 1 / 9], rtol=1e-13)
    np.testing.assert_allclose(A[0, 0], (88 - 7 * root) / 360, rtol=1e-13)
    assert pytest.approx(3 + 3 ** (2 / 3) - 3 ** (1 / 3), rel=1e-13) == 1 / GAMMA
    # The estimate is zero for accelerations that are polynomials of degree 2.
    for power in range(3):
        assert GAMMA * (power == 0) + ESTIMATE @ C**power == pytest.approx(0.0, abs=1e-14)


def test_errors_fall_with_the_fifth_power_of_the_step_and_states_stay_on_the_constraints():
    exact = PUBLISHED["pendulum"]["rows"][3]
    errors, steps = [], []
    for tolerance in (1e-4, 1e-7):
        found = motion("pendulum", exact[0], tolerance)
        assert max(found.position_drift.max(), found.velocity_drift.max()) < 1e-12
        errors.append(np.abs(found.q[-1] - exact[1:3]).max())
        steps.append(found.meta["steps"])
    assert errors[0] / errors[1] > (steps[1] / steps[0]) ** 4.5
    assert errors[1] < 1e-8


def test_stiff_governor_in_long_steps():
    rows = np.array(PUBLISHED["flyball-governor"]["rows"])
    found = motion("flyball-governor", 10.0, 1e-8, dt=0.5)
    i = [int(np.argmin(np.abs(found.t - t))) for t in rows[:, 0]]
    np.testing.assert_allclose(found.q[i], rows[:, 1:4], rtol=0, atol=1e-7)
    # An explicit method is unstable with steps longer than 6e-5 s, which would be 170,000.
    assert found.meta["steps"] < 3000


def test_nonholonomic_rows():
    found = motion("knife-edge-incline", 1.0, 1e-8)
    x, y = 9.81 / 16 * np.sin(2.0) ** 2, 9.81 / 16 * (2.0 - np.sin(4.0) / 2)
    np.testing.assert_allclose(found.q[-1], [x, y, 2.0], rtol=0, atol=1e-8)


def test_what_it_does_not_fit(assert_sentence):
    for problem, settings, word in (
        ("block-on-incline", {}, "contacts"),
        ("pendulum", {"stabilisation": "baumgarte"}, "Baumgarte"),
        ("knife-edge-body", {"state": "quasi-velocity"}, "quasi-velocity"),
    ):
        with pytest.raises(go.GaussoptError) as caught:
            go.simulate(problem, stepper="radau-projected", **settings)
        assert_sentence(caught.value, word)


def test_a_motion_that_grows_without_bound_ends_with_a_sentence():
    """x'' = 2 x^3 from x = 1, x' = 1 reaches infinity at t = 1."""
    system = go.System(mass=np.eye(1), force=lambda t, q, v: 2 * q**3, name="runaway")
    found = go.simulate(
        system, q0=[1.0], v0=[1.0], t_end=2.0, stepper="radau-projected", rtol=1e-4, atol=1e-4, error_estimate=False
    )
    assert found.status is not go.Status.SOLVED
    assert found.t[-1] == pytest.approx(1.0, abs=1e-2)
