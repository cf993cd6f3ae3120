"""Slips that leave a right program of a wrong mechanism are told, with what to do; models that are meant are not."""

from __future__ import annotations

import pickle

import pytest
import sympy as sp
from numpy.testing import assert_allclose

import gaussopt as go
from gaussopt.bodies import Revolute
from gaussopt.core import registry

X, Y, VX, VY, M, L, G = sp.symbols("x y vx vy m l g")


def pendulum(v=(VX, VY), kinetic=None, holonomic=None, **parameters):
    values = {M: 1.0, L: 1.0, G: 9.81} | {sp.Symbol(k): x for k, x in parameters.items()}
    return go.System.from_lagrangian(
        [X, Y], v, kinetic=M * (VX**2 + VY**2) / 2 if kinetic is None else kinetic, potential=M * G * Y,
        holonomic=[X**2 + Y**2 - L**2] if holonomic is None else holonomic, parameters=values,
    )  # fmt: skip


def rod(gravity=(0.0, -9.81), **guess):
    model = go.Model(dim=2, gravity=gravity)
    body = model.body("rod", 1.0, 0.02, at=(0.5, 0.0), **guess)
    return model, Revolute("O", model.ground, body.at(-0.5, 0.0))


def said(model):
    (sentence,) = go.check(model if isinstance(model, go.Problem) else go.Problem.of(model, [1.0, 0.0], t_end=1.0))
    return sentence


@pytest.mark.parametrize("name", registry.names("problem"))
def test_nothing_is_said_of_the_problems_that_are_here(name):
    assert go.check(name) == ()


def test_velocities_in_another_order_than_the_coordinates():
    sentence = said(pendulum(v=(VY, VX)))
    assert "The velocities are vy, vx, in another order than the coordinates x, y" in sentence
    assert "Give v = [vx, vy]" in sentence


def test_parameters_that_nothing_uses():
    assert "l is given and occurs in no energy, force, constraint or contact" in said(pendulum(holonomic=[]))
    assert "c, d are given and occur in no" in said(pendulum(c=1.0, d=2.0))


def test_a_coordinate_without_mass_is_named_where_the_motion_stops():
    problem = go.Problem.of(pendulum(kinetic=M * VX**2 / 2, holonomic=[X - L]), [1.0, 0.0], t_end=1.0)
    assert "y has no mass, and no constraint holds it" in said(problem)
    motion = go.simulate(problem, step_folder=None)
    assert motion.status is go.Status.UNBOUNDED
    assert "y has no mass" in motion.message
    assert "y has no mass" in repr(motion)


def test_lengths_in_millimetres_beside_metres_per_square_second():
    problem = go.Problem.of(pendulum(l=1000.0), [1000.0, 0.0], t_end=1.0)
    assert "gravity is 9810 mm/s^2" in said(problem)
    assert go.check(go.Problem.of(pendulum(l=1000.0, g=9810.0), [1000.0, 0.0], t_end=1.0)) == ()


def test_angles_in_degrees():
    model, joint = rod(angle=30)
    model.add(joint)
    first, second = go.check(model.problem(t_end=1.0))
    assert "more than a full turn: angles are in radians" in second
    assert "was guessed at [0.5, 0. ] and is assembled at" in first


def test_a_body_that_is_assembled_far_from_its_guess():
    model, joint = rod()
    model.add(joint)
    other = model.body("other", 1.0, 0.02, at=(-3.0, 0.0))
    model.add(Revolute("A", model.bodies["rod"].at(0.5, 0.0), other.at(-0.5, 0.0)))
    sentence = said(model.problem(t_end=1.0))
    assert "The body 'other' was guessed at [-3.,  0.] and is assembled at [1.5, 0. ]" in sentence
    assert "guess nearer to it" in sentence


def test_a_constraint_that_holds_nothing():
    assert "The constraint 2 holds nothing at the start" in said(pendulum(holonomic=[X**2 + Y**2 - L**2, Y**2]))


def test_the_first_simulation_warns_at_the_line_of_the_user():
    with pytest.warns(go.ModelSlip, match="l is given and occurs in no") as caught:
        go.simulate(pendulum(holonomic=[]), q0=[1.0, 0.0], v0=[0.0, 0.0], t_end=0.01, dt=0.01)
    assert caught[0].filename == __file__


def test_a_joint_that_was_made_and_not_added():
    model, _ = rod()
    assert "The Revolute 'O' between 'ground' and 'rod' was made and not added" in said(model.problem(t_end=1.0))


def test_a_body_that_nothing_joins():
    model, joint = rod()
    model.add(joint)
    model.body("other", 1.0, 0.02, at=(3.0, 0.0))
    assert "Nothing joins other to the other bodies" in said(model.problem(t_end=1.0))


def test_a_model_in_which_nothing_begins_to_move():
    model, joint = rod(gravity=None)
    model.add(joint)
    problem = model.problem(t_end=0.1)
    assert "The model has no gravity, and no force acts at the start" in said(problem)
    motion = go.simulate(problem)
    assert motion.status is go.Status.SOLVED
    assert any("no gravity" in sentence for sentence in motion.warnings)
    assert "no gravity" in repr(motion)


def test_notes_stay_with_the_system_in_other_processes_and_at_other_parameters():
    system = pendulum(v=(VY, VX))
    assert pickle.loads(pickle.dumps(system)).notes == system.notes == system.with_parameters(l=2.0).notes != ()


def test_a_motion_that_is_plainly_solved_shows_no_more():
    motion = go.simulate("pendulum", t_end=0.1, stabilisation="projection")
    assert_allclose(motion.t[-1], 0.1)
    assert motion.message not in repr(motion)
