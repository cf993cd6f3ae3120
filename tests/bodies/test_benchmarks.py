"""Benchmark problems of the field against published values; sources stand beside the numbers."""

import json
from importlib import resources

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Spherical

PUBLISHED = json.loads(resources.files("gaussopt.problems").joinpath("data", "published.json").read_text("utf-8"))


def near(found, exact, error):
    """Everywhere within an absolute error."""
    np.testing.assert_allclose(found, exact, rtol=0, atol=error)


def motion(name, dt, t_end=None, tolerance=1e-12, **settings):
    found = go.simulate(
        go.problem(name, **settings), t_end=t_end, stepper="dop853", rtol=tolerance, atol=tolerance, dt=dt,
        stabilisation="projection", error_estimate=False,
    )  # fmt: skip
    assert found.status is go.Status.SOLVED, found.message
    return found


def compiled(name, dt, every, t_end):
    """By RK4 as generated code, although M is singular; where a pivot vanishes a few steps are interpreted."""
    found = go.simulate(
        name, t_end=t_end, dt=dt, record_every=every, stabilisation="projection", engine="compiled",
        error_estimate=False,
    )  # fmt: skip
    assert found.status is go.Status.SOLVED, found.message
    assert found.meta["handed_over"] <= 10
    return found


def rows(name, key="rows"):
    return np.array(PUBLISHED[name][key])


def at(found, times):
    return np.array([np.argmin(np.abs(found.t - t)) for t in times])


def test_pendulum_follows_the_elliptic_functions():
    found, exact = motion("pendulum", 0.01), rows("pendulum")
    i = at(found, exact[:, 0])
    near(np.hstack((found.q[i], found.v[i])), exact[:, 1:], 1e-9)
    # The force in the rod is 3 m g y / L, negative where it pulls.
    near(found.lam[i, 0], 3 * 9.81 * exact[:, 2], 1e-8)


def test_slider_crank_with_spring_gives_the_printed_table():
    found = motion("slider-crank-spring", 0.25)
    mine, printed, exact = found.q[:, [2, 3, 5]], rows("slider-crank-spring"), rows("slider-crank-spring", "converged")
    near(mine, exact[:, 1:], 1e-10)
    # The table has the tolerance of its integration, 1e-6, which adds up to half a unit of its fifth digit.
    near(mine, printed[:, 1:], 6e-5)


def test_car_axis_at_3_seconds():
    found, y = motion("car-axis", 0.5), rows("car-axis")[0]
    near(found.q[-1], y[:4], 1e-10)
    near(found.v[-1], y[4:8], 1e-9)
    near(found.lam[-1], [-y[8], 2 * y[9]], 1e-10)  # unit normals, L = 1


def test_andrews_squeezer_at_30_milliseconds():
    found = motion("andrews-squeezer", 0.005)

    def source(theta):
        one, two, three, four, five, six, seven = theta[2::3]
        return [one, two - one, three, four - five, five, six - seven, seven]

    near(source(found.q[-1]), rows("andrews-squeezer")[0], 1e-8)
    near(source(found.a[0]), rows("andrews-squeezer", "a0"), 1e-7)


def test_two_four_bars_stay_on_their_branch_or_say_that_they_passed_a_singular_position():
    exact = rows("n-four-bar")
    found = go.simulate(
        "n-four-bar", t_end=20.0, dt=1e-3, record_every=100, stabilisation="projection", error_estimate=False
    )
    assert found.status is go.Status.SOLVED
    assert any("singular position" in warning for warning in found.warnings)
    i = at(found, exact[:, 0])
    near(found.q[i, 2], exact[:, 5], 1e-6)
    near(found.v[i, 2], exact[:, 6], 1e-6)


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
    near(2 * E @ rate, PUBLISHED["spatial-slider-crank"]["omega0"], 1e-12)
    assert entry.v0[14] == pytest.approx(PUBLISHED["spatial-slider-crank"]["v0"], abs=1e-12)
    found = compiled("spatial-slider-crank", 1e-4, 500, 2.0)
    exact = exact[exact[:, 0] <= 2.0]
    i = at(found, exact[:, 0])
    near(found.q[i, 14], exact[:, 3], 1e-8)
    near(found.v[i, 14], exact[:, 4], 1e-7)


def test_heavy_top_with_its_singular_mass_matrix():
    exact, found = rows("heavy-top"), compiled("heavy-top", 2e-5, 5000, 0.2)
    i = at(found, exact[:2, 0])
    near(np.hstack((found.q[i, :3], found.v[i, :3])), exact[:2, 1:], 1e-8)


def test_steps_with_quaternions_near_their_axes_are_those_with_a_regular_mass_matrix():
    rng = np.random.default_rng(19)
    systems = []
    for mass in (0.0, 0.01):
        model = go.Model(dim=3, gravity=(0, 0, -9.81), name="top")
        top = model.body("top", 1.0, (0.02, 0.02, 0.005), quaternion_mass=mass)
        model.add(Spherical("tip", model.ground, top.at(0, 0, -0.5)))
        systems.append(model.system())
    for _ in range(100):
        e = np.r_[1.0, rng.normal(size=3) * 10.0 ** rng.uniform(-14, 0, size=3)][rng.permutation(4)]
        e /= np.linalg.norm(e)
        E = np.array([[-e[1], e[0], -e[3], e[2]], [-e[2], e[3], e[0], -e[1]], [-e[3], -e[2], e[1], e[0]]])
        G = np.array([[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]])
        r, omega = E @ G.T @ (0.0, 0.0, 0.5), rng.normal(size=3) * 10.0 ** rng.uniform(-3, 2)
        q, v = np.r_[r, e], np.r_[np.cross(omega, r), E.T @ omega / 2]
        singular, regular = (go.solve_step(system.evaluate(0.0, q, v)) for system in systems)
        assert singular.status is regular.status is go.Status.SOLVED, (e, singular.message)
        near(singular.a, regular.a, 1e-10 * (1.0 + np.abs(regular.a).max()))


def test_bricard_with_all_its_rows():
    entry = go.problem("bricard")
    freedoms = go.mobility(entry.system, entry.q0)
    assert (freedoms.freedoms, len(freedoms.redundant)) == (1, 1)
    # One degree of freedom: the energy holds where the motion is right. Stages are off the constraints by up to 1e-5.
    for settings in ({"dt": 5e-3}, {"stepper": "radau-projected", "rtol": 1e-6, "atol": 1e-6}):
        found = go.simulate(entry, t_end=0.1, stabilisation="projection", error_estimate=False, **settings)
        assert found.status is go.Status.SOLVED, found.message
        assert found.worst.relative_error < 1e-12
        energy = found.kinetic + found.potential
        near(energy, energy[0], 1e-8)
        assert found.kinetic[-1] > 0.05


def test_nonholonomic_motions_in_closed_form():
    found, exact = motion("knife-edge-incline", 0.25), rows("knife-edge-incline")
    i = at(found, exact[:, 0])
    # The source writes M a + A^T lam = F.
    mine = np.hstack((found.q[i], found.v[i, :2], -found.lam[i]))
    near(mine, exact[:, 1:], 1e-9)

    found, exact = motion("nonholonomic-particle", 0.25), rows("nonholonomic-particle")
    near(found.q[at(found, exact[:, 0])], exact[:, 1:], 1e-9)

    found, exact = motion("chaplygin-sleigh", 0.25), rows("chaplygin-sleigh")
    i, u = at(found, exact[:, 0]), np.stack((np.cos(found.q[:, 2]), np.sin(found.q[:, 2])), axis=1)
    speed = (found.v[:, :2] * u).sum(axis=1)
    near(np.stack((speed, found.v[:, 2], found.q[:, 2]), axis=1)[i], exact[:, 1:], 1e-9)
    blade = rows("chaplygin-sleigh", "blade")
    near((found.q[:, :2] - 0.3 * u)[at(found, blade[:, 0])], blade[:, 1:], 1e-9)


def test_coin_rolls_as_published():
    found, exact = motion("rolling-disc", 0.05), rows("rolling-disc")
    i = at(found, exact[:, 0])
    near(found.q[i, :3], exact[:, 1:4], 1e-8)


def test_steady_turns_of_discs_and_hoops_come_back():
    r = 0.1
    for Ia, It, degrees, precession, n in rows("rolling-disc", "steady turns"):
        tilt = np.radians(degrees)
        axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
        omega = n * axis + precession * (np.array([0.0, 0.0, 1.0]) - np.cos(tilt) * axis)
        # The x axis of the body is that of the disc: turned about y by tilt - 90 degrees.
        half = (tilt - np.pi / 2) / 2
        e = np.array([np.cos(half), 0.0, np.sin(half), 0.0])
        arm = -r * (np.array([0.0, 0.0, 1.0]) - np.cos(tilt) * axis) / np.sin(tilt)
        E = np.array([[-e[1], e[0], -e[3], e[2]], [-e[2], e[3], e[0], -e[1]], [-e[3], -e[2], e[1], e[0]]])
        q0, v0 = np.r_[-arm, e], np.r_[-np.cross(omega, arm), E.T @ omega / 2]
        period = 2 * np.pi / abs(precession)
        found = motion("rolling-disc", period / 8, period, m=1.0, r=r, Ia=Ia, It=It, q0=q0, v0=v0)
        near(found.q[-1, :3], q0[:3], 1e-8)
        near(found.q[:, 2], q0[2], 1e-8)
