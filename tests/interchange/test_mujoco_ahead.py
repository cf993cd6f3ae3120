"""How far ahead contacts are looked for: less near rest, and never less far than geometries move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.interchange.mujoco_ahead import SHARES, LookAhead, Moving, longest_way
from tests.interchange.humanoid import HUMANOID, loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

SHOT = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<geom name="wall" type="box" size=".1 1 1" pos=".205 0 0"/>
<body><joint name="x" type="slide" axis="1 0 0"/><geom name="ball" size=".1" mass="1"/></body></worldbody>
<actuator><motor joint="x"/></actuator></mujoco>"""
"""A ball 5 mm from a wall, which a motor throws by four centimetres within the first step."""


def shot() -> go.Problem:
    model, data = loaded(SHOT)
    data.ctrl[:] = 1e4
    return go.problem_from_mujoco(model, data, t_end=0.02)


def test_a_step_that_becomes_fast_looks_ahead_as_far_as_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    motion = moved(shot(), stabilisation="none")
    assert motion.status == go.Status.SOLVED
    assert motion.q.max() == pytest.approx(0.005, abs=1e-12)
    monkeypatch.setattr(LookAhead, "far_enough", lambda *_: True)
    assert moved(shot(), stabilisation="none").q.max() > 0.02


def test_motions_do_not_depend_on_it_where_mujoco_s_distances_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def humanoid() -> go.Trajectory:
        model, data = loaded(HUMANOID)
        return moved(go.problem_from_mujoco(model, data, t_end=0.5))

    motion = humanoid()
    used: set[int] = set()
    look = LookAhead.look
    monkeypatch.setattr(LookAhead, "look", lambda self, level: used.add(level) or look(self, level))
    assert motion.q == pytest.approx(humanoid().q, abs=0.0)
    assert len(used) > 1
    monkeypatch.setattr("gaussopt.interchange.mujoco_ahead.SHARES", (1.0,) * len(SHARES))
    assert motion.q == pytest.approx(humanoid().q, abs=1e-9)


SWUNG = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<geom name="wall" type="box" size=".1 1 .1" pos="2 0 -.104"/>
<body><joint name="x" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<body><joint axis="0 1 0" pos="1 0 0" armature="1e6"/><geom name="ball" size=".001" mass=".01"/></body></body>
</worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
"""A ball 3 mm above a wall, which moves by 8 mm in the first step. Its arm of 2 m becomes straight by half a turn about
an axis far from its body."""


def test_a_geometry_that_a_joint_has_carried_far_is_known_to_move_far() -> None:
    model, data = loaded(SWUNG, q=[0.0, np.pi])
    data.ctrl[:] = 40.0
    motion = moved(go.problem_from_mujoco(model, data, t_end=0.05), stabilisation="none")
    assert [event["t"] for event in motion.events] == [0.01]
    assert np.nanmin(motion.gap) >= -1e-6


def test_no_displacement_moves_a_point_farther_than_said() -> None:
    model, data = loaded(HUMANOID)
    random = np.random.default_rng(6)
    every = [i for i in range(model.ngeom) if model.geom_bodyid[i]]
    for _ in range(3):
        mujoco.mj_integratePos(model, data.qpos, random.standard_normal(model.nv), 0.3)
        data.qvel[:] = random.standard_normal(model.nv)
        mujoco.mj_forward(model, data)
        found, twist, speeds = longest_way(Moving.of(model, data, every), data.qvel), np.zeros(6), []
        for i in every:
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_GEOM, i, twist, 0)
            arms = model.geom_rbound[i] * random.standard_normal((50, 3))
            arms *= np.minimum(1.0, model.geom_rbound[i] / np.linalg.norm(arms, axis=1))[:, None]
            speeds.append(np.linalg.norm(twist[3:] + np.cross(twist[:3], arms), axis=1).max())
        assert max(speeds) <= found <= 1.5 * max(speeds)


def test_a_control_is_asked_once_for_each_state() -> None:
    model, data = loaded(SHOT)
    asked: list[float] = []

    def control(t: float, q: Any, v: Any) -> Any:
        asked.append(t)
        return [1e4 if t > 0.007 else 0.0]  # the step that begins then is taken again

    motion = moved(go.problem_from_mujoco(model, data, t_end=0.02, control=control), stabilisation="none")
    assert motion.q.max() == pytest.approx(0.005, abs=1e-12)
    steps = [t for t in asked if t > 0.002]
    assert len(steps) == len(set(steps))
