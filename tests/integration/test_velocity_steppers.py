"""The steppers that keep constraints themselves: orders, drift, energy, and the same motion as generated code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from chains import closed_arc

import gaussopt as go
from gaussopt.core import registry

NAMES = ["velocity-gauss", "rattle"]


@pytest.fixture(scope="session")
def driven() -> go.Problem:
    """A point mass on a rod of changing length whose pivot moves, with drag that is not linear in the velocity."""
    x, y, vx, vy, t, c, g = sp.symbols("x y vx vy t c g")
    speed = sp.sqrt(vx**2 + vy**2 + 1)
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=g * y, forces=[-c * speed * vx, -c * speed * vy],
        holonomic=[(x - sp.sin(3 * t) / 5) ** 2 + y**2 - (1 + sp.cos(2 * t) / 10) ** 2],
        parameters={c: 0.3, g: 9.81}, t=t, name="driven-pendulum",
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.0, -1.1], v0=[0.6, 0.0], t_end=1.0, dt=1e-3)


@pytest.fixture(scope="session")
def swing() -> go.Problem:
    """Two point masses on rods, in Cartesian coordinates: conservative."""
    x, y, z, w, vx, vy, vz, vw = sp.symbols("x y z w vx vy vz vw")
    system = go.System.from_lagrangian(
        [x, y, z, w], [vx, vy, vz, vw], kinetic=(vx**2 + vy**2 + vz**2 + vw**2) / 2, potential=9.81 * (y + w),
        holonomic=[x**2 + y**2 - 1, (z - x) ** 2 + (w - y) ** 2 - 1], name="double-pendulum",
    )  # fmt: skip
    a, b = 0.9, 1.3
    q0 = [math.sin(a), -math.cos(a), math.sin(a) + math.sin(b), -math.cos(a) - math.cos(b)]
    return go.Problem.of(system, q0=q0, v0=np.zeros(4), t_end=1.0, dt=1e-2)


def run(problem: Any, stepper: str, **settings: Any) -> go.Trajectory:
    found = go.simulate(problem, stepper=stepper, step_folder=None, error_estimate=False, **settings)
    assert found.status is go.Status.SOLVED, found.message
    return found


def orders(problem: Any, stepper: str, exact: tuple[np.ndarray, np.ndarray], dt: float, **settings: Any) -> np.ndarray:
    """Observed orders of position and velocity between dt and dt/2."""
    errors = []
    for step in (dt, dt / 2):
        end = run(problem, stepper, dt=step, **settings)
        errors.append([np.abs(end.q[-1] - exact[0]).max(), np.abs(end.v[-1] - exact[1]).max()])
    return np.log2(np.divide(*errors))


# -- order -----------------------------------------------------------------------------------------------


def test_rattle_is_of_order_two_on_the_damped_crank_slider(crank: go.Problem) -> None:
    rows = crank.reference("crank-A-2s")
    i = int(np.flatnonzero(np.isclose(rows.t, 0.3))[0])
    found = orders(crank, "rattle", (rows.q[i], rows.v[i]), 2e-3, t_end=0.3, engine="compiled")
    np.testing.assert_allclose(found, 2.0, atol=0.02)


def test_rattle_is_of_order_two_on_the_driven_four_bar() -> None:
    problem = go.problem("four-bar")
    rows = problem.reference(problem.references[0].name)
    i = int(np.flatnonzero(np.isclose(rows.t, 0.5))[0])
    found = orders(problem, "rattle", (rows.q[i], rows.v[i]), 0.02, t_end=0.5)
    np.testing.assert_allclose(found, 2.0, atol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_orders_with_explicit_time_and_drag(name: str, driven: go.Problem) -> None:
    exact = run(driven, "dop853", rtol=1e-13, atol=1e-13, dt=0.25, t_end=0.5, stabilisation="projection")
    order = registry.load("stepper", name).order
    found = orders(driven, name, (exact.q[-1], exact.v[-1]), 2e-3, t_end=0.5, engine="compiled")
    np.testing.assert_allclose(found, order, atol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_orders_with_a_nonholonomic_constraint(name: str) -> None:
    """y' = z x', z = t: x = asinh t, y = sqrt(1 + t^2) - 1."""
    q, v = sp.symbols("x y z"), sp.symbols("vx vy vz")
    system = go.System.from_lagrangian(
        q, v, kinetic=sum(u**2 for u in v) / 2, nonholonomic=[v[1] - q[2] * v[0]], name="particle"
    )
    exact = np.array([math.asinh(2), math.sqrt(5) - 1, 2]), np.array([1 / math.sqrt(5), 2 / math.sqrt(5), 1])
    found = orders(system, name, exact, 0.02, t_end=2.0, q0=[0, 0, 0], v0=[1, 0, 1])
    np.testing.assert_allclose(found, registry.load("stepper", name).order, atol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_a_constraint_that_is_not_linear_in_the_velocity_is_met(name: str) -> None:
    """Speed prescribed, |v| = 1 + t: the push is along the path, and gravity bends it."""
    x, y, vx, vy, t = sp.symbols("x y vx vy t")
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=2 * y, nonholonomic=[vx**2 + vy**2 - (1 + t) ** 2],
        t=t, name="paced",
    )  # fmt: skip
    exact = run(system, "dop853", rtol=1e-12, atol=1e-12, t_end=0.5, q0=[0, 0], v0=[1, 0])
    found = orders(system, name, (exact.q[-1], exact.v[-1]), 0.005, t_end=0.5, q0=[0, 0], v0=[1, 0])
    np.testing.assert_allclose(found, registry.load("stepper", name).order, atol=0.1)
    end = run(system, name, dt=0.01, t_end=0.5, q0=[0, 0], v0=[1, 0])
    assert end.velocity_drift.max() <= (1e-14 if name == "rattle" else 1e-3)


# -- what the steps are --------------------------------------------------------------------------------------


def test_without_constraints_they_are_leapfrog_and_semi_implicit_euler() -> None:
    free = go.System(np.eye(1), lambda t, q, v: -q, name="oscillator")
    settings: dict[str, Any] = {"q0": [1.0], "v0": [0.5], "dt": 0.1, "t_end": 1.0}
    np.testing.assert_array_equal(run(free, "velocity-gauss", **settings).q, run(free, "semi-implicit", **settings).q)
    q, v, h = 1.0, 0.5, 0.1
    for _ in range(10):
        v -= h / 2 * q
        q += h * v
        v -= h / 2 * q
    end = run(free, "rattle", **settings)
    np.testing.assert_allclose([end.q[-1, 0], end.v[-1, 0]], [q, v], rtol=1e-14)


def test_the_velocity_of_a_velocity_level_step_is_the_nearest_on_the_linearised_constraints(
    driven: go.Problem,
) -> None:
    h, q, v = 0.01, driven.q0, driven.v0
    step = driven.system.evaluate(0.0, q, v)
    phi = driven.system.position_residual(h, q)
    # min 1/2 |v' - v_free|_M^2 under phi + h J v' = 0, by its optimality conditions
    K = np.block([[step.M, step.J.T], [step.J, np.zeros((1, 1))]])
    free = step.M @ v + h * step.force
    expected = np.linalg.solve(K, np.concatenate((free, -phi / h)))[:2]
    end = run(driven, "velocity-gauss", dt=h, t_end=h)
    np.testing.assert_allclose(end.v[-1], expected, rtol=1e-12)
    np.testing.assert_allclose(end.q[-1], q + h * expected, rtol=1e-14)


def test_errors_of_position_do_not_add_up_in_velocity_level_steps(swing: go.Problem) -> None:
    for dt, most in ((1e-2, 4e-3), (5e-3, 1e-3)):  # of order dt^2
        drift = run(swing, "velocity-gauss", dt=dt, t_end=20.0, engine="compiled").position_drift
        assert drift.max() <= most
        assert drift[len(drift) // 2 :].max() <= 2 * drift[: len(drift) // 2].max()


@pytest.mark.parametrize("kind", ["crank", "driven", "swing"])
def test_rattle_stays_on_the_constraints(kind: str, request: pytest.FixtureRequest) -> None:
    problem = request.getfixturevalue(kind)
    for engine in ("interpreted", "compiled"):
        end = run(problem, "rattle", dt=2e-3, t_end=0.2, engine=engine)
        assert (end.position_drift <= 2e-15 * (1 + np.abs(end.q).max(axis=1))).all()
        assert (end.velocity_drift <= 2e-15 * (1 + np.abs(end.v).max(axis=1))).all()


def test_rattle_neither_gains_nor_loses_energy_in_the_long_run(swing: go.Problem) -> None:
    end = run(swing, "rattle", dt=1e-2, t_end=200.0, engine="compiled")
    error = end.energy - end.energy[0]
    tenth = len(error) // 10
    assert np.abs(error).max() <= 0.01  # J, of a motion that exchanges some 15
    assert abs(error[-tenth:].mean() - error[:tenth].mean()) <= 2e-4


def test_rattle_goes_back_the_way_it_came(swing: go.Problem) -> None:
    there = run(swing, "rattle", dt=1e-2, t_end=0.5)
    back = run(swing, "rattle", dt=1e-2, t_end=0.5, q0=there.q[-1], v0=-there.v[-1])
    np.testing.assert_allclose(back.q[-1], swing.q0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(back.v[-1], -swing.v0, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("formulation", "solver"), [("lagrange", "kkt"), ("null-space", "kkt"), ("udwadia-kalaba", "kkt"), ("dual", "daqp")]
)
def test_any_formulation_and_solver_serves(name: str, formulation: str, solver: str, driven: go.Problem) -> None:
    expected = run(driven, name, t_end=0.02)
    found = run(driven, name, formulation=formulation, solver=solver, t_end=0.02)
    np.testing.assert_allclose(found.q[-1], expected.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.v[-1], expected.v[-1], rtol=0, atol=1e-11)
    assert found.worst.relative_error <= 1e-7


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_formula_is_not_stepped_on(name: str, crank: go.Problem) -> None:
    found = go.simulate(crank, "least-squares-as-printed", "kkt", stepper=name, t_end=0.01, step_folder=None)
    assert found.status is go.Status.INACCURATE


@pytest.mark.parametrize("name", NAMES)
def test_plain_functions_will_do(name: str, pendulum: go.System) -> None:
    end = run(pendulum, name, dt=1e-3, t_end=0.2, q0=[1.0, 0.0], v0=[0.0, 0.0])
    exact = run(pendulum, "dop853", rtol=1e-12, atol=1e-12, t_end=0.2, q0=[1.0, 0.0], v0=[0.0, 0.0])
    order = registry.load("stepper", name).order
    np.testing.assert_allclose(end.q[-1], exact.q[-1], rtol=0, atol=3 * 1e-3**order)


@pytest.mark.parametrize("name", NAMES)
def test_redundant_rows_do_not_contradict_each_other(name: str) -> None:
    """The same circle twice; off it two functions of it agree to first order only, and rattle solves on it alone."""
    x, y, vx, vy = sp.symbols("x y vx vy")
    circle = x**2 + y**2 - 1
    again = circle * (2 + x if name == "rattle" else 2)
    ends = []
    for rows in ([circle], [circle, again]):
        system = go.System.from_lagrangian(
            [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, holonomic=rows, name=f"rows-{len(rows)}"
        )
        ends.append(run(system, name, dt=1e-2, t_end=0.5, q0=[1.0, 0.0], v0=[0.0, 0.0]).q[-1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_steps_will_do(name: str) -> None:
    chain, q, v = closed_arc(20)
    end = run(chain.system, name, formulation="gauss", solver="sparse-kkt", dt=1e-3, t_end=0.02, q0=q, v0=v)
    exact = run(chain.system, "dop853", formulation="gauss", solver="sparse-kkt", rtol=1e-10, atol=1e-10, t_end=0.02,
                q0=q, v0=v)  # fmt: skip
    assert np.abs(end.q[-1] - exact.q[-1]).max() <= (1e-5 if name == "rattle" else 1e-3)
    assert end.position_drift.max() <= (1e-14 if name == "rattle" else 1e-5)


# -- generated code ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_generated_steps_are_the_interpreted_ones(name: str, driven: go.Problem) -> None:
    """With explicit time and drag; tests/compiled/test_generated_loop.py has the systems of the papers."""
    for stabilisation in ("projection", "none"):
        settings: dict[str, Any] = {"stabilisation": stabilisation, "dt": 1e-3, "t_end": 0.02}
        one, other = (run(driven, name, engine=e, **settings) for e in ("interpreted", "compiled"))
        assert (other.meta["engine"], other.meta["handed_over"]) == ("compiled", 0)
        assert max(other.meta["residuals"].values()) <= 1e-10
        for a, b in ((one.q, other.q), (one.v, other.v)):
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * (1 + np.abs(a).max()))


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_they_are_not_for_is_refused(name: str, assert_sentence: Callable[..., None], crank: go.Problem) -> None:
    with pytest.raises(go.NotAccepted) as caught:
        go.simulate("sliding-rod", stepper=name)
    assert_sentence(caught.value, name, "contacts", "moreau-jean")
    with pytest.raises(go.NotAccepted) as caught:
        go.simulate("knife-edge-body", stepper=name, state="quasi-velocity")
    assert_sentence(caught.value, name, "quasi-velocity")
    with pytest.raises(go.NotAccepted) as caught:
        go.simulate(crank, stepper=name, stabilisation="baumgarte")
    assert_sentence(caught.value, name, "Baumgarte")


def test_a_damper_too_stiff_for_the_step_is_named() -> None:
    stiff = go.System(np.eye(1), lambda t, q, v: -1e4 * v, name="stiff")
    found = go.simulate(stiff, stepper="rattle", dt=1e-2, t_end=1.0, q0=[0.0], v0=[1.0], step_folder=None)
    assert found.status is go.Status.SOLVER_ERROR
    assert "do not settle" in found.message
    assert "radau" in found.message


def test_a_step_too_long_for_the_constraints_is_named(swing: go.Problem) -> None:
    found = go.simulate(swing, stepper="rattle", dt=1.0, t_end=5.0, step_folder=None)
    assert found.status is not go.Status.SOLVED
    assert "use a smaller step" in found.message
