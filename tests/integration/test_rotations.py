"""Rotating bodies in Moreau-Jean steps: what no torque changes stays, and other errors fall with the order."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Model, Pile, Spherical, Touch
from gaussopt.linalg.quaternions import spin_rows

SPIN = 30.0
"""rad/s."""


def steps(problem: Any, dt: float, **settings: Any) -> go.Trajectory:
    motion = go.simulate(problem, stepper="moreau-jean", dt=dt, error_estimate=False, **settings)
    assert motion.status is go.Status.SOLVED, motion.message
    return motion


def spins(motion: go.Trajectory) -> tuple[Any, Any]:
    """Return angular velocities in the frames of the ground and of the body, and the quaternions."""
    e, rate = motion.q[:, 3:7], motion.v[:, 3:7]
    assert np.abs((e**2).sum(axis=1) - 1).max() < 1e-14
    own = 2 * np.einsum("tij,tj->ti", spin_rows(e), rate)
    return 2 * np.einsum("tij,tj->ti", spin_rows(e, 1.0), rate), own


@pytest.mark.parametrize(("dt", "stabilisation"), [(1e-2, "none"), (1e-3, "none"), (1e-2, "projection")])
def test_a_ball_that_spins_on_the_floor_keeps_its_spin(dt: float, stabilisation: str) -> None:
    """Contact in a point has no torque about the normal; the floor carries the weight all the time."""
    pile = Pile(mu=0.4)
    pile.ball(1.0, 0.05, at=(0, 0, 0.05), spin=(0, 0, SPIN))
    motion = steps(pile.problem(t_end=100 * dt, dt=dt), dt, stabilisation=stabilisation)
    np.testing.assert_allclose(spins(motion)[0], np.tile([0, 0, SPIN], (len(motion.t), 1)), atol=1e-12 * SPIN)
    np.testing.assert_allclose(motion.lam_N[:, 0], 9.81, rtol=1e-12)
    assert np.abs(motion.lam_T).max() < 1e-12


INERTIA = (0.02, 0.03, 0.04)
TILTED = np.array([0.9, 0.2, -0.3, 0.1]) / np.sqrt(0.95)


@cache
def thrown(spin: tuple[float, ...]) -> go.Problem:
    """An asymmetric body, tilted, with an angular velocity in its own frame, rad/s, and no force but its weight."""
    model = Model(dim=3, gravity=(0, 0, -9.81), name="thrown")
    R = spin_rows(TILTED[None], 1.0)[0] @ spin_rows(TILTED[None])[0].T
    spin = (R @ np.array(spin)).tolist()
    body = model.body("body", 2.0, INERTIA, angle=TILTED.tolist(), spin=spin, velocity=(1, 0, 2))
    model.add(Touch("floor far below", model.ground.at(0, 0, -99, axis=(0, 0, 1)), body))
    return model.problem(t_end=1.0, dt=1e-2)


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_a_free_body_keeps_its_spin_about_a_tilted_principal_axis(axis: int, dt: float) -> None:
    spin = SPIN * np.eye(3)[axis]
    motion = steps(thrown(tuple(spin)), dt, t_end=100 * dt)
    ground, own = spins(motion)
    np.testing.assert_allclose(own, np.tile(spin, (len(own), 1)), atol=1e-12 * SPIN)
    np.testing.assert_allclose(ground, np.tile(ground[0], (len(own), 1)), atol=1e-12 * SPIN)
    angle = SPIN / 2 * motion.t[-1]
    turned = np.cos(angle) * TILTED + np.sin(angle) * spin_rows(TILTED[None])[0].T[:, axis]
    np.testing.assert_allclose(motion.q[-1, 3:], turned, atol=1e-11)


def test_errors_of_a_tumbling_body_fall_with_the_square_of_the_step() -> None:
    problem = thrown((1.0, 4.0, 2.0))
    exact = go.simulate(problem, stepper="dop853", rtol=1e-11, atol=1e-12, error_estimate=False).q[-1]
    errors = []
    for dt in (2e-2, 1e-2, 5e-3):
        motion = steps(problem, dt)
        _, own = spins(motion)
        R = np.einsum("tij,tkj->tik", spin_rows(motion.q[:, 3:], 1.0), spin_rows(motion.q[:, 3:]))
        energy, momentum = (own**2) @ INERTIA / 2, np.einsum("tij,tj->ti", R, own * INERTIA)
        errors.append([
            np.abs(energy - energy[0]).max(), np.abs(momentum - momentum[0]).max(), np.abs(motion.q[-1] - exact).max(),
        ])  # fmt: skip
    errors = np.array(errors)
    np.testing.assert_allclose(errors[0] / errors[1], 4, rtol=0.1)
    np.testing.assert_allclose(errors[1] / errors[2], 4, rtol=0.05)
    assert (errors[-1] < [1e-5, 1e-5, 1e-3]).all()


@pytest.mark.parametrize(("coordinates", "order"), [("maximal", 1), ("joint", 2)])
def test_a_body_that_swings_from_a_ball_joint_converges(coordinates: str, order: int) -> None:
    """The rows of the joint are those of the begin of a step, first order; joint coordinates have no such rows."""
    model = Model(dim=3, gravity=(0, 0, -9.81), name="swing", coordinates=coordinates)
    body = model.body("body", 2.0, INERTIA, at=(0.3, 0, -0.2), spin=(1.0, -2.0, 3.0))
    model.add(Spherical("hook", model.ground, body.at(-0.3, 0, 0.2)))
    model.add(Touch("floor far below", model.ground.at(0, 0, -9, axis=(0, 0, 1)), body))
    problem = model.problem(t_end=0.16, dt=1e-2)
    exact = go.simulate(problem, stepper="dop853", rtol=1e-11, atol=1e-12, error_estimate=False)
    errors = []
    for dt in (8e-3, 4e-3, 2e-3):
        motion = steps(problem, dt, stabilisation="projection")
        errors.append(np.abs(motion.q[-1] - exact.q[-1]).max())
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(2**order, rel=0.1)
    assert errors[2] < 1e-2
