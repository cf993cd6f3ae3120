"""Actuators of plugins: their activations follow MuJoCo's own, and plugins with other states are refused by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.interchange.mujoco_model import check_carried
from tests.interchange.humanoid import loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

SERVOS = """<mujoco><option timestep="0.002"/><extension><plugin plugin="mujoco.pid">
<instance name="both"><config key="kp" value="2"/><config key="ki" value="8"/><config key="kd" value=".1"/>
<config key="imax" value=".6"/><config key="slewmax" value="3"/></instance>
<instance name="plain"><config key="kp" value="3"/><config key="ki" value="5"/></instance></plugin></extension>
<worldbody><body><joint name="a" axis="0 1 0" damping=".05"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"
mass=".5" contype="0" conaffinity="0"/><body pos=".3 0 0"><joint name="b" axis="0 1 0" damping=".02"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".2" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><plugin name="one" joint="a" plugin="mujoco.pid" instance="both" actdim="2"/>
<plugin name="two" joint="b" plugin="mujoco.pid" instance="plain" actdim="1"/>
<position name="three" joint="b" kp="1" timeconst=".1"/></actuator></mujoco>"""
"""PID controllers, one with a limit of its integral and of the rate of its control, and a filter."""


@pytest.mark.parametrize("dt", [0.002, 0.001])
def test_activations_of_plugins_are_those_of_mujoco_s_own_motion_at_any_step(dt: float) -> None:
    """The plugin makes use of the model's timestep, which stays what it is."""
    model, data = loaded(SERVOS)
    data.ctrl[:] = [0.8, -0.3, 0.5]
    given = go.problem_from_mujoco(model, data, t_end=0.4, dt=dt)
    motion, rows = moved(given), []
    assert motion.status == go.Status.SOLVED
    assert motion.coordinates == ("a", "b", "act_one_1", "act_one_2", "act_two", "act_three")
    assert model.opt.timestep == 0.002
    model.opt.timestep = dt
    for _ in motion.t:
        rows.append(np.append(data.qpos, data.act))
        mujoco.mj_step(model, data)
    assert motion.q == pytest.approx(np.array(rows), abs=1e-13)
    assert np.ptp(motion.q, axis=0).min() > 0.05
    first = moved(given, t_end=0.2)
    assert np.array_equal(moved(given, t_end=0.4, start=first).q[-1], motion.q[-1])


def test_plugins_with_states_that_a_motion_does_not_advance_are_refused_by_their_instances() -> None:
    """MuJoCo's own plugins have none, so that a model is made to say that it has."""
    model, _ = loaded(SERVOS)
    has = {name: getattr(model, name) for name in ("actuator_historyadr", "nplastic", "flg_surfacevel", "flg_adhesion")}
    told = SimpleNamespace(
        mjtObj=mujoco.mjtObj, get_mjcb_control=lambda: None, mj_id2name=lambda _, *of: mujoco.mj_id2name(model, *of)
    )
    check_carried(told, SimpleNamespace(**has, npluginstate=0, plugin_statenum=np.zeros(2)), 0.01)
    with pytest.raises(go.BadInput, match=r"plugins with states of their own, .* instances 'both', 'plain'; use"):
        check_carried(told, SimpleNamespace(**has, npluginstate=3, plugin_statenum=np.array([2, 1])), 0.01)
