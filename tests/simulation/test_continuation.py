"""Motions that go on: bit for bit with the one that never ended, refused where they are another's, joined and saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.bodies import Revolute
from gaussopt.cli.main import run
from gaussopt.simulation.concatenation import ARRAYS

FIXED: dict[str, tuple[Any, ...]] = {
    # problem, (formulation, solver), end of the first part, end, settings
    "rk4": ("crank-slider", (), 0.02, 0.04, {}),
    "end off the grid": ("crank-slider", (), 0.0203, 0.04, {"record_every": 7, "stabilisation": "projection"}),
    "end between instants": ("crank-slider", (), 0.07, 0.1, {"dt": 0.01, "stabilisation": "projection"}),
    "baumgarte": ("crank-slider", (), 0.02, 0.03, {"stabilisation": go.Baumgarte(30.0, 25.0)}),
    "compiled": ("crank-slider", (), 0.1, 0.2, {"engine": "compiled", "record_every": 7}),
    "compiled, projected": ("crank-slider", (), 0.1, 0.2, {"engine": "compiled", "stabilisation": "projection"}),
    "rattle": ("crank-slider", (), 0.02, 0.04, {"stepper": "rattle"}),
    "compiled rattle": ("crank-slider", (), 0.02, 0.04, {"stepper": "rattle", "engine": "compiled"}),
    "semi-implicit": ("crank-slider", (), 0.02, 0.04, {"stepper": "semi-implicit"}),
    "quasi-velocities": ("knife-edge-body", ("quasi-velocity",), 0.2, 0.4, {"dt": 0.02}),
    "quasi-velocities, projected": (
        "knife-edge-body", ("quasi-velocity",), 0.2, 0.4, {"dt": 0.02, "stabilisation": "projection"}
    ),
    "impacts": ("bouncing-ball", (), 0.7, 1.5, {"dt": 0.02, "engine": "interpreted"}),
    "compiled impacts": ("bouncing-ball", (), 0.7, 1.5, {"dt": 0.02, "engine": "compiled"}),
    "slip and stick": ("friction-oscillator", (), 1.003, 3.0, {"dt": 0.1, "engine": "interpreted", "record_every": 4}),
    "compiled slip and stick": ("friction-oscillator", (), 1.0, 3.0, {"dt": 0.05, "engine": "compiled"}),
    "projected contacts": ("two-bar", (), 0.25, 0.5, {"dt": 1e-2, "engine": "compiled", "stabilisation": "projection"}),
    "moreau-jean": ("bouncing-ball", (), 0.7, 1.5, {"dt": 0.02, "stepper": "moreau-jean"}),
    "printed loop": ("two-bar", ("lcp", "lemke"), 0.3, 0.4, {"dt": 0.02, "stepper": "as-printed-001"}),
}  # fmt: skip


@pytest.fixture(scope="module")
def part() -> go.Trajectory:
    """A motion to be continued."""
    return go.simulate(go.problem("crank-slider", m1=0.4), t_end=0.01, stabilisation="projection")


def same(one: go.Trajectory, other: go.Trajectory) -> None:
    """Equal in every bit that is recorded, and in what is said of it."""
    for name in (*ARRAYS, "forces_unique"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.events == other.events
    # Warnings are told of each part, by its own amplitudes.
    ended = (one.status, one.restart["ended"], one.meta["steps"])
    assert ended == (other.status, other.restart["ended"], other.meta["steps"])


@pytest.mark.parametrize("case", FIXED)
def test_a_continued_motion_is_that_which_never_ended(case: str) -> None:
    name, pair, middle, end, settings = FIXED[case]
    whole = go.simulate(name, *pair, t_end=end, **settings, error_estimate=False)
    first = go.simulate(name, *pair, t_end=middle, **settings, error_estimate=False)
    more = go.simulate(name, start=first, t_end=end, error_estimate=False)
    same(go.concatenate([first, more]), whole)
    assert whole.meta["engine"] == settings.get("engine", "interpreted")


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_an_adaptive_method_begins_anew(engine: str) -> None:
    settings: dict[str, Any] = {"stepper": "dop853", "dt": 0.02, "rtol": 1e-10, "atol": 1e-10, "engine": engine}
    whole = go.simulate("crank-slider", t_end=0.2, **settings)
    first = go.simulate("crank-slider", t_end=0.1, **settings)
    joined = go.concatenate([first, go.simulate(start=first, t_end=0.2)])
    np.testing.assert_allclose(joined.t, whole.t, atol=1e-12)  # on the same multiples of dt
    np.testing.assert_allclose(joined.q, whole.q, atol=1e-7)


def test_files_hold_what_a_continuation_needs(part: go.Trajectory, tmp_path) -> None:
    file = tmp_path / "motion.nc"
    part.save(file)
    more = go.simulate(start=file, t_end=0.02)
    whole = go.simulate(go.problem("crank-slider", m1=0.4), t_end=0.02, stabilisation="projection")
    same(go.concatenate([go.Trajectory.load(file), more]), whole)


def test_interrupted_motions_go_on() -> None:
    calls = 0

    def stop(done: float) -> None:
        nonlocal calls
        calls += 1
        if calls == 60:
            raise KeyboardInterrupt

    first = go.simulate("bouncing-ball", dt=0.02, t_end=1.5, progress=stop, keep_interrupted=True)
    assert first.status is go.Status.INTERRUPTED
    joined = go.concatenate([first, go.simulate("bouncing-ball", start=first, t_end=1.5)])
    same(joined, go.simulate("bouncing-ball", dt=0.02, t_end=1.5))


@pytest.mark.parametrize(("given", "word"), [
    ({"stepper": "rattle"}, "stepper = rk4, and rattle"), ({"dt": 0.5}, "dt = 0.001, and 0.5"),
    ({"stabilisation": "none"}, "stabilisation = projection"), ({"q0": [1.0]}, "q0 is given beside start"),
    ({"t_end": 0.01}, "known up to t = 0.01"), ({"solver": "osqp"}, "solver = kkt, and osqp"),
    ({"engine": "compiled"}, "engine = interpreted"), ({"tolerance": 1e-3}, "tolerance = 1e-07"),
    ({"problem": "two-bar"}, "problem = crank-slider, and two"), ({"problem": "crank-slider"}, "m1 = 0.4, and 0.37"),
])  # fmt: skip
def test_the_motion_of_something_else_is_refused(part: go.Trajectory, given: dict[str, Any], word: str) -> None:
    with pytest.raises(go.BadInput, match=word):
        go.simulate(**{"t_end": 0.02, "start": part, **given})


def test_other_coordinates_under_the_same_name_are_refused() -> None:
    problems = []
    for coordinates in ("maximal", "joint"):
        model = go.Model(coordinates=coordinates)
        model.add(Revolute("R", model.ground, model.body("b", 1.0, 0.1, at=(1, 0)).at(-1, 0)))
        problems.append(model.problem(t_end=0.1))
    motion = go.simulate(problems[0], dt=0.05)
    with pytest.raises(go.BadInput, match="coordinates = x_b, y_b, theta_b, and angle_R is asked for"):
        go.simulate(problems[1], start=motion)


def test_other_equations_under_the_same_name_are_refused() -> None:
    def pendulum(length: float) -> go.System:
        return go.System(
            mass=np.eye(2), force=[0.0, -9.81], name="pendulum",
            equality=lambda t, q, v: ([[length * q[0], length * q[1]]], [-length * (v @ v)]),
        )  # fmt: skip

    given: dict[str, Any] = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "dt": 0.01, "t_end": 0.1}
    first = go.simulate(pendulum(1.0), **given)
    assert go.simulate(pendulum(1.0), start=first, t_end=0.2).t[-1] == 0.2
    with pytest.raises(go.BadInput, match="equations of 'pendulum'"):
        go.simulate(pendulum(2.0), start=first, t_end=0.2)


def test_failed_and_older_motions_are_refused(part: go.Trajectory) -> None:
    with pytest.raises(go.BadInput, match="ended with the status accumulation"):
        go.simulate(start=replace(part, status=go.Status.ACCUMULATION), t_end=1.0)
    with pytest.raises(go.BadInput, match="does not hold what its steps depended on"):
        go.simulate(start=replace(part, restart={}), t_end=1.0)


def test_a_problem_without_a_registered_name_is_needed_again_only_after_a_file(tmp_path: Path) -> None:
    fall = go.System([[1.0]], [-9.81], name="my-own")
    given: dict[str, Any] = {"q0": [0.0], "v0": [0.0], "dt": 0.1}
    first = go.simulate(fall, **given, t_end=0.5)
    whole = go.simulate(fall, **given, t_end=1.0)
    np.testing.assert_array_equal(go.simulate(start=first, t_end=1.0).q[-1], whole.q[-1])
    first.save(tmp_path / "motion.nc")
    with pytest.raises(go.BadInput, match="is of 'my-own', which has no registered name; give its problem or system"):
        go.simulate(start=tmp_path / "motion.nc", t_end=1.0)
    again = go.simulate(fall, start=tmp_path / "motion.nc", t_end=1.0)
    np.testing.assert_array_equal(again.q[-1], whole.q[-1])


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("place", [0.3, 0.999])
@pytest.mark.parametrize(("name", "event", "dt", "steps"), [("bouncing-ball", 1, 0.02, 75), ("two-bar", 0, 0.01, 15)])
def test_an_end_between_an_event_and_the_next_multiple_of_dt_leaves_no_trace(
    name: str, event: int, dt: float, steps: int, place: float, engine: str
) -> None:
    settings: dict[str, Any] = {"dt": dt, "engine": engine, "error_estimate": False}
    whole = go.simulate(name, **settings, t_end=steps * dt)
    at = whole.events[event]["t"]
    middle = at + place * (dt * np.ceil(at / dt) - at)
    first = go.simulate(name, **settings, t_end=middle)
    assert at < middle == first.t[-1]
    same(go.concatenate([first, go.simulate(start=first, t_end=steps * dt, error_estimate=False)]), whole)


def test_only_continuations_are_joined(part: go.Trajectory) -> None:
    assert go.concatenate([part]) is part
    with pytest.raises(go.BadInput, match="Motion 2 does not continue"):
        go.concatenate([part, part])
    with pytest.raises(go.BadInput, match="no motions"):
        go.concatenate([])
    more = go.simulate(start=part, t_end=0.02)
    joined = go.concatenate([part, more])
    assert joined.worst.evaluations == part.worst.evaluations + more.worst.evaluations
    assert joined.timing["total"] == part.timing["total"] + more.timing["total"]
    same(go.concatenate([joined, go.simulate(start=joined, t_end=0.03)]), go.concatenate(
        [part, more, go.simulate(start=more, t_end=0.03)]
    ))  # fmt: skip


def test_the_command_line_goes_on(part: go.Trajectory, tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    file, longer = tmp_path / "motion.nc", tmp_path / "longer.nc"
    part.save(file)
    assert run(["run", "--from", str(file), "--t-end", "0.02", "--save", str(longer), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 20
    assert len(go.Trajectory.load(longer).t) == 21
    assert run(["run", "two-bar", "--from", str(file), "--t-end", "0.02"]) == 2
    assert "problem = crank-slider" in capsys.readouterr().err
    assert run(["run"]) == 2
