"""Benchmark problems of the field against published values; sources stand beside the numbers."""

import json
from importlib import resources

import numpy as np
import pytest

import gaussopt as go

PUBLISHED = json.loads(resources.files("gaussopt.problems").joinpath("data", "published.json").read_text("utf-8"))


def motion(name, dt, t_end=None, tolerance=1e-12, **settings):
    found = go.simulate(
        go.problem(name, **settings), t_end=t_end, stepper="dop853", rtol=tolerance, atol=tolerance, dt=dt,
        stabilisation="projection", error_estimate=False,
    )  # fmt: skip
    assert found.status is go.Status.SOLVED, found.message
    return found


def rows(name, key="rows"):
    return np.array(PUBLISHED[name][key])


def at(found, times):
    return np.array([np.argmin(np.abs(found.t - t)) for t in times])


def test_pendulum_follows_the_elliptic_functions():
    found, exact = motion("pendulum", 0.01), rows("pendulum")
    i = at(found, exact[:, 0])
    np.testing.assert_allclose(np.hstack((found.q[i], found.v[i])), exact[:, 1:], atol=1e-9)
    # The force in the rod is 3 m g y / L, negative where it pulls.
    np.testing.assert_allclose(found.lam[i, 0], 3 * 9.81 * exact[:, 2], atol=1e-8)


def test_slider_crank_with_spring_gives_the_printed_table():
    found = motion("slider-crank-spring", 0.25)
    mine, printed, exact = found.q[:, [2, 3, 5]], rows("slider-crank-spring"), rows("slider-crank-spring", "converged")
    np.testing.assert_allclose(mine, exact[:, 1:], atol=1e-10)
    # The table has the tolerance of its integration, 1e-6, which adds up to half a unit of its fifth digit.
    np.testing.assert_allclose(mine, printed[:, 1:], atol=6e-5)


def test_car_axis_at_3_seconds():
    found, y = motion("car-axis", 0.5), rows("car-axis")[0]
    np.testing.assert_allclose(found.q[-1], y[:4], atol=1e-10)
    np.testing.assert_allclose(found.v[-1], y[4:8], atol=1e-9)
    np.testing.assert_allclose(found.lam[-1], [-y[8], 2 * y[9]], atol=1e-10)  # unit normals, L = 1


def test_andrews_squeezer_at_30_milliseconds():
    found = motion("andrews-squeezer", 0.005)

    def source(theta):
        one, two, three, four, five, six, seven = theta[2::3]
        return [one, two - one, three, four - five, five, six - seven, seven]

    np.testing.assert_allclose(source(found.q[-1]), rows("andrews-squeezer")[0], atol=1e-8)
    np.testing.assert_allclose(source(found.a[0]), rows("andrews-squeezer", "a0"), atol=1e-7)


def test_two_four_bars_stay_on_their_branch_or_say_that_they_passed_a_singular_position():
    exact = rows("n-four-bar")
    found = go.simulate(
        "n-four-bar", t_end=20.0, dt=1e-3, record_every=100, stabilisation="projection", error_estimate=False
    )
    assert found.status is go.Status.SOLVED
    assert any("singular position" in warning for warning in found.warnings)
    i = at(found, exact[:, 0])
    np.testing.assert_allclose(found.q[i, 2], exact[:, 5], atol=1e-6)
    np.testing.assert_allclose(found.v[i, 2], exact[:, 6], atol=1e-6)


@pytest.mark.parametrize("N", [1, 3])
def test_any_number_of_four_bars_follows_the_equation_of_one_degree_of_freedom(N):
    entry = go.problem("n-four-bar", variant=f"N={N}")
    step, q, v = entry.system.evaluate(0.0, entry.q0, entry.v0), entry.q0, entry.v0
    assert go.mobility(entry.system, q, v).freedoms == 1
    q, v = go.assemble(entry.system, np.where(np.array(entry.coordinates) == "theta_c0", 1.0, q), v, ["theta_c0"])
    step = entry.system.evaluate(0.0, q, v)
    angle = entry.coordinates.index("theta_c0")
    expected = -9.81 * ((N + 1) / 2 + N) / ((N + 1) / 3 + N) * np.cos(1.0)
    assert go.solve_step(step).a[angle] == pytest.approx(expected, rel=1e-11)


def test_spatial_slider_crank_with_its_singular_mass_matrix():
    exact, entry = rows("spatial-slider-crank"), go.problem("spatial-slider-crank")
    e, rate = entry.q0[10:14], entry.v0[10:14]
    E = np.array([[-e[1], e[0], -e[3], e[2]], [-e[2], e[3], e[0], -e[1]], [-e[3], -e[2], e[1], e[0]]])
    np.testing.assert_allclose(2 * E @ rate, PUBLISHED["spatial-slider-crank"]["omega0"], atol=1e-12)
    assert entry.v0[14] == pytest.approx(PUBLISHED["spatial-slider-crank"]["v0"], abs=1e-12)
    found = motion("spatial-slider-crank", 0.05, t_end=2.0)
    exact = exact[exact[:, 0] <= 2.0]
    i = at(found, exact[:, 0])
    np.testing.assert_allclose(found.q[i, 14], exact[:, 3], atol=1e-8)
    np.testing.assert_allclose(found.v[i, 14], exact[:, 4], atol=1e-7)
