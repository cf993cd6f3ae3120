"""Models of MuJoCo: what their steps are, against MuJoCo itself and against systems of our own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import gaussopt as go
from tests.interchange.humanoid import HUMANOID, loaded

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)


@pytest.fixture(scope="module")
def landed() -> tuple[Any, Any]:
    model, data = loaded(HUMANOID)
    for _ in range(20):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


PENDULUM = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body><joint name="one" axis="0 1 0"/><geom type="sphere" size=".1" pos="0 0 -1" mass="2"/>
<body pos="0 0 -1"><joint name="two" axis="0 1 0" {joint}/><geom type="sphere" size=".1" pos="0 0 -.5" mass="1"/></body>
</body></worldbody>{more}</mujoco>"""


def sphere(**contact: object) -> str:
    words = " ".join(f'{name}="{value}"' for name, value in contact.items())
    return f"""<mujoco><worldbody><geom type="plane" size="9 9 1" gap="0.1" {words}/>
<body pos="0 0 0.5"><freejoint/><geom name="ball" type="sphere" size="0.5" mass="2" {words}/></body>
</worldbody></mujoco>"""


def test_a_tree_without_constraints_moves_as_mujoco_says() -> None:
    model, data = loaded(PENDULUM.format(joint='damping="0.3" stiffness="2"', more=""), [0.4, -0.9], [1.5, -2.0])
    answer = go.solve_step(go.from_mujoco(model, data))
    assert answer.status == go.Status.SOLVED
    assert answer.a == pytest.approx(data.qacc, rel=1e-12)


@pytest.mark.parametrize(("jacobian", "condim"), [("dense", 3), ("sparse", 3), ("dense", 6)])
def test_rows_of_equalities_and_contacts_hold_along_a_motion(
    jacobian: str, condim: int, landed: tuple[Any, Any]
) -> None:
    text = HUMANOID.replace("<option", f'<option jacobian="{jacobian}"')
    model, data = loaded(text.replace('gap=".02"', f'gap=".02" condim="{condim}" friction="1 .1 .1"'))
    data.qpos[:], data.qvel[:] = landed[1].qpos, landed[1].qvel
    data.qvel[:] += 0.3 * np.sin(np.arange(model.nv))
    step = go.from_mujoco(model, data, at_rest=10.0)
    assert step.m == 3
    assert step.k == {3: 4, 6: 12}[condim]
    a = np.pad(np.cos(np.arange(model.nv)), (0, step.n - model.nv))
    rate = {"J": step.J @ a - step.gamma, "N": step.J_N @ a + step.zeta_N, "T": step.J_T @ a + step.zeta_T}
    there = []
    for time in (-1e-4, 1e-4):
        near = mujoco.MjData(model)
        near.qpos[:], near.qvel[:] = data.qpos, data.qvel + time * a[: model.nv]
        mujoco.mj_integratePos(model, near.qpos, data.qvel + 0.5 * time * a[: model.nv], time)
        there.append(go.from_mujoco(model, near, at_rest=10.0))
    before, after = there
    for name, rows in (("J", "J"), ("N", "J_N"), ("T", "J_T")):
        change = (getattr(after, rows) @ after.v - getattr(before, rows) @ before.v) / 2e-4
        assert change == pytest.approx(rate[name], abs=1e-5 * np.abs(change).max())


def test_a_ball_slides_and_rolls_as_the_textbook_says() -> None:
    model, data = loaded(sphere(friction="0.3 0 0"), None, [3.0, 0, 0, 0, 0, 0])
    answer = go.solve_step(go.from_mujoco(model, data), "coulomb-soccp", "hybrid")
    assert answer.status == go.Status.SOLVED
    assert answer.a == pytest.approx([-0.3 * 9.81, 0, 0, 0, 2.5 * 0.3 * 9.81 / 0.5, 0], abs=1e-9)
    rolling = go.from_mujoco(*loaded(sphere(friction="0.3 0 0"), None, [3.0, 0, 0, 0, 6.0, 0]))
    assert rolling.resting.all()
    assert go.solve_step(rolling, "coulomb-soccp", "hybrid").a == pytest.approx(np.zeros(6), abs=1e-9)


def test_a_limit_of_a_joint_holds_it() -> None:
    stop = 'limited="true" range="-20 90"'
    model, data = loaded(PENDULUM.format(joint=stop, more=""), [-0.6, -np.pi / 9 - 1e-6], [0.0, 0.0])
    step = go.from_mujoco(model, data)
    assert step.k == 1
    assert step.mu == 0
    answer = go.solve_step(step, "lcp", "lemke")
    assert answer.status == go.Status.SOLVED
    assert (step.J_N @ answer.a)[0] >= -1e-9


@pytest.mark.parametrize("joint", ['type="slide" axis="0 0 1" range="0 1"', 'axis="0 1 0" range="-90 0"'])
@pytest.mark.parametrize("q", [0.0, 1e-13, -1e-13])
def test_a_limit_that_is_just_reached_holds(joint: str, q: float) -> None:
    """As in a default pose, where MuJoCo has no row yet; the weight presses on the stop."""
    text = f"""<mujoco><worldbody><body><joint {joint} limited="true"/><geom size=".1" pos="1 0 0" mass="1"/></body>
    </worldbody></mujoco>"""
    step = go.from_mujoco(*loaded(text, [q]))
    answer = go.solve_step(step, "lcp", "lemke")
    assert answer.a == pytest.approx([0.0], abs=1e-12)
    assert answer.lam_N == pytest.approx([9.81], abs=1e-9)


def test_a_limit_of_a_tendon_that_is_just_reached_needs_a_margin() -> None:
    text = """<mujoco><worldbody><body><joint name="j" type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>
    </worldbody><tendon><fixed name="rope" limited="true" range="0 1"{margin}><joint joint="j" coef="1"/></fixed>
    </tendon></mujoco>"""
    with pytest.raises(go.BadInput, match="limit of tendon 'rope' is just reached, where MuJoCo has no row"):
        go.from_mujoco(*loaded(text.format(margin="")))
    held = go.from_mujoco(*loaded(text.format(margin=' margin="0.001"')))
    assert go.solve_step(held, "lcp", "lemke").a == pytest.approx([0.0], abs=1e-12)


def test_a_closed_loop_with_contacts_is_solved_by_all_solvers_that_apply(landed: tuple[Any, Any]) -> None:
    model, data = landed
    assert model.njnt >= 20
    soft, own = go.soft_from_mujoco(model, data), data.qacc.copy()
    for solver in ("clarabel", "osqp", "piqp", "proxqp"):
        found = go.solve(soft, solver)
        assert found.status == go.Status.SOLVED, solver
        assert np.abs(found.x[: model.nv] - own).max() <= 1e-6 * np.abs(own).max(), solver
    contacts = go.contacts_from_mujoco(model, data)
    assert contacts.k == 4
    velocities = []
    for solver in ("hybrid", "nsn-ac", "admm"):
        found = go.solve(contacts.local, solver)
        assert found.status == go.Status.SOLVED, solver
        velocities.append(contacts.velocities(found.x)[0])
    for v in velocities[1:]:
        assert v == pytest.approx(velocities[0], abs=1e-6)


@pytest.mark.parametrize(("loss", "v"), [(0.4, (1.5, -2.0)), (0.4, (0.0, 0.0)), (40.0, (0.0, 0.0)), (40.0, (1.0, 0.0))])
def test_dry_friction_of_a_joint_slides_or_sticks_in_steps_and_contacts(loss: float, v: tuple[float, ...]) -> None:
    """MuJoCo's own acceleration is exact where its friction does not have to hold the joint."""
    model, data = loaded(PENDULUM.format(joint=f'frictionloss="{loss}"', more=""), [0.4, -0.9], v)
    step, contacts = go.from_mujoco(model, data), go.contacts_from_mujoco(model, data, dt=1e-6)
    assert (step.n, step.k) == ((2, 0) if v[1] else (3, 1))
    found = go.solve_step(step, *(("gauss", "kkt") if v[1] else ("coulomb-soccp", "hybrid")))
    assert found.status == go.Status.SOLVED
    jump = contacts.velocities(go.solve(contacts.local, "hybrid").x)[0][:2] - v
    assert jump / 1e-6 == pytest.approx(found.a[:2], rel=1e-5, abs=1e-6)
    if loss < 1.0:
        assert found.a[:2] == pytest.approx(data.qacc, rel=1e-9)
    else:
        assert found.a[1:] == pytest.approx(0.0, abs=1e-9)
        assert abs(found.lam_T[0, 0]) < loss
    soft = go.solve(go.soft_from_mujoco(model, data), "clarabel")
    assert soft.x[:2] == pytest.approx(data.qacc, rel=1e-6)


ABOUT_UP, ABOUT_Y = 0.04, 0.003
INERTIA, WEIGHT = 0.4 * 2.0 * 0.25, 2.0 * 9.81
"""Coefficients of spinning and rolling, m, and the inertia, kg m^2, and weight, N, of the ball of `sphere`."""


@pytest.mark.parametrize(
    ("turning", "moment", "wanted"),
    [
        ("spinning", 0.0, -ABOUT_UP * WEIGHT / INERTIA),
        ("rolling", 0.0, -ABOUT_Y * WEIGHT / (INERTIA + 0.5)),
        ("resting up", 0.9 * ABOUT_UP * WEIGHT, 0.0),
        ("resting up", 1.5 * ABOUT_UP * WEIGHT, 0.5 * ABOUT_UP * WEIGHT / INERTIA),
        ("resting y", 0.9 * ABOUT_Y * WEIGHT, 0.0),
        ("resting y", 3.0 * ABOUT_Y * WEIGHT, 2.0 * ABOUT_Y * WEIGHT / (INERTIA + 0.5)),
    ],
)
def test_a_ball_spins_and_rolls_against_moments_of_its_weight(turning: str, moment: float, wanted: float) -> None:
    """About the ground, where it rolls, the inertia is larger by m R^2 = 0.5 kg m^2."""
    v = {"spinning": [0, 0, 0, 0, 0, 3.0], "rolling": [1.5, 0, 0, 0, 3.0, 0]}.get(turning, np.zeros(6))
    at = 4 if turning in ("rolling", "resting y") else 5
    model, data = loaded(sphere(friction=f"0.5 {ABOUT_UP} {ABOUT_Y}", condim=6), None, v)
    data.qfrc_applied[at] = moment
    step, contacts = go.from_mujoco(model, data), go.contacts_from_mujoco(model, data, dt=1e-6)
    assert (step.n, step.k) == (8, 3)
    answer = go.solve_step(step, "coulomb-soccp", "hybrid")
    assert answer.status == go.Status.SOLVED
    assert answer.a[at] == pytest.approx(wanted, abs=1e-9)
    assert answer.a[6:] == pytest.approx(0.0, abs=1e-9)
    assert answer.lam_N == pytest.approx(WEIGHT, abs=1e-8)
    jump = contacts.velocities(go.solve(contacts.local, "hybrid").x)[0][:6] - v
    assert jump / 1e-6 == pytest.approx(answer.a[:6], rel=1e-5, abs=1e-5)
    wrong = answer.a.copy()
    wrong[at] += 0.01
    assert go.judge_acceleration(step, wrong).status != go.Status.SOLVED


def on_balls(seed: int) -> tuple[Any, Any]:
    """A plate with an upright rod on a hinge, standing on three balls of its own that touch the floor."""
    rng, words = np.random.default_rng(seed), 'condim="6" friction=".5 .02 .01" gap=".05"'
    feet = "".join(f'<geom type="sphere" size=".1" pos="{x} {y} -.1" {words}/>'
                   for x, y in ((0.5, 0.0), (-0.3, 0.4), (-0.3, -0.4)))  # fmt: skip
    model, data = loaded(f"""<mujoco><worldbody><geom type="plane" size="9 9 1" {words}/><body pos="0 0 .2">
<freejoint/><geom type="box" size=".5 .5 .01" mass="3" contype="0" conaffinity="0"/>{feet}<body><joint axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .4" size=".02" contype="0" conaffinity="0"/></body></body></worldbody>
</mujoco>""")
    data.qfrc_applied[:] = rng.normal(size=model.nv) * [9, 9, 1, 1, 1, 4, 1]
    data.qvel[[0, 1, 5]] = rng.normal(size=3) * (seed % 2)
    return model, data


@pytest.mark.parametrize("seed", range(6))
def test_forces_of_a_step_obey_the_laws_of_sliding_spinning_and_rolling(seed: int) -> None:
    """The laws as mechanics states them, from MuJoCo's own Jacobians."""
    model, data = on_balls(seed)
    step = go.from_mujoco(model, data)
    assert step.k == 9
    answer = go.solve_step(step, "coulomb-soccp", "hybrid")
    assert answer.status == go.Status.SOLVED
    n, a = model.nv, answer.a[: model.nv]
    missing = step.M[:n, :n] @ a - step.Q[:n] + step.h[:n]
    parents = [0, 1, 2, 0, 0, 1, 1, 2, 2]
    assert answer.lam_N == pytest.approx(answer.lam_N[parents], abs=1e-8)
    mu = [0.5] * 3 + [0.02, 0.01] * 3
    for i in range(9):
        contact, parent = data.contact[parents[i]], parents[i]
        J = np.zeros((2, 3, n))
        mujoco.mj_jac(model, data, *J, contact.pos, model.geom_bodyid[contact.geom[1]])
        frame = contact.frame.reshape(3, 3)
        rows = frame[1:] @ J[0] if i < 3 else frame[:1] @ J[1] if i % 2 else frame[1:] @ J[1]
        force = answer.lam_T[i, : len(rows)]
        missing -= rows.T @ force + (J[0].T @ frame[0] * answer.lam_N[parent] if i < 3 else 0.0)
        size, most = np.linalg.norm(force), mu[i] * answer.lam_N[parent]
        assert size <= most + 1e-8
        slip, begins = rows @ data.qvel, rows @ a + step.zeta_T[i, : len(rows)]
        for motion in (slip if np.linalg.norm(slip) > 1e-3 else begins,):
            if np.linalg.norm(motion) > 1e-7:
                assert force == pytest.approx(-most * motion / np.linalg.norm(motion), abs=1e-6)
    assert missing == pytest.approx(0.0, abs=1e-8)


def test_what_is_no_such_row_is_named() -> None:
    model, data = loaded(sphere().replace("<worldbody>", '<option cone="elliptic"/><worldbody>'))
    data.qpos[2] -= 1e-3
    with pytest.raises(go.BadInput, match="elliptic friction cones"):
        go.soft_from_mujoco(model, data)
    with pytest.raises(go.BadInput, match=r"model is str; expected mujoco\.MjModel"):
        go.from_mujoco("humanoid.xml", data)
    with pytest.raises(go.BadInput, match="has a surface that moves by itself"):
        go.from_mujoco(*loaded(sphere().replace('type="plane"', 'type="plane" surfacevel="1 0 0"')))
    with pytest.raises(go.BadInput, match="With the integrator discrete"):
        go.soft_from_mujoco(*loaded(sphere().replace("<worldbody>", '<option integrator="discrete"/><worldbody>')))
    data.qvel[0] = np.nan
    with pytest.raises(go.BadInput, match="NaN"):
        go.from_mujoco(model, data)
    arm = """<mujoco><worldbody><geom name="floor" type="plane" size="99 99 1"/><body><joint axis="0 1 0"/>
<geom name="ball" pos="20 0 0" size=".1" mass="1"/></body></worldbody></mujoco>"""
    with pytest.raises(go.BadInput, match="The contact of 'floor' and 'ball' is not surely found again"):
        go.from_mujoco(*loaded(arm, [np.arcsin(-0.1 / 20) + 1e-9], [1.0]), at_rest=99.0)


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_an_equality_that_nothing_can_move_is_no_row(jacobian: str) -> None:
    rigid = '<body name="a" pos="0 0 -2"/>'
    held = '<equality>{}<joint joint1="one" joint2="two" polycoef="0 1 0 0 0"/></equality>'
    at = [0.4, 0.4], [1.5, 1.5]
    plain = PENDULUM.replace("<worldbody>", f'<option jacobian="{jacobian}"/><worldbody><body name="b"/>{rigid}')
    with_it, without = (
        loaded(plain.format(joint="", more=held.format(more)), *at)
        for more in ('<connect body1="a" body2="b" anchor="0 0 0"/>', "")
    )
    step, due = go.from_mujoco(*with_it), go.from_mujoco(*without)
    assert abs(step.J - due.J).max() < 1e-12
    assert abs(step.J @ [1.0, 1.0]).max() < 1e-12
    assert abs(go.contacts_from_mujoco(*with_it).G - due.J.T).max() < 1e-12
    assert go.solve(go.soft_from_mujoco(*with_it), "daqp").x[:2] == pytest.approx(with_it[1].qacc, rel=1e-6)
    motion = go.simulate(go.problem_from_mujoco(*with_it, t_end=0.1), stepper="moreau-jean", error_estimate=False)
    assert motion.status == "solved"
    assert motion.q[:, 0] == pytest.approx(motion.q[:, 1], abs=1e-4)


def test_the_acceleration_of_mujoco_is_judged_as_that_of_a_solver() -> None:
    model, data = loaded(sphere(friction="0.3 0 0"), None, [3.0, 0, 0, 0, 0, 0])
    data.qpos[2] -= 1e-3
    pressed = go.judge_acceleration(go.from_mujoco(model, data), data.qacc, by="MuJoCo")
    assert pressed.status == go.Status.INACCURATE
    assert "MuJoCo is not the mechanics" in pressed.message
    step = go.from_mujoco(model, data)
    own = go.solve_step(step, "coulomb-soccp", "hybrid")
    assert go.judge_acceleration(step, own.a).status == go.Status.SOLVED
    pendulum = loaded(PENDULUM.format(joint="", more=""), [0.4, -0.9], [1.5, -2.0])
    free = go.from_mujoco(*pendulum)
    assert go.judge_acceleration(free, pendulum[1].qacc).status == go.Status.SOLVED
    with pytest.raises(go.BadInput, match="a has shape"):
        go.judge_acceleration(free, [1.0])


def on_an_edge(high: float, half: float = 0.1, gap: str = 'gap="0.01"') -> tuple[Any, Any, float]:
    """A cube that turns by 1 rad/s about a lower edge, the other one raised, and how fast corners there accelerate."""
    model, data = loaded(f"""<mujoco><worldbody><geom name="floor" type="plane" size="9 9 1" {gap}/>
<body><freejoint/><geom name="cube" type="box" size="{half} {half} {half}" mass="2"/></body></worldbody></mujoco>""")
    angle = np.arcsin(high / (2 * half))
    c, s = half * np.cos(angle), half * np.sin(angle)
    data.qpos[:] = [0, 0, s + c - 1e-9, np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    data.qvel[:] = [-s - c, 0, s - c, 0, -1, 0]
    return model, data, s + c


@pytest.mark.parametrize("high", [0.0075, 0.0098, 0.0101])
def test_contacts_are_found_again_by_their_place_where_others_come_or_go(high: float) -> None:
    model, data, exact = on_an_edge(high)
    assert go.from_mujoco(model, data).zeta_N == pytest.approx([exact, exact], abs=1e-8)


def test_a_contact_that_leaves_is_not_taken_for_the_one_that_comes() -> None:
    """Without a gap MuJoCo finds one pair of corners here and the other one nearby."""
    model, data, exact = on_an_edge(1e-6, half=0.005, gap="")
    assert go.from_mujoco(model, data).zeta_N == pytest.approx([exact, exact], abs=1e-8)
    assert (model.geom_gap == 0.0).all()


def test_a_contact_that_has_only_just_closed_is_looked_for_ahead_of_the_geometries() -> None:
    """The gap of a ball on an arm of 0.5 m is 0.5 sin(q) - 0.1, whose second derivative at constant q' is known."""
    text = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body><joint axis="0 -1 0"/>
<geom pos=".5 0 0" size=".1" mass="1"/></body></worldbody></mujoco>"""
    angle = np.arcsin(0.1 / 0.5) - 1e-9
    step = go.from_mujoco(*loaded(text, [angle], [-2.0]))
    assert step.zeta_N == pytest.approx([-0.5 * np.sin(angle) * 4.0], rel=1e-6)


def test_contacts_that_neither_body_carries_are_found_where_they_move_together() -> None:
    """Two beams 0.4 mm wide cross and move sideways: the corners where they touch follow both of them."""
    model, data = loaded(
        """<mujoco><default><geom type="box" gap=".01"/></default><worldbody>
<body><joint type="slide" axis="0 1 0"/><geom size=".1 2e-4 .01" pos="0 0 -.01" mass="1"/></body>
<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0" pos="0 0 .2"/>
<geom size="2e-4 .1 .01" pos="0 0 .01" mass="1"/></body></worldbody></mujoco>""",
        [0, 0, -1e-6, 0],
        [1.0, 1.0, 0, 1.0],
    )
    step = go.from_mujoco(model, data, at_rest=9.0)
    assert step.k == 4
    assert step.zeta_N == pytest.approx(np.full(4, 0.2 * 1.0**2), abs=1e-9)


@pytest.mark.parametrize(("ahead", "push"), [(-0.0005, 1.0), (0.0, 1.0), (0.0015, -1.0)])
def test_a_contact_that_turns_from_one_face_to_another_nearby_is_refused(ahead: float, push: float) -> None:
    """A cube that is 2 mm inside a step, near its edge: it leaves by the nearer face, upwards or to the side."""
    model, data = loaded("""<mujoco><worldbody><geom name="step" type="box" size="1 1 0.5" gap="0.01"/>
<body><freejoint/><geom name="cube" type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody></mujoco>""")
    data.qpos[:3], data.qvel[0] = [1.1 - 0.002 + ahead, 0.0, 0.6 - 0.002], push
    with pytest.raises(go.BadInput, match="The contact of 'step' and 'cube' changes its direction by a jump within"):
        go.from_mujoco(model, data, at_rest=10.0)
    data.qvel[:3] = [0.0, push, 0.0]
    assert go.from_mujoco(model, data, at_rest=10.0).zeta_N == pytest.approx(0.0, abs=1e-9)


def test_a_limit_of_a_moving_hinge_needs_no_neighbour_and_one_that_vanishes_is_named() -> None:
    stop = 'limited="true" range="-20 90"'
    model, data = loaded(PENDULUM.format(joint=stop, more=""), [-0.6, -np.pi / 9 - 1e-6], [0.5, -1e-3])
    assert go.from_mujoco(model, data).zeta_N == 0.0
    rope = """<mujoco><worldbody><site name="a"/><body pos="0 0 -1"><joint type="slide" axis="1 0 0"/><joint
type="slide" axis="0 0 1"/><geom size=".1" mass="2"/><site name="b"/></body></worldbody><tendon><spatial name="rope"
limited="true" range="0 1"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    assert go.from_mujoco(*loaded(rope, [0.0, -1e-5], [1.0, 0.0])).zeta_N == pytest.approx(-1.0, abs=1e-4)
    with pytest.raises(go.BadInput, match="The limit of tendon 'rope' is not surely found again"):
        go.from_mujoco(*loaded(rope, [0.0, -1e-5], [0.0, -1.0]))


def test_a_body_on_one_slide_has_no_friction_where_it_lands() -> None:
    model, data = loaded(sphere().replace("<freejoint/>", '<joint type="slide" axis="0 0 1"/>'))
    step = go.from_mujoco(model, data)
    assert step.mu == 0.0
    assert go.solve_step(step, "coulomb-soccp", "hybrid").a == pytest.approx([0.0], abs=1e-12)


FIELD = """<mujoco><asset><hfield name="h" nrow="11" ncol="11" size="1 1 0.1 0.1"/></asset><worldbody>
<geom name="ground" type="hfield" hfield="h" {words}/><body pos="0.2 0.05 {height}"><freejoint/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


def test_height_fields_that_touch_are_soft_only() -> None:
    model, data = loaded(FIELD.format(words="", height=0.0999))
    for make in (go.from_mujoco, go.contacts_from_mujoco):
        with pytest.raises(go.BadInput, match="'ground' is a height field"):
            make(model, data)
    assert go.soft_from_mujoco(model, data).m > 0
    away = loaded(FIELD.format(words="", height=0.9))
    assert go.contacts_from_mujoco(*away).k == 0
    with pytest.raises(go.BadInput, match="'ground' is a height field"):
        go.problem_from_mujoco(*away, t_end=0.1)
    seen = loaded(FIELD.format(words='contype="0" conaffinity="0"', height=0.9))
    assert go.problem_from_mujoco(*seen, t_end=0.1).name == "mujoco"


ROUND = """<mujoco><worldbody>{floor}<body pos="0 0 .3"><freejoint/><geom type="{kind}" size="{size}" mass="1"
gap=".02"/></body></worldbody></mujoco>"""

FLOORS = (
    '<geom type="plane" size="3 3 1" gap=".02"/>', '<geom type="box" size=".5 .5 .1" pos="0 0 -.1" gap=".02"/>',
)  # fmt: skip


def laid_down(floor: str, kind: str, size: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """A body turned at random that touches the floor, 1e-5 m deep or less, and moves along it."""
    model, data = loaded(ROUND.format(floor=floor, kind=kind, size=size))
    data.qpos[3:] = rng.normal(size=4)
    data.qpos[3:] /= np.linalg.norm(data.qpos[3:])
    low, high = 0.0, 1.0
    for _ in range(60):
        data.qpos[2] = 0.5 * (low + high)
        mujoco.mj_forward(model, data)
        touches = data.ncon and data.contact.dist.min() < -1e-5
        low, high = (data.qpos[2], high) if touches else (low, data.qpos[2])
    data.qpos[2] = low
    data.qvel[:] = rng.normal(size=6) * [0.3, 0.3, 0.0, 1, 1, 1]
    data.qvel[2] -= max(np.asarray(go.contacts_from_mujoco(model, data).H)[:, ::3].T @ data.qvel)
    return model, data


@pytest.mark.parametrize(("kind", "size"), [("ellipsoid", ".1 .08 .06"), ("cylinder", ".08 .06")])
def test_a_round_body_on_the_face_of_a_box_moves_as_on_a_plane(kind: str, size: str) -> None:
    """MuJoCo knows its contact with a plane exactly, and iterates for that with a box."""
    rng, compared = np.random.default_rng(0), 0
    for _ in range(10):
        model, data = laid_down(FLOORS[0], kind, size, rng)
        other, there = loaded(ROUND.format(floor=FLOORS[1], kind=kind, size=size), data.qpos, data.qvel)
        option = other.opt.ccd_tolerance, other.opt.ccd_iterations
        exact, found = go.from_mujoco(model, data), go.from_mujoco(other, there)
        assert (other.opt.ccd_tolerance, other.opt.ccd_iterations) == option
        if exact.k == found.k == 1:
            assert found.zeta_N == pytest.approx(exact.zeta_N, abs=1e-5 * np.abs(data.qvel).max() ** 2)
            compared += 1
    assert compared >= 8


def test_a_ball_on_an_ellipsoid_turns_with_the_distance_from_it() -> None:
    axes, rng = np.array([0.4, 0.3, 0.2]), np.random.default_rng(1)
    model, data = loaded("""<mujoco><worldbody><geom type="ellipsoid" size=".4 .3 .2" gap=".02"/><body><freejoint/>
<geom type="sphere" size=".1" mass="1" gap=".02"/></body></worldbody></mujoco>""")

    def distance(centre: np.ndarray) -> float:
        """That of a point from the ellipsoid, by the equation of its nearest point."""
        way = brentq(lambda s: np.sum((axes * centre / (axes**2 + s)) ** 2) - 1.0, -0.03, 9.0, xtol=1e-16, rtol=1e-15)
        return float(np.sign(way) * np.linalg.norm(centre - axes**2 * centre / (axes**2 + way)))

    for _ in range(10):
        foot = axes * (direction := rng.normal(size=3)) / np.linalg.norm(direction)
        normal = foot / axes**2 / np.linalg.norm(foot / axes**2)
        centre, along = foot + (0.1 - 1e-5) * normal, rng.normal(size=3)
        along -= (along @ normal) * normal
        data.qpos[:3], data.qvel[:3] = centre, along
        h = 2e-3
        values = [distance(centre + k * h * along) for k in (-2, -1, 0, 1, 2)]
        second = np.dot([-1, 16, -30, 16, -1], values) / (12 * h**2)
        assert go.from_mujoco(model, data).zeta_N == pytest.approx([second], abs=2e-3 * along @ along)


@pytest.mark.parametrize("speed", [1e-12, 1e-8, 1e-4])
def test_near_rest_no_row_is_looked_for_far_away(speed: float) -> None:
    """A rope and a ball joint that are near their limits by less than what a move of 1 mm changes."""
    rope = """<mujoco><worldbody><site name="a"/><body pos="0 0 -1"><joint type="slide" axis="1 0 0"/>
<joint type="slide" axis="0 0 1"/><geom size=".1" mass="2"/><site name="b"/></body></worldbody><tendon>
<spatial name="rope" limited="true" range="0 1"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    ball = """<mujoco><worldbody><body><joint type="ball" limited="true" range="0 30"/><geom size=".1" pos="1 0 0"/>
</body></worldbody></mujoco>"""
    angle = np.radians(30) + 3e-5
    for text, q, v in (
        (rope, [0.0, -3e-5], [0.3 * speed, 0.0]), (rope, [0.0, -3e-5], [0.0, speed]),
        (ball, [np.cos(angle / 2), 0, np.sin(angle / 2), 0], [0.0, -speed, 0.0]),
    ):  # fmt: skip
        step = go.from_mujoco(*loaded(text, q, v))
        assert step.k == 1
        assert step.zeta_N == pytest.approx([-(v[0] ** 2) if text == rope else 0.0], rel=1e-3, abs=1e-12)


def test_data_of_another_model_are_refused_before_mujoco_reads_them() -> None:
    model, data = loaded(sphere())
    more = sphere().replace("<worldbody>", "<worldbody>" + 50 * '<geom size="0.1"/>')
    with pytest.raises(go.BadInput, match="data belongs to another model"):
        go.from_mujoco(loaded(more)[0], data)
    assert go.from_mujoco(copy.copy(model), data).k == 1


def test_what_is_given_is_checked() -> None:
    model, data = loaded(sphere())
    bad: Any
    for bad in (np.nan, -1.0, "slow", None):
        with pytest.raises(go.BadInput, match="at_rest is"):
            go.from_mujoco(model, data, at_rest=bad)
    for bad in (np.nan, -1.0, 0.0, "short", [1, 2]):
        with pytest.raises(go.BadInput, match="dt is"):
            go.contacts_from_mujoco(model, data, bad)
    data.xfrc_applied[1, 2] = np.inf
    with pytest.raises(go.BadInput, match="xfrc_applied of data holds NaN or infinity"):
        go.soft_from_mujoco(model, data)
    data.xfrc_applied[:], data.qpos[3:] = 0.0, 0.0
    with pytest.raises(go.BadInput, match="The quaternion of joint 0 in qpos of data is zero"):
        go.problem_from_mujoco(model, data, t_end=0.1)


def test_bodies_that_sleep_are_refused() -> None:
    model, data = loaded(sphere().replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>'))
    assert go.from_mujoco(model, data).k == 1
    for _ in range(100):
        mujoco.mj_step(model, data)
    with pytest.raises(go.BadInput, match="A body of data sleeps"):
        go.from_mujoco(model, data)
    model.opt.enableflags = 0
    assert go.from_mujoco(model, data).k == 1
