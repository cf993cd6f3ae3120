"""Steps without constraints that MuJoCo takes, and the damping of servos, equal those computed from the definitions."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import gaussopt as go
from gaussopt.interchange.mujoco_damping import EndDamping, damping_matrix, stiffness_matrix
from gaussopt.interchange.mujoco_free import FreeSteps
from gaussopt.interchange.mujoco_motion import MujocoSystem

ARM = """<mujoco><option integrator="{integrator}" timestep="0.002" {option}/><worldbody>
<geom name="floor" type="plane" size="5 5 0.1" pos="0 0 {floor}"/><site name="above" pos="0 0 2"/>
<body pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.3" {joint}/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
<body pos="0.4 0 0"><joint name="b" axis="0 1 0" damping="0.1"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/><site name="end" pos="0.3 0 0"/>
<body pos="0.3 0 0"><joint name="c" type="ball" damping="0.02"/><geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0"/>
</body></body></body></worldbody>
<tendon><fixed name="both"><joint joint="a" coef="1"/><joint joint="b" coef="-0.5"/></fixed>
<spatial name="rope"><site site="above"/><site site="end"/></spatial></tendon>
<actuator>{actuators}</actuator></mujoco>"""

SERVO = '<position joint="a" kp="40" kv="3" ctrlrange="-1 1" {}/>'
SERVOS = {
    "constant": SERVO.format('forcerange="-2 2"') + '<motor joint="b"/><velocity joint="b" kv="2"/>',
    "tendon": SERVO.format("") + '<position tendon="both" kp="5" kv="1"/>',
    "rope": '<position tendon="rope" kp="5" kv="1"/>',
    "gain": '<general joint="a" gaintype="affine" gainprm="1 0.2 0.7" biastype="affine" biasprm="0 -9 -2"/>',
    "ball": '<position joint="c" gear="0.3 1 0 0 0 0" kp="5" kv="0.4"/>',
    "disabled": SERVO.format('group="2"') + '<velocity joint="b" kv="2"/>',
}

ACTIVE = """<general joint="a" dyntype="filter" dynprm=".05" gainprm="3" actlimited="true" actrange="-1 .2"/>
<intvelocity joint="b" kp="2" actrange="-9 9"/>"""
"""Actuators with activations, one of which reaches its limit."""

LIMITED = ("constant", "gain")
"""Servos whose damping is not the same in all of the states."""


def arm(servos: str = "", integrator: str = "Euler", floor: float = -5.0, option: str = "", joint: str = "") -> Any:
    words = {"actuators": servos, "integrator": integrator, "floor": floor, "option": option, "joint": joint}
    return mujoco.MjModel.from_xml_string(ARM.format(**words))


@pytest.mark.parametrize("joint", ['actuatorfrclimited="false"', 'actuatorfrcrange="-3 3"'])
@pytest.mark.parametrize("kind", SERVOS)
def test_damping_at_the_end_is_that_of_finite_differences(kind: str, joint: str) -> None:
    """Also where forces of actuators or joints are at their limits, as they are in many of these states."""
    model = arm(SERVOS[kind], "implicitfast", joint=joint)
    model.opt.disableactuator = 4 if kind == "disabled" else 0
    data, damping, seen = mujoco.MjData(model), EndDamping(mujoco, model), set()
    for seed in range(20):
        random = np.random.default_rng(seed)
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 1.0)
        data.qvel[:], data.ctrl[:] = random.normal(size=model.nv), 0.3 * random.normal(size=model.nu)
        mujoco.mj_forward(model, data)
        kept = {name: getattr(data, name).copy() for name in ("actuator_force", "qfrc_actuator", "actuator_velocity")}
        found = damping(data).copy()
        for name, values in kept.items():
            np.testing.assert_array_equal(getattr(data, name), values)
        np.testing.assert_allclose(found, damping_matrix(mujoco, model, data), rtol=0, atol=1e-7)
        seen.add(found.round(5).tobytes())
    assert damping.constant == (kind in ("constant", "tendon"))
    assert len(seen) > 1 or kind not in LIMITED


@pytest.mark.parametrize("kind", ["", "constant", "active"])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
@pytest.mark.parametrize("flag", ["", "eulerdamp"])
def test_steps_without_constraints_are_those_of_the_step_problem(
    kind: str, integrator: str, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A swinging arm with a ball joint, from which a body's distance to the floor is seen for some of the time."""
    option = f'><flag {flag}="disable"/></option><option' if flag else ""
    model = arm({"": "", "active": ACTIVE, **SERVOS}[kind], integrator, 0.55, option)
    data, taken = mujoco.MjData(model), []
    data.qvel[:] = 0.0, 0.0, 1.0, 2.0, 3.0
    data.ctrl[:] = 0.3

    def motion() -> Any:
        problem = go.problem_from_mujoco(model, data, t_end=0.3)
        return go.simulate(problem, stepper="moreau-jean", record_every=7, error_estimate=False)

    def counted(self: Any, *given: Any) -> Any:
        found = original(self, *given)
        taken.append(found[0])
        return found

    original = FreeSteps.__call__
    monkeypatch.setattr(FreeSteps, "__call__", counted)
    found = motion()
    monkeypatch.setattr(MujocoSystem, "may_be_free", False)
    count, wanted = sum(taken), motion()
    assert sum(taken) == count > 50
    assert (found.status, found.contacts, len(found.t)) == ("solved", wanted.contacts, len(wanted.t))
    for name in ("t", "q", "v", "a", "lam_N", "gap", "kinetic", "potential"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-9, atol=1e-9, err_msg=name)
    assert [x["kind"] for x in found.events] == [x["kind"] for x in wanted.events]


def test_a_motion_continues_from_an_end_between_two_recorded_states() -> None:
    model = arm(SERVOS["constant"], "implicitfast", 0.55)
    data = mujoco.MjData(model)

    def motion(t_end: float, start: Any = None) -> Any:
        problem = go.problem_from_mujoco(model, data, t_end=t_end)
        return go.simulate(
            problem, stepper="moreau-jean", record_every=5, error_estimate=False, t_end=t_end, start=start
        )

    whole, part = motion(0.2), motion(0.101)
    rest = motion(0.2, part)
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
    np.testing.assert_array_equal(rest.v[-1], whole.v[-1])


def test_a_step_that_is_not_the_solution_is_taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another force acts in MuJoCo's own step, the equation of motion does not hold and the step is refused."""
    model = arm()
    system = MujocoSystem(model, mujoco.MjData(model))
    q, v = system.state(system.data)
    assert system.free_steps(0.0, q, v, [0.002]) is not None
    step = mujoco.mj_step

    def pushed(model: Any, data: Any) -> None:
        step(model, data)
        data.qvel[0] += 1e-8

    monkeypatch.setattr(mujoco, "mj_step", pushed)
    assert system.free_steps(0.0, q, v, [0.002]) is None
    np.testing.assert_array_equal(system.data.qpos, q)


@pytest.mark.parametrize("between", [False, True])
def test_trees_that_no_force_couples_are_shifted_together(between: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damped tendon lies in one tree, or between two trees."""
    arms = "".join(f"""<body pos="{i} 0 1"><joint name="a{i}" axis="0 1 0" damping=".3" stiffness="2"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/><body pos=".3 0 0"><joint name="b{i}" type="ball" damping=".2"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/><site name="s{i}" pos=".2 0 0"/></body></body>"""
                   for i in range(3))  # fmt: skip
    ends = '<site site="s0"/><site site="s1"/>' if between else '<site site="world"/><site site="s1"/>'
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><site name="world" pos="0 0 3"/>{arms}</worldbody>
<tendon><spatial damping=".5" stiffness="3">{ends}</spatial></tendon>
<actuator><velocity joint="a2" kv="2"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[:] = np.random.default_rng(1).normal(size=model.nv)
    mujoco.mj_integratePos(model, data.qpos, data.qvel, 0.2)
    mujoco.mj_forward(model, data)
    damped, stiff = damping_matrix(mujoco, model, data), stiffness_matrix(mujoco, model, data)
    assert damped[:4, 4:8].any() == between
    monkeypatch.setattr("gaussopt.interchange.mujoco_damping.together", lambda mj, model: one_by_one(model.nv))
    np.testing.assert_array_equal(damping_matrix(mujoco, model, data), damped)
    np.testing.assert_array_equal(stiffness_matrix(mujoco, model, data), stiff)


def one_by_one(n: int) -> Any:
    return [(np.array([i]), np.arange(n), np.full(n, i)) for i in range(n)]
