"""Guides and hinges with friction against closed forms: sliding, sticking, bearing at two ends, jamming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import AppliedForce, AppliedTorque, Prismatic, Revolute, Slot, Touch

MU, MASS, G, LENGTH = 0.3, 2.0, 9.81, 0.4


def block(slope: float = 0.0, speed: float = 0.0, pull: float = 0.0, arm: float = 0.0, **guide: Any) -> go.Problem:
    """A block in a guide on a slope, pulled along it at a distance from its axis."""
    model = go.Model(dim=2, gravity=(0.0, -G))
    way = np.array([np.cos(slope), np.sin(slope)])
    mu = model.parameter("mu", MU)
    body = model.body("block", MASS, 0.1, at=(0.0, 0.0), angle=slope, velocity=tuple(speed * way))
    model.add(Prismatic("guide", model.ground.at(0, 0, axis=tuple(way)), body, mu=mu, **guide))
    if pull:
        model.add(AppliedForce("pull", model.ground, body.at(0, arm), tuple(pull * way)))
    return model.problem(t_end=1.0)


def test_a_block_slides_to_rest_after_its_closed_form():
    motion = go.simulate(block(speed=2.0), dt=0.01, error_estimate=False)
    stop = 2.0 / (MU * G)
    assert motion.events[0]["kind"] == "stick"
    assert motion.events[0]["t"] == pytest.approx(stop, abs=1e-12)
    assert motion.q[-1, 0] == pytest.approx(2.0 * stop / 2, abs=1e-12)
    assert motion.reaction("guide")[0] == pytest.approx(
        [0.0, MASS * G, -MU * MASS * G], abs=1e-12
    )  # angle, normal, friction
    assert motion.worst.relative_error < 1e-13


@pytest.mark.parametrize("slope", [0.2, 0.29, 0.3, 0.5, -0.5])
def test_a_block_on_a_slope_slides_beyond_the_angle_of_friction(slope):
    motion = go.simulate(block(slope), dt=1e-3, t_end=0.01, error_estimate=False)
    force = -G * np.sin(slope)
    held = abs(np.tan(slope)) <= MU
    expected = 0.0 if held else force - np.sign(force) * MU * G * np.cos(slope)
    assert motion.a[-1, :2] @ [np.cos(slope), np.sin(slope)] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(("arm", "pull"), [(0.0, 20.0), (0.05, 20.0), (0.6, 20.0), (-0.6, 20.0), (0.6, 200.0)])
def test_a_slider_that_bears_at_two_ends(arm, pull):
    motion = go.simulate(block(speed=0.5, pull=pull, arm=arm, length=LENGTH), dt=1e-3, t_end=0.01)
    # The ends carry the weight and the moment of the pull; friction acts at both, on their line.
    rear, front = (MASS * G - 2 * pull * arm / LENGTH) / 2, (MASS * G + 2 * pull * arm / LENGTH) / 2
    expected = [rear, -MU * abs(rear), front, -MU * abs(front)]
    assert motion.reaction("guide")[0] == pytest.approx(expected, abs=1e-10)
    assert motion.a[0, 0] == pytest.approx((pull - MU * (abs(rear) + abs(front))) / MASS, abs=1e-11)
    assert np.abs(motion.q[:, 1:]).max() < 1e-12


@pytest.mark.parametrize(("arm", "jams"), [(0.9 * LENGTH / (2 * MU), False), (1.1 * LENGTH / (2 * MU), True)])
@pytest.mark.parametrize("pull", [100.0, 10000.0])
def test_a_drawer_jams_beyond_its_arm_however_hard_it_is_pulled(arm, jams, pull):
    motion = go.simulate(block(pull=pull, arm=arm, length=LENGTH), dt=1e-3, t_end=0.01)
    assert motion.status is go.Status.SOLVED
    assert bool(abs(motion.q[-1, 0]) < 1e-12) == jams


def wheel(torque: float = 0.0, spin: float = 0.0, **more: Any) -> go.Problem:
    model = go.Model(dim=2, gravity=(0.0, -G), **more)
    body = model.body("wheel", 3.0, 0.1, spin=spin)
    model.add(Revolute("O", model.ground, body, mu=0.2, radius=0.05))
    if torque:
        model.add(AppliedTorque("motor", model.ground, body, torque))
    return model.problem(t_end=5.0)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_wheel_runs_down_in_its_bearing(coordinates):
    friction = 0.2 * 0.05 * 3.0 * G
    motion = go.simulate(wheel(spin=10.0, coordinates=coordinates), dt=1e-2)
    assert {event["kind"] for event in motion.events} == {"stick"}
    assert motion.events[0]["t"] == pytest.approx(10.0 * 0.1 / friction, abs=1e-11)
    assert motion.q[-1, 2] == pytest.approx(10.0**2 * 0.1 / (2 * friction), abs=1e-9)


@pytest.mark.parametrize(("share", "moves"), [(0.99, False), (1.01, True)])
def test_a_wheel_starts_beyond_the_torque_of_its_bearing(share, moves):
    friction = 0.2 * 0.05 * 3.0 * G
    motion = go.simulate(wheel(torque=share * friction), dt=1e-2, t_end=0.1)
    assert motion.a[-1, 2] == pytest.approx((share - 1.0) * friction / 0.1 if moves else 0.0, abs=1e-12)


def test_pads_of_a_bearing_follow_its_axes():
    """A load at an angle to the axes has |F1| + |F2| > |F|; with an axis along the load they are the same."""
    found = []
    for axis in ((1.0, 0.0), (1.0, 1.0)):
        model = go.Model(dim=2, gravity=(-G, -G))
        body = model.body("wheel", 3.0, 0.1, spin=10.0)
        model.add(Revolute("O", model.ground.at(0, 0, axis=axis), body, mu=0.2, radius=0.05))
        motion = go.simulate(model.problem(t_end=0.01), dt=1e-3)
        found.append(-motion.a[0, 2] * 0.1 / (0.2 * 0.05 * 3.0 * G * np.sqrt(2.0)))
    assert found == pytest.approx([np.sqrt(2.0), 1.0], abs=1e-12)


def test_a_bead_in_a_slot_and_between_two_walls_moves_alike():
    ends = []
    for make in (
        lambda ground, bead: Slot("wire", ground, bead, mu=MU),
        lambda ground, bead: Touch("wire", ground, bead, mu=MU, two_sided=True),
    ):
        model = go.Model(dim=2, gravity=(0.0, -G))
        bead = model.particle("bead", 1.0, at=(0.3, 0.1), velocity=(1.0, 0.0))  # is assembled onto the wire
        model.add(make(model.ground, bead))
        motion = go.simulate(model.problem(t_end=0.1), dt=0.01, error_estimate=False)
        assert motion.reaction("wire")[-1] == pytest.approx([G, -MU * G], abs=1e-12)
        ends.append(motion.q[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-14)
    assert ends[0] == pytest.approx([0.3 + 0.1 - MU * G * 0.1**2 / 2, 0.0], abs=1e-12)


def test_friction_that_a_joint_does_not_have_is_refused():
    space, plane = go.Model(dim=3), go.Model(dim=2)
    with pytest.raises(go.BadInput, match="friction, which joints have in the plane only"):
        Prismatic("guide", space.ground, space.body("b", 1.0, (1.0, 1.0, 1.0)), mu=0.1)
    with pytest.raises(go.BadInput, match="has friction and no radius"):
        Revolute("O", plane.ground, plane.body("b", 1.0, 1.0), mu=0.1)
