"""Steps of Pinocchio's models against its own forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go

pin: Any = pytest.importorskip(
    "pinocchio", reason="Pinocchio is no part of gaussopt[test]: it takes 380 MB", exc_type=ImportError
)

LINK = """<link name="{name}"><inertial><origin xyz="0 0.01 -0.12"/><mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0.001" ixz="0" iyz="0.002"/></inertial></link>
<joint name="{name}_{kind}" type="{kind}"><parent link="{parent}"/><child link="{name}"/><origin xyz="{place}"/>
<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="99" velocity="99"/></joint>"""


def limb(side: int, words: str, place: str) -> str:
    """Three links that turn about x, y and y, and what holds no joint at their end."""
    text, parent = "", "trunk"
    for i, (name, axis) in enumerate(zip(words.split(), ("1 0 0", "0 1 0", "0 1 0", "0 0 1"), strict=True)):
        name, kind = f"{'left' if side > 0 else 'right'}_{name}", "fixed" if i == 3 else "revolute"
        at = place if i == 0 else "0 0 -0.25"
        text += LINK.format(name=name, kind=kind, parent=parent, axis=axis, mass=(2.0, 1.5, 1.0, 0.3)[i], place=at)
        parent = name
    return text


URDF = '<robot name="walker"><link name="trunk"><inertial><mass value="12"/><inertia ixx=".4" iyy=".5" izz=".3" ' + (
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    + "".join(limb(s, "hip thigh shin foot", f"0 {0.15 * s} 0") for s in (1, -1))
    + "".join(limb(s, "shoulder arm forearm hand", f"0 {0.2 * s} 0.4") for s in (1, -1))
    + "</robot>"
)


@pytest.fixture(scope="module")
def walker() -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """A model of 18 velocities, and a state and forces in general position."""
    model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
    turn = np.concatenate(([0.1, 0.2, 0.8, 0.05, -0.1, 0.3], 0.6 * np.sin(1.0 + np.arange(12))))
    q = pin.integrate(model, pin.neutral(model), turn)
    return model, q, np.cos(2.0 * np.arange(18)), np.sin(3.0 * np.arange(18))


def held(model: Any, q: np.ndarray, one: str, two: str, kind: Any, frame: Any) -> Any:
    """Two bodies held together where they are: a constraint of places or of frames; "" is the world."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    first, second = (model.getJointId(name) if name else 0 for name in (one, two))
    place = pin.SE3(pin.utils.rotate("x", 0.4), np.array([0.01, 0.02, -0.2]))
    there = data.oMi[second].inverse() * data.oMi[first] * place
    return pin.RigidConstraintModel(kind, model, first, place, second, there, frame)


def theirs(model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray, loops: list[Any]) -> np.ndarray:
    """Pinocchio's own accelerations with constraints."""
    models, datas, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData(), model.createData()
    for loop in loops:
        models.append(loop)
        datas.append(loop.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-13, 1e-8, 200)
    return np.array(pin.constraintDynamics(model, data, q, v, tau, models, datas, settings))


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= 1e-9 * np.abs(b).max())


def test_a_tree_moves_as_aba_says(walker: Any) -> None:
    model, q, v, tau = walker
    answer = go.solve_step(go.from_pinocchio(model, q, v, tau))
    assert answer.status == go.Status.SOLVED
    assert close(answer.a, pin.aba(model, model.createData(), q, v, tau))
    assert not close(answer.a, go.solve_step(go.from_pinocchio(model, q, v)).a)


@pytest.mark.parametrize("frame", ["LOCAL", "LOCAL_WORLD_ALIGNED"])
@pytest.mark.parametrize("kind", ["CONTACT_3D", "CONTACT_6D"])
def test_closed_loops_move_as_constraint_dynamics_says(walker: Any, kind: str, frame: str) -> None:
    model, q, v, tau = walker
    names = ("left_forearm_revolute", "right_shin_revolute"), ("left_shin_revolute", "")
    how = getattr(pin.ContactType, kind), getattr(pin.ReferenceFrame, frame)
    loops = [held(model, q, *pair, *how) for pair in names]
    J = go.from_pinocchio(model, q, v, loops=loops).J
    v = 3.0 * (v - np.linalg.pinv(J) @ (J @ v))
    step = go.from_pinocchio(model, q, v, tau, loops=loops)
    assert np.abs(step.gamma).max() > 0.1  # it would not do to leave it out
    for formulation in ("gauss", "lagrange"):
        answer = go.solve_step(step, formulation)
        assert answer.status == go.Status.SOLVED
        assert close(answer.a, theirs(model, q, v, tau, loops))


def test_an_overconstrained_loop_in_a_plane_is_solved_too() -> None:
    bars, parent = '<robot name="bars"><link name="trunk"/>', "trunk"
    for i, name in enumerate(("crank", "coupler", "rocker")):
        bars += LINK.format(name=name, kind="revolute", parent=parent, axis="0 1 0", mass=1 + i, place="0 0 -0.3")
        parent = name
    model = pin.buildModelFromXML(bars + "</robot>")
    q, tau = np.array([0.7, -1.1, -0.9]), np.array([1.0, 0.0, 0.0])
    pivot = held(model, q, "rocker_revolute", "", pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    J = go.from_pinocchio(model, q, np.zeros(3), loops=[pivot]).J
    assert np.linalg.matrix_rank(J) == 2 < len(J)
    v = 2.0 * np.linalg.svd(J)[2][-1]
    answer = go.solve_step(go.from_pinocchio(model, q, v, tau, loops=[pivot]))
    assert answer.status == go.Status.SOLVED
    assert close(answer.a, theirs(model, q, v, tau, [pivot]))


def test_feet_that_stick_are_held_as_by_pinocchio_and_may_slip_and_lift(walker: Any) -> None:
    model, q, _, _ = walker
    feet = {"left_foot": 2.0, "right_foot": 2.0}
    loops = [pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        for frame in (model.frames[model.getFrameId(name)] for name in feet)]  # fmt: skip
    J = go.from_pinocchio(model, q, np.zeros(18), loops=loops).J
    v = np.cos(2.0 * np.arange(18))
    v, tau = v - np.linalg.pinv(J) @ (J @ v), np.zeros(18)
    step = go.from_pinocchio(model, q, v, tau, contacts=feet)
    assert step.resting.all()
    answers = [go.solve_step(step, "coulomb-soccp", solver) for solver in ("hybrid", "nsgs")]
    assert all(answer.status == go.Status.SOLVED for answer in answers)
    assert (answers[0].lam_N > 0).all()
    own = theirs(model, q, v, tau, loops)
    assert close(answers[0].a, own)
    assert go.judge_acceleration(step, own, by="Pinocchio").status == go.Status.SOLVED
    smooth = go.solve_step(go.from_pinocchio(model, q, v, tau, contacts=dict.fromkeys(feet, 0.01)), "coulomb-soccp")
    assert smooth.status == go.Status.SOLVED
    assert not close(smooth.a, own)
    up = v + np.eye(18)[2]
    assert go.from_pinocchio(model, q, up, contacts=feet).k == 0


def test_a_mass_slides_on_the_floor() -> None:
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), "mass")
    model.appendBodyToJoint(joint, pin.Inertia(2.0, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity())
    model.addFrame(pin.Frame("foot", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    answer = go.solve_step(go.from_pinocchio(model, np.zeros(3), [3.0, 0, 0], contacts={"foot": 0.3}), "coulomb-soccp")
    assert answer.a == pytest.approx([-0.3 * 9.81, 0, 0], abs=1e-12)
    assert answer.lam_N == pytest.approx([2 * 9.81], abs=1e-11)


def test_what_is_no_such_step_is_told(walker: Any) -> None:
    model, q, v, _ = walker
    anchor = pin.PointAnchorConstraintModel(model, 1, pin.SE3.Identity(), 0, pin.SE3.Identity())
    for given, words in (
        (("walker.urdf", q, v), r"model is str; expected pinocchio\.Model"),
        ((pin.Model(), [], []), "no joint"), ((model, q[1:], v), r"q has shape \(18,\)"),
        ((model, 2.0 * q, v), "length is not one"), ((model, q, v * np.nan), r"v\[0\] is nan"),
    ):  # fmt: skip
        with pytest.raises(go.BadInput, match=words):
            go.from_pinocchio(*given)
    for more, words in (
        ({"contacts": {"toe": 0.5}}, "'toe', which is no frame"),
        ({"contacts": {"left_foot": -1.0}}, "'left_foot' is -1; give 0 or more"),
        ({"contacts": ["left_foot"]}, "give friction coefficients by names of frames"),
        ({"loops": [anchor]}, r"loops\[0\] is PointAnchorConstraintModel"),
    ):  # fmt: skip
        with pytest.raises(go.BadInput, match=words):
            go.from_pinocchio(model, q, 0.0 * v, **more)
    again = pin.convertToRigidConstraintModel(model, anchor)
    assert go.from_pinocchio(model, q, v, loops=[again]).m == 3


@pytest.mark.parametrize("kind", ["CONTACT_3D", "CONTACT_6D"])
def test_a_planar_loop_in_a_tilted_plane_keeps_its_freedom(kind: str) -> None:
    """Its rows across the plane are rounding of terms that cancel: 1e-17, and no constraint."""
    count, rng = {"CONTACT_3D": 3, "CONTACT_6D": 4}[kind], np.random.default_rng(0)
    text, parent = '<robot name="bars"><link name="base"/>', "base"
    for i in range(count):
        place = '0.6 0 0"' if i else '0.1 0.2 0.3" rpy="0.3 0.7 -0.4"'
        text += LINK.format(name=f"bar{i}", kind="continuous", parent=parent, axis="0 1 0", mass=1.0, place="@")
        text, parent = text.replace('"@"', f'"{place}'), f"bar{i}"
    model = pin.buildModelFromXML(text + "</robot>")
    tip = pin.SE3(np.eye(3), np.array([0.6, 0.0, 0.0]))
    for _ in range(8):
        angles = np.array([-1.2, 1.3, 1.4, 0.5])[:count] + 0.2 * rng.normal(size=count)
        q, data = pin.integrate(model, pin.neutral(model), angles), model.createData()
        pin.forwardKinematics(model, data, q)
        there = data.oMi[count] * tip
        loop = pin.RigidConstraintModel(getattr(pin.ContactType, kind), model, count, tip, 0, there)
        J = go.from_pinocchio(model, q, np.zeros(count), loops=[loop]).J
        assert np.linalg.matrix_rank(J) == count - 1
        v, tau = 2.0 * np.linalg.svd(J)[2][-1], rng.normal(size=count)
        answer = go.solve_step(go.from_pinocchio(model, q, v, tau, loops=[loop]))
        assert answer.status == go.Status.SOLVED
        assert close(answer.a, theirs(model, q, v, tau, [loop]))


def test_joints_out_of_order_are_refused_as_crba_is_wrong_for_them() -> None:
    """A branch that goes on behind another one: Pinocchio's crba then couples what does not hang together."""
    parents = {"branch by branch": (0, 1, 2, 1), "one after the other": (0, 1, 1, 2)}
    for order, found in parents.items():
        model, turned = pin.Model(), pin.SE3(pin.utils.rotate("x", 0.3), np.array([0.1, 0.2, 0.3]))
        for i, parent in enumerate(found):
            number = model.addJoint(parent, pin.JointModelRY(), turned, f"j{i}")
            model.appendBodyToJoint(number, pin.Inertia(1.0 + i, np.full(3, 0.1), np.diag([0.1, 0.2, 0.15])), turned)
        q, v = np.array([0.1, -0.2, 0.3, 0.4]), np.ones(4)
        if order == "branch by branch":
            own = pin.aba(model, model.createData(), q, v, np.zeros(4))
            assert close(go.solve_step(go.from_pinocchio(model, q, v)).a, own)
            continue
        with pytest.raises(go.BadInput, match="branch by branch"):
            go.from_pinocchio(model, q, v)


def test_a_force_on_hinges_that_move_no_mass_is_told_and_elsewhere_they_move_as_aba_says() -> None:
    """A point mass that two hinges move along one line, as the neck of a humanoid at its neutral pose."""
    model, nothing = pin.Model(), np.zeros((3, 3))
    first = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "roll")
    second = model.addJoint(first, pin.JointModelRZ(), pin.SE3.Identity(), "yaw")
    model.appendBodyToJoint(second, pin.Inertia(2.0, np.array([0.1, 0.0, 0.2]), nothing), pin.SE3.Identity())
    v, tau = np.array([0.3, -0.2]), np.array([1.0, 0.5])
    answer = go.solve_step(go.from_pinocchio(model, np.zeros(2), v, tau))
    assert answer.status == go.Status.UNBOUNDED
    assert "neither mass nor constraint" in answer.message
    for turned in (0.5, -1.2):
        q = np.array([0.4, turned])
        own = pin.aba(model, model.createData(), q, v, tau)
        assert close(go.solve_step(go.from_pinocchio(model, q, v, tau)).a, own)


def test_a_contact_that_nothing_can_press_is_none() -> None:
    """An arm that turns about the vertical does not press on the floor, though its row there is not quite zero."""
    arm = LINK.format(name="arm", kind="continuous", parent="base", axis="1 0 0", mass=1.0, place="@")
    arm = arm.replace('"@"', '"0 0 0" rpy="0 1.5707963267948966 0"')
    model = pin.buildModelFromXML(f'<robot name="r"><link name="base"/>{arm}</robot>')
    model.addFrame(pin.Frame("foot", 1, 0, pin.SE3(np.eye(3), np.array([0.1, 0.3, 0.4])), pin.FrameType.OP_FRAME))
    q, data = pin.integrate(model, pin.neutral(model), np.array([0.7])), model.createData()
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    row = np.ravel(pin.computeFrameJacobian(model, data, q, model.getFrameId("foot"), aligned))
    assert 0.0 < abs(row[2]) < 1e-15
    step = go.from_pinocchio(model, q, [0.0], [1.0], contacts={"foot": 0.5})
    assert step.k == 0
    answer = go.solve_step(step)
    assert answer.status == go.Status.SOLVED
    assert close(answer.a, pin.aba(model, data, q, np.zeros(1), np.ones(1)))


def test_a_motion_under_control_is_that_of_its_forward_dynamics() -> None:
    """A system of functions from Pinocchio, whose joint forces a control holds, against `aba` in the same steps."""
    model = pin.buildSampleModelManipulator()
    data, n = model.createData(), int(model.nv)

    def mass(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        upper = np.triu(pin.crba(model, data, q))
        return upper + np.triu(upper, 1).T

    def bias(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.nonLinearEffects(model, data, q, v).copy()

    def hold(t: float, q: np.ndarray, v: np.ndarray, outputs: Any) -> np.ndarray:
        return bias(t, q, v) - 20.0 * v - 50.0 * (q - 0.3)

    def rate(y: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.append(y[n:], pin.aba(model, data, y[:n], y[n:], tau))

    system = go.System(mass, np.zeros(n), inertia=bias, coordinates=model.names.tolist()[1:])
    start = {"q0": pin.neutral(model), "v0": np.zeros(n)}
    motion = go.simulate(system, **start, t_end=0.1, dt=1e-3, control=go.Controller(hold, 0.01))
    y, h, tau = np.concatenate(list(start.values())), 1e-3, np.zeros(n)
    for k in range(100):
        tau = hold(0.0, y[:n], y[n:], {}) if k % 10 == 0 else tau
        a = rate(y, tau)
        b = rate(y + h / 2 * a, tau)
        c = rate(y + h / 2 * b, tau)
        y = y + h / 6 * (a + 2 * b + 2 * c + rate(y + h * c, tau))
    assert np.abs(np.append(motion.q[-1], motion.v[-1]) - y).max() < 1e-12
