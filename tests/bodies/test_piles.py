"""Piles: their own steps against the loop of all contacts, models as piles, neighbours, shapes without a contact."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import BallTouch, Box, Pile, SpringDamper, Touch, free_bodies
from gaussopt.bodies.pile import PileSystem, SteppedPile

R = 0.05


def run(problem: Any, **settings: Any) -> go.Trajectory:
    motion = go.simulate(problem, step_folder=None, error_estimate=False, **settings)
    assert motion.status is go.Status.SOLVED, motion.message
    return motion


def mixed(e_N: float) -> Pile:
    """Long boxes that tumble and balls that spin, over a floor and beside a wall."""
    pile = Pile(mu=0.4, e_N=e_N)
    pile.wall((0.5, 0, 0), (-1, 0, 0.1))
    pile.box(1.0, (0.3, 0.1, 0.05), at=(0, 0, 0.2), velocity=(0.5, 0, 0), spin=(3, -2, 4))
    pile.box(2.0, (0.1, 0.1, 0.1), at=(0.02, 0.4, 0.06), spin=(0, 0, 2))
    for i in range(3):
        pile.ball(1.0 + i, R, at=(0.01 * i, 0.42, 0.2 + 0.12 * i), spin=(5, i, -3))
    return pile


def balls(number: int, *, mu: Any = 0.4, name: str = "balls") -> go.Model:
    """Balls over the floor that fall onto each other, each pair with a contact."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), name=name)
    given = model.parameter("mu", mu)
    floor = model.ground.at(0, 0, 0, axis=(0, 0.1, 1))
    bodies = [
        model.body(f"b{i}", 1.0 + i, (0.001, 0.0012, 0.0014), at=(0.02 * i, 0.01 * i, R + 0.004 + 0.104 * i),
                   velocity=(0.1 * i, 0, 0), spin=(3, -2, 5 * i), quaternion_mass=0.001)
        for i in range(number)
    ]  # fmt: skip
    for body in bodies:
        model.add(Touch(f"floor {body.name}", floor, body, mu=given, radius=R))
    for a, b in combinations(bodies, 2):
        model.add(BallTouch(f"{a.name} {b.name}", a, b, (R, R), mu=given, across=(1, 0.2, 0.1)))
    return model


# With e_N = 0.6, Coulomb's law has several velocities for the four corners of a box in the step to 0.104 s.
@pytest.mark.parametrize(("e_N", "t_end"), [(0.0, 0.15), (0.6, 0.102)])
def test_a_pile_in_its_own_steps_moves_as_by_the_loop_of_all_contacts(e_N: float, t_end: float) -> None:
    """A solver that is named takes the loop of every system, on step data of all contacts."""
    problem = mixed(e_N).problem(t_end=t_end, dt=2e-3)
    own, whole = run(problem), run(problem, solver="hybrid")
    assert (own.meta["formulation"], whole.meta["formulation"]) == ("coulomb-soccp", "stick-slip")
    assert {e["contact"] for e in own.events if e["kind"] == "landing"} >= {"wall 1, body 2.1", "box 2, ball 3"}
    for name in ("q", "v", "gap"):  # the forces of the four corners of a box are not unique
        known = getattr(whole, name)
        np.testing.assert_allclose(getattr(own, name), known, atol=1e-7 * np.abs(known).max(), err_msg=name)
    found, known = (np.linalg.norm(x.slip, axis=2) for x in (own, whole))
    np.testing.assert_allclose(found, known, atol=1e-7 * known.max())
    landings, expected = (
        [(e["t"], e["contact"]) for e in x.events if e["kind"] == "landing" and "ball" in e["contact"]]
        for x in (own, whole)
    )
    assert landings == expected


def test_bars_that_strike_the_floor_rebound_as_by_the_loop_of_all_contacts_and_tell_energy_that_they_gain() -> None:
    """Newton's law with friction feeds energy into some oblique impacts; torques of bars depend on how they turn."""
    random, gains = np.random.default_rng(0), 0
    random.uniform(size=25)  # of the first five bars two do not settle, one does not land and none gains
    for _ in range(6):
        pile = Pile(mu=1.5, e_N=1.0, gravity=0.0)
        velocity, spin = (*random.uniform(-3, 3, 2), -2), random.uniform(-9, 9, 3)
        pile.box(1.0, (0.6, 0.05, 0.05), at=(0, 0, 0.4), velocity=velocity, spin=spin)
        problem = pile.problem(t_end=0.15, dt=1e-3)
        own = run(problem)
        whole = go.simulate(problem, solver="hybrid", step_folder=None, error_estimate=False)
        if whole.status is not go.Status.SOLVED:
            continue  # its force does not settle at the impact
        np.testing.assert_allclose(own.q, whole.q, atol=1e-7)
        told, expected = ([e for e in x.events if e["kind"] == "energy_gain"] for x in (own, whole))
        assert [(e["t"], e["contacts"]) for e in told] == [(e["t"], e["contacts"]) for e in expected]
        assert [e["gain"] for e in told] == pytest.approx([e["gain"] for e in expected], rel=1e-5)
        gains += len(told)
    assert gains >= 3


def test_a_tower_of_boxes_stands_whatever_rounding_its_velocities_have() -> None:
    tower = Pile(mu=0.5)
    for level in range(5):
        tower.box(1.0, (0.1, 0.1, 0.1), at=(0.01 * level, 0.0, 0.05 + 0.1 * level))
    motion = go.simulate(tower.problem(t_end=1.0, dt=0.02), stepper="moreau-jean", error_estimate=False)
    assert motion.status is go.Status.SOLVED
    assert np.abs(motion.q - motion.q[0]).max() < 1e-11


def test_a_pile_goes_on_as_if_it_had_never_ended_and_starts_nowhere_else() -> None:
    problem = mixed(0.3).problem(t_end=0.1, dt=2e-3)
    whole = run(problem)
    rest = run(problem, start=run(problem, t_end=0.05), t_end=0.1)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-8)  # the solver starts anew
    with pytest.raises(go.BadInput, match="newton"):
        run(problem, impact="poisson")
    deep = Pile(mu=0.3)
    deep.ball(1.0, R, at=(0, 0, 0.9 * R))
    with pytest.raises(go.BadInput, match=r"'wall 1, body 1.1' has the gap -0.005 m and the gap rate 0 m/s"):
        run(deep.problem(t_end=0.1, dt=2e-3))
    slight = Pile(mu=0.3)
    slight.ball(1.0, R, at=(0, 0, R - 1e-6))
    assert "inside the obstacle of 'wall 1, body 1.1'" in run(slight.problem(t_end=0.1, dt=2e-3)).message


def test_free_bodies_of_a_model_move_as_those_whose_equations_are_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    derived = balls(2).problem(t_end=0.1, dt=4e-3)
    monkeypatch.setattr(free_bodies, "FEW", 0)
    built = balls(2).problem(t_end=0.1, dt=4e-3)
    assert isinstance(built.system, PileSystem)
    assert not isinstance(derived.system, PileSystem)
    for name in ("contact_names", "row_names", "parameters"):
        assert getattr(built.system, name) == getattr(derived.system, name)
    assert built.system.coordinates(14) == derived.system.coordinates(14)
    known, found = (run(x.at(mu=0.3), stepper="moreau-jean") for x in (derived, built))
    assert "b0 b1" in {e["contact"] for e in found.events}
    for name in ("q", "v", "gap", "lam_N", "lam_T", "slip"):
        expected = getattr(known, name)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-8 * np.abs(expected).max(), err_msg=name)
    q, v = built.q0 + 0.01 * np.random.default_rng(1).normal(size=14), np.random.default_rng(2).normal(size=14)
    one, other = (x.system.evaluate(0.0, q, v) for x in (derived, built))
    for name in ("M", "Q", "J", "gamma", "J_N", "J_T", "v_T", "g_N", "gdot_N", "mu"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-11, err_msg=name)


def test_neighbours_are_the_contacts_that_the_gaps_of_all_pairs_name() -> None:
    pile, random = Pile(mu=0.3), np.random.default_rng(4)
    pile.box(1.0, (0.4, 0.2, 0.1), at=(0, 0, 0.3))
    for at in random.uniform((-0.3, -0.3, 0.1), (0.3, 0.3, 0.7), size=(40, 3)):
        pile.ball(1.0, R, at=at, velocity=random.normal(size=3))
    problem = pile.problem(t_end=0.1, dt=0.01)
    system = problem.system.in_steps("time-stepping", None, None)
    assert isinstance(system, SteppedPile)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    for dt in (1e-4, 1e-2, 0.1):
        found = system.time_step(0.0, np.array(problem.q0), np.array(problem.v0))
        given = found.problem(dt)
        closing = step.g_N + 0.5 * dt * step.gdot_N <= 0.0
        assert list(found.names) == [name for name, x in zip(system.contact_names, closing, strict=True) if x]
        J = np.concatenate((step.J_N[closing, None], step.J_T[closing]), axis=1).reshape(-1, step.n)
        part = step.J.T @ np.linalg.solve(step.J @ np.linalg.solve(step.M, step.J.T), step.J)
        inverse = np.linalg.inv(step.M) - np.linalg.solve(step.M, np.linalg.solve(step.M, part).T)
        W: Any = given.W if isinstance(given.W, np.ndarray) else given.W.tocsr().toarray()
        np.testing.assert_allclose(W, J @ inverse @ J.T, atol=1e-9)
        # Gravity moves a ball relative to the floor only.
        np.testing.assert_allclose(given.q, J @ (problem.v0 + dt * inverse @ step.force), atol=1e-9)
    of, r = system.equations, np.array(problem.q0).reshape(-1, 7)[:, :3]
    gaps = of.gaps(problem.q0)[len(of.R) :]
    assert set(np.flatnonzero(gaps < 0.1)) <= set(of.near(r, 0.1)[1]) < set(range(len(gaps))) == set(of.near(r)[1])


def test_parameters_of_free_bodies_change_and_messages_stay(assert_sentence: Any) -> None:
    model = balls(4)
    model.parameter("idle", 1.0)
    problem = model.problem(t_end=0.01, dt=1e-3)
    system = pickle.loads(pickle.dumps(problem.system))
    assert system.unused == ("idle",)
    assert set(system.with_parameters(mu=0.7).evaluate(0.0, problem.q0, problem.v0).mu) == {0.7}
    with pytest.raises(go.UnknownName):
        system.with_parameters(nu=0.7)
    with pytest.raises(go.BadInput) as caught:
        model.to_latex()
    assert_sentence(caught.value, "formulas")
    with pytest.raises(go.BadInput, match="mu"):
        run(problem.at(mu=-0.1))
    one, other = list(model.bodies.values())[:2]
    one.guess[:3] = other.guess[:3]
    with pytest.raises(go.BadInput) as caught:
        model.problem(t_end=0.01, dt=1e-3)
    assert_sentence(caught.value, "The two ends of 'b0 b1' coincide", "guess other places")


def test_models_that_are_no_piles_are_derived() -> None:
    """A spring, a body without inertia, or two contacts of a pair: SymPy derives the equations as of any model."""
    for change in ("spring", "mass", "twice"):
        model = balls(3)
        b0, b1, b2 = model.bodies.values()
        if change == "spring":
            model.add(SpringDamper("spring", b0, b1, stiffness=1.0, length=0.1))
        elif change == "mass":
            b2.inertia = b2.inertia * 0
        else:
            model.add(BallTouch("again", b0, b1, (0.01, 0.01)))
        bodies, elements, _ = model.built()
        values = {model.symbols["mu"]: 0.4}
        assert free_bodies.free_bodies(bodies, elements, model.gravity, values, "balls") is None
    assert free_bodies.free_bodies(*balls(3).built()[:2], (0, 0, -9.81), {}, "balls") is None  # mu is not known


def beside(gap: bool, apart: float = 0.3, shape: Any = None) -> tuple[str, ...]:
    """Return the warnings on two balls, or a ball and a box, one above the other, with or without a contact."""
    model = go.Model(dim=3, gravity=(0, 0, -9.81), name="pair")
    floor, inertia = model.ground.at(0, 0, 0, axis=(0, 0, 1)), (0.001,) * 3
    low = model.body("low", 1.0, inertia, at=(0, 0, R), quaternion_mass=0.001, shape=shape)
    high = model.body("high", 1.0, inertia, at=(0.01, 0, apart), quaternion_mass=0.001)
    for body in (low, high):
        model.add(Touch(f"floor {body.name}", floor, body, mu=0.3, radius=R))
    if gap:
        model.add(BallTouch("pair", low, high, (R, R), mu=0.3))
    return run(model.problem(t_end=0.3, dt=5e-3), stepper="moreau-jean").warnings


def test_shapes_that_pass_through_each_other_without_an_element_are_told() -> None:
    (told,) = beside(False)
    assert told.startswith(("The bodies 'high' and 'low' are", "The bodies 'low' and 'high' are"))
    assert "no element of the model lies between them" in told
    assert float(told.split(" are ")[1].split(" m ")[0]) == pytest.approx(2 * R - 0.01, abs=2e-3)
    turned = Box((0.2, 0.02, 0.02), turn=(np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)), at=(0, 0, 0.06))
    assert any("inside each other" in sentence for sentence in beside(False, shape=[turned]))
    assert not any("inside each other" in sentence for sentence in beside(True))
    assert not any("inside each other" in sentence for sentence in beside(False, apart=R + 0.02))  # so from the start
