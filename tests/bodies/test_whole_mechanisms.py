"""Mechanisms of several loops as a user writes them: a six-bar linkage, a platform, a wishbone, chains of balls.

They are compared with closed forms, with MuJoCo's trees of the same bodies, and in maximal with joint coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import gaussopt as go
from gaussopt.bodies import Distance, Drive, Prismatic, Revolute, Spherical, SpringDamper, Universal

mujoco: Any = pytest.importorskip("mujoco", exc_type=ImportError)

GRAVITY, SPEED = 9.81, 6.0
PROJECTED: dict[str, Any] = {"stabilisation": "projection", "dt": 1e-3, "error_estimate": False}

LINKS = {"crank": (1.0, 0.01), "coupler": (2.0, 0.06), "rocker": (1.2, 0.02), "link": (0.8, 0.015), "out": (1.0, 0.02)}
"""Masses and moments of inertia, kg and kg m^2."""

PINS = {"O2": (None, "crank"), "A": ("crank", "coupler"), "O4": (None, "rocker"), "B": ("coupler", "rocker"),
        "C": ("coupler", "link"), "D": ("link", "out"), "O6": (None, "out")}  # fmt: skip


def six_bar() -> go.Problem:
    """Stephenson's third six-bar linkage: a crank, a coupler with three pins, a rocker, and two links to the ground."""
    model = go.Model(dim=2, gravity=(0, -GRAVITY))
    at = {"crank": ((0.075, 0), 0.0), "coupler": ((0.35, 0.2), 0.6), "rocker": ((0.5, 0.2), 1.7),
          "link": ((0.5, 0.5), 0.2), "out": ((0.8, 0.3), 1.4)}  # fmt: skip
    places = {
        "crank": {"O2": (-0.075, 0), "A": (0.075, 0)}, "rocker": {"O4": (-0.2, 0), "B": (0.2, 0)},
        "coupler": {"A": (-0.25, -0.05), "B": (0.25, -0.05), "C": (0.05, 0.2)},
        "link": {"C": (-0.25, 0), "D": (0.25, 0)},
        "out": {"O6": (-0.25, 0), "D": (0.25, 0)},
    }  # fmt: skip
    bodies = {n: model.body(n, *LINKS[n], at=at[n][0], angle=at[n][1], points=places[n]) for n in LINKS}
    ground = {"O2": (0, 0), "O4": (0.55, 0), "O6": (0.8, 0.05)}
    for name, (one, two) in PINS.items():
        first = bodies[one][name] if one else model.ground.at(*ground[name])
        joint = Revolute(name, first, bodies[two][name])
        model.add(joint)
        if name == "O2":
            model.add(Drive("motor", joint, SPEED * model.t))
    return model.problem(t_end=0.3)


def beside(P: Any, r: float, Q: Any, s: float) -> Any:
    """The point at distances r from P and s from Q, on the left of the way from P to Q."""
    d = Q - P
    far = np.hypot(*d)
    along = (far**2 + r**2 - s**2) / (2 * far)
    return P + (along * d + np.sqrt(r**2 - along**2) * np.array([-d[1], d[0]])) / far


def pose(t: float, sides: tuple[int, int]) -> tuple[Any, dict[str, Any]]:
    """Coordinates of the six-bar linkage, (15,), and its pins, by intersections of circles."""
    O2, O4, O6 = np.zeros(2), np.array([0.55, 0.0]), np.array([0.8, 0.05])
    A = 0.15 * np.array([np.cos(SPEED * t), np.sin(SPEED * t)])
    B = beside(A, 0.5, O4, 0.4) if sides[0] > 0 else beside(O4, 0.4, A, 0.5)
    x = (B - A) / 0.5
    y = np.array([-x[1], x[0]])
    middle = (A + B) / 2 + 0.05 * y
    C = middle + 0.05 * x + 0.2 * y
    D = beside(C, 0.5, O6, 0.5) if sides[1] > 0 else beside(O6, 0.5, C, 0.5)
    q = [*A / 2, SPEED * t, *middle, np.arctan2(*x[::-1])]
    for one, two in ((O4, B), (C, D), (O6, D)):
        q += [*(one + two) / 2, np.arctan2(*(two - one)[::-1])]
    return np.array(q), {"O2": O2, "A": A, "O4": O4, "B": B, "C": C, "D": D, "O6": O6}


def test_a_six_bar_linkage_has_the_positions_and_forces_of_its_closed_form() -> None:
    """Accelerations are differences of eighth order of the positions; forces are those of Newton and Euler."""
    motion = go.simulate(six_bar(), **PROJECTED)
    assert motion.status == go.Status.SOLVED
    sides = min(((a, b) for a in (1, -1) for b in (1, -1)), key=lambda s: np.abs(pose(0.0, s)[0] - motion.q[0]).max())
    weights, h = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]), 2e-3
    names = list(LINKS)
    for i in range(0, 301, 50):
        t = float(motion.t[i])
        q, at = pose(t, sides)
        turns = (motion.q[i] - q) / (2 * np.pi) * np.tile([0, 0, 1], 5)
        assert motion.q[i] - 2 * np.pi * np.round(turns) == pytest.approx(q, abs=1e-11)
        near = np.array([pose(t + k * h, sides)[0] for k in range(-4, 5)])
        near[:, 2::3] = np.unwrap(near[:, 2::3], axis=0)
        a = (weights @ near / h**2).reshape(5, 3)
        balance, due = np.zeros((15, 15)), np.zeros(15)
        for k, (mass, inertia) in enumerate(LINKS.values()):
            due[3 * k : 3 * k + 3] = mass * a[k, 0], mass * (a[k, 1] + GRAVITY), inertia * a[k, 2]
        for j, (name, pair) in enumerate(PINS.items()):
            for body, sign in zip(pair, (-1, 1), strict=True):
                if body is not None:
                    k = names.index(body)
                    arm = at[name] - q[3 * k : 3 * k + 2]
                    balance[3 * k, 2 * j] = balance[3 * k + 1, 2 * j + 1] = sign
                    balance[3 * k + 2, 2 * j : 2 * j + 2] = sign * np.array([-arm[1], arm[0]])
        balance[2, 14] = 1.0
        forces = np.linalg.solve(balance, due)
        found = np.concatenate([motion.reaction(name)[i] for name in (*PINS, "motor")])
        assert found == pytest.approx(forces, abs=1e-9 * np.abs(forces).max())


LOW, HIGH, HEIGHT = 0.6, 0.35, 0.7


def legs() -> list[tuple[Any, Any, Any, Any]]:
    """Feet, heads, and the axes and lengths of two legs of a platform; the second axis lies across y."""
    found = []
    for i in range(2):
        low, high = np.radians(120 * i + 10), np.radians(120 * i - 50)
        foot, head = LOW * np.array([np.cos(low), np.sin(low), 0]), HIGH * np.array([np.cos(high), np.sin(high), 0])
        e = head - foot + HEIGHT * np.eye(3)[2]
        length = np.linalg.norm(e)
        e = e / length
        x = np.cross([0, 1, 0], e)
        x /= np.linalg.norm(x)
        found.append((foot, head, np.column_stack([x, np.cross(e, x), e]), length))
    return found


def quaternion(R: Any) -> Any:
    return Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]


def platform(driven: bool = False, off: float = 0.0, turned_by: float = 0.0, **settings: Any) -> go.Problem:
    """A platform on two legs of two tubes, a universal joint below and a ball above; springs or drives in the legs.

    The guess of the platform is too high by `off`, and turned by an angle about y, so that the balls are open.
    """
    model = go.Model(dim=3, gravity=(0, 0, -GRAVITY), **settings)
    angle = np.cos(turned_by / 2), 0, np.sin(turned_by / 2), 0
    top = model.body("top", 20.0, (0.8, 0.8, 1.5), at=(off, -off, HEIGHT + off), angle=angle)
    for i, (foot, head, R, length) in enumerate(legs()):
        turned = {"angle": quaternion(R)}
        low = model.body(f"low{i}", 1.5, (0.02, 0.02, 0.001), at=foot + 0.2 * R[:, 2], **turned)
        up = model.body(f"up{i}", 1.0, (0.015, 0.015, 0.0005), at=foot + (length - 0.2) * R[:, 2], **turned)
        model.add(Universal(f"U{i}", model.ground.at(*foot, axis=(0, 1, 0)), low.at(0, 0, -0.2, axis=(1, 0, 0))))
        slide = Prismatic(f"P{i}", low.at(0, 0, 0, axis=(0, 0, 1)), up.at(0, 0, 0, axis=(0, 0, 1)))
        model.add(slide)
        model.add(Spherical(f"S{i}", up.at(0, 0, 0.2), top.at(*head)))
        if driven:
            model.add(Drive(f"D{i}", slide, length - 0.4 + 0.03 * sp.sin(3 * model.t)))
        else:
            model.add(SpringDamper(f"spring{i}", model.ground.at(*foot), top.at(*head), stiffness=4e3,
                                   length=length + 0.02, damping=60.0))  # fmt: skip
    return model.problem(t_end=0.1)


@pytest.mark.parametrize(("off", "turned_by"), [(0.15, 0.4), (-0.2, 0.8)])
def test_a_platform_is_assembled_from_a_guess_that_is_far_off(off: float, turned_by: float) -> None:
    given = platform(off=off, turned_by=turned_by)
    assert np.abs(given.system.position_residual(0.0, given.q0)).max() < 1e-12
    names = given.system.coordinates(len(given.q0))
    bodies = {
        name: (given.q0[[names.index(f"{c}_{name}") for c in "xyz"]],
               Rotation.from_quat(given.q0[[names.index(f"e{i}_{name}") for i in (1, 2, 3, 0)]]))
        for name in ("top", "low0", "up0", "low1", "up1")
    }  # fmt: skip
    for i, (foot, head, _, _) in enumerate(legs()):
        (low, lower), (up, upper), (top, turned) = (bodies[x] for x in (f"low{i}", f"up{i}", "top"))
        assert low + lower.apply([0, 0, -0.2]) == pytest.approx(foot, abs=1e-11)
        assert up + upper.apply([0, 0, 0.2]) == pytest.approx(top + turned.apply(head), abs=1e-11)
        assert np.cross(lower.apply([0, 0, 1]), up - low) == pytest.approx(np.zeros(3), abs=1e-11)


def numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in values)


def platform_in_mujoco() -> tuple[Any, Any]:
    """The same platform by hinges, slides and a free joint, its loops closed by `connect`."""
    feet = loops = springs = heads = ""
    for i, (foot, head, R, length) in enumerate(legs()):
        feet += f"""<body pos="{numbers(foot)}" quat="{numbers(quaternion(R))}"><site name="f{i}"/>
<joint axis="{numbers(R.T @ [0, 1, 0])}"/><joint axis="1 0 0"/><inertial pos="0 0 .2" mass="1.5"
diaginertia=".02 .02 .001"/><body name="up{i}"><joint type="slide"/><inertial pos="0 0 {float(length - 0.2)!r}" mass="1"
diaginertia=".015 .015 .0005"/></body></body>"""
        loops += f'<connect body1="top" body2="up{i}" anchor="{numbers(head)}"/>'
        heads += f'<site name="h{i}" pos="{numbers(head)}"/>'
        springs += f"""<spatial stiffness="4000" damping="60" springlength="{float(length + 0.02)!r}">
<site site="f{i}"/><site site="h{i}"/></spatial>"""
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody>{feet}<body name="top" pos="0 0 {HEIGHT}"><freejoint/>
<inertial pos="0 0 0" mass="20" diaginertia=".8 .8 1.5"/>{heads}</body></worldbody><tendon>{springs}</tendon>
<equality>{loops}</equality></mujoco>""")
    return model, mujoco.MjData(model)


def test_a_platform_on_legs_moves_alike_in_all_coordinates_and_as_mujoco_s_tree_with_exact_loops() -> None:
    given, joint = platform(), platform(coordinates="joint")
    names = given.system.coordinates(len(given.q0))
    start = go.solve_step(given.system.evaluate(0.0, given.q0, given.v0))
    theirs = go.solve_step(go.from_mujoco(*platform_in_mujoco()))
    assert start.status == theirs.status == go.Status.SOLVED
    at = names.index("x_top")
    assert start.a[at : at + 3] == pytest.approx(theirs.a[-6:-3], abs=1e-9)
    assert 2 * start.a[at + 4 : at + 7] == pytest.approx(theirs.a[-3:], abs=1e-9)
    whole, small = (go.simulate(p, record_every=100, **PROJECTED) for p in (given, joint))
    assert whole.status == small.status == go.Status.SOLVED
    known = joint.system.coordinates(len(joint.q0))
    for i in range(2):
        ends = [whole.q[:, [names.index(f"{c}_{body}{i}") for c in "xyz"]] for body in ("low", "up")]
        length = np.linalg.norm(ends[1] - ends[0], axis=1)
        assert np.abs(small.q[:, known.index(f"along_P{i}")]) == pytest.approx(length, abs=1e-10)
        assert np.ptp(length) > 1e-4


def test_drives_in_the_legs_of_a_platform_give_it_the_power_that_its_energy_gains() -> None:
    motion = go.simulate(platform(driven=True, coordinates="joint"), **PROJECTED)
    assert motion.status == go.Status.SOLVED
    power = sum(motion.reaction(f"D{i}")[:, 0] for i in range(2)) * 0.09 * np.cos(3 * motion.t)
    energy, t = motion.kinetic + motion.potential, motion.t
    gain = (energy[2:] - energy[:-2]) / (t[2:] - t[:-2])
    assert np.abs(gain).max() > 1.0
    assert power[1:-1] == pytest.approx(gain, abs=1e-5 * np.abs(gain).max())


def wishbone() -> go.Problem:
    """A double wishbone on a rig: two hinges hold each arm, so that ten rows are implied by others."""
    model, along = go.Model(dim=3, gravity=(0, 0, -GRAVITY)), (1, 0, 0)
    lower = model.body("lower", 6.0, (0.05, 0.15, 0.15), at=(0, 0.5, 0.25))
    upper = model.body("upper", 4.0, (0.03, 0.08, 0.08), at=(0, 0.5, 0.5))
    upright = model.body("upright", 30.0, (0.6, 0.9, 0.6), at=(0, 0.72, 0.38))
    for where, x in (("front", 0.15), ("rear", -0.15)):
        for name, arm, y, z in (("low", lower, 0.3, 0.25), ("up", upper, 0.35, 0.5)):
            hinge = model.ground.at(x, y, z, axis=along)
            model.add(Revolute(f"{name}_{where}", hinge, arm.at(x, y - 0.5, 0, axis=along)))
    model.add(Spherical("ball_low", lower.at(0, 0.22, 0), upright.at(0, 0, -0.13)))
    model.add(Spherical("ball_up", upper.at(0, 0.18, 0), upright.at(0, -0.04, 0.12)))
    model.add(Distance("tie", model.ground.at(-0.12, 0.32, 0.3), upright.at(-0.12, -0.02, -0.08), 0.38))
    coil = model.ground.at(0, 0.4, 0.7), lower.at(0, 0.1, 0)
    model.add(SpringDamper("coil", *coil, stiffness=4e4, length=0.5, damping=2500.0))
    model.add(SpringDamper("tyre", model.ground.at(0, 0.8, 0), upright.at(0, 0.08, 0), stiffness=2e5, length=0.4))
    return model.problem(t_end=0.05)


WISHBONE = """<mujoco><worldbody><site name="road" pos="0 .8 0"/><site name="c0" pos="0 .4 .7"/>
<site name="t0" pos="-.12 .32 .3"/><body pos="0 .5 .25"><joint axis="1 0 0" pos="0 -.2 0"/>
<inertial pos="0 0 0" mass="6" diaginertia=".05 .15 .15"/><site name="c1" pos="0 .1 0"/>
<body name="upright" pos="0 .22 .13"><joint type="ball" pos="0 0 -.13"/><inertial pos="0 0 0" mass="30"
diaginertia=".6 .9 .6"/><site name="t1" pos="-.12 -.02 -.08"/><site name="w" pos="0 .08 0"/></body></body>
<body name="upper" pos="0 .5 .5"><joint axis="1 0 0" pos="0 -.15 0"/><inertial pos="0 0 0" mass="4"
diaginertia=".03 .08 .08"/></body></worldbody>
<tendon><spatial stiffness="40000" damping="2500" springlength=".5"><site site="c0"/><site site="c1"/></spatial>
<spatial stiffness="200000" springlength=".4"><site site="road"/><site site="w"/></spatial>
<spatial name="tie"><site site="t0"/><site site="t1"/></spatial></tendon>
<equality><connect body1="upright" body2="upper" anchor="0 -.04 .12"/><tendon tendon1="tie"/></equality></mujoco>"""


def test_a_wishbone_with_ten_redundant_rows_moves_as_mujoco_s_tree_of_it() -> None:
    given = wishbone()
    names = given.system.coordinates(len(given.q0))
    _, implied = go.mobility(given.system, given.q0).sentences()
    rows = {arm: ", ".join(f"{arm}_rear.{row}" for row in ("x", "y", "z", "tilt1", "tilt2")) for arm in ("low", "up")}
    each = ", and ".join(f"the rows {rows[arm]} follow from those of {arm}_front" for arm in rows)
    assert implied.startswith(f"It is over-constrained: {each}, so their forces are not unique; release 10 of these")
    ours = go.solve_step(given.system.evaluate(0.0, given.q0, given.v0))
    model = mujoco.MjModel.from_xml_string(WISHBONE)
    theirs = go.solve_step(go.from_mujoco(model, mujoco.MjData(model)))
    assert ours.status == theirs.status == go.Status.SOLVED
    found = 2 * ours.a[names.index("e1_lower")], 2 * ours.a[names.index("e1_upper")]
    assert found == pytest.approx(theirs.a[[0, -1]], rel=1e-9)


def test_a_chain_of_balls_swings_as_mujoco_s() -> None:
    """Rods of 1 m in a row, along no axis, that fall from rest; quaternions have a mass, or none."""
    R = Rotation.from_euler("zyx", [0.4, 0.9, 0.3]).as_matrix()
    model = go.Model(dim=3, gravity=(0, 0, -GRAVITY))
    before, end, tree = model.ground, (0, 0, 0), ""
    for i, quaternion_mass in enumerate((0.0, 1.0)):
        rod = model.body(f"r{i}", 1.0, (1 / 12, 1 / 12, 1e-3), at=(i + 0.5) * R[:, 2], angle=quaternion(R),
                         quaternion_mass=quaternion_mass)  # fmt: skip
        model.add(Spherical(f"S{i}", before.at(*end), rod.at(0, 0, -0.5)))
        before, end = rod, (0, 0, 0.5)
        placed = 'pos="0 0 1"' if i else f'quat="{numbers(quaternion(R))}"'
        tree += f"""<body {placed}><joint type="ball"/><inertial pos="0 0 .5" mass="1"
diaginertia="{1 / 12!r} {1 / 12!r} 1e-3"/>"""
    motion = go.simulate(model.problem(t_end=0.2), record_every=200, **PROJECTED)
    text = f'<mujoco><option timestep="1e-3" integrator="RK4"/><worldbody>{tree}{"</body>" * 2}</worldbody></mujoco>'
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    for _ in range(200):
        mujoco.mj_step(theirs, data)
    mujoco.mj_fwdPosition(theirs, data)
    assert motion.status == go.Status.SOLVED
    assert motion.q[-1].reshape(2, 7)[:, :3] == pytest.approx(data.xipos[1:], abs=1e-8)
