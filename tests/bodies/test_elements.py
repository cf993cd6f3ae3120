"""Joints, forces and contacts one by one: what they leave free, and accelerations known in closed form."""

import math

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import (
    AppliedForce,
    AppliedTorque,
    BallTouch,
    Bushing,
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Model,
    Prismatic,
    Revolute,
    Rolling,
    Slot,
    Spherical,
    SpringDamper,
    Torsion,
    Touch,
    Universal,
    Weld,
)

G = 9.81


def acceleration(model, **start):
    """By the names of the coordinates, at the assembled start, with the step."""
    system = model.system()
    q, v = model.start(system, **start)
    answer = go.solve_step(system.evaluate(0.0, q, v))
    assert answer.status == "solved"
    return dict(zip(system.coordinates(len(q)), answer.a, strict=True)), answer


FREE = {
    2: {Revolute: 1, Prismatic: 1, Slot: 2, Weld: 0, Distance: 2},
    3: {Revolute: 1, Spherical: 3, Universal: 2, Prismatic: 1, Cylindrical: 2, Weld: 0, Slot: 4, Distance: 5},
}


@pytest.mark.parametrize(("dim", "kind"), [(dim, kind) for dim in FREE for kind in FREE[dim]])
def test_joints_leave_so_many_degrees_of_freedom(dim, kind):
    model = Model(dim)
    attitude = 0.3 if dim == 2 else (0.9, 0.1, 0.3, -0.2)
    base = model.body("base", 1.0, 1.0 if dim == 2 else (1, 1, 1), at=(0.1,) * dim)
    body = model.body("body", 2.0, 0.5 if dim == 2 else (0.4, 0.5, 0.6), at=(0.7,) * dim, angle=attitude)
    a = base.at(*[0.2] * dim) if kind is not Universal else base.at(0.2, 0.2, 0.2, axis=(0, 0, 1))
    b = body.at(*[-0.1] * dim)
    model.add(kind("J", a, b, *([0.8] if kind is Distance else [])))
    system = model.system()
    q, v = model.start(system)
    assert go.mobility(system, q, v).freedoms == FREE[dim][kind] + (3 if dim == 2 else 6)
    np.testing.assert_allclose(system.position_residual(0.0, q), 0, atol=1e-12)


def test_a_disk_rolls_down_an_incline():
    slope, m, r, inertia = 0.4, 2.0, 0.3, 0.05
    model = Model(gravity=(G * np.sin(slope), -G * np.cos(slope)))
    disk = model.body("disk", m, inertia, at=(0, r))
    model.add(Rolling("roll", model.ground, disk, r))
    a, _ = acceleration(model)
    assert a["x_disk"] == pytest.approx(G * np.sin(slope) / (1 + inertia / (m * r**2)), rel=1e-12)
    assert a["theta_disk"] == pytest.approx(-a["x_disk"] / r, rel=1e-12)


def test_gears_drives_and_torsion_springs():
    model = Model()
    one, two = model.body("one", 1.0, 0.2), model.body("two", 1.0, 0.7, at=(1, 0), angle=0.5)
    model.add(Revolute("A", model.ground, one))
    pivot = model.add(Revolute("B", model.ground.at(1, 0), two))
    model.add(Gear("gear", one, two, 3))
    model.add(Torsion("coil", model.ground, two, 4.0, 0.1))
    a, _ = acceleration(model)
    assert a["theta_two"] == pytest.approx(-4.0 * 0.4 / (0.7 + 0.2 / 9), rel=1e-12)
    assert a["theta_one"] == pytest.approx(-a["theta_two"] / 3, rel=1e-12)
    model.add(Drive("motor", pivot, 0.5 + model.t**2))
    a, answer = acceleration(model)
    assert a["theta_two"] == pytest.approx(2.0, rel=1e-12)
    torque = dict(zip(model.system().row_names, answer.lam, strict=True))["motor.motion"]
    assert torque == pytest.approx((0.7 + 0.2 / 9) * 2.0 + 4.0 * 0.4, rel=1e-12)


def test_welded_bodies_swing_as_one():
    model = Model(gravity=(0, -G))
    one, two = model.body("one", 1.0, 0.1, at=(0.5, 0)), model.body("two", 2.0, 0.3, at=(1.5, 0))
    model.add(Revolute("O", model.ground, one.at(-0.5, 0)))
    model.add(Weld("weld", one.at(0.5, 0), two.at(-0.5, 0)))
    model.add(AppliedForce("load", model.ground, two, lambda t, d, rate: -3 * sp.Matrix([0, d[0]])))
    a, _ = acceleration(model)
    inertia, torque = 0.1 + 0.25 + 0.3 + 2 * 2.25, -G * (0.5 + 2 * 1.5) - 3 * 1.5 * 1.5
    assert a["theta_two"] == pytest.approx(torque / inertia, rel=1e-12)


def test_a_block_slides_on_a_wedge_that_slides():
    slope, m, M = 0.5, 1.5, 4.0
    model = Model(gravity=(0, -G))
    wedge, block = model.body("wedge", M, 1.0), model.particle("block", m, at=(0, 0))
    model.add(Prismatic("guide", model.ground, wedge))
    model.add(Touch("face", wedge.at(0, 0, axis=(np.cos(slope), np.sin(slope))), block))
    system = model.system()
    q, v = model.start(system)
    answer = go.solve_step(system.evaluate(0.0, q, v), "lcp", "lemke")
    assert answer.status == "solved"
    expected = m * G * np.sin(slope) * np.cos(slope) / (M + m * np.sin(slope) ** 2)
    assert answer.a[0] == pytest.approx(expected, rel=1e-12)


def test_a_box_falls_on_its_corner_and_slides_to_rest():
    """Corners on a line: it lands, and comes to rest on both corners with its whole weight on them."""
    model = Model(gravity=(0, -G), name="box-on-floor")
    box = model.body("box", 1.0, 0.02, at=(0, 0.18), angle=0.1, velocity=(0.5, 0), shape=(0.4, 0.3))
    for name, x in (("left", -0.2), ("right", 0.2)):
        model.add(Touch(name, model.ground, box.at(x, -0.15), mu=0.4))
    motion = go.simulate(model.problem(t_end=0.4), dt=0.01, accumulation="close", error_estimate=False)
    assert motion.status == "solved", motion.message
    assert {"landing", "stick"} <= {event["kind"] for event in motion.events}
    np.testing.assert_allclose(motion.q[-1, 1:], [0.15, 0.0], atol=1e-9)
    np.testing.assert_allclose(motion.lam_N[-1].sum(), G, atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_bushing_pulls_back_along_and_about_its_axes(dim):
    m, inertia, k, c, kappa, gamma, angle, omega = 2.0, 0.4, (30.0, 50.0, 70.0), (1.0, 2.0, 3.0), 5.0, 0.3, 0.2, 0.7
    model = Model(dim)
    d, speed = np.array([0.1, -0.2, 0.3])[:dim], np.array([0.5, 0.4, -0.6])[:dim]
    turned = angle if dim == 2 else (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
    spin = omega if dim == 2 else (0, 0, omega)
    body = model.body("b", m, inertia if dim == 2 else (inertia,) * 3, at=d, angle=turned, velocity=speed, spin=spin)
    given = (kappa, gamma) if dim == 2 else ((kappa + 1, kappa + 2, kappa), (gamma + 1, gamma + 2, gamma))
    model.add(Bushing("B", model.ground, body, k[:dim], c[:dim], *given))
    a, _ = acceleration(model)
    for i, x in enumerate("xyz"[:dim]):
        assert abs(a[f"{x}_b"] + (k[i] * d[i] + c[i] * speed[i]) / m) < 1e-12
    turn = kappa * (angle if dim == 2 else np.sin(angle))
    if dim == 2:
        assert abs(a["theta_b"] + (turn + gamma * omega) / inertia) < 1e-12
    else:  # omega_3' = 2 (e0 e3'' - e3 e0'') about the z axis
        found = 2 * (turned[0] * a["e3_b"] - turned[3] * a["e0_b"])
        assert abs(found + (turn + gamma * omega) / inertia) < 1e-9


def test_a_bushing_between_two_bodies_keeps_the_energy():
    model = Model(3)
    one = model.body("one", 1.0, (0.1, 0.2, 0.25), spin=(1, 2, 0.5), quaternion_mass=0.1)
    two = model.body("two", 2.0, (0.3, 0.2, 0.2), at=(0.5, 0, 0.1), velocity=(0, 1, 0), quaternion_mass=0.1)
    model.add(Bushing("B", one.at(0.2, 0, 0), two.at(-0.3, 0, 0.1), (40, 50, 60), torsion=(3, 4, 5)))
    motion = go.simulate(model.problem(t_end=0.25), stepper="dop853", rtol=1e-10, atol=1e-10, error_estimate=False)
    energy = motion.energy
    assert motion.status == "solved"
    assert np.ptp(energy) < 1e-7 * abs(energy[0])


def test_a_point_leaves_a_disk_where_the_closed_form_says_and_a_disk_rolls_on_it():
    def model(radius, mu, start):
        found = Model(gravity=(0, -G))
        place = (1 + radius) * np.array([np.sin(start), np.cos(start)])
        body = found.body("b", 1.0, 0.5 * radius**2 if radius else 1.0, at=place)
        found.add(BallTouch("C", found.ground, body, (1, radius), mu=mu))
        return found

    point = model(0, 0, 0.1)
    motion = go.simulate(point.problem(t_end=1.2), stepper="dop853", rtol=1e-10, atol=1e-10, error_estimate=False)
    [left] = [event for event in motion.events if event["kind"] == "lift_off"]
    q = motion.q[np.searchsorted(motion.t, left["t"])]
    assert abs(np.arctan2(q[0], q[1]) - np.arccos(2 / 3 * np.cos(0.1))) < 1e-6
    a, _ = acceleration(model(0.25, 5.0, 0.4))
    along = a["x_b"] * np.cos(0.4) - a["y_b"] * np.sin(0.4)
    assert abs(along - G * np.sin(0.4) / 1.5) < 1e-12
    assert abs(a["theta_b"] + along / 0.25) < 1e-11


def test_gears_and_motors_turn_bodies_in_space():
    tau, n, axis = 3.0, 2.5, (0, 0, 1)
    model = Model(3)
    wheels = [
        model.body(f"w{i}", 1.0, (1, 1, inertia), at=(i, 0, 0), spin=(0, 0, -1.0))
        for i, inertia in enumerate((0.7, 0.2))
    ]
    for i, wheel in enumerate(wheels):
        model.add(Revolute(f"R{i}", model.ground.at(i, 0, 0, axis=axis), wheel.at(0, 0, 0, axis=axis)))
    model.add(Gear("G", wheels[0].at(axis=axis), wheels[1].at(axis=axis), n))
    model.add(AppliedTorque("M", model.ground, wheels[0], lambda t, R, omega: [0, 0, tau + R[2, 2] - 1 - 0 * omega[2]]))
    a, _ = acceleration(model)
    assert abs(2 * a["e3_w0"] - tau / (0.7 + n**2 * 0.2)) < 1e-9
    assert abs(a["e3_w1"] + n * a["e3_w0"]) < 1e-9


def test_a_motor_in_space_turns_an_arm_as_prescribed():
    """By more than two turns, against its weight and inertia."""
    model = Model(3, gravity=(0, 0, -G))
    arm = model.body("arm", 1.0, (1, 1, 1), at=(0.5, 0, 0))
    axis = (0, 1, 0)
    hinge = model.add(Revolute("O", model.ground.at(axis=axis), arm.at(-0.5, 0, 0, axis=axis)))
    model.add(Drive("motor", hinge, 5 * model.t + model.t**2 / 2))
    motion = go.simulate(model.problem(t_end=2.5), dt=0.025, stabilisation="projection", error_estimate=False)
    assert motion.status == "solved", motion.message
    turned = 5 * motion.t + motion.t**2 / 2
    exact = np.stack((np.cos(turned), -np.sin(turned)), axis=1) / 2
    np.testing.assert_allclose(motion.q[:, [0, 2]], exact, atol=1e-12)
    np.testing.assert_allclose(motion.reaction("motor")[:, 0], 1.25 - G / 2 * np.cos(turned), atol=1e-10)


def test_a_box_in_space_slides_to_rest_on_four_corners():
    """The mass of e0 is rounding only; at its scale the floor seemed not to move the box, which fell through it."""
    model, half, mu, speed = Model(3, gravity=(0, 0, -G)), 0.1, 0.3, 0.5
    box = model.body("box", 1.0, (1 / 150,) * 3, at=(0, 0, half), velocity=(speed, 0, 0))
    for i, (x, y) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
        model.add(Touch(f"c{i}", model.ground.at(axis=(0, 0, 1)), box.at(half * x, half * y, -half), mu))
    motion = go.simulate(model.problem(t_end=0.2), dt=0.01, error_estimate=False)
    assert motion.status == "solved", motion.message
    np.testing.assert_allclose(motion.q[-1, :3], [speed**2 / (2 * mu * G), 0, half], atol=1e-9)
    np.testing.assert_allclose(motion.lam_N.sum(axis=1), G, atol=1e-9)
    assert [event["t"] for event in motion.events] == pytest.approx([speed / (mu * G)] * 4)


def test_what_bodies_and_joints_do_not_take_is_said_in_a_sentence():
    plane, space = Model(2), Model(3)
    body = plane.body("b", 1.0, 1.0)
    solid = space.body("b", 1.0, (1, 1, 1))
    particle = plane.particle("p", 1.0)
    wrong = {
        "mass of 'c' is None": lambda: plane.body("c", None, 1.0),
        "no symmetric tensor": lambda: space.body("c", 1.0, 1.0),
        "larger than the other two together": lambda: space.body("c", 1.0, (1, 1, 3)),
        "called ''": lambda: plane.body("", 1.0, 1.0),
        "mapping of names to places": lambda: plane.body("c", 1.0, 1.0, points=[(1, 0)]),
        "take Revolute": lambda: Universal("j", plane.ground, body),
        "take Bushing": lambda: Torsion("j", space.ground, solid, 1.0),
        "give the joint itself": lambda: Drive("d", "j", 1.0),
        "functions of SymPy": lambda: AppliedTorque("t", plane.ground, body, lambda t, angle, rate: np.sin(angle)),
        "give a number": lambda: plane.parameter("L", "long"),
        "mass of 'c' is": lambda: plane.body("c", 1 + 1j, 1.0),
        "at of 'c' is": lambda: plane.body("c", 1.0, 1.0, at=(None, 0)),
        "velocity of 'c' is": lambda: plane.body("c", 1.0, 1.0, velocity=("1", 0)),
        "no order": lambda: plane.body("c", 1.0, 1.0, at={1, 0}),
        "An entry of the inertia of 'c'": lambda: space.body("c", 1.0, (1, 1, 1j)),
        "axis of 'b' is": lambda: body.at(axis=(math.nan, 0)),
        "length of 'd' is nan": lambda: Distance("d", plane.ground, body, math.nan),
        "radii of 't' is": lambda: BallTouch("t", plane.ground, body, (math.inf, 1)),
        "which does not turn": lambda: Gear("g", plane.ground, particle, 2.0),
        "dim is 3.0": lambda: Model(3.0),
        "parameters holds": lambda: Model(parameters=[("a", 1)]),
        "motion of 'd' is": lambda: Drive("d", Revolute("j", plane.ground, body), "sin(t)"),
    }
    for words, make in wrong.items():
        with pytest.raises(go.BadInput, match=words):
            make()


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (lambda m, b: Distance("d", m.ground, b, m.t - 1), "length of 'd' is -1 m"),
        (lambda m, b: BallTouch("c", m.ground, b, (0, 0)), "Both radii of 'c' are zero"),
    ],
)
def test_lengths_that_cannot_be_are_told_where_the_equations_are_derived(element, words):
    model = Model(2)
    model.add(element(model, model.body("b", 1.0, 1.0, at=(1, 0))))
    with pytest.raises(go.BadInput, match=words):
        model.problem(t_end=1.0)


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        (
            lambda t: sp.Piecewise((0, t < 0.5), (t - 0.5, True)),
            "velocity that 'D' prescribes jumps from 0 to 1 at t = 0.5",
        ),
        (lambda t: sp.Piecewise((0, t < 0.5), (1, True)), "position that 'D' prescribes jumps from 0 to 1 at t = 0.5"),
        (lambda t: sp.Max(0, t - 0.25), "velocity that 'D' prescribes jumps from 0 to 1 at t = 0.25"),
        (lambda t: sp.Abs(t - 0.5), "a derivative jumps at t - 0.5 = 0"),
        (lambda t: sp.Piecewise((0, t < 0.5), ((t - 0.5) ** 2, True)), None),
    ],
)
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_drive_does_not_jump(motion, words, coordinates):
    model = Model(2, coordinates=coordinates)
    body = model.body("b", 1.0, 0.1, at=(1, 0))
    model.add(Drive("D", model.add(Revolute("R", model.ground, body.at(-1, 0))), motion(model.t)))
    if words is None:
        driven = go.simulate(model.problem(t_end=1.0), dt=0.01, stabilisation="projection", error_estimate=False)
        assert driven.q[-1, -1] == pytest.approx(0.25)
    else:
        with pytest.raises(go.BadInput, match=words):
            model.problem(t_end=1.0)


def test_what_would_be_divided_by_zero_at_the_start_is_named():
    """Ends that coincide, and an angle in space half a turn away from its motion."""
    for dim, element in (
        (2, lambda a, b: SpringDamper("s", a, b, damping=1.0)),
        (2, lambda a, b: BallTouch("s", a, b, (0.1, 0.1))),
        (3, lambda a, b: SpringDamper("s", a, b, stiffness=10.0, length=0.1)),
        (3, lambda a, b: BallTouch("s", a, b, (0.1, 0.1))),
    ):
        model = Model(dim)
        model.add(element(model.ground, model.body("b", 1.0, 1.0 if dim == 2 else (1, 1, 1))))
        with pytest.raises(go.BadInput, match="The two ends of 's' coincide at the start"):
            model.problem(t_end=1.0)
    model = Model(3)
    body = model.body("b", 1.0, (1, 1, 1), at=(0, 0, -1))
    hinge = Revolute("hinge", model.ground.at(axis=(0, 1, 0)), body.at((0, 0, 1), axis=(0, 1, 0)))
    with pytest.raises(go.BadInput, match="'motor' drives 'hinge'; add that joint to this model first"):
        model.add(Drive("motor", hinge, np.pi + model.t))
    model.add(hinge)
    model.add(Drive("motor", hinge, np.pi + model.t))
    with pytest.raises(go.BadInput, match="'hinge' starts half a turn away from the motion of 'motor'"):
        model.problem(t_end=1.0)
    for part, words in (
        (lambda a, b: Rolling("roll", a.at(axis=(0, 0, 1)), b.at(axis=(0, 0, 1)), 1.0), "disk of 'roll' lies flat"),
        (lambda a, b: BallTouch("two", a, b, (1, 1), across=(0, 0, 1)), "centres of 'two' lie in the direction across"),
    ):
        model = Model(3)
        model.add(part(model.ground, model.body("b", 1.0, (1, 1, 1), at=(0, 0, 1))))
        with pytest.raises(go.BadInput, match=words):
            model.problem(t_end=1.0)


def test_rows_that_contradict_or_repeat_each_other_are_named():
    model = Model(2)
    body = model.body("b", 1.0, 1.0, at=(0, -1))
    hinge = model.add(Revolute("hinge", model.ground, body.at(0, 1)))
    model.add(Drive("slow", hinge, model.t**2))
    model.add(Drive("fast", hinge, 2 * model.t**2))
    motion = go.simulate(model.problem(t_end=0.1), dt=0.01, stabilisation="none", step_folder=None)
    assert motion.status == "infeasible"
    assert "row 4 is fast.motion, row 3 is slow.motion" in motion.message
    model = Model(2)
    body = model.body("b", 1.0, 1.0, at=(0, -1))
    for name in ("one", "two"):
        model.add(Revolute(name, model.ground, body.at(0, 1)))
    motion = go.simulate(model.problem(t_end=0.1), dt=0.05, error_estimate=False)
    assert "(lam of rows one.x, one.y, two.x, two.y) are one choice of many" in motion.message


def test_what_a_body_cannot_be_is_refused_with_its_name():
    nan = float("nan")
    wrong = {
        "mass of 'b' holds nan": lambda m: m.body("b", m.parameter("m", nan), 1.0),
        "guess of 'b' holds nan": lambda m: m.body("b", 1.0, 1.0, at=(m.parameter("x", nan), 0)),
        "length of 'j' is -1 m": lambda m: m.add(Distance("j", m.ground, m.body("b", 1.0, 1.0, at=(1, 0)), -1.0)),
        "radius of 'j' is 0 m": lambda m: m.add(Rolling("j", m.ground, m.body("b", 1.0, 1.0), 0)),
        "radius of 'j' is -0.1 m": lambda m: m.add(Touch("j", m.ground, m.body("b", 1.0, 1.0), radius=-0.1)),
        "radii of 'j' is -2 m": lambda m: m.add(BallTouch("j", m.ground, m.body("b", 1.0, 1.0), (1, -2))),
        r"guess of 'b' is sqrt\(a\), which is no real number at a = -4;": lambda m: m.body(
            "b", 1.0, 1.0, at=(sp.sqrt(m.parameter("a", -4.0)), 0)
        ),
        "length of 'j' is 2.0.I, which is no real number": lambda m: m.add(
            Distance("j", m.ground, m.body("b", 1.0, 1.0, at=(1, 0)), sp.sqrt(m.parameter("a", -4.0)))
        ),
    }
    for words, build in wrong.items():
        model = Model(2)
        build(model)
        with pytest.raises(go.BadInput, match=words):
            model.problem(t_end=1.0)
    model = Model(3)
    for words, make in {
        "length zero": lambda: model.body("b", 1.0, (1, 1, 1), angle=(0, 0, 0, 0)),
        "moves without turning": lambda: model.moving("f", (0, 0, 0), angle=model.t),
        "inertia of 'b' is nan": lambda: model.body("b", 1.0, (1, 1, nan)),
        "called 3": lambda: model.parameter(3, 1.0),
    }.items():
        with pytest.raises(go.BadInput, match=words):
            make()
    model.body("b", 1.0, (1, 1, 1), quaternion_mass=-1)
    with pytest.raises(go.BadInput, match="quaternion_mass of 'b' is -1 kg m"):
        model.problem(t_end=1.0)
    held = Model(coordinates="joint")
    held.add(Weld("w", held.ground, held.body("b", 1.0, 1.0)))
    with pytest.raises(go.BadInput, match="the joints w leave no joint coordinate"):
        held.problem(t_end=1.0)


def test_the_spin_is_that_of_the_unit_quaternion():
    model = Model(3)
    model.body("b", 1.0, (1, 1, 1), angle=(1, 0, 0, 1), spin=(0, 0, 3.0))
    problem = model.problem(t_end=1.0)
    e, rate = problem.q0[3:], problem.v0[3:]
    np.testing.assert_allclose(2 * (e[0] * rate[3] - e[3] * rate[0]), 3.0, atol=1e-12)


def test_a_disk_rolls_on_a_belt_in_space():
    """The point that touches has the velocity of the belt; from rest, the disk is carried by 1/(1 + m R^2 / I)."""
    model, radius, inertia = Model(3, gravity=(0, 0, -G)), 0.1, 0.02
    belt, half = model.moving("belt", (model.t**2, 0, 0)), 0.5**0.5
    disk = model.body(
        "d", 1.0, (inertia, 0.01, 0.01), at=(0, 0, radius), angle=(half, 0, 0, half), quaternion_mass=0.01
    )
    model.add(Rolling("r", belt.at(axis=(0, 0, 1)), disk, radius))
    a, _ = acceleration(model)
    # m a = F and I alpha = F R with a + R alpha = 2
    np.testing.assert_allclose(a["x_d"], 2 / (1 + radius**2 / inertia), atol=1e-9)


def test_torques_of_a_weld_are_those_about_its_axes():
    for dim, torque in ((2, 0.3), (3, (0.1, 0.2, 0.3))):
        model = Model(dim)
        body = model.body("b", 1.0, 1.0 if dim == 2 else (1, 1, 1))
        model.add(Weld("w", model.ground, body))
        model.add(AppliedTorque("T", model.ground, body, torque))
        problem = model.problem(t_end=0.1)
        answer = go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0), "lagrange", "kkt")
        rows = dict(zip(problem.system.row_names, answer.lam, strict=True))
        found = [rows[f"w.{x}"] for x in (("angle",) if dim == 2 else ("turn", "tilt1", "tilt2"))]
        np.testing.assert_allclose(found, -np.atleast_1d(torque), atol=1e-9)  # about axis, n1 and n2: x, y and z


def test_a_joint_is_not_assembled_turned_over():
    for make, axes in ((Revolute, ((0, 0, 1), (0, 0, -1))), (Weld, ((1, 0, 0), (1, 0, 0)))):
        model, angle = Model(3), np.deg2rad(120) / 2
        body = model.body("b", 1.0, (1, 1, 1), angle=(np.cos(angle), 0, 0, np.sin(angle)))
        model.add(make("j", model.ground.at(axis=axes[0]), body.at(axis=axes[1])))
        with pytest.raises(go.BadInput, match="'j' is assembled turned over"):
            model.problem(t_end=1.0)


def test_a_problem_is_that_of_the_model_as_it_was():
    model = Model(2, gravity=(0, -G))
    model.body("b", 1.0, 1.0)
    problem = model.problem(t_end=0.1)
    model.body("c", 1.0, 1.0)
    motion = go.simulate(problem, dt=0.05)
    assert motion.status == "solved", motion.message
    np.testing.assert_allclose(motion.q[-1], [0, -G * 0.1**2 / 2, 0], atol=1e-12)
    for more, words in (({"hold": 3}, "hold is 3"), ({"q0": [0] * 6}, "no q0")):
        with pytest.raises(go.BadInput, match=words):
            model.problem(t_end=1.0, **more)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
@pytest.mark.parametrize("kind", [Prismatic, Weld])
def test_a_second_joint_may_count_the_same_angle_from_a_full_turn_away(coordinates, kind):
    """The second joint has its axes the other way, where the angle of one of them jumps from pi to -pi."""
    ends = []
    for ways in ([2.0], [2.0, 2.0 - math.pi]):
        model = Model(dim=2, gravity=(0, -G), coordinates=coordinates)
        body = model.body("B", 1.0, 0.1, at=(0.5, 0.2), angle=3.0)
        rod = model.body("rod", 1.0, 0.1, at=(0.5, 0.2))
        model.add(Revolute("hinge", body, rod.at(0.3, 0.0)))
        for i, way in enumerate(ways):
            first, second = ((math.cos(x), math.sin(x)) for x in (way, way - 3.0))
            model.add(kind(f"J{i}", model.ground.at(0.5, 0.2, axis=first), body.at(0, 0, axis=second)))
        motion = go.simulate(model.problem(t_end=0.2), stepper="rk4", dt=0.01)
        assert motion.status == "solved"
        assert not motion.warnings
        ends.append(motion.q[-1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)


def test_a_rocking_block_loses_speed_as_housner_found() -> None:
    """A slender block on its corner falls upright and strikes with the other one (G. W. Housner, 1963)."""
    b, h, tilt = 0.2, 0.8, 0.12
    model = go.Model(dim=2, gravity=(0, -9.81))
    corner = np.array([-b * np.cos(tilt) + h * np.sin(tilt), b * np.sin(tilt) + h * np.cos(tilt)])
    block = model.body("block", 1.0, (b * b + h * h) / 3, at=corner, angle=-tilt, shape=(2 * b, 2 * h))
    for name, side in (("right", b), ("left", -b)):
        model.add(Touch(name, model.ground.at(0, 0), block.at(side, -h), mu=1.0))
    motion = go.simulate(model.problem(t_end=1.2), dt=1e-3)
    assert motion.status is go.Status.SOLVED
    strikes = [e for e in motion.events if e["kind"] == "impact"]
    alpha = np.arctan2(b, h)
    # Energy to the strike: I omega^2 / 2 = m g R (cos(alpha - tilt) - cos(alpha)), with I = 4 m R^2 / 3.
    omega = np.sqrt(1.5 * 9.81 / np.hypot(b, h) * (np.cos(alpha - tilt) - np.cos(alpha)))
    assert len(strikes) == 2
    for strike in strikes:
        assert abs(strike["v_before"][2]) == pytest.approx(omega, rel=1e-9)
        omega *= 1.0 - 1.5 * np.sin(alpha) ** 2
        assert abs(strike["v_after"][2]) == pytest.approx(omega, rel=1e-9)
