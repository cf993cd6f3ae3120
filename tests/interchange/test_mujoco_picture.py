"""Pictures in space of MuJoCo's models, against its own kinematics and the motion's forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.modelling.solids import Ball, Box, Capsule, Cylinder, Plane
from tests.interchange.humanoid import loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

OFF = 'contype="0" conaffinity="0"'
SLOPE = f"""<mujoco><option timestep="0.01"/><asset><mesh name="tetra" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset>
<worldbody><geom name="slope" type="plane" size="9 9 1" euler="15 -20 40" friction=".2 0 0"/>
<body name="cart" pos="0 0 1"><freejoint name="root"/>
<geom name="ball" type="sphere" size=".5" mass="2" friction=".2 0 0"/>
<geom type="cylinder" size=".1 .2" pos="0 .1 .6" mass=".1" {OFF}/>
<geom type="sphere" size="3" group="3" mass="0" {OFF}/>
<body name="arm" pos="0 0 .5"><joint name="hinge" axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0 .3 .4" size=".05" mass=".1" {OFF}/>
<geom type="mesh" mesh="tetra" pos="0 .3 .4" mass=".1" {OFF}/></body></body></worldbody></mujoco>"""


def test_bodies_are_where_mujoco_puts_them_and_friction_is_against_the_slip(tmp_path: Path) -> None:
    model, data = loaded(SLOPE, None, [4.0, 0.5, 0.0, 0.0, 0.0, 0.0, 2.0])
    motion = moved(go.problem_from_mujoco(model, data, t_end=0.5), dt=2e-3)
    film = motion.animate()
    scene: Any = film.scene
    kinds = [(name, type(solid)) for name, solid in scene.picture.solids]
    assert kinds == [("", Plane), ("cart", Ball), ("cart", Cylinder), ("arm", Capsule), ("arm", Box)]
    assert scene.picture.solids[-1][1].edges == pytest.approx(np.ptp(model.mesh_vert, axis=0), abs=1e-6)
    for frame in (0, len(scene.frames.t) - 1):
        data.qpos[:] = scene.frames.q[frame]
        mujoco.mj_kinematics(model, data)
        for body in ("cart", "arm"):
            there = np.append(data.body(body).xpos, data.body(body).xquat)
            assert scene.poses[body][frame] == pytest.approx(there, abs=1e-12)
    normal = data.geom("slope").xmat.reshape(3, 3)[:, 2]
    assert scene.picture.solids[0][1].normal == pytest.approx(normal)
    force = {arrow.kind: arrow for arrow in scene.arrows}
    assert set(force) == {"normal force", "friction"}
    pushing = np.linalg.norm(force["normal force"].force, axis=1) > 1.0
    for i in np.flatnonzero(pushing)[:: max(1, pushing.sum() // 20)]:
        N, T = force["normal force"].force[i], force["friction"].force[i]
        assert N / np.linalg.norm(N) == pytest.approx(normal, abs=1e-9)
        assert abs(normal @ T) < 1e-9 * np.linalg.norm(N)
        assert normal @ (force["friction"].at[i]) == pytest.approx(0.0, abs=2e-3)
    # The friction that is drawn has the direction and the size of sliding friction.
    row = int((np.linalg.norm(motion.slip[:, 0], axis=1) * (motion.mode[:, 0] == 1)).argmax())
    near = int(np.abs(scene.frames.t - motion.t[row]).argmin())
    slip = motion.slip[row, 0]
    T = force["friction"].force[near]
    axes = next(contact.frame for contact in scene.picture.contacts if contact.name == "slope, ball")
    assert float(T @ (slip @ axes[1:])) == pytest.approx(-np.linalg.norm(T) * np.linalg.norm(slip), rel=1e-2)
    assert np.linalg.norm(slip) > 0.1
    assert np.linalg.norm(T) == pytest.approx(0.2 * np.linalg.norm(force["normal force"].force[near]), rel=1e-6)
    page = go.animate(motion, tmp_path / "cart.html")
    assert "</html>" in page.read_text(encoding="utf-8")
