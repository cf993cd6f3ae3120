"""Joint coordinates of trees with closed loops: the same motions and forces as in the coordinates of all bodies."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation
from shafts import SPEED, hooke

import gaussopt as go
from gaussopt.bodies import (
    AppliedForce,
    AppliedTorque,
    Cylindrical,
    Drive,
    Gear,
    Model,
    Prismatic,
    Revolute,
    Row,
    Spherical,
    SpringDamper,
    Touch,
    Universal,
    Weld,
    tree,
)
from gaussopt.bodies.body import evaluated

G = 9.81


def four_bar(kind):
    model = Model(gravity=(0, -G), coordinates=kind)
    crank = model.body("crank", 1.0, 0.02, at=(0.2, 0), spin=4.0)
    coupler = model.body("coupler", 1.5, 0.18, at=(0.9, 0.3), angle=0.5)
    rocker = model.body("rocker", 1.2, 0.1, at=(1.4, 0.4), angle=1.5)
    model.add(Revolute("O", crank.at(-0.2, 0), model.ground))
    model.add(Revolute("A", crank.at(0.2, 0), coupler.at(-0.6, 0, axis=(1, 2))))
    model.add(Revolute("B", rocker.at(0.5, 0), coupler.at(0.6, 0)))
    model.add(Revolute("C", model.ground.at(1.4, 0), rocker.at(-0.5, 0)))
    model.add(SpringDamper("S", model.ground.at(2.4, 0.5), rocker.at(0.5, 0), stiffness=40.0, length=0.8, damping=2.0))
    model.add(AppliedTorque("M", model.ground, crank, lambda t, angle, rate: 6 - rate / 2))
    model.add(AppliedForce("F", model.ground, coupler, lambda t, d, speed: [-speed[0], d[1]]))
    return model, ["theta_crank" if kind == "maximal" else "angle_O"]


def press(kind):
    """A crank moves a block on a slanted guide, with a plate welded to it."""
    model = Model(gravity=(0, -G), coordinates=kind)
    along, turned = np.array([np.cos(0.3), np.sin(0.3)]), 0.3
    crank = model.body("crank", 1.0, 0.05, at=(0.15, 0), spin=1.0)
    rod = model.body("rod", 0.8, 0.04, at=(0.55, 0.1), angle=0.2)
    block = model.body("block", 2.0, 0.3, at=0.9 * along, angle=turned)
    plate = model.body("plate", 0.5, 0.1, at=0.9 * along + [0.0, 0.2], angle=turned + 0.7)
    model.add(Revolute("O", model.ground, crank.at(-0.15, 0)))
    model.add(Revolute("A", crank.at(0.15, 0), rod.at(-0.3, 0)))
    model.add(Prismatic("guide", model.ground.at(0, 0, axis=along), block))
    seat = block.at(0.2 * np.sin(0.3), 0.2 * np.cos(0.3), axis=(np.cos(0.7), np.sin(0.7)))
    model.add(Weld("W", plate, seat))
    model.add(Revolute("B", block, rod.at(0.3, 0)))
    return model, ["theta_crank" if kind == "maximal" else "angle_O"]


def riding(*place, along=(0, 0, 0)):
    """A guess that turns with the post: consistent guesses give the same start in all coordinates."""
    return {"at": place, "velocity": np.cross((0, 0, 2.0), place) + along, "spin": (0, 0, 2.0)}


def post(kind):
    """A turning post with an arm at its end."""
    model = Model(dim=3, gravity=(0, 0, -G), coordinates=kind)
    up = {"axis": (0, 0, 1)}
    post = model.body("post", 2.0, (0.02, 0.03, 0.04), quaternion_mass=0.03, **riding(0.3, 0, 0))
    model.add(Revolute("turns", model.ground.at(0, 0, 0, **up), post.at(-0.3, 0, 0, **up)))
    return model, post


def cardan(kind):
    """A cardan joint on a turning post."""
    model, turning = post(kind)
    R = Rotation.from_rotvec([0.7, 0, 0]) * Rotation.from_rotvec([0, 0.3, 0])
    arm = model.body(
        "arm", 1.0, (0.02, 0.01, 0.015), angle=R.as_quat(scalar_first=True), quaternion_mass=0.02,
        **riding(*np.add(R.apply([0, 0, -0.3]), (0.6, 0, 0))),
    )  # fmt: skip
    model.add(Universal("cardan", turning.at(0.3, 0, 0, axis=(1, 0, 0)), arm.at(0, 0, 0.3, axis=(0, 1, 0))))
    model.add(AppliedTorque("brake", model.ground, arm, lambda t, R, omega: [-x / 50 for x in omega]))
    return model, []


def ball(kind):
    """A ball joint on a turning post, from the outer end inwards."""
    model, turning = post(kind)
    R = Rotation.from_rotvec([0.2, 0.9, 0.3])
    bob = model.body(
        "bob", 1.5, (0.02, 0.01, 0.025), angle=R.as_quat(scalar_first=True), quaternion_mass=0.02,
        **riding(*np.add(R.apply([0, 0, -0.3]), (0.6, 0, 0))),
    )  # fmt: skip
    model.add(Spherical("ball", bob.at(0, 0, 0.3), turning.at(0.3, 0, 0)))
    model.add(AppliedTorque("brake", model.ground, bob, lambda t, R, omega: [-x / 50 for x in omega]))
    return model, []


def sledge(kind):
    """From the outer end inwards: a cabin welded to a trolley that slides along a turning post."""
    model, turning = post(kind)
    out = (0.3, 0, 0)
    trolley = model.body("trolley", 0.6, (0.01, 0.02, 0.015), quaternion_mass=0.02, **riding(0.4, 0.1, 0, along=out))
    cabin = model.body(
        "cabin", 0.9, (0.02, 0.01, 0.03), angle=(0.5, 0.5, 0.5, 0.5), quaternion_mass=0.02,
        **riding(0.4, 0.1, -0.2, along=out),
    )  # fmt: skip
    seat = {"axis": (0, 0, 1), "normal": (1, 0, 0)}
    model.add(Weld("W", cabin.at(0.1, 0, 0.1, **seat), trolley.at(0.1, 0.1, -0.2, normal=(0, 1, 0))))
    model.add(Prismatic("guide", trolley.at(0, -0.1, 0), turning.at(0, 0, 0)))
    return model, []


def screw(kind):
    """From the outer end inwards: a sleeve on a shaft that hangs in a cardan joint from the ground."""
    model = Model(dim=3, gravity=(0, 0.5, -G), coordinates=kind)
    R = Rotation.from_rotvec([0, 0.4, 0])
    shaft = model.body(
        "shaft", 1.0, (0.05, 0.04, 0.01), at=R.apply([0, 0, -0.4]), angle=R.as_quat(scalar_first=True),
        quaternion_mass=0.03,
    )  # fmt: skip
    sleeve = model.body(
        "sleeve", 0.7, (0.01, 0.02, 0.015), at=R.apply([0, 0, -0.5]), angle=R.as_quat(scalar_first=True),
        quaternion_mass=0.02,
    )  # fmt: skip
    model.add(Cylindrical("sleeve on shaft", sleeve.at(0, 0, 0, axis=(0, 0, 1)), shaft.at(0, 0, 0, axis=(0, 0, 1))))
    model.add(Universal("hook", shaft.at(0, 0, 0.4, axis=(1, 0, 0)), model.ground.at(0, 0, 0, axis=(0, 1, 0))))
    model.add(SpringDamper("S", shaft.at(0, 0, 0.4), sleeve, stiffness=60.0, length=0.8))
    return model, []


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("describe", [four_bar, press, cardan, ball, sledge, screw])
def test_motions_are_those_of_all_coordinates(describe, named, monkeypatch):
    monkeypatch.setattr(tree, "LONG", 1 if named else 99)
    exact = {"stepper": "dop853", "rtol": 1e-11, "atol": 1e-11, "dt": 0.05, "error_estimate": False}
    found = {}
    for kind in ("maximal", "joint"):
        model, hold = describe(kind)
        problem = model.problem(t_end=0.1, hold=hold)
        motion = go.simulate(problem, stabilisation="projection", **exact)
        assert motion.status == "solved"
        bodies = model.built()[0]
        places = evaluated([model.coordinates], [x for body in bodies for x in body.r], bodies)
        said = go.mobility(problem.system, problem.q0)
        found[kind] = np.array([places(q) for q in motion.q.tolist()]), motion.energy, said
    (there, energy, said), (all_there, all_energy, all_said) = found["joint"], found["maximal"]
    np.testing.assert_allclose(there, all_there, rtol=0, atol=1e-9)
    np.testing.assert_allclose(energy, all_energy, rtol=0, atol=1e-8)
    assert said.freedoms == all_said.freedoms
    assert said.rows < all_said.rows / 3


def test_a_sledge_in_space_slides_as_it_falls_along_its_rail():
    """A trolley and what is welded to it, askew, have one freedom and one acceleration: gravity along the rail."""
    rail, tilted = np.array([2.0, -1.0, -2.0]) / 3.0, Rotation.from_rotvec([0.4, 0.2, -0.6])
    model = Model(dim=3, gravity=(0, 0, -G), coordinates="joint")
    trolley = model.body("trolley", 1.3, (0.02, 0.03, 0.01), at=0.4 * rail, velocity=0.5 * rail)
    load = model.body(
        "load", 0.8, (0.02, 0.04, 0.03), at=0.4 * rail + [0, 0, 0.3], angle=tilted.as_quat(scalar_first=True),
        velocity=0.5 * rail,
    )  # fmt: skip
    model.add(Prismatic("rail", model.ground.at(0, 0, 0, axis=rail), trolley.at(0, 0, 0, axis=rail)))
    below, along, across = tilted.inv().apply([[0, 0, -0.1], [1, 0, 0], [0, 1, 0]])
    seat = load.at(*below, axis=along, normal=across)
    model.add(Weld("W", trolley.at(0, 0, 0.2, axis=(1, 0, 0), normal=(0, 1, 0)), seat))
    problem = model.problem(t_end=1.0)
    assert problem.coordinates == ("along_rail",)
    assert problem.system.row_names == ()
    motion = go.simulate(problem, dt=0.1)
    pull = -G * rail[2]
    np.testing.assert_allclose(motion.q[:, 0], 0.4 + 0.5 * motion.t + 0.5 * pull * motion.t**2, rtol=1e-12)
    np.testing.assert_allclose(motion.a[:, 0], pull, rtol=1e-12)
    with pytest.raises(go.BadInput, match=r"'W' has no rows in joint coordinates.*coordinates='maximal'"):
        motion.reaction("W")


def test_an_open_tree_has_no_rows_and_its_joints_are_driven_and_carry_contacts():
    model = Model(gravity=(0, -G), coordinates="joint")
    rod = model.body("rod", 2.0, 0.06, at=(0.3, 0), angle=0.0)
    hinge = model.add(Revolute("H", model.ground, rod.at(-0.3, 0)))
    problem = model.problem(t_end=1.0)
    assert problem.system.row_names == ()
    assert problem.units["angle_H"] == "rad"
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert go.solve_step(step).a == pytest.approx([-2.0 * G * 0.3 / (0.06 + 2.0 * 0.09)], rel=1e-13)
    model.add(Touch("tip", model.ground, rod.at(0.3, 0)))
    resting = model.problem(t_end=1.0)
    answer = go.solve_step(resting.system.evaluate(0.0, resting.q0, resting.v0))
    assert answer.lam_N == pytest.approx([G], rel=1e-13)  # half the weight
    model.add(Drive("motor", hinge, sp.Float(0.1) * model.t**2))
    driven = model.problem(t_end=1.0)
    answer = go.solve_step(driven.system.evaluate(0.0, driven.q0, driven.v0))
    assert answer.lam == pytest.approx([2.0 * G * 0.3 + 0.2 * 0.24], rel=1e-12)


def test_what_joint_coordinates_do_not_take_is_said():
    with pytest.raises(go.UnknownName, match="did you mean 'maximal'"):
        Model(coordinates="minimal")
    model = Model(dim=3, coordinates="joint")
    body = model.body("b", 1.0, (1, 1, 1))
    model.add(Revolute("H", model.ground, body))
    model.add(Row("R", model.ground, body, body.q[3] - 1))
    with pytest.raises(go.BadInput, match="'R' holds 'e0_b', but in joint coordinates 'b' has no quaternion"):
        model.problem(t_end=1.0)


def flat_in_space(kind, height=0.0, across=(0, 1, 0), along=(1, 0, 0)):
    """A crank-slider in a plane of space, stretched out: hinges and guide say three times that it stays there."""
    model = Model(dim=3, gravity=(0, 0, -G), coordinates=kind)
    x, y = np.array(along) / np.linalg.norm(along), np.array(across) / np.linalg.norm(across)
    crank = model.body("crank", 1.0, (0.02, 0.02, 0.02), at=0.1 * x)
    rod = model.body("rod", 1.0, (0.03, 0.03, 0.03), at=0.5 * x)
    slider = model.body("slider", 2.0, (0.01, 0.01, 0.01), at=0.8 * x)
    model.add(Revolute("O", model.ground.at(0, 0, 0, axis=across), crank.at(*(-0.1 * x), axis=across)))
    model.add(Revolute("A", crank.at(*(0.1 * x), axis=across), rod.at(*(-0.3 * x), axis=across)))
    model.add(Revolute("B", rod.at(*(0.3 * x), axis=across), slider.at(0, 0, 0, axis=across)))
    model.add(Prismatic("guide", model.ground.at(*(height * y), axis=along), slider.at(0, 0, 0, axis=along)))
    return model


def test_rows_that_the_tree_says_already_are_left_out_and_open_ones_are_refused():
    motions = {}
    for kind in ("maximal", "joint"):
        problem = flat_in_space(kind).problem(t_end=0.1)
        motions[kind] = go.simulate(
            problem, stepper="dop853", stabilisation="projection", rtol=1e-10, atol=1e-10, error_estimate=False
        )
        assert motions[kind].status == "solved"
    assert set(problem.system.row_names) == {"guide.across2", "guide.tilt1"}
    assert motions["joint"].reaction("guide").shape == (len(motions["joint"].t), 2)
    assert abs(motions["joint"].kinetic[-1] - motions["maximal"].kinetic[-1]) < 1e-8
    assert motions["joint"].kinetic[-1] > 0.02
    with pytest.raises(go.BadInput, match=r"guide\.across stays open by -?0\.3 m"):
        flat_in_space("joint", 0.3).problem(t_end=0.2)
    model = flat_in_space("joint")
    level = model.parameter("level", 0.0)
    model.add(Weld("seat", model.ground.at(0.8, level, 0), model.bodies["slider"]))
    with pytest.raises(go.BadInput, match=r"seat\.y holds the parameter 'level' and no joint coordinate"):
        model.problem(t_end=0.2)


def test_a_stretched_mechanism_in_a_slanted_plane_has_its_acceleration_although_entries_of_rows_are_rounding():
    """One entry of 2e-15 held a massless quaternion coordinate, and the unit taken from it spoilt the answer."""
    problem = flat_in_space("maximal", across=(-0.8, 0.3, 0.6), along=(0.6, 0, 0.8)).problem(t_end=0.1)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    for formulation in ("gauss", "null-space", "lagrange"):
        answer = go.solve_step(step, formulation, "kkt")
        assert answer.status == "solved"
        assert np.abs(step.J @ answer.a - step.gamma).max() < 1e-12
    motion = go.simulate(problem, stepper="dop853", stabilisation="projection", error_estimate=False)
    assert motion.status == "solved"


@pytest.mark.parametrize("kind", ["maximal", "joint"])
def test_negative_masses_and_guesses_that_are_no_numbers_are_said_of_their_body(kind):
    def hung(mass=1.0, inertia=0.1, spin=0.0):
        model = Model(coordinates=kind)
        model.parameter("I", 0.1)
        body = model.body("arm", mass, inertia, at=(0.5, 0), spin=spin)
        model.add(Revolute("O", model.ground, body.at(-0.5, 0)))
        return model.problem(t_end=0.1)

    with pytest.raises(go.BadInput, match=r"inertia of 'arm' is -0\.1 kg m"):
        hung(inertia=-0.1)  # about the hinge it is 0.15, so that the mass matrix does not show it
    with pytest.raises(go.BadInput, match="mass of 'arm' is -1 kg"):
        hung(mass=-1.0)
    with pytest.raises(go.BadInput, match="inertia of 'arm' is -2 kg m"):
        go.simulate(hung(inertia=sp.Symbol("I", real=True)).at(I=-2.0))
    with pytest.raises(go.BadInput, match="guess of 'arm' holds 'fast', which is no parameter"):
        hung(spin=sp.Symbol("fast"))


def test_an_inertia_tensor_in_space_with_a_negative_moment_is_refused_and_a_rod_s_is_not():
    model = Model(dim=3)
    model.body("rod", 1.0, [[0.1, 0.1, 0], [0.1, 0.1, 0], [0, 0, 0.2]])
    model.problem(t_end=0.1)
    with pytest.raises(go.BadInput, match="moments of inertia of 'odd'"):
        model.body("odd", 1.0, (-0.1, 0.3, 0.3))
    with pytest.raises(go.BadInput, match="gravity has 1 entries; give 2"):
        Model(gravity=9.81)


@cache
def driven_shafts():
    """A Hooke joint: six rows for three angles."""
    return hooke("joint"), {"angle_R1": 0.2 * SPEED}


@cache
def spherical_four_bar():
    """Four hinges whose axes meet; the angle is that of maximal coordinates by dop853 at rtol 1e-10."""
    axes = [
        np.array([np.sin(x) * np.cos(y), np.sin(x) * np.sin(y), np.cos(x)])
        for x, y in ((0, 0), (0.6, 0.2), (1.1, 1.0), (0.9, 1.6))
    ]
    model, centres = Model(3, gravity=(0, 0, -9.81), coordinates="joint"), [np.zeros(3)]
    links = [model.ground]
    for i in range(3):
        centres.append((axes[i] + axes[i + 1]) / 2)
        links.append(model.body(f"link{i}", 1.0, (0.1, 0.1, 0.1), at=tuple(centres[-1])))
    for i, (one, two) in enumerate(((0, 1), (1, 2), (2, 3), (0, 3))):
        ends = [links[k].at(*(axes[i] - centres[k]), axis=tuple(axes[i])) for k in (one, two)]
        model.add(Revolute(f"R{i}", *ends))
    return model.problem(t_end=0.4), {"angle_R0": 0.124825}


@pytest.mark.parametrize("settings", [
    {"dt": 0.01, "stabilisation": "projection"},
    {"stepper": "dop853", "stabilisation": "projection", "error_estimate": False}, {"stepper": "radau-projected"},
])  # fmt: skip
@pytest.mark.parametrize("build", [driven_shafts, spherical_four_bar])
def test_redundant_rows_neither_stop_nor_brake_a_mechanism(build, settings):
    problem, turned = build()
    motion = go.simulate(problem, t_end=0.2, **settings)
    assert motion.status == "solved"
    assert motion.warnings == ()
    for name, angle in turned.items():
        i = motion.coordinates.index(name)
        assert motion.q[-1, i] - motion.q[0, i] == pytest.approx(angle, abs=1e-5)


def fixed_wheels(*more):
    """Two wheels welded to the ground beside a pendulum, in joint coordinates."""
    model = Model(gravity=(0, -G), coordinates="joint")
    wheels = [model.body(f"wheel{i}", 1.0, 0.1, at=(i, 1)) for i in range(2)]
    bob = model.body("bob", 1.0, 0.1, at=(0.5, 0))
    for i, wheel in enumerate(wheels):
        model.add(Weld(f"fixed{i}", model.ground.at(i, 1), wheel))
    model.add(Revolute("O", model.ground, bob.at(-0.5, 0)))
    for element in more:
        model.add(element(*wheels))
    return go.simulate(model.problem(t_end=0.1), error_estimate=False)


def test_a_gear_between_bodies_that_cannot_move_holds_by_itself():
    geared = fixed_wheels(lambda a, b: Gear("mesh", a, b, 2.0))
    assert geared.status == go.Status.SOLVED
    assert np.array_equal(geared.q, fixed_wheels().q)


def test_a_row_that_asks_bodies_that_cannot_move_for_a_velocity_is_refused():
    with pytest.raises(go.BadInput, match=r"row turn\.row joins bodies that no joint lets move, and asks for 1 = 0"):
        fixed_wheels(lambda a, b: Row("turn", a, b, sp.Integer(1), velocity=True))
