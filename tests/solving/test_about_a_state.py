"""Inverse dynamics and linear equations beside a state, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import Revolute

LENGTH, MASS, GRAVITY = 0.8, 2.0, 9.81


def rod(angle: float) -> go.Problem:
    """A homogeneous rod on a hinge, in maximal coordinates: x, y, theta."""
    model = go.Model(dim=2, gravity=(0, -GRAVITY))
    half = LENGTH / 2
    body = model.body("rod", MASS, MASS * LENGTH**2 / 12, at=(half * np.cos(angle), half * np.sin(angle)), angle=angle)
    model.add(Revolute("pivot", model.ground, body.at(-half, 0)))
    return model.problem(t_end=1.0)


def pendulum() -> go.System:
    """A particle of 2 kg on a rod of 0.5 m with damping of 0.3 N m s, by its angle from below."""
    x, v = sp.symbols("x v")
    return go.System.from_lagrangian([x], [v], kinetic=v**2 / 4, potential=-GRAVITY * sp.cos(x), forces=[-0.3 * v])


@pytest.mark.parametrize("angle", [0.0, 1.0, np.pi])
def test_a_damped_pendulum_beside_any_angle(angle: float) -> None:
    found = go.linearise(pendulum(), [angle], [0.0])
    assert np.abs(found.A - [[0.0, 1.0], [-GRAVITY / 0.5 * np.cos(angle), -0.6]]).max() < 1e-6
    assert np.abs(found.B - [[0.0], [2.0]]).max() < 1e-12
    assert found.c == pytest.approx([0.0, -GRAVITY / 0.5 * np.sin(angle)], abs=1e-12)


def test_a_rod_on_a_hinge_has_its_frequency_in_the_one_direction_in_which_it_moves() -> None:
    given = rod(-np.pi / 2)
    found = go.linearise(given.system, given.q0, given.v0)
    frequency = np.sqrt(3 * GRAVITY / (2 * LENGTH))
    assert found.A.shape == (2, 2)
    assert np.sort(np.linalg.eigvals(found.A).imag) == pytest.approx([-frequency, frequency], rel=1e-6)
    along = found.W[:, 0] / found.W[2, 0]  # per rad/s
    assert along == pytest.approx([LENGTH / 2, 0.0, 1.0], abs=1e-12)
    assert found.W[2, 0] * found.B[1, 2] == pytest.approx(3 / (MASS * LENGTH**2))  # a torque, a moment of inertia


def test_a_skate_beside_its_glide() -> None:
    """Without sideslip the way aside grows with the angle: nonholonomic, three positions and two velocities."""
    skate = go.System(
        mass=np.diag([2.0, 2.0, 0.1]), force=np.zeros(3),
        equality=lambda t, q, v: (
            [[-np.sin(q[2]), np.cos(q[2]), 0.0]], [(np.cos(q[2]) * v[0] + np.sin(q[2]) * v[1]) * v[2]],
        ),
    )  # fmt: skip
    found = go.linearise(skate, np.zeros(3), [3.0, 0.0, 0.0])
    assert (found.Y.shape, found.W.shape) == ((3, 3), (3, 2))
    due = np.zeros((5, 5))
    due[1, 2], due[:3, 3:] = 3.0, found.W
    assert np.abs(found.A - due).max() < 1e-7
    assert found.c == pytest.approx([3.0, 0, 0, 0, 0], abs=1e-9)


def test_forces_that_hold_a_rod_are_its_weight_about_the_hinge() -> None:
    given = rod(0.4)
    forces = go.inverse_dynamics(given.system, given.q0, given.v0, np.zeros(3))
    along = np.array([-LENGTH / 2 * np.sin(0.4), LENGTH / 2 * np.cos(0.4), 1.0])
    assert forces @ along == pytest.approx(MASS * GRAVITY * LENGTH / 2 * np.cos(0.4), rel=1e-12)
    step = given.system.evaluate(0.0, given.q0, given.v0)
    assert step.J @ np.linalg.solve(step.M, forces) == pytest.approx(0.0, abs=1e-12)  # the least of all
    with pytest.raises(go.BadInput, match=r"with the constraints .* \(row pivot\.y by 1\)"):
        go.inverse_dynamics(given.system, given.q0, given.v0, [0.0, 1.0, 0.0])


def test_forces_of_a_system_without_constraints_are_those_of_its_equations() -> None:
    q, v, a = np.random.default_rng(2).normal(size=(3, 1))
    forces = go.inverse_dynamics(pendulum(), q, v, a)
    assert forces == pytest.approx(0.5 * a + 0.3 * v + GRAVITY * np.sin(q), rel=1e-12)


def test_contacts_push_as_before_and_are_not_linearised() -> None:
    ball = go.problem("bouncing-ball").system
    assert ball.evaluate(0.0, [0.0], [0.0]).k == 1
    assert go.inverse_dynamics(ball, [0.0], [0.0], [0.0]) == pytest.approx([0.0], abs=1e-12)
    with pytest.raises(go.BadInput, match="No forces give this acceleration with the constraints and contacts"):
        go.inverse_dynamics(ball, [0.0], [0.0], [1.0])
    with pytest.raises(go.NotAccepted, match="has contacts"):
        go.linearise(ball, [1.0], [0.0])


def standing(angle: float, mu: float) -> tuple[go.System, np.ndarray]:
    """The rod free of its hinge, with its lower end on a floor."""
    x, y, phi, vx, vy, w = sp.symbols("x y phi v_x v_y v_phi")
    half = LENGTH / 2
    foot = go.Contact("foot", gap=y - half * sp.sin(phi), slip=[vx + half * sp.sin(phi) * w], mu=mu)
    ceiling = go.Contact("ceiling", gap=3 - y)
    system = go.System.from_lagrangian(
        [x, y, phi], [vx, vy, w], kinetic=MASS * (vx**2 + vy**2) / 2 + MASS * LENGTH**2 / 24 * w**2,
        potential=MASS * GRAVITY * y, contacts=[foot, ceiling],
    )  # fmt: skip
    return system, np.array([half * np.cos(angle), half * np.sin(angle), angle])


def test_a_rod_on_a_held_foot_falls_as_on_a_hinge() -> None:
    system, q = standing(np.pi / 2, 0.5)
    found = go.linearise(system, q, np.zeros(3), held=["foot"])
    rate = np.sqrt(3 * GRAVITY / (2 * LENGTH))
    # The contact holds the height of the foot and its speed aside; where it stands aside changes nothing.
    assert (found.Y.shape, found.W.shape, found.A.shape) == ((3, 2), (3, 1), (3, 3))
    assert np.sort(np.linalg.eigvals(found.A).real) == pytest.approx([-rate, 0.0, rate], abs=1e-6)
    assert found.c == pytest.approx(np.zeros(3), abs=1e-9)
    smooth = go.linearise(standing(np.pi / 2, 0.0)[0], q, np.zeros(3), held=["foot"])
    lying = np.sqrt(GRAVITY * LENGTH / 2 / (LENGTH**2 / 12))  # about its centre, as the foot slides
    assert smooth.W.shape == (3, 2)
    assert np.linalg.eigvals(smooth.A).real.max() == pytest.approx(lying, rel=1e-6)


def test_forces_that_keep_a_leaning_rod_on_its_held_foot_are_those_on_a_hinge() -> None:
    system, q = standing(1.1, 0.2)
    forces = go.inverse_dynamics(system, q, np.zeros(3), np.zeros(3), held=["foot"])
    on_hinge = rod(1.1)
    due = go.inverse_dynamics(on_hinge.system, on_hinge.q0, on_hinge.v0, np.zeros(3))
    assert forces == pytest.approx(due, abs=1e-9)
    with pytest.raises(go.UnknownName, match="contact"):
        go.linearise(system, q, np.zeros(3), held=["hand"])


def test_what_is_no_system_and_no_list_of_contacts_is_told() -> None:
    bars = go.problem("two-bar")
    for given in ("two-bar", bars, None):
        for act in (lambda *x: go.inverse_dynamics(*x, x[2]), go.linearise):
            with pytest.raises(go.BadInput, match="is no system; give that of a problem"):
                act(given, bars.q0, bars.v0)
    for held in ("A", 3):
        with pytest.raises(go.BadInput, match="give a list of names of contacts"):
            go.linearise(bars.system, bars.q0, bars.v0, held=held)  # type: ignore[arg-type]
