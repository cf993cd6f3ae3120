"""The benchmark suite: that everybody simulates the same mechanism, and how times are told. Nothing here is timed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gaussopt as go

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_competitors_take_turns_and_times_are_per_unit(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring = load("measuring")
    clock, order = [0.0], []
    monkeypatch.setattr(measuring, "perf_counter", lambda: clock[0])

    def lasting(name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            order.append(name)
            clock[0] += seconds

        return run

    times = measuring.interleave(
        [measuring.Competitor("a", lasting("a", 0.5)), measuring.Competitor("b", lasting("b", 1.0), units=10),
         measuring.Competitor("slow", lasting("slow", 100.0))], budget=11.9,
    )  # fmt: skip
    assert times.of("a").count == times.of("b").count == 8
    assert order[:7] == ["a", "b", "slow", "a", "b", "b", "a"]
    assert order.count("slow") == 1
    assert times.of("b").median == pytest.approx(0.1)
    ratio = times.ratio("a", "b")
    assert (ratio.lower, ratio.median, ratio.upper) == pytest.approx((5.0, 5.0, 5.0))
    assert times.ratio("slow", "a").median == pytest.approx(200.0)


def test_a_budget_that_is_too_small_still_gives_the_least_rounds(load: Any) -> None:
    measuring = load("measuring")
    times = measuring.interleave([measuring.Competitor("a", lambda: None)], budget=0.0)
    assert times.of("a").count == measuring.LEAST


def test_competitors_of_the_same_name_are_refused(load: Any) -> None:
    measuring = load("measuring")
    with pytest.raises(ValueError, match="same name"):
        measuring.interleave([measuring.Competitor("a", lambda: None)] * 2, budget=0.0)


@pytest.mark.parametrize("name", ["crank-slider", "four-bar"])
def test_pins_hold_at_the_start_and_the_energy_is_that_of_our_problem(load: Any, name: str) -> None:
    mechanisms = load("mechanisms")
    mechanism = mechanisms.MECHANISMS[name]()
    for pin in mechanism.pins:
        assert mechanism.point(pin.first, pin.at_first) == pytest.approx(mechanism.point(pin.second, pin.at_second))
    assert len(mechanism.marks) == len(mechanism.angles)
    assert np.allclose(np.diff(mechanism.marks), mechanism.marks[0])
    symbolic = load("rivals.symbolic")
    layout = symbolic.Layout.of(mechanism)
    height = sum(b.mass * mechanism.gravity * b.place[1] for b in mechanism.bodies)
    system = mechanism.problem.system
    ours = system.energy(0.0, mechanism.problem.q0, mechanism.problem.v0).potential
    torque = sum(t.value * mechanism.bodies[t.body].angle for t in mechanism.torques)
    assert ours == pytest.approx(height - (torque if name == "crank-slider" else 0.0), abs=1e-12)
    assert len(layout.masses) == {"crank-slider": 7, "four-bar": 9}[name]


def test_steps_must_end_at_marks(load: Any) -> None:
    mechanism = load("mechanisms").crank_slider(1.0)
    assert mechanism.steps(1e-3) == 1000
    with pytest.raises(ValueError, match="does not divide"):
        mechanism.steps(3e-3)


def test_the_four_bar_is_a_tree_with_one_loop_and_its_subtrees_are_in_one_piece(load: Any) -> None:
    tree = load("rivals.joint_trees").JointTree.of(load("mechanisms").four_bar())
    assert tree.depth_first() == (0, 2, 1)
    assert tree.above(2) == (2, 0)
    assert len(tree.loops) == 1


@pytest.fixture(scope="module")
def native(load: Any) -> ModuleType:
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    module: ModuleType = load("rivals.handwritten")
    return module


@pytest.mark.parametrize(("function", "stabilisation"), [("rk4", "none"), ("rk4_projected", "projection")])
def test_the_handwritten_step_is_our_step_to_rounding(native: Any, function: str, stabilisation: str) -> None:
    problem = go.problem("crank-slider")
    state, marks = np.concatenate([problem.q0, problem.v0]), np.empty(2)
    parameters = np.array(list(problem.parameter_values.values()))
    assert native.function(function)(parameters, state, 1e-3, 200, 100, marks) == 0
    ours = go.simulate(problem, "gauss", "kkt", dt=1e-3, t_end=0.2, stabilisation=stabilisation, step_folder=None)
    assert np.abs(state[:7] - ours.q[-1]).max() < 1e-14
    assert np.abs(state[7:] - ours.v[-1]).max() < 1e-13
    assert marks == pytest.approx(ours.q[[100, 200], 2], abs=1e-14)
    if stabilisation == "projection":
        assert np.abs(problem.system.position_residual(0.2, state[:7])).max() < 1e-14
        assert np.abs(problem.system.velocity_residual(0.2, state[:7], state[7:])).max() < 1e-13


def test_the_handwritten_velocity_level_is_of_first_order(load: Any, native: Any) -> None:
    mechanism = load("mechanisms").crank_slider(0.5)
    errors = [mechanism.error(native.VELOCITY.prepare(mechanism, dt, mechanism.steps(dt), 5)()) for dt in (1e-4, 5e-5)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


BOUNDS = {
    "hand-written C++, RK4": 2e-7, "hand-written C++, RK4, projected": 1e-7, "CasADi, RK4, virtual machine": 2e-7,
    "MuJoCo RK4, hard constraints": 1e-5,
    "MuJoCo RK4, hard constraints, absolute coordinates": 1e-3,
    "Exudyn, trapezoidal rule, index 2": 3e-3, "Exudyn, generalised alpha": 5e-3, "Pinocchio, RK4 in Python": 2e-7,
    "gaussopt, RK4": 2e-7,
}  # fmt: skip
"""Errors of the crank's angle over 1 s with steps of 1 ms, rad: what each method can."""


@pytest.mark.parametrize("mechanism", ["crank-slider", "four-bar"])
@pytest.mark.parametrize("name", BOUNDS)
def test_everybody_simulates_the_same_mechanism(load: Any, name: str, mechanism: str) -> None:
    made = load("mechanisms").MECHANISMS[mechanism](1.0 if mechanism == "crank-slider" else 0.4)
    rival = next(r for r in (*load("rivals").ALL, *load("ours").ALL) if r.name == name)
    if rival.missing:
        pytest.skip(rival.missing)
    if not rival.models(made):
        pytest.skip("no model of it")
    run = rival.prepare(made, 1e-3, made.steps(1e-3), len(made.marks))
    first = run()
    assert made.error(first) < BOUNDS[name]
    assert np.array_equal(first, run())  # every call starts anew


def test_scipy_simulates_the_same_mechanism(load: Any) -> None:
    made = load("mechanisms").crank_slider(0.5)
    assert made.error(load("rivals.scipy_engine").prepare(made, 1e-10)()) < 1e-9


def test_rollouts_differ_by_their_torques(load: Any) -> None:
    pytest.importorskip("mujoco")
    made, engine = load("mechanisms").crank_slider(0.1), load("rivals.mujoco_engine")
    torques = np.array([-0.6, -0.5])
    found = engine.rollouts(made, 1e-3, 100, torques, 2)()
    assert found == pytest.approx(load("ours").batch(made, 1e-3, 100, torques)(), abs=1e-6)


@pytest.mark.parametrize("name", ["sliding-rod", "two-bar"])
def test_mujoco_slides_on_the_same_floor(load: Any, name: str) -> None:
    pytest.importorskip("mujoco")
    contact = load("rivals.mujoco_contact")
    motion = contact.MOTIONS[name]()
    found = contact.prepare(motion, 1e-4, 8, "RK4", stiff=True)()
    assert np.abs(found - motion.reference(8)).max() < 2e-3


def test_who_is_not_installed_is_told_how(load: Any) -> None:
    interface = load("rivals.interface")
    engine = interface.Engine("X", "", "C", "a_module_that_is_not_there", ("a", "b"))
    assert engine.missing == "not installed: pip install a b"
    assert interface.Engine("X", "", "C", compiler="a-compiler-that-is-not-there").missing.startswith("no a-compiler")
    with pytest.raises(ValueError, match="equal parts"):
        interface.per_mark(10, 3)


def test_goals_lead_the_page_and_say_why_they_were_not_measured(load: Any) -> None:
    page, measuring = load("page"), load("measuring")
    spread = measuring.Spread(2.0, 1.9, 2.1, 9)
    goals = (page.Goal("a against b", 1.3, True, spread), page.Goal("c against d", 25, False, None, "not installed"))
    text = page.markdown("T", ("words",), (page.Section("S", ("more",), (page.Table(("x",), (("1",),)),), goals),), ())
    assert "| a against b | at most 1.3 × | 2 × (1.9 to 2.1) | no |  |" in text
    assert "| c against d | at least 25 × | not installed | – |  |" in text
    assert text.index("## Goals") < text.index("## S")
    assert page.plain((page.Section("S", (), (), goals),))[0]["goals"][0]["met"] is False


def test_the_price_of_an_error_is_read_between_points(load: Any) -> None:
    motions, measuring, interface = load("motions"), load("measuring"), load("rivals.interface")
    engine = interface.Engine("X", "", "C")
    points = tuple(
        motions.Point(engine, dt, None, 1, error, measuring.Spread(time, time, time, 5))
        for dt, error, time in ((1e-3, 1e-2, 1.0), (1e-4, 1e-6, 10.0), (1e-5, 1e-5, 100.0))
    )
    found = motions.Motions(None, 1e-3, measuring.Times({}), points, ())
    assert found.time_to("X", 1e-4) == pytest.approx(10**0.5)
    assert found.time_to("X", 1e-7) is None
    assert found.time_to("X", 1.0) == pytest.approx(1.0)


def test_a_motion_of_each_paper_agrees_between_three_codes(load: Any) -> None:
    pytest.importorskip("mujoco")
    replication = load("replication")
    for motion in replication.MOTIONS:
        change, apart = replication.differences(motion, np.linspace(0.0, 0.2, 5)[1:])
        assert change > 1e-3
        assert max(apart) < 1e-9, motion.name


def test_every_model_of_a_folder_gets_a_row(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco", exc_type=ImportError)
    robots = load("robots")
    slider = '<mujoco><worldbody><body><joint type="slide" {}/><geom size=".1"/></body></worldbody></mujoco>'
    for name, text in (
        ("a/scene.xml", slider.format('frictionloss="1"')), ("a/part.xml", "<mujoco/>"), ("b/broken.xml", "<mujoco>"),
        ("b/delayed.xml", slider.format('name="j"').replace(
            "</mujoco>", '<actuator><motor joint="j" delay="0.05" nsample="60"/></actuator></mujoco>')),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("sys.argv", ["robots.py", str(tmp_path), "--end", "0.02", "--out", str(tmp_path / "page.md")])
    robots.main()
    page = (tmp_path / "page.md").read_text()
    table = page.partition("| model |")[2].splitlines()
    rows = {line.split(" | ")[0].strip("| "): line for line in table if line.startswith("| ")}
    assert set(rows) == {"a/scene", "b/broken", "b/delayed"}
    assert "| 6 of 6 | solved |" in rows["a/scene"]
    assert "does not load" in rows["b/broken"]
    assert "actuators with a delay" in rows["b/delayed"]
    assert "Of 3 models 1 run" in page
