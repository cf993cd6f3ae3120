"""Mechanisms from bodies and joints against those whose equations were derived by hand."""

import numpy as np
import pytest
import sympy as sp
from hand_derived import crank_slider, four_bar, two_bar

import gaussopt as go
from gaussopt.bodies import Distance, Drive, Model, Prismatic, Revolute, Spherical
from gaussopt.core.errors import BadInput, UnknownName
from gaussopt.modelling.problem import sketch_of

EXACT = {"stepper": "dop853", "rtol": 1e-12, "atol": 1e-12, "dt": 0.02, "error_estimate": False}


def near(found, exact, error):
    """Everywhere within an absolute error."""
    np.testing.assert_allclose(found, exact, rtol=0, atol=error)


def test_crank_slider_from_bodies_moves_as_the_paper_s():
    problem = crank_slider()
    built = go.simulate(problem, t_end=0.5, stabilisation="projection", **EXACT)
    known = go.simulate("crank-slider", t_end=0.5, **EXACT)
    assert built.status is known.status is go.Status.SOLVED
    near(built.q[:, :7], known.q, 1e-9)
    near(built.a[:, :7], known.a, 1e-8)
    assert problem.coordinates[:3] == ("x_crank", "y_crank", "theta_crank")
    assert problem.system.row_names == ("O.x", "O.y", "A.x", "A.y", "B.x", "B.y", "guide.across")
    # The guide and the rod carry the slider; what is asked of a motion has the names of the joints.
    near(built.reaction("guide")[:, 0] + built.reaction("B")[:, 1], 0.1 * 9.81, 1e-9)
    assert built.reaction("A").shape == (len(built.t), 2)
    assert {"O.x", "guide.across"} <= set(built.to_pandas().columns)
    assert built.to_xarray().row.values.tolist() == list(problem.system.row_names)
    with pytest.raises(UnknownName, match=r"joint or contact 'D'.*guide"):
        built.reaction("D")
    # The same length in another place: the assembled start follows its parameters.
    assert problem.at(l1=0.2).q0[6] == pytest.approx(0.2 + 0.56, abs=1e-12)


def test_four_bar_from_bodies_moves_as_the_paper_s():
    known = go.simulate("four-bar", t_end=1.1, **EXACT)
    built = go.simulate(four_bar(parallel=True), t_end=1.1, stabilisation="projection", **EXACT)
    near(built.q[:, 2], known.q[:, 0], 1e-9)
    # With a hinge at B all bars are in line at t = 1.003 s, and the motion ends or says that it passed that place.
    hinged = go.simulate(four_bar(parallel=False), t_end=1.1, stabilisation="projection", **EXACT)
    before = hinged.t < 1.0
    near(hinged.q[before, 2], known.q[: before.sum(), 0], 1e-9)
    assert hinged.status is not go.Status.SOLVED or hinged.warnings


def test_two_bars_from_bodies_move_as_the_paper_s():
    problem = two_bar()
    built = go.simulate(problem, t_end=0.6, engine="compiled", stabilisation="projection", **EXACT)
    known = go.simulate(go.problem("two-bar", case="contact"), t_end=0.6, engine="compiled", **EXACT)
    near(built.q[:, :3], known.q[:, :3], 1e-9)
    near(built.lam_N, known.lam_N, 1e-8)
    assert [e["kind"] for e in built.events] == [e["kind"] for e in known.events]
    # The picture knows bars, hinge, floor and where forces act, and follows the motion.
    drawn = sketch_of(problem).shapes(built.q[0], built.meta["parameters"])
    assert {"Bar", "Pin", "Ground", "ContactPoint"} <= {type(shape).__name__ for shape in drawn}


def triangle(lengths=(1.0, 1.0, 1.0), **guess):
    """Three bars in a triangle on a pivot, free to swing."""
    model = Model(gravity=(0, -9.81), name="triangle")
    a, b, c = lengths
    ab = model.body("ab", 1.0, 0.1, at=(0.5, 0.1), **guess)
    bc = model.body("bc", 1.0, 0.1, at=(0.8, 0.5), angle=2.0)
    ca = model.body("ca", 1.0, 0.1, at=(0.3, 0.5), angle=4.0)
    model.add(Revolute("A", model.ground, ab.at(-a / 2, 0)))
    model.add(Revolute("B", ab.at(a / 2, 0), bc.at(-b / 2, 0)))
    model.add(Revolute("C", bc.at(b / 2, 0), ca.at(-c / 2, 0)))
    model.add(Revolute("D", ca.at(c / 2, 0), ab.at(-a / 2, 0)))
    return model


def test_assembling_finds_places_and_velocities_with_what_is_held():
    model = triangle(angle=0.3, spin=2.0)
    problem = model.problem(t_end=1.0, hold=["theta_ab"])
    q, v = problem.q0, problem.v0
    assert q[2] == 0.3
    assert v[2] == 2.0
    near(problem.system.position_residual(0.0, q), 0, 1e-13)
    near(v[[5, 8]], 2.0, 1e-13)  # the triangle turns as one body
    near(np.abs(q[5] - q[2]), 2 * np.pi / 3, 1e-12)
    said = go.mobility(problem.system, q)
    assert (said.coordinates, said.rows, said.freedoms, said.redundant) == (9, 8, 1, ())


def four_bar_of_size(length):
    """With gravity in proportion, so that its angles do not depend on the length, m."""
    model = Model(gravity=(0, -9.81 * length))

    def bar(name, half, x, y, angle):
        size = half * length
        return model.body(name, 1.0, size**2 / 3, at=(x * length, y * length), angle=angle), size

    (a, h), (b, j), (c, k) = bar("a", 0.5, 0, 0.5, 1.57), bar("b", 1.0, 1, 1.2, 0.3), bar("c", 0.75, 2.2, 0.7, 1.57)
    model.add(Revolute("A", model.ground, a.at(-h, 0)))
    model.add(Revolute("B", a.at(h, 0), b.at(-j, 0)))
    model.add(Revolute("C", b.at(j, 0), c.at(k, 0)))
    model.add(Revolute("D", model.ground.at(2.2 * length, 0), c.at(-k, 0)))
    return model.problem(t_end=0.3, hold=["theta_a"])


def test_mechanisms_of_any_size_are_assembled_as_exactly():
    ends, problems = [], {length: four_bar_of_size(length) for length in (1.0, 1e-9, 1e9)}
    for length, problem in problems.items():
        residual = problem.system.position_residual(0.0, problem.q0)
        assert np.abs(residual).max() < 1e-10 * length
        motion = go.simulate(problem, stepper="dop853", stabilisation="projection", error_estimate=False)
        assert motion.status == "solved"
        ends.append(motion.q[-1, 2::3])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=1e-6)
    small = problems[1e-9]
    off = np.where(np.arange(9) == 0, 0.05e-9, 0.0)
    motion = go.simulate(small, q0=small.q0 + off, stepper="dop853", stabilisation="none", step_folder=None)
    assert "The motion leaves its constraints (position drift 5e-11)" in " ".join(motion.warnings)


def test_under_over_constrained_and_impossible_assemblies_are_said_with_their_joints():
    model = triangle()
    model.body("stray", 1.0, 0.1)
    said = go.mobility(model.system(), model.problem(t_end=1.0).q0).sentences()
    assert len(said) == 1
    assert "leave 4 degrees of freedom" in said[0]
    what = "what moves is joined by A, B, C, D, and in this position no row acts on x_stray, y_stray, theta_stray."
    assert said[0].endswith(what)
    model = triangle()
    model.add(Distance("rod", model.bodies["ab"], model.bodies["bc"], 0.5))
    twice = go.mobility(model.system(), model.problem(t_end=1.0).q0)
    assert twice.freedoms == 1
    assert [row for row, _ in twice.redundant] == ["rod.length"]
    assert "rod.length follows from those of" in twice.sentences()[1]
    with pytest.raises(BadInput, match=r"joints of 'triangle' do not close from this guess or .*: .*[BCD].* stay open"):
        triangle(lengths=(3.0, 1.0, 1.0)).problem(t_end=1.0)
    space = Model(3)
    space.add(Spherical("ball", space.ground, space.body("top", 1.0, (1, 1, 1)).at(0, 0, 1)))
    said = go.mobility(space.system(), space.problem(t_end=1.0).q0).sentences()
    assert said[0].endswith("what moves is joined by ball.")
    model = triangle(spin=1.0)
    model.add(Drive("motor", model.elements["A"], 0 * model.t))
    with pytest.raises(BadInput, match=r"velocities of 'triangle' .* while theta_ab is held: .*motor"):
        model.problem(t_end=1.0, hold=["theta_ab"])
    with pytest.raises(UnknownName, match="theta_abc"):
        triangle().problem(t_end=1.0, hold="theta_abc")
    with pytest.raises(BadInput, match="two parts called 'A'"):
        model.add(Revolute("A", model.ground, model.bodies["ab"]))


@pytest.mark.parametrize(("angle", "dead"), [(0.0, True), (np.pi, True), (0.3, False)])
def test_a_dead_centre_is_called_one(angle, dead):
    """A crank of 0.1 m and a rod of 0.3 m, driven at the slider, from a position in line or beside it."""
    r, length = 0.1, 0.3
    tilt = -np.arcsin(r * np.sin(angle) / length)
    pin = r * np.array([np.cos(angle), np.sin(angle)])
    end = pin + length * np.array([np.cos(tilt), np.sin(tilt)])
    model = go.Model(dim=2, gravity=(0, -9.81))
    crank = model.body("crank", 1.0, 0.01, at=pin / 2, angle=angle, points={"O": (-r / 2, 0), "A": (r / 2, 0)})
    rod = model.body("rod", 1.0, 0.02, at=(pin + end) / 2, angle=tilt, points={"A": (-0.15, 0), "B": (0.15, 0)})
    slider = model.body("slider", 1.0, 0.01, at=end)
    guide = Prismatic("guide", model.ground, slider)
    for joint in (Revolute("O", model.ground, crank["O"]), Revolute("A", crank["A"], rod["A"]),
                  Revolute("B", rod["B"], slider.at(0, 0)), guide):  # fmt: skip
        model.add(joint)
    inwards = 1.0 if angle == np.pi else -1.0
    model.add(Drive("motor", guide, float(end[0]) + inwards * 0.05 * (1 - sp.cos(3 * model.t))))
    problem = model.problem(t_end=0.02)
    words = (
        "This position is a dead centre: here, and not beside it, the row motor.motion follows from those of O, A, B"
    )
    said = " ".join(go.mobility(problem.system, problem.q0).sentences())
    motion = go.simulate(problem, error_estimate=False)
    assert (words in said) == (words in motion.message) == dead
    assert "over-constrained" not in said
    assert motion.status == (go.Status.INFEASIBLE if dead else go.Status.SOLVED)
