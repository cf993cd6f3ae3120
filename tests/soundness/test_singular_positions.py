"""Motions that pass a singular position say so."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from shafts import SPEED, hooke

import gaussopt as go
from gaussopt.bodies import Distance, Drive, Revolute
from gaussopt.integration.singular_positions import LOOKS, SINGULAR, SingularWatch, abrupt_sentence, singular_sentence
from gaussopt.integration.trajectory import Trajectory

PASSAGE = 0.714355529292960
"""Instant of the first singular position of the four-bar with two loops, s."""


@cache
def four_bar(loops: int = 2) -> go.System:
    """The N-four-bar of the IFToMM benchmark: uniform rods of 1 kg and 1 m, vertical ones on the ground."""
    q = sp.symbols(f"theta0:{loops + 1} alpha1:{loops + 1}")
    v = sp.symbols(f"omega0:{loops + 1} beta1:{loops + 1}")
    kinetic, potential, rows = sp.Integer(0), sp.Integer(0), []
    g = sp.Float(9.81)
    tips = [sp.Matrix([i + sp.cos(q[i]), sp.sin(q[i])]) for i in range(loops + 1)]
    for i in range(loops + 1):
        kinetic += v[i] ** 2 / 6
        potential += g * sp.sin(q[i]) / 2
    for i in range(1, loops + 1):
        bar = sp.Matrix([sp.cos(q[loops + i]), sp.sin(q[loops + i])])
        middle = tips[i - 1] + bar / 2
        speed = middle.jacobian(sp.Matrix(q)) * sp.Matrix(v)
        kinetic += speed.dot(speed) / 2 + v[loops + i] ** 2 / 24
        potential += g * middle[1]
        rows += list(tips[i] - tips[i - 1] - bar)
    return go.System.from_lagrangian(q, v, kinetic=kinetic, potential=potential, holonomic=rows, name="n-four-bar")


def swung(**settings: Any) -> Trajectory:
    """Its motion from upright."""
    q0, v0 = [np.pi / 2] * 3 + [0.0] * 2, [-1.0] * 3 + [0.0] * 2
    return go.simulate(four_bar(), q0=q0, v0=v0, step_folder=None, **settings)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize(
    "settings",
    [
        {"stepper": "rk4", "dt": 2e-3},
        {"stepper": "velocity-gauss", "dt": 2e-3},
        {"stepper": "rattle", "dt": 5e-3},
        {"stepper": "rk4", "dt": 2e-3, "record_every": 5, "stabilisation": "projection"},
        {"stepper": "rk45"},
        {"stepper": "dop853", "dt": 0.02},
    ],
    ids=lambda settings: "-".join(str(x) for x in settings.values()),
)
def test_the_singular_position_of_a_four_bar_is_told(settings: dict[str, Any], engine: str) -> None:
    motion = swung(t_end=0.8, engine=engine, error_estimate=False, **settings)
    assert len(motion.warnings) >= 1, (motion.message, len(motion.t))
    assert "passes a singular position" in motion.warnings[0]
    instant = float(motion.warnings[0].split("Near t = ")[1].split(" ")[0])
    assert abs(instant - PASSAGE) < 0.03
    assert all(warning in motion.message for warning in motion.warnings)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_no_recording_and_no_long_step_hides_a_singular_position(engine: str) -> None:
    motion = swung(t_end=1.5, stepper="dop853", rtol=1e-6, atol=1e-6, dt=0.5, engine=engine, error_estimate=False)
    assert len(motion.t) == 4
    (warning,) = motion.warnings
    assert "too" in warning
    assert "0.71" in warning


def test_a_motion_that_left_its_branch_is_not_trusted_where_no_certificate_could_be_generated() -> None:
    loose = {"stepper": "rk45", "rtol": 1e-4, "atol": 1e-4, "dt": 0.1, "engine": "compiled"}
    motion = go.simulate("n-four-bar", t_end=3.0, stabilisation="projection", error_estimate=False, **loose)
    assert motion.meta["engine"] == "compiled"
    assert "passes a singular position" in motion.message


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_motion_may_end_at_a_singular_position(engine: str) -> None:
    motion = swung(t_end=1.0, dt=1e-3, engine=engine, on_singular="stop")
    assert motion.status is go.Status.UNSUPPORTED
    assert "singular position" in motion.message
    assert abs(float(motion.message.split("at t = ")[1].split(" ")[0]) - PASSAGE) < 0.01
    with pytest.raises(go.UnknownName, match="warn"):
        swung(t_end=1.0, dt=1e-3, on_singular="jump")


def test_a_singular_position_that_shows_late_ends_no_motion_as_solved() -> None:
    """A parallelogram that turns through its flat position within one long step."""
    angle, spin, model = 1.0, 3.0, go.Model()
    c, s = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
    rods = [
        model.body(
            name, 1.0, 0.02, at=(x + c / 2, s / 2), angle=angle, spin=spin, velocity=(-spin * s / 2, spin * c / 2)
        )
        for name, x in (("a", 0.0), ("b", 1.0))
    ]
    coupler = model.body("coupler", 1.5, 0.1, at=(0.5 + c, s), velocity=(-spin * s, spin * c))
    for i, rod in enumerate(rods):
        model.add(Revolute(f"foot{i}", model.ground.at(i, 0), rod.at(-0.25, 0)))
        model.add(Revolute(f"tip{i}", rod.at(0.25, 0), coupler.at(i - 0.5, 0)))
    motion = go.simulate(
        model.problem(t_end=1.2), stepper="dop853", rtol=1e-9, atol=1e-9, dt=2.0, stabilisation="projection",
        on_singular="stop", step_folder=None, error_estimate=False,
    )  # fmt: skip
    assert motion.status is go.Status.UNSUPPORTED
    assert abs(float(motion.warnings[0].split("Near t = ")[1].split(" ")[0]) - (np.pi - angle) / spin) < 0.01


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_motion_away_from_singular_positions_carries_no_warning(engine: str) -> None:
    motion = swung(t_end=0.6, stepper="rk4", dt=2e-3, engine=engine)
    assert motion.status is go.Status.SOLVED
    assert motion.warnings == ()


@pytest.mark.parametrize("name", ["four-bar", "crank-slider", "knife-edge-body", "bouncing-ball"])
def test_problems_of_the_papers_carry_no_warning(name: str) -> None:
    motion = go.simulate(name, step_folder=None, record_every=5, engine="compiled")
    assert motion.warnings == (), motion.message


def test_what_lies_between_recorded_states_is_estimated() -> None:
    t = np.linspace(0.0, 1.0, 41)
    passed = np.abs(t - 0.512)  # linear at either side
    assert f"t = {0.512:g}" in str(singular_sentence(t, passed))
    near = np.hypot(t - 0.512, 2 * SINGULAR)
    assert singular_sentence(t, near + SINGULAR) is None
    assert singular_sentence(t, np.full(41, np.nan)) is None
    assert singular_sentence(t[:1], np.array([0.5])) is None
    assert "singular" in str(singular_sentence(t[:1], np.array([0.5 * SINGULAR])))


def told(t: np.ndarray, distances: np.ndarray) -> str | None:
    """What a motion with these distances of rows says."""
    watch = SingularWatch()
    with np.errstate(divide="ignore"):
        watch.extend(t, np.ones(len(t)), distances**-2)
    return watch.sentence()


def test_a_redundant_row_is_no_singular_position_and_a_vanishing_one_is() -> None:
    t = np.linspace(0.0, 1.0, 101)
    rng = np.random.default_rng(0)
    plain = np.stack((np.ones(101), 1e-17 * rng.random(101)), axis=1)
    assert told(t, plain) is None
    vanishing = np.stack((np.ones(101), np.abs(t - 0.5)), axis=1)
    assert "Near t = 0.5 " in str(told(t, vanishing))


@pytest.mark.parametrize("stepper", ["rk4", "dop853"])
def test_rows_behind_a_redundant_one_are_no_singular_position(stepper: str) -> None:
    """Of a Hooke joint between two shafts three rows follow from others, and what is left of them is rounding."""
    half_turn = math.pi / SPEED  # after which everything is as it was, mirrored
    dt = 0.01 if stepper == "rk4" else 0.03
    motion = go.simulate(
        hooke("maximal"), t_end=half_turn, dt=dt, stepper=stepper, stabilisation="projection", error_estimate=False
    )
    assert motion.status == "solved"
    assert motion.warnings == ()


def test_accelerations_that_no_step_follows_are_told() -> None:
    t, v = np.array([0.0, 0.1, 0.2]), np.ones((3, 1))
    a = np.array([[1.0], [9.0], [1.0]])
    assert abrupt_sentence(t, v, a) is None
    assert "t = 0.1 the acceleration is 11" in str(abrupt_sentence(t, v, a + 2.0))
    assert abrupt_sentence(np.array([0.0, 0.1, 0.101]), v, a + 2.0) is None  # a short step follows it


@pytest.mark.parametrize("every", [1, 20])
def test_steps_that_follow_an_acceleration_are_not_blamed(every: int) -> None:
    """Recorded at its turning points an oscillator seems to stand still; each step changes its velocity by a sixth."""
    x, v = sp.symbols("x v")
    system = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, potential=x**2 / 2)
    dt = np.pi / 20
    motion = go.simulate(system, q0=[1.0], v0=[0.0], dt=dt, t_end=60 * dt, record_every=every)
    assert np.abs(motion.v).max() < 1e-2 if every == 20 else np.abs(motion.v).max() > 0.9
    assert not any("acceleration" in sentence for sentence in motion.warnings)


def test_warnings_are_saved_and_loaded(tmp_path: Path) -> None:
    motion = go.simulate("four-bar", t_end=0.01)
    assert motion.warnings == ()
    warned = replace(motion, warnings=("One thing.", "And another."))
    for each in (motion, warned):
        assert Trajectory.load(each.save(tmp_path / "motion.nc")).warnings == each.warnings


@pytest.mark.parametrize("turned", [0.0, 1e-6, 1e-9])
def test_rows_that_turn_are_seen_near_a_quaternion_whose_mass_is_rounding(turned: float) -> None:
    """A rod that holds a body turns through a right angle within a step: the states between are looked at."""
    model = go.Model(dim=3)
    body = model.body("b", 1.0, (0.02, 0.03, 0.03), at=(1.0, 0, 0))
    model.add(Distance("D", model.ground.at(0, 0, 0), body.at(0.1, 0.1, 0), length=1.0))
    system, watch = model.system(), SingularWatch()
    between: list[Any] = []
    for t, place in ((0.0, (1.0, 0.1, 0.0)), (1.0, (0.1, 1.0, 0.0))):
        step = system.evaluate(t, [*place, 1.0, turned, 0.0, 0.0], np.zeros(7))
        between = watch.between(step, independence=0.2)
    assert len(between) == LOOKS - 1


@pytest.mark.parametrize("stepper", ["dop853", "rk45"])
@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("driven", [False, True])
def test_steps_of_a_uniform_rotation_leap_over_no_flat_parallelogram(stepper: str, engine: str, driven: bool) -> None:
    settings: Any = {"stepper": stepper, "engine": engine, "stabilisation": "projection", "error_estimate": False}
    motion = go.simulate(parallelogram(driven), **settings)
    assert motion.meta["steps"] < 20
    assert any("passes a singular position" in x for x in motion.warnings)
    stopped = go.simulate(parallelogram(driven), on_singular="stop", step_folder=None, **settings)
    assert stopped.status == "unsupported"


@cache
def parallelogram(driven: bool) -> go.Problem:
    """Its angles are linear in time, so that a step is a quarter of a turn; it is flat at (pi - 1) / 2 and later."""
    model = go.Model(coordinates="joint")
    w, c, s = 2.0, math.cos(1.0), math.sin(1.0)
    turning: Any = {"angle": 1.0, "spin": w, "velocity": (-0.5 * s * w, 0.5 * c * w)}
    one = model.body("one", 1, 1 / 12, at=(0.5 * c, 0.5 * s), **turning)
    rod = model.body("rod", 1, 1 / 3, at=(c + 1, s), velocity=(-s * w, c * w))
    two = model.body("two", 1, 1 / 12, at=(2 + 0.5 * c, 0.5 * s), **turning)
    first = model.add(Revolute("A", model.ground, one.at(-0.5, 0)))
    model.add(Revolute("B", one.at(0.5, 0), rod.at(-1, 0)))
    model.add(Revolute("C", rod.at(1, 0), two.at(0.5, 0)))
    model.add(Revolute("D", model.ground.at(2, 0), two.at(-0.5, 0)))
    if driven:
        model.add(Drive("M", first, 1 + w * model.t))
    return model.problem(t_end=3.0)
