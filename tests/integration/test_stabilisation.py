"""Keeping a pendulum and the crank-slider on their constraints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gaussopt as go
from gaussopt.bodies import Distance, Revolute
from gaussopt.integration import stabilisation
from gaussopt.integration.stabilisation import Baumgarte, Projection, least_motion

# IFToMM A01: 1 m, g = 9.81, released at rest from (1, 0). Position at t = 1 s, by elliptic functions.
START: dict[str, Any] = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
X1, Y1 = -0.98629175113187532, -0.16501085312554117


def swing(pendulum: go.System, **settings: Any) -> go.Trajectory:
    return go.simulate(
        pendulum, "lagrange", "kkt", **{**START, "dt": 0.01, "t_end": 10.0, "error_estimate": False, **settings}
    )


def test_projection_keeps_the_drift_at_rounding_level(pendulum: go.System) -> None:
    traj = swing(pendulum, stabilisation="projection", t_end=3.0)
    # The stated tolerance is 1e-14 (1 + largest entry); speeds reach 4.4 m/s.
    assert traj.position_drift.max() <= 2e-14
    assert traj.velocity_drift.max() <= 1e-14 * (1 + np.abs(traj.v).max())


def test_baumgarte_bounds_the_drift_and_without_anything_it_grows(pendulum: go.System) -> None:
    halves = {}
    for name in ("none", "baumgarte"):
        drift = swing(pendulum, stabilisation=name, dt=0.02, t_end=6.0).position_drift
        middle = len(drift) // 2
        halves[name] = drift[:middle].max(), drift[middle:].max()
    # The error is fed anew in every swing and forgotten within 1/20 s: later swings are like the first.
    assert halves["baumgarte"][1] <= 1.05 * halves["baumgarte"][0]
    assert halves["none"][1] >= 1.5 * halves["none"][0]
    assert halves["none"][1] > halves["baumgarte"][1]


@pytest.mark.parametrize("stepper", ["rk45", "dop853", "radau"])
@pytest.mark.parametrize(("stabilisation", "dt"), [("none", None), ("projection", 0.05)])
def test_projected_adaptive_steps_stay_accurate(
    pendulum: go.System, stepper: str, stabilisation: str, dt: float | None
) -> None:
    traj = swing(pendulum, stepper=stepper, stabilisation=stabilisation, dt=dt, t_end=1.0, rtol=1e-9, atol=1e-9)
    assert traj.status is go.Status.SOLVED
    # Local errors of rtol |y| + atol < 5.4e-9 a step; a pendulum magnifies them at most linearly in time, by
    # the change of its period: |d phase / d energy| of about 1/s.
    assert math.hypot(traj.q[-1, 0] - X1, traj.q[-1, 1] - Y1) <= 5.4e-9 * traj.meta["evaluations"] * 1.0
    if stabilisation == "projection":
        assert traj.position_drift.max() <= 2e-14


@pytest.mark.parametrize(("stepper", "order"), [("semi-implicit", 1), ("rk4", 4)])
def test_projection_keeps_the_order(pendulum: go.System, stepper: str, order: int) -> None:
    errors = []
    for dt in (1 / 200, 1 / 400):
        traj = swing(pendulum, stepper=stepper, stabilisation="projection", dt=dt, t_end=1.0)
        errors.append(math.hypot(traj.q[-1, 0] - X1, traj.q[-1, 1] - Y1))
    # The asymptotic order is approached with an error of the frequency (4.4/s) times dt.
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_projection_moves_the_start_onto_the_constraints(pendulum: go.System) -> None:
    traj = swing(pendulum, stabilisation="projection", q0=[1.0, 0.05], v0=[0.3, 1.0], t_end=0.1)
    assert traj.position_drift[0] <= 2e-14
    assert traj.velocity_drift[0] <= 2e-14
    # For unit masses the nearest point lies on the radius, and the nearest velocity along the tangent.
    radius = np.array([1.0, 0.05]) / math.hypot(1.0, 0.05)
    np.testing.assert_allclose(traj.q[0], radius, rtol=1e-12)
    tangent = np.array([-radius[1], radius[0]])
    np.testing.assert_allclose(traj.v[0], (tangent @ [0.3, 1.0]) * tangent, rtol=1e-12)


def test_projection_is_nearest_in_the_mass_metric() -> None:
    """A heavy and a light mass at a fixed distance: the light one moves."""
    system = go.System(
        mass=np.diag([9.0, 1.0]),
        force=np.zeros(2),
        equality=lambda t, q, v: ([[-1.0, 1.0]], [0.0]),
        position=lambda t, q: [q[1] - q[0] - 1.0],
    )
    q, v = Projection().correct(system, 0.0, np.array([0.0, 1.1]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(q, [0.01, 1.01], rtol=1e-14)
    np.testing.assert_allclose(v, [0.1, 0.1], rtol=1e-14)


def test_projection_handles_redundant_constraints_and_massless_coordinates() -> None:
    for mass in (np.eye(3), np.diag([1.0, 1.0, 0.0])):
        system = go.System(
            mass=mass,
            force=np.zeros(3),
            equality=lambda t, q, v: ([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [0.0, 0.0, 0.0]),
            position=lambda t, q: [q[0] - 1.0, 2.0 * q[0] - 2.0, q[1] + q[2]],
        )
        q, v = Projection().correct(system, 0.0, np.array([1.5, 0.2, 0.2]), np.ones(3))
        np.testing.assert_allclose(system.position_residual(0.0, q), np.zeros(3), atol=1e-14)
        np.testing.assert_allclose(system.velocity_residual(0.0, q, v), np.zeros(3), atol=1e-14)


def test_projection_leaves_no_work_to_massless_coordinates() -> None:
    """Nearest in the mass metric whatever the units: what has mass moves as if the massless were eliminated."""
    M, J = np.diag([4.0, 1.0, 0.0]), np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 2.0]])
    phi = np.array([0.3, -0.1])
    # z = -x - y in the first row leaves -x - 3 y = phi_2 - 2 phi_1 in the second: the smallest x, y in the metric.
    row, inverse = np.array([-1.0, -3.0]), np.array([0.25, 1.0])
    xy = inverse * row * (phi[1] - 2.0 * phi[0]) / (row @ (inverse * row))
    expected = np.array([*xy, phi[0] - xy.sum()])
    for unit in (1e-6, 1.0, 1e6):
        scale = np.array([1.0, unit, 1.0 / unit])
        system = go.System(
            mass=M / np.outer(scale, scale),
            force=np.zeros(3),
            equality=lambda t, q, v, scale=scale: (J / scale, np.zeros(2)),  # type: ignore[misc]
            position=lambda t, q, scale=scale: J @ (q / scale),  # type: ignore[misc]
        )
        q0 = np.linalg.lstsq(J, phi, rcond=None)[0]
        q, _ = Projection().correct(system, 0.0, scale * q0, np.zeros(3))
        np.testing.assert_allclose(q / scale, q0 - expected, rtol=1e-12, atol=1e-14)


def test_sparse_projections_are_the_dense_ones() -> None:
    """Massless coordinates, redundant rows, and units that span eight decades."""
    rng = np.random.default_rng(1)
    for k in range(100):
        n = int(rng.integers(3, 9))
        mass = rng.uniform(0.1, 5.0, n) * (rng.random(n) < 0.6)
        J = rng.normal(size=(int(rng.integers(1, n)), n)) * (rng.random(n) < 0.7)
        if k % 3 == 0:
            J = np.vstack((J, 2.0 * J[:1]))
        residual, units = J @ rng.normal(size=n), 10.0 ** rng.integers(-4, 5, n)
        dense, found = (
            least_motion(matrix(np.diag(mass / units**2)), matrix(J / units), residual) / units  # type: ignore[operator]
            for matrix in (np.asarray, sparse.csr_array)
        )
        size = 1.0 + np.abs(dense).max()
        np.testing.assert_allclose(J @ dense, residual, rtol=0.0, atol=1e-12 * size)
        np.testing.assert_allclose(J @ found, residual, rtol=0.0, atol=1e-9 * size)
        assert found @ (mass * found) == pytest.approx(dense @ (mass * dense), rel=1e-9, abs=1e-12)


def test_the_crank_slider_stays_together(crank: go.Problem) -> None:
    traj = go.simulate(crank, "lagrange", "kkt", dt=2e-3, t_end=0.5, stabilisation="projection", error_estimate=False)
    assert traj.position_drift.max() <= 1e-14 * (1 + np.abs(traj.q).max()) * 10
    assert traj.velocity_drift.max() <= 1e-14 * (1 + np.abs(traj.v).max()) * 10


def test_what_cannot_be_projected_is_named(pendulum: go.System, assert_sentence: Callable[..., None]) -> None:
    hopeless = go.System(
        mass=np.eye(1), force=np.zeros(1),
        equality=lambda t, q, v: ([[2.0 * q[0]]], [-2.0 * v[0] ** 2]),
        position=lambda t, q: [q[0] ** 2 + 1.0],
    )  # fmt: skip
    with pytest.raises(go.BadInput) as caught:
        go.simulate(hopeless, q0=[0.7], v0=[0.0], dt=0.01, t_end=1.0, stabilisation="projection")
    assert_sentence(caught.value, "t = 0", "projected", "residual")


def test_baumgarte_adds_its_feedback_to_gamma(pendulum: go.System) -> None:
    q, v = np.array([1.1, 0.0]), np.array([0.2, 0.0])
    step = pendulum.evaluate(0.0, q, v)
    shaped = Baumgarte(alpha=3.0, beta=5.0).shape(pendulum, step)
    phi, rate = 0.5 * (1.21 - 1.0), 1.1 * 0.2
    np.testing.assert_allclose(shaped.gamma, step.gamma - 2 * 3.0 * rate - 25.0 * phi, rtol=1e-13)
    np.testing.assert_array_equal(step.gamma, pendulum.evaluate(0.0, q, v).gamma)


def test_own_settings_and_names(pendulum: go.System) -> None:
    assert swing(pendulum, stabilisation=Baumgarte(alpha=5.0, beta=5.0), t_end=0.1).meta["stabilisation"] == "baumgarte"
    for name in stabilisation.STABILISATIONS:
        assert stabilisation.make(name).name == name


def test_an_unknown_stabilisation_gets_the_nearest(pendulum: go.System, assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.UnknownName) as caught:
        swing(pendulum, stabilisation="projektion")
    assert_sentence(caught.value, "stabilisation", "'projektion'", "did you mean 'projection'")


@pytest.mark.parametrize("stabilisation", ["projection", "baumgarte"])
@pytest.mark.parametrize(
    ("part", "function"),
    [("position", lambda t, q: [0.0, 0.0]), ("velocity", lambda t, q, v: [0.0, 0.0, 0.0])],
)
def test_residuals_that_do_not_match_the_rows_are_named(
    part: str, function: Any, stabilisation: str, assert_sentence: Callable[..., None]
) -> None:
    """More constraint functions than rows of J."""
    system = go.System(
        mass=np.eye(2), force=np.zeros(2), equality=lambda t, q, v: ([[1.0, 0.0]], [0.0]), **{part: function}
    )
    with pytest.raises(go.BadInput) as caught:
        go.simulate(system, q0=[0.0, 0.0], v0=[0.0, 0.0], dt=0.1, t_end=1.0, stabilisation=stabilisation)
    assert_sentence(caught.value, part)


def turned(e: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A vector turned by a unit quaternion."""
    return np.asarray(x + 2 * np.cross(e[1:], np.cross(e[1:], x) + e[0] * x))


def hinged_three_times(rng: np.random.Generator) -> go.Model:
    """A body on a hinge, on another one with the same axis, and on a rod from that axis."""
    unit = [x / np.linalg.norm(x) for x in (rng.normal(size=4), rng.normal(size=3))]
    attitude, axis = unit[0] * np.array([1, -1, -1, -1]), unit[1]
    centre, hinge, away = rng.normal(size=(3, 3))
    model = go.Model(3, gravity=(0.0, 0.0, -9.81))
    body = model.body("body", 1.3, (0.4, 0.5, 0.6), at=tuple(centre), angle=tuple(unit[0]))
    for name, point in (("A", hinge), ("B", hinge + rng.normal() * axis)):
        own = body.at(*turned(attitude, point - centre), axis=tuple(turned(attitude, axis)))
        model.add(Revolute(name, model.ground.at(*point, axis=tuple(axis)), own))
    begin = hinge + rng.normal() * axis
    end = body.at(*turned(attitude, hinge + away - centre))
    model.add(Distance("rod", model.ground.at(*begin), end, float(np.linalg.norm(hinge + away - begin))))
    return model


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.campaigns)])
def test_no_row_that_is_rounding_moves_a_state_beside_redundant_constraints(seed: int) -> None:
    """A singular value of 2e-14, counted by other units as a row, divided residuals of 1e-11: steps jumped by 6e-4."""
    rng = np.random.default_rng(seed)
    model = hinged_three_times(rng)
    system = model.system()
    q, v = model.start(system)
    for exponent in rng.uniform(-13.0, -5.0, 50):
        off = rng.normal(size=len(q)) * 10.0**exponent
        q_near, v_near = Projection().correct(system, 0.0, q + off, v + off)
        assert np.abs(q_near - q - off).max() <= 3.0 * np.abs(off).max()
        assert np.abs(v_near - v - off).max() <= 3.0 * np.abs(off).max()
