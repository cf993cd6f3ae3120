"""Equality rows of MuJoCo's models that come and go, or are nothing but rounding, against models without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from tests.interchange.humanoid import loaded

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

DOOR = """<mujoco><worldbody>
<body name="door"><joint name="hinge" axis="{axis}"/><geom type="box" size=".4 .02 1" pos=".4 0 0"/></body>
<body pos="0 2 0"><joint name="a" type="slide" axis="1 0 0"/><geom size=".1"/></body>
<body pos="0 3 0"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1"/></body></worldbody>
<equality><joint joint1="a" joint2="b" polycoef="0 1 1 0 0"/>{more}</equality></mujoco>"""


def words(values: Any) -> str:
    return " ".join(f"{x:.17g}" for x in values)


def door(axis: Any, along: float | None, q: Any, v: Any) -> tuple[Any, Any]:
    """A door of which a point is fixed that lies on its hinge, `along` it: MuJoCo's rows of it are zero, or 1e-17."""
    fixed = "" if along is None else f'<connect body1="door" anchor="{words(along * np.array(axis))}"/>'
    return loaded(DOOR.format(axis=words(axis), more=fixed), q, v)


STATES = (
    ([0.0, 1.0, 3.0], 0.3, [np.pi / 2, 0.0, 0.0], [-0.62327446, 0.7, 0.0]),
    ([-2.0, 1.0, 2.0], 0.5, [2.98325961, 0.0, 0.0], [-0.45772583, -0.45772583, 0.7]),
    ([-1.0, 0.0, 2.0], -1.0, [np.pi / 2, 0.0, 0.0], [1.0, 1.0, 1.0]),
)
"""States at which the rows are zero and those of neighbours are rounding, or the other way round."""


@pytest.mark.parametrize(("axis", "along", "q", "v"), STATES)
def test_rows_that_come_and_go_between_neighbours_are_told_by_their_equality(
    axis: Any, along: float, q: Any, v: Any
) -> None:
    step, due = go.from_mujoco(*door(axis, along, q, v)), go.from_mujoco(*door(axis, None, q, v))
    assert np.array_equal(step.J, due.J)
    assert step.gamma == pytest.approx([2.0 * v[2] ** 2], abs=1e-9)
    answer = go.solve_step(step)
    assert answer.status == go.Status.SOLVED
    assert answer.a == pytest.approx(go.solve_step(due).a, rel=1e-9, abs=1e-9)


def test_a_door_with_a_second_hinge_turns_as_without_at_random_states() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        axis = rng.integers(-3, 4, 3) + np.array([0.0, 0.0, 0.5])
        q, v = [rng.choice([0.0, np.pi / 2, rng.uniform(-3, 3)]), 0.0, 0.0], rng.choice([-1.0, 0.7, rng.normal()], 3)
        model, data = door(axis, float(rng.choice([1.0, 0.3, -1.0])), q, v)
        answer, free = (
            go.solve_step(go.from_mujoco(model, data)),
            go.solve_step(go.from_mujoco(*door(axis, None, q, v))),
        )
        assert answer.status == go.Status.SOLVED
        assert answer.a == pytest.approx(free.a, rel=1e-8, abs=1e-8)


def test_a_point_beside_the_hinge_is_no_rounding_however_near_it_lies() -> None:
    """Its rows are 1e-9 long, ten thousand times what their terms are rounded by: the door stands.

    It is open by 1e-3 rad only: farther, the residual of the point would be as large as the rows, per rad, as it is
    where rows imply each other but for the digits of a file.
    """
    model, data = loaded(DOOR.format(axis="1 0 2", more='<connect body1="door" anchor="0 1e-9 0"/>'), [1e-3, 0, 0], 0.0)
    step = go.from_mujoco(model, data)
    assert 0.0 < np.abs(step.J[:, 0]).max() < 3e-9
    answer = go.solve_step(step)
    assert answer.status == go.Status.SOLVED
    assert answer.a[0] == pytest.approx(0.0, abs=1e-7)


def test_a_door_with_a_second_hinge_moves_as_without() -> None:
    axis, along, q, v = [1.0, 2.0, 3.0], 0.3, [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]
    held, free = (
        go.simulate(
            go.problem_from_mujoco(*door(axis, a, q, v), t_end=0.2), stepper="moreau-jean", error_estimate=False
        )
        for a in (along, None)
    )
    assert held.status == go.Status.SOLVED
    assert np.ptp(held.q[:, 0]) > 0.05
    assert held.q == pytest.approx(free.q, abs=1e-12)
    assert held.lam.shape == (len(held.t), 4)  # rows that hold nothing have no force
    assert not held.lam[:, 1:].any()


WHEELS = """<mujoco><worldbody>
<body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".5 0 0"/></body>
<body pos="0 2 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
<body pos="0 4 0"><joint name="c" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
<equality><joint joint1="a" joint2="b"/><joint joint1="b" joint2="c"/>
<joint joint1="a" joint2="c" polycoef="{off:.17g} {ratio:.17g} 0 0 0"/></equality></mujoco>"""


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_gears_that_imply_each_other_but_for_digits_of_a_file_turn_as_exact_ones(stabilisation: str) -> None:
    def motion(off: float, ratio: float) -> go.Trajectory:
        problem = go.problem_from_mujoco(*loaded(WHEELS.format(off=off, ratio=ratio), 0.0, 0.0), t_end=0.5)
        return go.simulate(problem, stabilisation=stabilisation, error_estimate=False)

    rounded, exact = motion(3e-8, 1.0 + 1e-7), motion(0.0, 1.0)
    assert rounded.status == exact.status == go.Status.SOLVED
    assert np.ptp(exact.q) > 0.5
    assert rounded.q == pytest.approx(exact.q, abs=2e-6)
    assert any("by rounding of the model's numbers" in said for said in rounded.warnings)
    assert not any("by rounding of the model's numbers" in said for said in exact.warnings)
    with pytest.raises(go.BadInput, match=r"off the constraints|cannot be projected"):
        motion(3e-5, 1.0)
    assert motion(0.0, 1.0 + 1e-5).q == pytest.approx(0.0, abs=1e-3)  # the third ratio is another one: wheels stand


@pytest.mark.parametrize("open_by", [0.0, 1e-3])
def test_a_planar_loop_whose_hinge_is_rounded_has_the_forces_of_one_in_a_plane(open_by: float) -> None:
    """A loop tied by a point has a row along its hinges, which holds nothing but for a file that turns one by 3e-8 rad.

    Soft loops are open by 1 mm, too.
    """
    text = """<mujoco><worldbody>
    <body><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -1" contype="0"/>
      <body pos="0 0 -1"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 2 0 0" contype="0"/>
        <site name="one" pos="2 0 0"/></body></body>
    <body pos="2 0 0"><joint axis="{off:.17g} 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -1" contype="0"/>
        <site name="on" pos="0 0 -1"/></body></worldbody>
    <equality><connect site1="one" site2="on"/></equality></mujoco>"""
    q, v = np.array([0.3, -0.3, 0.3 + open_by]), np.array([1.0, -1.0, 1.0])
    rounded, exact = (go.from_mujoco(*loaded(text.format(off=off), q, v)) for off in (3e-8, 0.0))
    answer, due = go.solve_step(rounded), go.solve_step(exact)
    assert answer.status == due.status == go.Status.SOLVED
    assert answer.a == pytest.approx(due.a, abs=1e-6)
    assert rounded.J.T @ answer.lam == pytest.approx(exact.J.T @ due.lam, abs=1e-5)


def test_a_row_that_vanishes_only_here_contradicts_the_motion_by_name() -> None:
    """An arm whose tip is tied to a point of its own line: the length is extreme, and its second derivative is not."""
    arm = """<mujoco><worldbody><site name="nail" pos="2 0 0"/><body><joint axis="0 1 0"/><geom size=".1" pos=".5 0 0"/>
<site name="tip" pos="1 0 0"/></body></worldbody><tendon><spatial name="rod"><site site="nail"/><site site="tip"/>
</spatial></tendon><equality><tendon tendon1="rod"/></equality></mujoco>"""
    step = go.from_mujoco(*loaded(arm, 0.0, 1.0))
    assert step.J.tolist() == [[0.0]]
    assert step.gamma == pytest.approx([-2.0], abs=1e-8)  # of the length, sqrt(5 - 4 cos q)
    answer = go.solve_step(step)
    assert answer.status == go.Status.INFEASIBLE
    assert "Row 1 of J is zero" in answer.message
    assert go.from_mujoco(*loaded(arm, 0.0, 0.0)).m == 0


def arm(angles: Any, tilt: str) -> tuple[Any, Any]:
    """A planar arm of four hinges in a tilted plane, its hand welded to the world where it is: one freedom is left."""
    links = "".join(
        f'<body name="link{i}" pos="{0.5 * (i > 0)} 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".03" '
        'fromto="0 0 0 .5 0 0" contype="0" conaffinity="0"/>' for i in range(4)
    )  # fmt: skip
    model, data = loaded(
        f'<mujoco><worldbody><body euler="{tilt}" pos=".1 .2 1">{links}{"</body>" * 5}</worldbody>'
        '<equality><weld body1="link3"/></equality></mujoco>', angles, 0.0,
    )  # fmt: skip
    mujoco.mj_kinematics(model, data)
    back, place, hand = np.zeros(4), np.zeros(3), mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "link3")
    mujoco.mju_negQuat(back, data.xquat[hand])
    mujoco.mju_rotVecQuat(place, -data.xpos[hand], back)
    model.eq_data[0, :3], model.eq_data[0, 3:6], model.eq_data[0, 6:10] = 0.0, place, back
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-14
    return model, data


@pytest.mark.parametrize("tilt", ["0 0 0", "0 0 30", "40 -20 70"])
def test_a_planar_arm_with_a_welded_hand_keeps_its_freedom_in_a_tilted_plane(tilt: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(6):
        model, data = arm(rng.uniform(-1, 1, 4), tilt)
        rows = np.array(data.efc_J).reshape(-1, 4)[: data.ne]
        _, sizes, axes = np.linalg.svd(rows)
        assert (sizes > 1e-9).sum() == 3
        data.qvel[:] = axes[3] * rng.normal()
        step = go.from_mujoco(model, data)
        answer = go.solve_step(step)
        assert answer.status == go.Status.SOLVED
        free = np.linalg.solve(step.M, step.Q - step.h)
        along = axes[3] @ step.M
        # The freedom's own equation; the rest of the acceleration keeps the loop closed.
        assert along @ (answer.a - free) == pytest.approx(0.0, abs=1e-9 * np.abs(along @ free).max() + 1e-8)
        assert rows @ answer.a == pytest.approx(_needed(model, data), abs=1e-6 * (1 + np.abs(answer.a).max()))


def _needed(model: Any, data: Any) -> Any:
    """What the rows gain a second along the motion, by central differences of the whole rows."""
    ahead = mujoco.MjData(model)
    found = []
    for time in (-1e-4, 1e-4):
        ahead.qpos[:], ahead.qvel[:] = data.qpos, data.qvel
        mujoco.mj_integratePos(model, ahead.qpos, data.qvel, time)
        mujoco.mj_forward(model, ahead)
        found.append(np.array(ahead.efc_J).reshape(-1, model.nv)[: data.ne] @ data.qvel)
    return (found[0] - found[1]) / 2e-4


def test_a_planar_arm_with_a_welded_hand_moves_as_it_does_upright() -> None:
    angles = np.random.default_rng(5).uniform(-1, 1, 4)
    ends = []
    for tilt in ("0 0 0", "0 0 30"):
        model, data = arm(angles, tilt)
        given = go.problem_from_mujoco(model, data, t_end=0.2, dt=1e-3)
        motion = go.simulate(given, stepper="moreau-jean", stabilisation="projection", error_estimate=False)
        assert motion.status == go.Status.SOLVED
        ends.append(motion.q[-1])
    assert np.abs(ends[0] - angles).max() > 0.1
    assert ends[1] == pytest.approx(ends[0], abs=1e-8)


def test_an_arm_beside_a_wall_along_its_plane_does_not_press_on_it() -> None:
    """The normal of the contact lies across a tilted plane, so that its row is rounding."""
    wall = '<geom type="box" size="2 .1 2" pos="0 -.15 0"/>'
    text = """<mujoco><option><flag contact="{}"/></option><worldbody><body euler="{}" pos=".3 .2 1">{}<body>
<joint axis="0 1 0"/><geom type="sphere" size=".05" pos=".5 0 0" gap=".01"/></body></body></worldbody></mujoco>"""
    rng, touching = np.random.default_rng(3), 0
    for _ in range(8):
        tilt = words(rng.uniform(-90, 90, 3))
        (model, data), free = (loaded(text.format(flag, tilt, wall), 0.0, 0.3) for flag in ("enable", "disable"))
        answer = go.solve_step(go.from_mujoco(model, data))
        touching += data.ncon
        assert answer.status == go.Status.SOLVED
        assert answer.a == pytest.approx(go.solve_step(go.from_mujoco(*free)).a, rel=1e-9)
        assert go.contacts_from_mujoco(model, data).k == 0
    assert touching == 8


@pytest.mark.parametrize(("name", "at", "told"), [("tip", 1, False), ("pivot", 0, True)])
def test_only_an_equality_of_which_no_row_acts_holds_nothing(name: str, at: int, told: bool) -> None:
    """One of the three rows of `connect` lies across the plane of an arm, as in most grippers."""
    model, data = (
        loaded(f"""<mujoco><worldbody><body name="arm"><joint axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body>
</worldbody><equality><connect name="{name}" body1="arm" anchor="{at} 0 0"/></equality></mujoco>""")
    )
    sentences = go.check(go.problem_from_mujoco(model, data, t_end=0.1))
    start = f"The constraint {name} holds nothing at the start: its derivatives"
    assert [s.startswith(start) for s in sentences if "holds nothing" in s] == [True] * told
