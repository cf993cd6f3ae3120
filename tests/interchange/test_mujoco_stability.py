"""Motions of MuJoCo's models that once ran away: projections without bound, and servos that threw light links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.comparison.contact_export import export_contacts
from gaussopt.interchange.fclib import read
from gaussopt.interchange.mujoco_damping import smallest_factor, surely_stable
from tests.interchange.humanoid import loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

FINGER = """<mujoco><option timestep="0.002"/><worldbody><body euler="{tilt}" pos=".1 .2 .3">
<geom name="palm" type="sphere" size=".05"/>
<body pos=".06 0 0"><joint name="root" axis="0 1 0"/><geom name="knuckle" type="sphere" size=".05" pos="{beside} 0 0"
mass=".1" {touching}/>
<body pos=".1 0 0"><joint name="tip" axis="0 1 0"/><geom type="sphere" size=".01" pos=".05 0 0" mass=".1"/></body>
</body></body></worldbody></mujoco>"""
"""A finger whose knuckle lies 4 cm deep in the palm, on the axis of its hinge or `beside` it."""


def problem(xml: str, t_end: float, ctrl: Any = (), q: Any = None) -> go.Problem:
    model, data = loaded(xml, q)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    data.ctrl[:] = ctrl
    return go.problem_from_mujoco(model, data, t_end=t_end)


@pytest.mark.parametrize("tilt", ["0 0 0", "30 20 10"])
def test_a_contact_that_nothing_can_take_apart_stays_and_throws_nothing(tilt: str) -> None:
    stuck = moved(problem(FINGER.format(tilt=tilt, beside=0, touching=""), 0.04), stabilisation="projection")
    alone = 'contype="0" conaffinity="0"'
    free = moved(problem(FINGER.format(tilt=tilt, beside=0, touching=alone), 0.04), stabilisation="projection")
    assert stuck.status == go.Status.SOLVED
    assert np.ptp(free.q, axis=0).max() > 1e-3
    assert stuck.q == pytest.approx(free.q, abs=1e-12)
    assert "Contact 'palm, knuckle' stays 0.04 m deep" in " ".join(stuck.warnings)
    assert free.warnings == ()


@pytest.mark.parametrize("tilt", ["0 0 0", "30 20 10"])
def test_a_projection_far_beyond_what_it_mends_is_refused_by_name(tilt: str) -> None:
    """The knuckle lies on the line from the palm through the hinge: turning moves it apart to second order only."""
    motion = moved(problem(FINGER.format(tilt=tilt, beside=0.001, touching=""), 0.04), stabilisation="projection")
    assert motion.status == go.Status.BAD_INPUT
    assert "The projection does not converge: it would move joint" in motion.message
    assert "palm, knuckle by 0.039 m" in motion.message
    assert len(motion.t) > 1  # what was computed before is kept
    assert np.abs(motion.q).max() < 1.0


BLOCKED = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>{}</worldbody></mujoco>"""

RAIL = """<geom name="wall" type="plane" size="5 5 1"/>
<body pos="0 0 .07"><joint name="rail" type="slide" axis="1 0 {}"/>
<geom name="ball" type="sphere" size=".1" mass="1"/></body>"""
"""A ball, 3 cm deep in a wall, on a rail that leaves it at a small angle."""


def test_a_projection_moves_ten_times_as_far_as_what_it_mends_at_most() -> None:
    taken = moved(problem(BLOCKED.format(RAIL.format(0.3)), 0.04), stabilisation="projection")
    assert taken.status == go.Status.SOLVED
    assert taken.q[-1, 0] == pytest.approx(0.03 * np.hypot(1.0, 0.3) / 0.3, abs=1e-9)
    assert taken.gap[1:] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(go.BadInput, match=r"joint 'rail' by 1 m within a step .* wall, ball by 0\.03 m"):
        moved(problem(BLOCKED.format(RAIL.format(0.03)), 0.04), stabilisation="projection")


def test_a_bar_between_two_balls_that_it_cannot_leave_comes_to_rest_between_them() -> None:
    """Both overlap it by 3 cm: what takes it from the one presses it into the other, and it was thrown by 1 rad."""
    given = problem(BLOCKED.format("""<geom name="left" type="sphere" size=".1" pos="-.12 0 0"/>
<geom name="right" type="sphere" size=".1" pos=".12 0 0"/><body pos="0 0 -.05"><joint name="bar" axis="0 1 0"/>
<geom name="tip" type="capsule" fromto="0 0 0 0 0 .2" size=".05" mass="1"/></body>"""), 0.04, q=[0.05])  # fmt: skip
    motion = moved(given, stabilisation="projection")
    assert motion.status == go.Status.SOLVED
    turned = np.abs(motion.q[:, 0])
    assert (turned[1:] <= np.maximum(0.5 * turned[:-1], 1e-3)).all()  # less is not looked at
    assert motion.gap[-1] == pytest.approx([-0.03, -0.03], abs=2e-4)
    for name in ("left, tip", "right, tip"):
        assert f"Contact {name!r} stays 0.03 m deep" in " ".join(motion.warnings)


@pytest.mark.parametrize(("at", "beside", "turned"), [
    ("-.15 0 .07", 0.01, -0.5), ("-.02 0 .08", 0.06, -1.3), ("0.05 0 0.02", 0.08, -0.4), (".09 0 -.04", 0.04, -0.5),
])  # fmt: skip
def test_a_projection_is_shortened_until_it_mends(at: str, beside: float, turned: float) -> None:
    """A cylinder on a hinge within a box: its rows are others after each turn; it once turned to and fro by 1 rad."""
    motion = moved(problem(BLOCKED.format(f"""<geom name="block" type="box" size=".1 .1 .1"/><body pos="{at}">
<joint name="hinge" axis="0 1 0"/><geom name="drum" type="cylinder" size=".05 .08" pos="{beside} 0 0" mass="1"/>
</body>"""), 0.06, q=[turned]), stabilisation="projection")  # fmt: skip
    assert motion.status == go.Status.SOLVED
    assert np.abs(np.diff(motion.q[:, 0]))[-10:].max() < 1e-3
    depth = -np.nanmin(motion.gap, axis=1)
    assert depth[-1] < 0.7 * depth[0]
    assert f"stays {depth[-1]:.2g} m deep, as nothing can take it apart" in " ".join(motion.warnings)


SERVOS = """<mujoco><option timestep="0.002" integrator="{integrator}"/><worldbody><body>
<joint name="upper" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="2" contype="0" conaffinity="0"/>
<body pos=".3 0 0"><joint name="wrist" axis="0 1 0" {wrist}/>
<geom type="capsule" fromto="0 0 0 .05 0 0" size=".02" mass=".05" contype="0" conaffinity="0"/></body></body>
</worldbody><actuator><position joint="upper" kp="{kp}" kv="{kv}"/><position joint="wrist" kp="{kp}" kv="{kv}"/>
</actuator></mujoco>"""


@pytest.mark.parametrize(("kp", "kv"), [(100, 10), (4500, 450)])
def test_servos_are_damped_at_the_end_of_a_step_where_mujoco_s_integrator_does_so(kp: int, kv: int) -> None:
    xml = SERVOS.format(integrator="implicitfast", wrist='damping="0.1"', kp=kp, kv=kv)
    motion = moved(problem(xml, 0.2, [0.5, 0.2]))
    model, data = loaded(xml)
    data.ctrl[:] = [0.5, 0.2]
    for _ in range(100):
        mujoco.mj_step(model, data)
    assert motion.status == go.Status.SOLVED
    assert motion.meta["damping_at_end"] == "all"
    assert motion.q[-1] == pytest.approx(data.qpos, abs=1e-6)


def test_servos_that_are_too_stiff_for_the_steps_of_their_integrator_are_damped_at_the_end_with_a_warning() -> None:
    """The motion is bit for bit that of the integrator implicitfast, and near that of short steps of Euler's method."""
    euler, fast = (problem(SERVOS.format(integrator=name, wrist="", kp=100, kv=1), 0.2, [0.5, 0.2])
                   for name in ("Euler", "implicitfast"))  # fmt: skip
    motion, due = moved(euler, record_every=100), moved(fast, record_every=100)
    assert motion.status == go.Status.SOLVED
    assert np.array_equal(motion.q, due.q)
    assert due.warnings == ()
    (words,) = motion.warnings
    assert words.startswith("Steps of 0.002 s are too long for the servos")
    assert "joint 'wrist' would be multiplied by -" in words
    assert motion.meta["damping_at_end"] == "all"
    short = moved(euler, dt=float(words.split("take dt=")[1].split()[0]), record_every=10**9)
    assert short.meta["damping_at_end"] == "none"
    assert short.warnings == ()
    assert motion.q[-1] == pytest.approx(short.q[-1], abs=0.01)
    first = moved(euler, t_end=0.1)
    rest = moved(euler, t_end=0.2, start=first)
    assert np.array_equal(rest.q[-1], motion.q[-1])
    assert rest.warnings == motion.warnings
    assert rest.meta["damping_at_end"] == "all"


def test_problems_of_the_steps_of_such_a_motion_are_those_that_it_solves(tmp_path: Path) -> None:
    wrist = 'limited="true" range="0 90"'
    euler, fast = (problem(SERVOS.format(integrator=name, wrist=wrist, kp=100, kv=1), 0.02, [0.5, 0.2])
                   for name in ("Euler", "implicitfast"))  # fmt: skip
    for name, given in (("euler", euler), ("fast", fast)):
        assert export_contacts(given, tmp_path / name, stride=3)["files"]
    for file in (tmp_path / "fast").glob("*.hdf5"):
        one, other = (read((tmp_path / name / file.name).read_bytes()) for name in ("euler", "fast"))
        assert np.array_equal(one.W, other.W)
        assert np.array_equal(one.q, other.q)


def test_steps_that_are_too_long_for_servos_however_they_are_damped_are_refused_with_one_that_would_do() -> None:
    given = problem(SERVOS.format(integrator="Euler", wrist="", kp=20000, kv=1), 0.2, [0.5, 0.2])
    with pytest.raises(go.BadInput, match=r"Steps of 0\.002 s are too long .* joint 'wrist' .* Take dt=") as refused:
        moved(given)
    dt = float(str(refused.value).split("Take dt=")[1].split(" ")[0])
    fine = moved(given, dt=dt, record_every=10**9)
    assert fine.status == go.Status.SOLVED
    assert np.abs(fine.v).max() < 50.0


def test_stiff_springs_are_refused_too_and_those_that_loops_hold_are_not() -> None:
    spring = """<mujoco><option timestep="0.01"/><worldbody><body><joint name="j" type="slide" axis="1 0 0"
stiffness="{}" ref=".1"/><geom size=".1" mass="1"/></body></worldbody>{}</mujoco>"""
    with pytest.raises(go.BadInput, match="a velocity of joint 'j' would be multiplied"):
        moved(problem(spring.format(50000, ""), 0.1))
    held = '<equality><joint joint1="j" polycoef="0 0 0 0 0"/></equality>'
    assert moved(problem(spring.format(50000, held), 0.1)).status == go.Status.SOLVED
    swings = moved(problem(spring.format(30000, ""), 0.1))  # dt^2 k / m = 3: coarse, and bounded
    assert swings.status == go.Status.SOLVED
    assert np.abs(swings.q).max() < 1.0


def test_an_unstable_equilibrium_is_no_reason_to_refuse() -> None:
    """Springs that push away make the motion grow, as it does."""
    away = """<mujoco><option timestep="0.01"/><worldbody><body><joint type="slide" axis="1 0 0"/>
<geom size=".1" mass="1"/></body></worldbody><actuator><position joint="j" kp="-20"/></actuator></mujoco>"""
    motion = moved(problem(away.replace('type="slide"', 'name="j" type="slide"'), 0.5, [-0.1]))
    assert motion.status == go.Status.SOLVED
    assert motion.q[-1, 0] == pytest.approx(0.1 * (np.cosh(np.sqrt(20) * 0.5) - 1), rel=0.05)


def boxes(memory: str) -> Any:
    """Twenty-five boxes on the floor, a hundred contacts, and a joint that an equality holds."""
    each = "".join(f'<body pos="{i % 5 * 0.3} {i // 5 * 0.3} .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
                   for i in range(25))  # fmt: skip
    text = f"""<mujoco><size memory="{memory}"/><worldbody><geom type="plane" size="9 9 1" pos="0 0 1e-4"/>{each}
<body pos="0 0 5"><joint name="j" type="slide"/><geom size=".1"/></body></worldbody>
<equality><joint joint1="j"/></equality></mujoco>"""
    return loaded(text)


@pytest.mark.parametrize("memory", ["60K", "100K", "160K"])
def test_too_little_memory_for_contacts_is_told_with_the_remedy(memory: str) -> None:
    """MuJoCo gives up, or goes on without the rows: then the joint would fall."""
    model, data = boxes(memory)
    words = r'more memory than the \d+ bytes that it gives them; write <size memory="64M"/>'
    with pytest.raises(go.BadInput, match=words):
        go.problem_from_mujoco(model, data, t_end=0.01)
    for make in (go.from_mujoco, go.contacts_from_mujoco, go.soft_from_mujoco):
        with pytest.raises(go.BadInput, match=words):
            make(model, mujoco.MjData(model))
    model, data = boxes("64M")
    assert go.contacts_from_mujoco(model, data).k == 100
    assert go.from_mujoco(model, data).m == 1


def test_a_mug_at_rest_is_a_step_though_its_contacts_jump_about_its_foot() -> None:
    """A disk stands on three points of its rim, which MuJoCo finds elsewhere with every rounding of its pose."""
    mug = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><body pos="0 0 .0026"><freejoint/>
<geom name="foot" type="cylinder" size=".045 .0026" mass=".2"/><geom type="box" size=".04 .04 .03" pos="0 0 .04"
mass=".2" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
    model, data = loaded(mug)
    for _ in range(250):
        mujoco.mj_step(model, data)
    assert 0.0 < np.abs(data.qvel).max() < 1e-6
    step = go.from_mujoco(model, data)
    assert step.k == 3
    answer = go.solve_step(step, "coulomb-soccp", "hybrid")
    assert answer.status == go.Status.SOLVED
    assert answer.a == pytest.approx(np.zeros(6), abs=1e-6)
    assert answer.lam_N.sum() == pytest.approx(0.4 * 9.81, abs=1e-6)
    data.qvel[3] = 0.1  # it wobbles by 4.5 mm/s
    with pytest.raises(go.BadInput, match="'floor' and 'foot' is not surely found again"):
        go.from_mujoco(model, data, at_rest=0.1)


def test_what_is_surely_stable_has_no_factor_below_minus_one() -> None:
    random, decided = np.random.default_rng(20), 0
    for _ in range(400):
        n = int(random.integers(1, 5))
        L, D, K = random.standard_normal((3, n, n))
        scale = 10.0 ** random.uniform(-2.0, 2.0, 2)
        whole = L @ L.T + 0.1 * np.eye(n), np.zeros((n, n)), scale[0] * (D @ D.T), scale[1] * (K if n % 2 else K @ K.T)
        sure = surely_stable(whole, 0.5)
        smallest, _ = smallest_factor(whole, 0.5)
        assert smallest >= -1.0 - 1e-9 if sure else True
        decided += sure or smallest < -1.0
    assert decided > 300  # the test decides most cases
