"""Motions of MuJoCo's models with exact contact, against closed forms, MuJoCo and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import bsr_array

import gaussopt as go
from gaussopt.integration.looks import Steps
from gaussopt.interchange.contact_kernel import bound_blocks, bound_friction
from gaussopt.interchange.mujoco_step import MujocoStep
from gaussopt.simulation.concatenation import ARRAYS
from tests.interchange.humanoid import HUMANOID, loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="9 9 1" {words}/>
<body pos="0 0 {height}"><freejoint name="root"/><geom name="ball" type="sphere" size="0.5" mass="2" {words}/></body>
</worldbody></mujoco>"""

STOP = """<mujoco><option timestep="0.001"/><worldbody><body><joint name="one" axis="0 1 0" limited="true"
range="-30 90" {joint}/><geom type="sphere" size=".1" pos="0 0 -1" mass="2"/></body></worldbody></mujoco>"""


def problem(xml: str, v: list[float] | None = None, q: list[float] | None = None, **more: Any) -> go.Problem:
    return go.problem_from_mujoco(*loaded(xml, q, v), **more)


def test_a_ball_slides_until_it_rolls(tmp_path: Path) -> None:
    ball = problem(BALL.format(height=0.5, words='friction="0.3 0 0"'), [3.0, 0, 0, 0, 0, 0], t_end=1.0)
    motion = moved(ball)
    assert motion.status == go.Status.SOLVED
    assert motion.contacts == ("floor, ball",)
    assert motion.v[10, 0] == pytest.approx(3.0 - 0.3 * 9.81 * 0.1, abs=1e-9)
    assert motion.lam_N[:, 0] == pytest.approx(2 * 9.81, abs=1e-9)
    assert motion.v[-1, 0] == pytest.approx(3.0 * 5 / 7, abs=1e-9)
    e, rate = motion.q[-1, 3:], motion.v[-1, 3:]
    assert 2.0 * np.linalg.norm(rate) * 0.5 == pytest.approx(3.0 * 5 / 7, abs=1e-9)  # it turns as fast as it rolls
    assert [e @ e, e @ rate] == pytest.approx([1.0, 0.0], abs=1e-14)
    assert list(motion.mode[[10, -1], 0]) == [1.0, 2.0]
    read = go.Trajectory.load(motion.save(tmp_path / "ball.nc"))
    assert np.array_equal(read.q, motion.q)
    assert read.contacts == motion.contacts


def test_a_ball_lands_and_goes_on_as_the_motion_that_never_ended() -> None:
    ball = problem(BALL.format(height=0.6, words='friction="0.3 0 0"'), [1.0, 0, 0, 0, 0, 0], t_end=0.3)
    whole = moved(ball)
    assert [event["kind"] for event in whole.events] == ["landing"]
    assert whole.events[0]["t"] == pytest.approx(np.sqrt(2 * 0.1 / 9.81), abs=0.01)
    assert np.nanmin(whole.gap) >= -1e-9
    assert whole.v[-1, 2] == pytest.approx(0.0, abs=1e-9)
    first = moved(ball, t_end=0.1)
    assert first.contacts == ()
    rest = moved(ball, t_end=0.3, start=first)
    assert np.array_equal(rest.q[-1], whole.q[-1])


def test_a_ball_in_the_floor_is_taken_out_by_projection_and_not_thrown() -> None:
    ball = problem(BALL.format(height=0.499, words=""), t_end=0.1)
    assert moved(ball).gap[-1] == pytest.approx(-1e-3, abs=1e-9)
    motion = moved(ball, stabilisation="projection")
    assert motion.gap[1:] == pytest.approx(0.0, abs=1e-9)
    assert motion.v == pytest.approx(0.0, abs=1e-9)


CUBE = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="0 0 1"/>
<body pos="0 0 .15"><freejoint/><geom name="cube" type="box" size=".1 .1 .1" mass="2" {words}/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("words", ["", 'condim="6"'])
@pytest.mark.parametrize("seed", [1, 5, 10])
def test_a_cube_that_came_to_rest_stands_on_four_equal_forces_and_goes_on_bit_by_bit(seed: int, words: str) -> None:
    v = np.random.default_rng(seed).normal(size=6) * [0.2, 0.2, 0, 2, 2, 2]
    cube = problem(CUBE.format(words=words), v.tolist(), t_end=0.4)
    whole = moved(cube)
    corners = [i for i, name in enumerate(whole.contacts) if "ing" not in name]
    rest = int(np.flatnonzero(np.abs(whole.v).max(axis=1) > 1e-9)[-1]) + 5
    assert whole.t[rest] < 0.38
    assert whole.lam_N[rest:, corners] == pytest.approx(2 * 9.81 / 4, abs=1e-6)
    assert [x for x in whole.events if x["t"] > whole.t[rest]] == []
    assert not whole.forces_unique[rest:].any()
    for middle in (0.1, 0.1301, 0.35):
        first = moved(cube, t_end=middle)
        joined = go.concatenate([first, moved(cube, t_end=0.4, start=first)])
        assert joined.contacts == whole.contacts
        assert joined.events == whole.events
        for name in (*ARRAYS, "forces_unique"):
            np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name), err_msg=name)


def plates(count: int) -> str:
    """Plates on nine feet each, which tilt and fall one after the other, with damped hinges on top."""
    ends = (-0.1, 0.0, 0.1)
    feet = "".join(f'<geom type="sphere" size=".01" pos="{x} {y} -.01"/>' for x in ends for y in ends)
    one = """<body pos="{x} 0 {z}" euler="{tilt} 2 0"><freejoint/><geom type="box" size=".1 .1 .005" mass="1"/>{feet}
    <body pos="0 0 .05"><joint axis="0 1 0" frictionloss=".01"/><geom type="capsule" size=".01 .05" mass=".1"/></body>
    </body>"""
    bodies = "".join(one.format(x=0.3 * i, z=0.04 + 0.002 * i, tilt=i - 2, feet=feet) for i in range(count))
    floor = '<option timestep="0.002"/><worldbody><geom type="plane" size="9 9 1"/>'
    return f"<mujoco>{floor}{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
@pytest.mark.parametrize("count", [3, 13])
def test_contacts_left_out_and_bodies_apart_change_no_motion(
    count: int, stabilisation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, sizes = "gaussopt.interchange.mujoco_step", set()
    stated, quickly = MujocoStep.problem, MujocoStep.quickly

    def taken(*given: Any) -> Any:
        if (found := quickly(*given)) is not None:
            sizes.add(found.problem.k)
        return found

    monkeypatch.setattr(MujocoStep, "problem", lambda self, dt: sizes.add((found := stated(self, dt)).k) or found)
    monkeypatch.setattr(MujocoStep, "quickly", taken)
    given = problem(plates(count), t_end=0.15)
    motion = moved(given, stabilisation=stabilisation)
    assert motion.status == go.Status.SOLVED
    few, many = min(sizes), max(sizes)
    for name in ("FEW", "LARGE", "BLOCKS"):
        monkeypatch.setattr(f"{step}.{name}", 10**9)
    sizes.clear()
    whole = moved(given, stabilisation=stabilisation)
    assert few < min(sizes) or many < max(sizes)
    assert motion.contacts == whole.contacts
    assert motion.q == pytest.approx(whole.q, abs=1e-5)  # the law of each step is met to 1e-7 of all speeds together


def test_friction_without_a_normal_is_bounded_alike_in_dense_operators_and_in_blocks() -> None:
    """Contact 1 is dry friction; contacts 3 and 4 spin and roll with contact 0."""
    rng, k, dt, losses = np.random.default_rng(7), 5, 0.01, np.array([0.3, 0.0, 0.0])
    there = np.eye(k, dtype=bool)
    there[0, 2] = there[2, 0] = there[3, 0] = there[4, 0] = True
    W, q = rng.normal(size=(15, 15)) * np.kron(there, np.ones((3, 3))), rng.normal(size=15)
    W[14] = W[:, 14] = 0.0  # a tangent that is missing
    normals, parents = 3 * np.array([1, 3, 4]), 3 * np.array([1, 0, 0])
    stored, of_blocks = bsr_array(W, blocksize=(3, 3)), q.copy()
    assert stored.nnz == 9 * there.sum()
    index = stored.indptr.astype(np.int64), stored.indices.astype(np.int64)
    bound_blocks(*index, stored.data.ravel(), of_blocks, normals, parents, losses, dt)
    bound_friction(W, q, normals, parents, losses, dt)
    assert W[9, 0] == -W[9, 9] == -W[0, 0]
    assert np.array_equal(stored.toarray(), W)
    assert np.array_equal(of_blocks, q)


def test_a_contact_that_is_far_away_two_steps_after_its_landing_lifts_off() -> None:
    xml = """<mujoco><option timestep="0.02"/><worldbody><geom name="floor" type="plane" size="9 9 1"/>
    <body pos="0 0 .1"><joint name="z" type="slide" axis="0 0 1"/><geom name="ball" size=".1" mass="1"/></body>
    </worldbody><actuator><motor joint="z"/></actuator></mujoco>"""
    motion = moved(problem(xml, t_end=0.2, control=lambda t, *_: [0.0 if t < 0.02 else 200.0]))
    assert [(event["kind"], event["t"]) for event in motion.events] == [("landing", 0.02), ("lift_off", 0.08)]


LOOPS = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="9 9 1"/>
  <body pos="0 0 .6"><joint name="a" axis="0 1 0" damping=".02"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
    <body name="tip" pos=".3 0 0"><joint axis="0 1 0" range="-90 60"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body></body>
  <body name="rod" pos="0 0 .9"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 -.3" size=".02"/></body>
  <body pos=".3 .4 .2"><freejoint/><geom type="box" size=".1 .1 .1" condim="6" friction=".8 .01 .01"/></body>
  <body pos="1 .4 .1"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0" frictionloss=".5"/>
    <geom type="sphere" size=".1"/></body></worldbody>
  <equality><connect body1="rod" body2="tip" anchor=".3 0 -.3"/></equality></mujoco>"""
"""A planar loop, whose rows depend on each other, contacts that spin and roll, limits and dry friction."""


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
@pytest.mark.parametrize("model", [LOOPS, plates(3)])
def test_a_step_taken_at_once_is_that_taken_in_parts(
    model: str, stabilisation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, taken, quickly = problem(model, t_end=0.4), [], MujocoStep.quickly

    def counted(*args: Any) -> Any:
        taken.append((found := quickly(*args)) is not None)
        return found

    monkeypatch.setattr(MujocoStep, "quickly", counted)
    motion = moved(given, stabilisation=stabilisation)
    assert sum(taken) > 0.5 * len(taken)
    monkeypatch.setattr(MujocoStep, "quickly", lambda *_: None)
    parts = moved(given, stabilisation=stabilisation)
    assert motion.contacts == parts.contacts
    for name in ("q", "v", "lam", "lam_N", "lam_T", "gap"):
        exact = 0.0 if model is not LOOPS else 1e-9  # dependent rows are told by other arithmetic
        assert getattr(motion, name) == pytest.approx(getattr(parts, name), rel=0.0, abs=exact, nan_ok=True), name


def test_each_state_is_looked_at_once_where_steps_at_once_and_in_parts_alternate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[float] = []
    at, quickly = Steps.at, MujocoStep.quickly

    def seldom(self: Any, *given: Any) -> Any:
        return quickly(self, *given) if round(self._t / 0.002) % 3 else None

    monkeypatch.setattr(MujocoStep, "quickly", seldom)
    monkeypatch.setattr(Steps, "at", lambda self, t, q: seen.append(t) or at(self, t, q))
    motion = go.simulate(problem(plates(3), t_end=0.1), stepper="moreau-jean", error_estimate=True)
    assert np.array_equal(seen[: len(motion.t) - 1], motion.t[1:])


def test_a_continued_motion_begins_with_the_last_step_before() -> None:
    given = problem(LOOPS, t_end=0.2)
    whole, first = moved(given), moved(given, t_end=0.15)
    rest = moved(given, start=first)
    assert len(rest.t) == 26
    assert np.array_equal(rest.q, whole.q[-26:])


def test_a_limit_stops_a_pendulum_and_the_estimate_knows_the_error() -> None:
    motion = moved(problem(STOP.format(joint=""), q=[0.8], t_end=2.0), error_estimate=True)
    assert motion.status == go.Status.SOLVED
    assert motion.contacts == ("one, lower limit",)
    hit = int(np.argmin(motion.q[:, 0]))
    assert motion.q[hit, 0] == pytest.approx(-np.pi / 6, abs=2e-5)
    assert motion.q[hit:, 0].max() <= np.pi / 6 + 1e-3  # it swings back from rest
    assert np.ptp(motion.energy[:hit]) < 0.01 * motion.kinetic.max()
    assert 0 < motion.error_estimate[0] < 0.05


def test_a_humanoid_on_its_feet_by_all_solvers_and_with_its_loop_closed() -> None:
    model, data = loaded(HUMANOID)
    data.qvel[:] = 0.5 * np.sin(np.arange(model.nv))
    data.qvel[2] -= 1.0
    data.qvel[:] -= np.linalg.pinv(J := go.from_mujoco(model, data).J) @ (J @ data.qvel)
    ends = {}
    for solver in ("hybrid", "nsn-ac", "admm"):
        motion = moved(go.problem_from_mujoco(model, data, t_end=0.04), solver=solver, stabilisation="projection")
        assert motion.status == go.Status.SOLVED, motion.message
        ends[solver] = motion.q[-1]
        assert ends[solver] == pytest.approx(ends["hybrid"], abs=1e-7)
    assert motion.position_drift.max() < 1e-6
    assert motion.velocity_drift.max() < 1e-4
    assert len(motion.contacts) == 4
    assert (motion.lam_N[:5] > 0).any()
    assert np.nanmin(motion.gap) > -1e-4
    drifting = moved(go.problem_from_mujoco(model, data, t_end=0.04))
    assert drifting.position_drift[-1] > 5 * motion.position_drift[-1]


def test_without_contacts_it_is_mujoco_s_own_motion() -> None:
    xml = STOP.format(joint='damping="0.5"').replace('limited="true"', 'limited="false"')
    model, data = loaded(xml)
    data.qpos[0] = 1.0
    motion = moved(go.problem_from_mujoco(model, data, t_end=0.5))
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert [motion.q[-1, 0], motion.v[-1, 0]] == pytest.approx([data.qpos[0], data.qvel[0]], rel=1e-10)


def test_what_does_not_move_so_is_told() -> None:
    ball = problem(BALL.format(height=0.5, words=""), t_end=0.1)
    for settings, words in (
        ({"stepper": "rk4"}, "choose stepper='moreau-jean'"), ({"stabilisation": "baumgarte"}, "none and projection"),
        ({"engine": "compiled"}, "states its own time steps"), ({"formulation": "gauss"}, "coulomb-soccp"),
    ):  # fmt: skip
        with pytest.raises(go.NotAccepted, match=words):
            moved(ball, **settings) if "stepper" not in settings else go.simulate(ball, **settings)
    pair = '<pair geom1="floor" geom2="ball" condim="6" friction="0.3 0.3 0.1 0.01 0.02"/>'
    ball = BALL.replace("</mujoco>", f"<contact>{pair}</contact></mujoco>")
    motion = moved(problem(ball.format(height=0.6, words=""), t_end=1.0))
    assert motion.status == go.Status.BAD_INPUT
    assert "'ball' has rolling friction 0.01 and 0.02" in motion.message
    assert motion.t[-1] == pytest.approx(0.13, abs=0.011)
    wedge = BALL.format(height=0.5, words="").replace(
        "</worldbody>",
        """</worldbody><equality>
    <weld name="a" body1="world" body2="b"/></equality>""",
    )
    held = wedge.replace("<body ", '<body name="b" ')
    assert moved(problem(held, [1.0, 0, 0, 0, 0, 0], t_end=0.1), stabilisation="projection").status == "solved"


MOTOR = STOP.replace("</mujoco>", '<actuator><motor joint="one" {words}/></actuator></mujoco>')


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        (MOTOR.replace("motor", "general").format(joint="", words='dyntype="user" actdim="2"'), "use integrator"),
        (MOTOR.format(joint="", words='delay="0.05" nsample="60"'), "actuators with a delay"),
        (STOP.format(joint='stiffness="50" springyield="0.3"'), "springs that yield"),
        (BALL.format(height=0.6, words='surfacevel="1 0 0"'), "surfaces that move by themselves"),
        (BALL.format(height=0.6, words='adhesion="40"'), "adhesion"),
    ],
)
def test_what_a_motion_would_not_carry_on_is_refused(xml: str, words: str) -> None:
    with pytest.raises(go.BadInput, match=words):
        problem(xml, t_end=0.1)


def test_an_adhesion_that_is_not_commanded_does_nothing_and_one_that_is_is_refused() -> None:
    plain = BALL.format(height=0.6, words="").replace("<body ", '<body name="b" ')
    adhesive = '<actuator><adhesion name="pad" body="b" gain="40" ctrlrange="0 1"/></actuator></mujoco>'
    model, data = loaded(plain.replace("</mujoco>", adhesive))
    assert np.array_equal(moved(go.problem_from_mujoco(model, data, t_end=0.5)).q, moved(problem(plain, t_end=0.5)).q)
    late = go.problem_from_mujoco(model, data, t_end=0.5, control=lambda t, q, v: [float(t > 0.2)])
    ended = moved(late)
    assert ended.status == go.Status.BAD_INPUT
    assert "'pad' is an adhesion" in ended.message
    data.ctrl[0] = 1.0
    with pytest.raises(go.BadInput, match="'pad' is an adhesion"):
        go.problem_from_mujoco(model, data, t_end=0.5)


@pytest.mark.parametrize(
    "words",
    ['dyntype="integrator" actlimited="true" actrange="-.5 .5"', 'dyntype="filter"', 'dyntype="filterexact"',
     'lengthrange="-3 3"'],
)  # fmt: skip
def test_activations_go_as_in_mujoco(words: str) -> None:
    kind = "general" if "dyntype" in words else "muscle"
    words = words + ' dynprm="0.05" gainprm="2"' if kind == "general" else words
    xml = MOTOR.replace("motor", kind).replace("-30 90", "-900 900").format(joint='damping="0.1"', words=words)
    model, data = loaded(xml)
    data.ctrl[0] = 0.9
    own = go.problem_from_mujoco(model, data, t_end=0.5)
    motion = moved(own)
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert own.system.coordinates(2) == ("one", "act_actuator0")
    assert motion.q[-1] == pytest.approx([data.qpos[0], data.act[0]], rel=1e-9)
    assert motion.v[-1, 0] == pytest.approx(data.qvel[0], rel=1e-9)


def test_a_controller_holds_a_pendulum_where_it_is_told_to() -> None:
    """By torque of gravity and a spring with damping; MuJoCo steps with the same controls go the same way."""
    model, data = loaded(MOTOR.format(joint="", words=""))

    def control(t: float, q: np.ndarray, w: np.ndarray) -> list[float]:
        return [2.0 * 9.81 * np.sin(q[0]) - 40.0 * (q[0] - 0.5) - 18.0 * w[0]]

    motion = moved(go.problem_from_mujoco(model, data, t_end=2.0, control=control))
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-3)
    for _ in range(300):
        data.ctrl[:] = control(data.time, data.qpos, data.qvel)
        mujoco.mj_step(model, data)
    assert motion.q[300, 0] == pytest.approx(data.qpos[0], rel=1e-9)
    stopped = moved(
        go.problem_from_mujoco(model, data, t_end=0.1, control=lambda t, q, w: [np.nan if t > 0.05 else 0.0])
    )
    assert "control returned [nan] at t = 0.051; return 1 finite numbers" in stopped.message
    assert stopped.t[-1] == pytest.approx(0.05)


ARM = """<mujoco><option timestep="0.002"/><worldbody>
<body pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".03" mass="1"/>
<body pos=".5 0 0"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".02" mass=".5"/><site name="hand" pos=".4 0 0"/>
</body></body></worldbody>
<actuator><motor name="lift" joint="shoulder"/><position joint="elbow" kp="20"/></actuator></mujoco>"""


@pytest.mark.parametrize("steps", [1, 5])
def test_held_controls_move_a_model_as_in_a_loop_of_mujoco(steps: int) -> None:
    model, data = loaded(ARM)
    own = go.problem_from_mujoco(model, data, t_end=0.5)
    heights: list[float] = []

    def swing(t: float, q: np.ndarray, v: np.ndarray, outputs: Any = None) -> np.ndarray:
        if outputs is not None:
            heights.append(outputs["hand.z"])
        return np.array([3.0 * np.sin(5.0 * t) - 8.0 * q[0] - 2.0 * v[0], 0.4 * np.cos(3.0 * t)])

    outputs = {"hand": own.system.point("hand")}
    motion = moved(own, control=go.Controller(swing, 0.002 * steps), outputs=outputs)
    assert motion.meta["control"]["inputs"] == ["lift", "actuator1"]
    assert heights == motion.outputs["hand.z"][:-1:steps].tolist()
    for k in range(250):
        if k % steps == 0:
            data.ctrl[:] = swing(data.time, data.qpos, data.qvel)
        assert motion.outputs["control.lift"][k] == pytest.approx(data.ctrl[0], abs=1e-12)
        mujoco.mj_step(model, data)
    assert np.abs(motion.q[-1] - data.qpos).max() < 1e-12
    assert np.abs(motion.v[-1] - data.qvel).max() < 1e-12
    free = moved(go.problem_from_mujoco(*loaded(ARM), t_end=0.1))
    assert np.array_equal(moved(own, t_end=0.1).q, free.q)  # the problem has its own controls again


def test_controls_of_a_wrong_number_or_twice_are_refused() -> None:
    model, data = loaded(ARM)
    with pytest.raises(go.BadInput, match=r"control returned \[1.0\]; return 2 finite numbers"):
        moved(go.problem_from_mujoco(model, data, t_end=0.1), control=go.Controller(lambda *state: [1.0], 0.01))
    twice = go.problem_from_mujoco(model, data, t_end=0.1, control=lambda t, q, w: [0.0, 0.0])
    with pytest.raises(go.BadInput, match="given a control of its own; leave one of the two out"):
        moved(twice, control=go.Controller(lambda *state: [0.0, 0.0], 0.01))


def test_a_control_callback_is_refused() -> None:
    model, data = loaded(MOTOR.format(joint="", words=""))
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(go.BadInput, match="control callback"):
            go.problem_from_mujoco(model, data, t_end=0.1)
    finally:
        mujoco.set_mjcb_control(None)
    assert moved(go.problem_from_mujoco(model, data, t_end=0.1)).status == "solved"


def test_two_welds_of_one_body_hold_it_with_the_least_forces() -> None:
    weld = '<weld name="{}" body1="world" body2="b"/>'
    model = BALL.format(height=2.0, words="").replace("<body ", '<body name="b" ')
    held = model.replace("</worldbody>", f"</worldbody><equality>{weld.format('one')}{weld.format('two')}</equality>")
    motion = moved(problem(held, t_end=0.1), stabilisation="projection")
    assert motion.status == "solved"
    assert motion.q[-1] == pytest.approx(motion.q[0], abs=1e-12)
    assert motion.lam[-1][[2, 8]] == pytest.approx([-9.81, -9.81], abs=1e-9)


def test_a_motion_whose_first_step_has_no_answer_keeps_its_start() -> None:
    words = 'friction="0.3 0 0"'
    ball = problem(BALL.format(height=0.5, words=words), [3.0, 0, 0, 0, 9.0, 0], t_end=0.1)
    motion = moved(ball, solver="extragradient", solver_options={"max_iter": 1})
    assert motion.status == go.Status.ITERATION_LIMIT
    assert motion.message.startswith("Stopped at t = 0")
    assert motion.q.shape == (1, 7)
    assert np.isnan(motion.a).all()


def test_a_step_knows_nothing_of_what_becomes_of_the_data_it_was_made_from() -> None:
    model, data = loaded(BALL.format(height=2.0, words=""))
    data.qvel[:] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    system = go.problem_from_mujoco(model, data, t_end=0.1).system
    q, v = system.state(data)
    step = system.time_step(0.0, q, v)
    data.qvel[:] = 0.0
    assert system.velocities(q, v) == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], abs=1e-14)
    step.problem(0.01)
    end = step.finish(np.zeros(0), project=True)
    assert system.velocities(end.q, end.v)[:3] == pytest.approx([1.0, 2.0, 3.0 - 0.0981], abs=1e-12)
    assert system.velocities(end.q.copy(), end.v) == pytest.approx(system.velocities(end.q, end.v), abs=1e-13)


@pytest.mark.parametrize("flag", ['damper="disable"', 'eulerdamp="disable"', 'damper="enable"'])
def test_damping_is_mujoco_s_whichever_of_its_flags_are_off(flag: str) -> None:
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><option timestep="0.01"><flag {flag}/></option><worldbody><body>
<joint type="slide" axis="1 0 0" damping="20"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qfrc_applied[0] = 1.0
    motion = moved(go.problem_from_mujoco(model, data, t_end=0.1))
    for _ in range(10):
        mujoco.mj_step(model, data)
    assert motion.v[-1] == pytest.approx(data.qvel, rel=1e-12)


RAIL = """<mujoco><option timestep="0.001"/><worldbody><body><joint name="along" type="slide" axis="1 0 0" {joint}/>
<geom type="sphere" size=".1" mass="2"/></body></worldbody>{more}</mujoco>"""


@pytest.mark.parametrize("where", ["joint", "tendon"])
def test_dry_friction_stops_a_slider_and_then_holds_it(where: str) -> None:
    """Pushed by 1 N against 3 N, 2 kg slow down by 1 m/s^2: 1 m/s end after 1 s and 0.5 m."""
    rope = '<tendon><fixed name="along" frictionloss="3"><joint joint="along" coef="1"/></fixed></tendon>'
    given = {"joint": 'frictionloss="3"', "more": ""} if where == "joint" else {"joint": "", "more": rope}
    model, data = loaded(RAIL.format(**given), None, [1.0])
    data.qfrc_applied[0] = 1.0
    motion = moved(go.problem_from_mujoco(model, data, t_end=1.5))
    assert motion.status == go.Status.SOLVED
    assert motion.contacts == ("along, dry friction",)
    assert motion.v[:1000, 0] == pytest.approx(1.0 - motion.t[:1000], abs=1e-10)
    assert motion.v[1001:, 0] == pytest.approx(0.0, abs=1e-10)
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-3)
    assert motion.lam_T[[1, -1], 0, 0] == pytest.approx([-3.0, -1.0], abs=1e-8)
    assert list(motion.mode[[1, -1], 0]) == [1.0, 2.0]
    assert np.isnan(motion.gap).all()
    assert motion.events == ()


@pytest.mark.parametrize(("condim", "kept"), [(3, (3.0, 3.0)), (4, (None, 3.0)), (6, (None, None))])
def test_spinning_and_rolling_friction_slow_a_ball_by_their_moments(condim: int, kept: tuple[Any, ...]) -> None:
    """Moments 0.02 N about the normal and 0.003 N about the ground; rolling at omega R, whose inertia is I + m R^2."""
    ball = BALL.format(height=0.5, words=f'condim="{condim}" friction="0.5 0.02 0.003"')
    inertia, push = 0.4 * 2.0 * 0.25, 2.0 * 9.81
    slowed = 3.0 - 0.02 * push / inertia, 3.0 - 0.003 * push / (inertia + 2.0 * 0.25)
    spins = moved(problem(ball, [0, 0, 0, 0, 0, 3.0], t_end=1.0))
    rolls = moved(problem(ball, [1.5, 0, 0, 0, 3.0, 0], t_end=1.0))
    for motion, at, wanted in ((spins, 3, kept[0] or slowed[0]), (rolls, 1, kept[1] or slowed[1])):
        assert motion.status == go.Status.SOLVED
        omega = 2.0 * np.linalg.norm(motion.v[-1, 3:])
        assert omega == pytest.approx(wanted, abs=1e-9), at
    assert len(spins.contacts) == {3: 1, 4: 2, 6: 3}[condim]


def test_contacts_are_looked_for_less_far_ahead_where_memory_is_short() -> None:
    balls = "".join(f'<body pos="{0.105 * i} 0 0.105"><freejoint/><geom type="sphere" size="0.05"/></body>'
                    for i in range(12))  # fmt: skip
    xml = f"""<mujoco><size memory="{{}}"/><worldbody><geom type="plane" size="9 9 1"/>{balls}</worldbody></mujoco>"""
    ahead = {size: moved(problem(xml.format(size), t_end=0.01)).meta["contacts_ahead"] for size in ("20K", "4M")}
    assert ahead["4M"] == 0.01
    assert ahead["20K"] < 0.01


def test_a_motion_warns_where_its_steps_are_longer_than_contacts_are_looked_ahead() -> None:
    ball = BALL.format(height=1.0, words="")
    fast, slow = (moved(problem(ball, [speed, 0, 0, 0, 0, 0], t_end=0.05)) for speed in (30.0, 0.1))
    assert fast.status == go.Status.SOLVED
    assert "A geometry moves 0.3 m in a step" in " ".join(fast.warnings)
    assert slow.warnings == ()


def test_outputs_of_a_motion_are_points_sensors_and_contact_forces() -> None:
    xml = """<mujoco><option timestep="0.001"/><worldbody><geom name="floor" type="plane" size="9 9 1"
friction=".4 0 0"/>
<body name="cube" pos="0 0 .1"><freejoint name="root"/><geom name="box" type="box" size=".1 .1 .1" mass="2"
friction=".4 0 0"/><site name="corner" pos=".1 .1 .1"/><body><joint name="arm" axis="0 0 1"/>
<geom name="rod" type="capsule" fromto="0 0 .2 .3 0 .2" size=".02" mass=".1"/></body></body></worldbody><sensor>
<jointpos name="angle" joint="arm"/><framelinvel name="speed" objtype="site" objname="corner"/><touch name="pressed"
site="corner"/></sensor></mujoco>"""
    given = problem(xml, [0.5, 0.3, 0, 0, 0, 0.8, 2.0], t_end=0.1)
    system: Any = given.system
    motion = moved(given, outputs={
        "corner": system.point("corner"), "cube": system.point("cube"), "rod": system.point("rod"),
        "sensor": system.sensors("angle", "speed"), "floor": go.Output.contact("floor, box"),
    })  # fmt: skip
    out, t = motion.outputs, motion.t
    assert out["sensor.angle"] == pytest.approx(motion.q[:, 7], abs=1e-15)
    for i, x in enumerate("xyz"):
        assert out[f"cube.{x}"] == pytest.approx(motion.q[:, i], abs=1e-15)
        assert out[f"corner.v_{x}"] == pytest.approx(out[f"sensor.speed.{i + 1}"], abs=1e-14)
        for name in ("corner", "rod"):
            change = np.gradient(out[f"{name}.{x}"], t, edge_order=2)
            assert out[f"{name}.v_{x}"][2:-2] == pytest.approx(change[2:-2], abs=5e-3)
    assert out["floor.normal"][1:] == pytest.approx(2.1 * 9.81, rel=1e-6)
    assert motion.contacts == ("floor, box", "floor, box, 2", "floor, box, 3", "floor, box, 4")
    assert (out["floor.friction"] <= 0.4 * out["floor.normal"] + 1e-9).all()
    for ask, name, word in ((system.point, "hand", "corner"), (system.sensors, "angel", "angle")):
        with pytest.raises(go.UnknownName, match=word):
            ask(name)
    with pytest.raises(go.BadInput, match="Sensor 'pressed' shows forces"):
        system.sensors()


FLYER = """<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1"/>
  <body pos="0 0 {height}"><freejoint name="base"/><geom name="cube" type="box" size="0.1 0.1 0.1" mass="2"/>
    <body pos="0.3 0.05 0"><joint name="arm" axis="0 1 0"/><geom type="sphere" size="0.05" pos="0.1 0.02 0" mass="0.7"/>
    </body></body></worldbody></mujoco>"""


def test_a_robot_in_the_air_is_held_by_its_weight_and_one_that_stands_is_refused() -> None:
    model = mujoco.MjModel.from_xml_string(FLYER.format(height=1.0))
    data = mujoco.MjData(model)
    flying, standing = (problem(FLYER.format(height=height), t_end=1.0) for height in (1.0, 0.1))
    turned = np.array([0.9, 0.1, -0.3, 0.2])
    q = np.array([0.3, 0.2, 1.0, *turned / np.linalg.norm(turned), 0.4])
    held = go.inverse_dynamics(flying.system, q, 0.0 * q, 0.0 * q)
    data.qpos[:] = q
    mujoco.mj_inverse(model, data)
    np.testing.assert_allclose(held[[0, 1, 2, 7]], data.qfrc_inverse[[0, 1, 2, 6]], atol=1e-10)
    assert go.linearise(flying.system, q, 0.0 * q).A.shape == (14, 14)
    for act in (lambda *x: go.inverse_dynamics(*x, x[2]), go.linearise):
        with pytest.raises(go.NotAccepted, match=r"The contact 'floor, cube' of .* touches at this state"):
            act(standing.system, standing.q0, 0.0 * standing.q0)


def test_members_of_a_batch_find_their_own_contacts() -> None:
    entry = problem(FLYER.format(height=0.1), t_end=0.02)
    q0 = np.array([entry.q0, entry.q0 + np.eye(8)[2]])
    data = go.simulate_batch(entry, initial={"q0": q0}, stepper="moreau-jean")
    assert data.status.values.tolist() == ["solved", "solved"]
    assert data.q[:, -1, 2].values == pytest.approx([0.1, 1.1 - 9.81 * 0.02**2 / 2], abs=3e-4)
