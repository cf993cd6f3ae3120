"""Robots as others write them, in small: a gripper with planar loops, a quadruped, tiny fingers, flat feet."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from tests.interchange.humanoid import FOOT, HUMANOID, loaded, moved

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

FINGER = """<body quat="{turn}"><body name="{s}_driver" pos="0 .03 .055"><joint name="{s}_driver" axis="1 0 0"
range="0 .8" armature=".005" damping=".1"/><inertial pos="0 .018 .004" mass=".009" diaginertia="2e-6 1e-6 2e-6"/>
<body name="{s}_coupler" pos="0 .0315 -.0041"><joint axis="1 0 0" range="-1.57 0"/>
<inertial pos="0 .005 .02" mass=".014" diaginertia="4e-6 3e-6 1e-6"/></body></body>
<body pos="0 .0132 .0609"><joint axis="1 0 0" range="-.3 .8" springref="2.62" stiffness=".05" damping=".001"/>
<inertial pos="0 .02 .018" mass=".022" diaginertia="9e-6 8e-6 4e-6"/><body name="{s}_follower" pos="0 .055 .0375">
<joint axis="1 0 0" range="-.87 .87"/><inertial pos="0 -.011 .012" mass=".012" diaginertia="3e-6 2e-6 2e-6"/>
<geom name="{s}_pad" type="box" size=".011 .004 .019" pos="0 -.0025 .0185" mass=".02" friction=".7 0 0"/></body></body>
</body>"""

LOOP = '<connect name="{s}_loop" body1="{s}_follower" body2="{s}_coupler" anchor="0 -.0179 .0065"/>'

SIDES = ("right", "1 0 0 0"), ("left", "0 0 0 1")


def gripper(tilt: str) -> Any:
    """Two fingers of four links, their loops closed by `connect`, driven together, about a fixed block."""
    return mujoco.MjModel.from_xml_string(f"""<mujoco><compiler autolimits="true" angle="radian"/>
<option timestep=".002"/><worldbody><body pos=".1 .2 .3" euler="{tilt}">
<geom name="block" type="box" size=".01 .0612 .01" pos="0 0 .117" friction=".7 0 0"/>
{"".join(FINGER.format(s=s, turn=turn) for s, turn in SIDES)}</body></worldbody>
<tendon><fixed name="both"><joint joint="right_driver" coef=".5"/><joint joint="left_driver" coef=".5"/></fixed>
</tendon>
<equality>{"".join(LOOP.format(s=s) for s, _ in SIDES)}
<joint joint1="right_driver" joint2="left_driver"/></equality>
<actuator><general tendon="both" gainprm=".3137" biastype="affine" biasprm="0 -100 -10"/></actuator></mujoco>""")


TILTED = "0.5 0.3 0.2"


def test_a_gripper_in_a_tilted_plane_has_the_steps_without_its_dependent_rows() -> None:
    """Each loop has three rows for two conditions: in a tilted plane none of them is zero."""
    model, kinds = gripper(TILTED), Counter[bool]()
    for seed in range(4):
        rng, data = np.random.default_rng(seed), mujoco.MjData(model)
        data.qvel[:], data.ctrl[:] = 0.3 * rng.normal(size=model.nv), 255.0
        for _ in range(5 + 30 * seed):
            mujoco.mj_step(model, data)
        contacts = go.contacts_from_mujoco(model, data)
        E = np.array(data.efc_J).reshape(-1, model.nv)[: data.ne]
        assert np.linalg.svd(E)[1][-1] < 1e-15
        impulses = go.solve(contacts.local, "hybrid")
        assert impulses.status == go.Status.SOLVED
        v, M = contacts.velocities(impulses.x)[0], np.asarray(contacts.M)
        assert E @ v == pytest.approx(0.0, abs=1e-9)
        missing = M @ v - contacts.f - np.asarray(contacts.H) @ impulses.x
        assert missing == pytest.approx(E.T @ np.linalg.lstsq(E.T, missing, rcond=1e-9)[0], abs=1e-9)
        step = go.from_mujoco(model, data)
        answer = go.solve_step(step, *(("coulomb-soccp", "hybrid") if step.k else ()))
        assert answer.status == go.Status.SOLVED
        kinds[step.k > 0] += 1
    assert set(kinds) == {True, False}


def test_a_gripper_closes_on_a_block_alike_in_every_plane() -> None:
    ends = []
    for tilt in ("0 0 0", TILTED):
        model = gripper(tilt)
        model.opt.gravity[:] = 0.0
        data = mujoco.MjData(model)
        data.ctrl[:] = 255.0
        motion = moved(go.problem_from_mujoco(model, data, t_end=0.3), stabilisation="projection")
        assert motion.status == go.Status.SOLVED
        assert (motion.lam_N[-1] > 0).any()
        assert motion.position_drift.max() < 1e-3
        assert not any("holds nothing" in sentence for sentence in motion.warnings)
        ends.append(motion.q[-1])
    assert ends[1] == pytest.approx(ends[0], abs=1e-6)


def test_a_body_on_two_flat_feet_each_stands_for_a_second() -> None:
    """Four capsules lie on the floor, eight contacts: their forces are redundant, as those of most feet are."""
    sole = """<geom type="capsule" fromto="-.07 {0} -.03 .12 {1} -.03" size=".03" mass=".3" contype="1" conaffinity="1"
friction=".7 0 0"/>"""
    text = HUMANOID
    for s in ("left", "right"):
        text = text.replace(FOOT.format(s=s), sole.format(-0.02, -0.05) + sole.format(0.02, 0.05))
    motion = moved(go.problem_from_mujoco(*loaded(text), t_end=1.0), stabilisation="projection", record_every=50)
    assert motion.status == go.Status.SOLVED
    assert motion.t[-1] == 1.0
    assert len(motion.contacts) == 8
    assert motion.worst.constraint_residual < 1e-9


def test_fingers_a_million_times_lighter_than_their_trunk_are_accelerated_as_mujoco_says() -> None:
    """The least eigenvalue of M is 5e-13 of the largest, and yet no direction is free of mass."""
    links = ""
    for i, share in enumerate(np.logspace(0, -6, 6)):
        length, inertia = 0.3 * share ** (1 / 3), 0.1 * share ** (5 / 3)
        links += f"""<body pos="0 0 {length if i else 0}"><joint axis="{i % 2} {1 - i % 2} 0"/>
<inertial pos="0 0 {length / 3}" mass="{20 * share}" diaginertia="{inertia} {inertia} {inertia / 2}"/>"""
    model, data = loaded(f"""<mujoco><compiler boundmass="0" boundinertia="0"/><worldbody><body><freejoint/>
<inertial pos="0 0 0" mass="40" diaginertia="1 1 1"/>{links}{"</body>" * 7}</worldbody></mujoco>""")
    rng = np.random.default_rng(0)
    data.qvel[:], data.qfrc_applied[:] = rng.normal(size=(2, model.nv))
    step = go.from_mujoco(model, data)
    sizes = np.linalg.eigvalsh(step.M)
    assert 0.0 < sizes[0] < 1e-12 * sizes[-1]
    for pair in ((), ("lagrange", "kkt"), ("null-space", "kkt")):
        answer = go.solve_step(step, *pair)
        assert answer.status == go.Status.SOLVED
        assert answer.a == pytest.approx(data.qacc, rel=1e-9)


LEG = """<body pos="{x} {y} 0"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 0 -.05" size=".02" mass=".3"/>
<body pos="0 0 -.05"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".5"/>
<body pos="0 0 -.2"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.2" size=".015" mass=".2"/>
<geom class="foot" type="sphere" size=".02" pos="0 0 -.2" mass=".05" friction="{mu} 0 0"/></body></body></body>"""


def quadruped(mu: float, rng: np.random.Generator) -> go.StepData:
    """A quadruped of which four feet touch the floor and slide on it."""
    legs = "".join(LEG.format(x=x, y=y, mu=mu) for x in (0.2, -0.2) for y in (0.12, -0.12))
    model, data = loaded(f"""<mujoco><default><geom contype="0" conaffinity="0"/><default class="foot">
<geom contype="1" conaffinity="1" gap=".02"/></default></default><worldbody><geom type="plane" size="9 9 1"
class="foot" friction="{mu} 0 0"/><body pos="0 0 .4"><freejoint/><geom type="box" size=".25 .1 .05" mass="6"/>{legs}
</body></worldbody></mujoco>""")
    data.qpos[7:] += np.tile([0, 0.5, -1.0], 4) + 0.1 * rng.normal(size=12)
    feet = np.flatnonzero(model.geom_contype)[1:]
    rows = np.zeros((4, 3, model.nv))
    for _ in range(20):  # the knees bring the feet to the floor
        mujoco.mj_forward(model, data)
        for i, foot in enumerate(feet):
            lowest = data.geom_xpos[foot] - [0, 0, 0.02]
            mujoco.mj_jac(model, data, rows[i], None, lowest, model.geom_bodyid[foot])
            data.qpos[9 + 3 * i] -= (lowest[2] + 1e-6) / rows[i, 2, 8 + 3 * i]
    down = rows[:, 2]
    v = 0.3 * rng.normal(size=model.nv)
    data.qvel[:] = v - np.linalg.pinv(down) @ (down @ v)
    return go.from_mujoco(model, data, at_rest=1e-9)


def accelerations(step: go.StepData) -> list[Any]:
    """All accelerations that Coulomb's law allows of contacts that slide: each is open or closed."""
    along = step.v_T / np.linalg.norm(step.v_T, axis=1)[:, None]
    pushes = step.J_N.T - np.einsum("kin,ki->nk", step.J_T, step.mu[:, None] * along)
    free, gained = np.linalg.solve(step.M, step.Q - step.h), np.linalg.solve(step.M, pushes)
    W, b, found = step.J_N @ gained, step.J_N @ free + step.zeta_N, []
    for mask in itertools.product((False, True), repeat=step.k):
        closed, lam = np.array(mask), np.zeros(step.k)
        lam[closed] = np.linalg.solve(W[np.ix_(closed, closed)], -b[closed])
        if (lam >= 0).all() and (W @ lam + b)[~closed].min(initial=0.0) >= 0:
            found.append(free + gained @ lam)
    return found


@pytest.mark.parametrize(("mu", "contradicted"), [(0.7, False), (3.0, True)])
def test_feet_that_slide_have_the_accelerations_of_all_their_cases_or_none(mu: float, contradicted: bool) -> None:
    """With much friction no force satisfies the laws of some states, as in Painlevé's paradox."""
    rng, none = np.random.default_rng(7), 0
    for _ in range(15):
        step = quadruped(mu, rng)
        assert step.k == 4
        possible, answers = accelerations(step), (go.solve_step(step), go.solve_step(step, "coulomb-soccp", "hybrid"))
        for answer in answers:
            assert answer.status == (go.Status.SOLVED if possible else go.Status.NO_SOLUTION)
            assert not possible or answer.a == pytest.approx(possible[0], abs=1e-8 * np.abs(possible[0]).max())
        assert len(possible) <= 1
        none += not possible
    assert (none > 0) == contradicted
