"""Mistakes that users make are answered by a sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import re

import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import AppliedTorque, Revolute

X1, Y1, X2, Y2 = Q = sp.symbols("x1 y1 x2 y2")
V = sp.symbols("vx1 vy1 vx2 vy2")
M1, M2, L1, L2, G = sp.symbols("m1 m2 l1 l2 g")
VALUES = {M1: 1.0, M2: 0.5, L1: 1.0, L2: 0.7, G: 9.81}
HOLONOMIC = [X1**2 + Y1**2 - L1**2, (X2 - X1) ** 2 + (Y2 - Y1) ** 2 - L2**2]
KINETIC = M1 * (V[0] ** 2 + V[1] ** 2) / 2 + M2 * (V[2] ** 2 + V[3] ** 2) / 2


def double_pendulum(v=V, **given):
    known = {"kinetic": KINETIC, "potential": G * (M1 * Y1 + M2 * Y2), "holonomic": HOLONOMIC, "parameters": VALUES}
    return go.System.from_lagrangian(Q, v, **known | given)


def run(system, q0=(1.0, 0.0, 1.7, 0.0), v0=(0.0,) * 4, **given):
    return go.simulate(system, q0=q0, v0=v0, **{"t_end": 0.02, "dt": 1e-3} | given)


def model():
    found = go.Model(dim=2, gravity=(0.0, -9.81))
    found.add(Revolute("O", found.ground, found.body("rod", 1.0, 0.02, at=(0.5, 0.0)).at(-0.5, 0.0)))
    return found


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: double_pendulum(v=V[:3]), "v of 'system' has length 3, expected 4: one for each of x1, y1, x2, y2."),
        (lambda: double_pendulum(forces={G: 1.0}), "names g, which is not a coordinate; these are x1, y1, x2, y2."),
        (lambda: double_pendulum(kinetic=M1 * V[0] + M2 * V[2]), "no square of a velocity, so no mass; write m*v**2/2"),
        (
            lambda: run(double_pendulum(), q0=[1.0, 0.0, 1.8, 0.0]),
            "moves the start to the nearest state on the constraints, with x2 = 1.7.",
        ),
        (
            lambda: run(double_pendulum(), v0=[1.0, 0.0, 0.0, 0.0]),
            "the nearest state on the constraints, with the velocity of x1 0.",
        ),
        (
            lambda: run(double_pendulum(holonomic=[*HOLONOMIC, X1**2 + Y1**2 - (L1 + 0.1) ** 2])),
            "no state near it satisfies all constraints: see whether two of them contradict each other.",
        ),
        (lambda: run(double_pendulum(parameters=VALUES | {M2: -0.5})), "See the mass that moves with x2."),
        (lambda: go.simulate("crank-slider", [1.0, 0.0]), "A start is given as q0=..., v0=... by name."),
        (lambda: go.problem("crank_slidr.py"), "There is no file crank_slidr.py; did you mean crank_slider.py?"),
        (lambda: go.load_dataset("crank_slider.py"), "is not a NetCDF file; give one that gaussopt wrote"),
        (
            lambda: run(double_pendulum(), q0={"x1": 1.0, "y1": 0.0}, v0=None),
            "q0 is a dict; give a list with one number for each of x1, y1, x2, y2.",
        ),
        (
            lambda: go.Problem.of(double_pendulum(), q0=[1.0, 0.0], t_end=1.0),
            "q0 has shape (2,), expected (4,): one entry for each of x1, y1, x2, y2.",
        ),
        (
            lambda: AppliedTorque(
                "motor", go.Model(dim=3).ground, go.Model(dim=3).ground, lambda t, R, omega: 2.0 - omega
            ),
            "It is called once, with 3 SymPy expressions (3 x 3 and 3 x 1 matrices), and returns a vector;",
        ),
        (lambda: model().bodies["rod"]["B"], "Unknown point 'B' of rod; known: none."),
        (
            lambda: go.simulate("crank-slider", "gauss", "osqp", solver_options={"eps": 1e-8}),
            "The solver 'osqp' has no option 'eps'; did you mean 'eps_abs' or 'eps_rel'",
        ),
        (lambda: run(double_pendulum()).save("no/m.nc"), "there is no folder no; make it first."),
    ],
)
def test_a_mistake_is_answered_by_what_to_do(mistake, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crank_slider.py").write_text("problem = None\n")
    with pytest.raises(go.GaussoptError, match=re.escape(sentence)):
        mistake()


def test_a_missing_argument_is_named():
    with pytest.raises(TypeError, match=r"Model.problem\(\) needs t_end; give t_end=... by name."):
        model().problem()


def test_a_step_longer_than_the_motion_and_a_constraint_given_twice_are_told():
    motion = run(double_pendulum(holonomic=[*HOLONOMIC, HOLONOMIC[0]]), dt=5.0)
    assert "dt = 5 s is longer than the motion of 0.02 s, which is one step then: give a smaller dt." in motion.warnings
    assert "one choice of many, as rows depend on each other: leave out a constraint" in motion.message


def test_an_interrupted_simulation_says_how_to_keep_the_motion():
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        go.simulate("crank-slider", t_end=0.1, progress=stop)
    assert "keep_interrupted=True" in caught.value.__notes__[0]


def test_objects_without_a_name_say_so():
    found = model()
    assert "<Problem: without a name" in repr(found.problem(t_end=1.0))
    assert "<Model: without a name\n bodies rod; elements O" in repr(found)
    assert repr(found.elements["O"]) == "<Revolute 'O' between 'ground' and 'rod'>"
