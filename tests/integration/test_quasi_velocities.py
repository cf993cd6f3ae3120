"""Quasi-velocities: derived, checked for independence, integrated."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import gaussopt as go

x, y, z, vx, vy, vz, m, t = sp.symbols("x y z vx vy vz m t")


def nonlinear() -> go.System:
    """A particle whose horizontal speed is (1 + x^2) times its vertical one: nonlinear in the velocities."""
    speed = sp.sqrt(vx**2 + vy**2)
    return go.System.from_lagrangian(
        [x, y, z], [vx, vy, vz], kinetic=m * (vx**2 + vy**2 + vz**2) / 2, potential=9.81 * m * z,
        nonholonomic=[speed - (1 + x**2) * vz], quasi_velocities=[speed, sp.atan2(vy, vx)], parameters={m: 2.0},
        name="nonlinear",
    )  # fmt: skip


def affine() -> go.System:
    """A knife edge on a turntable: affine in the velocities, with explicit time."""
    return go.System.from_lagrangian(
        [x, y, z], [vx, vy, vz], kinetic=m * (vx**2 + vy**2 + vz**2 / 4) / 2,
        forces=[sp.sin(t), 0, 1], nonholonomic=[vx * sp.sin(z) - vy * sp.cos(z) - sp.cos(2 * t)],
        quasi_velocities=[vx * sp.cos(z) + vy * sp.sin(z), vz], parameters={m: 2.0}, name="affine",
    )  # fmt: skip


@pytest.mark.parametrize("build", [nonlinear, affine])
def test_same_acceleration_as_lagrange(build: object) -> None:
    system = build()  # type: ignore[operator]
    rng = np.random.default_rng(0)
    for _ in range(50):
        q = rng.uniform(-1, 1, 3)
        omega = rng.uniform(0.3, 1.5, 2)
        time = float(rng.uniform(0, 3))
        v = system.velocity_from(time, q, omega, np.array([1.0, 1.0, 1.0]))
        assert np.abs(system.velocity_residual(time, q, v)).max() < 1e-14 * (1 + np.abs(v).max())
        assert system.quasi_velocity(time, q, v) == pytest.approx(omega, abs=1e-13)
        step = system.evaluate(time, q, v)
        assert np.abs(step.J @ step.D_omega).max() < 1e-13
        a = go.solve_step(step, "quasi-velocity", "kkt").a
        b = go.solve_step(step, "lagrange", "kkt").a
        assert np.abs(a - b).max() <= 1e-12 * (1 + np.abs(b).max())


@pytest.mark.parametrize("build", [nonlinear, affine])
def test_rate_is_the_derivative_along_the_motion(build: object) -> None:
    system = build()  # type: ignore[operator]
    q, time = np.array([0.3, -0.2, 0.4]), 0.7
    v = system.velocity_from(time, q, np.array([0.8, 0.6]), np.array([1.0, 1.0, 1.0]))
    a = go.solve_step(system.evaluate(time, q, v), "lagrange", "kkt").a
    rate = system.quasi_velocity_rate(time, q, v, a)
    h = 1e-5
    ends = [system.quasi_velocity(time + s * h, q + s * h * v + 0.5 * h * h * a, v + s * h * a) for s in (1.0, -1.0)]
    # Central difference: error of order h^2.
    assert rate == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-8)


def test_velocity_constraint_holds_identically_and_drifts_otherwise() -> None:
    problem = go.problem("knife-edge-body", case="NH-A")
    settings = {"dt": 0.05, "t_end": 10.0, "step_folder": None, "error_estimate": False}
    held = go.simulate(problem, "quasi-velocity", "kkt", **settings)
    drifts = go.simulate(problem, "quasi-velocity", "kkt", state="velocity", **settings)
    assert held.meta["state"] == "quasi-velocity"
    assert held.velocity_drift.max() < 1e-15
    assert drifts.velocity_drift.max() > 1e-9


def test_any_formulation_can_be_integrated_in_quasi_velocities() -> None:
    problem = go.problem("knife-edge-body", case="NH-C")
    motion = go.simulate(problem, "gauss", "osqp", state="quasi-velocity", dt=0.01, t_end=0.5, error_estimate=False)
    assert motion.status is go.Status.SOLVED
    assert motion.velocity_drift.max() < 1e-15


def test_dependent_quasi_velocities_are_refused() -> None:
    with pytest.raises(go.BadInput, match="dependent"):
        go.System.from_lagrangian(
            [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, quasi_velocities=[vx + vy, 2 * vx + 2 * vy],
            parameters={m: 1.0}, name="dependent",
        )  # fmt: skip


def test_wrong_number_of_quasi_velocities_is_refused() -> None:
    with pytest.raises(go.BadInput, match="n - m = 2"):
        go.System.from_lagrangian(
            [x, y], [vx, vy], kinetic=m * (vx**2 + vy**2) / 2, quasi_velocities=[vx], parameters={m: 1.0}
        )


def test_a_system_without_them_says_so() -> None:
    with pytest.raises(go.BadInput, match="names no quasi-velocities"):
        go.simulate("crank-slider", state="quasi-velocity", t_end=0.01)
    with pytest.raises(go.NotAccepted, match="names no quasi-velocities"):
        go.simulate("crank-slider", "quasi-velocity", t_end=0.01)
    with pytest.raises(go.UnknownName, match="velocity"):
        go.simulate("crank-slider", state="velocities", t_end=0.01)


@pytest.mark.parametrize("case", ["NH-A", "NH-B", "NH-C"])
@pytest.mark.parametrize("formulation", ["quasi-velocity", "routh"])
def test_motion_follows_the_reference(case: str, formulation: str) -> None:
    problem = go.problem("knife-edge-body", case=case)
    reference = problem.reference(case)
    rows = len(reference.t) // 3
    motion = go.simulate(
        problem, formulation, "kkt", stepper="dop853", rtol=1e-12, atol=1e-12, dt=reference.t[1],
        t_end=reference.t[rows - 1], error_estimate=False,
    )  # fmt: skip
    assert motion.t == pytest.approx(reference.t[:rows], abs=1e-12)
    assert np.abs(motion.q - reference.q[:rows]).max() < 1e-9
    assert np.abs(motion.v - reference.v[:rows]).max() < 1e-9
