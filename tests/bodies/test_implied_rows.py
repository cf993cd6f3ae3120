"""Rows of joint coordinates that say again what the joints of the tree say already."""

import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import gaussopt as go
from gaussopt.bodies import Distance, Revolute, Weld


def sample(drawn, usual):
    """The numbers of draws, of which all but the usual ones belong to the campaigns."""
    return [*range(usual), *(pytest.param(k, marks=pytest.mark.campaigns) for k in range(usual, drawn))]


PINS = np.array([[0.0, 0.0], [0.2, 0.35], [1.1, 0.6], [1.2, 0.0]])


def four_bar(coordinates, tilt=0.0, about=(1.0, 0.0, 0.0), dim=3):
    """A four-bar in the plane, or in a plane of space that is turned by an angle about an axis."""
    axis = np.array(about) / np.linalg.norm(about)

    def turned(p):
        p = np.array([*p, 0.0])
        return p * np.cos(tilt) + np.cross(axis, p) * np.sin(tilt) + axis * (axis @ p) * (1 - np.cos(tilt))

    def quaternion(angle):
        c, s = np.cos(tilt / 2), np.sin(tilt / 2) * axis
        d, e = np.cos(angle / 2), np.array([0.0, 0.0, np.sin(angle / 2)])
        return (c * d - s @ e, *(c * e + d * s + np.cross(s, e)))

    model = go.Model(dim=dim, gravity=tuple(turned((0, -9.81))) if dim == 3 else (0, -9.81), coordinates=coordinates)
    normal = np.cross(turned((1, 0)), turned((0, 1)))
    bodies, lengths = [], []
    for i in range(3):
        d, middle = PINS[i + 1] - PINS[i], (PINS[i] + PINS[i + 1]) / 2
        length, angle, inertia = np.linalg.norm(d), np.arctan2(d[1], d[0]), d @ d / 12 * (1 + i) + 0.01
        place = {"at": tuple(middle), "angle": angle}
        if dim == 3:
            place, inertia = {"at": tuple(turned(middle)), "angle": quaternion(angle)}, [0.01, inertia, inertia]
        bodies.append(model.body(f"b{i}", 1.0 + i, inertia, **place))
        lengths.append(length)

    def end(i, side):
        if not 0 <= i <= 2:
            place = PINS[0 if i < 0 else 3]
            if dim == 2:
                return model.ground.at(*place)
            return model.ground.at(*turned(place), axis=tuple(normal), normal=tuple(turned((1, 0))))
        x = side * lengths[i] / 2
        return bodies[i].at(x, 0) if dim == 2 else bodies[i].at(x, 0, 0, axis=(0, 0, 1), normal=(1, 0, 0))

    for i, name in enumerate("OABC"):
        first, second = end(i - 1, 1), end(i, -1)
        model.add(Revolute(name, *((second, first) if i == 3 else (first, second))))
    return model.problem(t_end=0.1)


@pytest.fixture(scope="module")
def flat():
    problem = four_bar("maximal", dim=2)
    return go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0)).a[2]


@pytest.mark.parametrize(("about", "degrees"), [
    ((1, 0, 0), 0), ((1, 0, 0), 45), ((0.3, -0.5, 0.8), 30), ((0.3, -0.5, 0.8), 77)
])  # fmt: skip
def test_a_planar_loop_in_a_turned_plane_is_free_to_move(flat, degrees, about):
    problem = four_bar("joint", np.radians(degrees), about)
    found = go.solve_step(problem.system.evaluate(0.0, problem.q0, problem.v0))
    assert str(found.status) == "solved"
    assert abs(found.a[0]) == pytest.approx(abs(flat), rel=1e-9)


def test_its_motion_is_that_of_the_plane():
    flat, turned = four_bar("maximal", dim=2), four_bar("joint", np.radians(30))
    options = {"stepper": "dop853", "stabilisation": "projection", "error_estimate": False}
    one, other = (go.simulate(x, **options) for x in (flat, turned))
    assert str(other.status) == "solved"
    assert abs(other.q[-1, 0] - other.q[0, 0]) == pytest.approx(abs(one.q[-1, 2] - one.q[0, 2]), rel=1e-6)


def welded(seed, twice):
    """A hinged body with another one welded to it, and a third hinged to that; a rod may join the welded two."""
    random = np.random.default_rng(seed)
    first, turn, spin = random.uniform(-3, 3), random.uniform(-1, 1), random.uniform(-3, 3)
    place = random.uniform(-1, 1, 2)

    def turned(angle):
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    model = go.Model(dim=2, gravity=(0, -9.81), coordinates="joint")
    centre = turned(first) @ [0.5, 0.0]
    a = model.body("A", 1.0, 0.1, at=tuple(centre), angle=first, spin=spin)
    model.add(Revolute("H", model.ground, a.at(-0.5, 0)))
    middle = centre + turned(first) @ place
    b = model.body("B", 0.7, 0.05, at=tuple(middle), angle=first + turn)
    model.add(Weld("W", a.at(*place, axis=(1, 0)), b.at(0, 0, axis=(np.cos(turn), -np.sin(turn)))))
    end = middle + turned(first + turn) @ [0.6, 0]
    c = model.body("C", 0.4, 0.03, at=tuple(end), angle=first + turn, spin=-spin)
    model.add(Revolute("K", b.at(0.3, 0), c.at(-0.3, 0)))
    if twice:
        length = np.linalg.norm(place + turned(turn) @ [0, 0.1] - [0.1, 0.2])
        model.add(Distance("rod", a.at(0.1, 0.2), b.at(0.0, 0.1), length=float(length)))
    return model.problem(t_end=0.5)


@pytest.mark.parametrize("seed", sample(6, 2))
def test_a_rod_between_welded_bodies_changes_nothing(seed):
    once, again = (welded(seed, twice) for twice in (False, True))
    assert again.v0 == pytest.approx(once.v0, abs=1e-12)
    first, second = (go.solve_step(x.system.evaluate(0.0, x.q0, x.v0)) for x in (once, again))
    assert str(second.status) == "solved"
    assert second.a == pytest.approx(first.a, rel=1e-10)


def rod(length, **symbols):
    """A rod between two bodies on one hinge and a weld, whose length nothing can change."""
    model = go.Model(dim=2, gravity=(0, -9.81), coordinates="joint")
    length = model.parameter("L", 0.5, "m") if length is None else length
    a = model.body("A", 1.0, 0.1, at=(0.5, 0.0))
    b = model.body("B", 1.0, 0.1, at=(1.0, 0.0))
    model.add(Revolute("H", model.ground, a.at(-0.5, 0)))
    model.add(Weld("W", a.at(0.5, 0), b.at(0, 0)))
    model.add(Distance("rod", a.at(0, 0), b.at(0, 0), length=length))
    return model


def test_a_rod_that_cannot_be_closed_is_refused_by_name():
    with pytest.raises(go.BadInput, match=r"The joints cannot be closed: rod\.length stays open by 0\.0"):
        rod(0.6).system()


def test_a_rod_whose_length_is_a_parameter_of_its_own_is_refused_by_name():
    with pytest.raises(go.BadInput, match=r"rod\.length holds the parameter 'L' and no joint coordinate"):
        rod(None).system()


def test_a_rod_whose_length_is_a_function_of_time_is_refused():
    with pytest.raises(go.BadInput, match=r"rod\.length holds the time"):
        rod(0.5 + 0.1 * sp.sin(sp.Symbol("t"))).system()


@pytest.mark.parametrize("seed", sample(4, 2))
def test_a_second_hinge_on_a_tilted_axis_changes_nothing(seed):
    random = np.random.default_rng(seed)
    e = random.uniform(-1, 1, 4)
    e /= np.linalg.norm(e)
    R = Rotation.from_quat(e, scalar_first=True).as_matrix()
    axis, normal, hinge, centre = random.standard_normal((4, 3))
    axis /= np.linalg.norm(axis)

    def answer(hinges):
        model = go.Model(dim=3, gravity=(0.3, -0.5, -9.81), coordinates="joint")
        door = model.body("door", 1.0, (0.1, 0.2, 0.15), at=tuple(centre), angle=tuple(e))
        for k in range(hinges):
            at = hinge + 0.7 * k * axis
            own = {"axis": tuple(R.T @ axis), "normal": tuple(R.T @ normal)}
            there = model.ground.at(*at, axis=tuple(axis), normal=tuple(normal))
            model.add(Revolute(f"H{k}", there, door.at(*(R.T @ (at - centre)), **own)))
        return go.solve_step(model.system().evaluate(0.0, [0.0], [0.0]))

    one, two = answer(1), answer(2)
    assert str(two.status) == "solved"
    assert two.a == pytest.approx(one.a, rel=1e-9)
