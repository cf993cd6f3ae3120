"""No impact and no event is stepped over: contacts that turn, graze and move between the ends of a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import gaussopt as go
from gaussopt.core.errors import MotionStopped
from gaussopt.integration.events.between import StepInterior
from gaussopt.integration.events.scanning import LOOKS, CrossingSearch, HermitePoint, unmoved
from gaussopt.integration.events.turning import turning_of

ROD = Path(__file__).parent / "faults" / "tumbling_rod.py"
ADAPTIVE = ("rk45", "dop853", "radau")
HEIGHT, SPIN, G = 1.5, 30.0, 9.81
PLAIN: dict[str, Any] = {"step_folder": None, "error_estimate": False}


def times(traj: go.Trajectory, kind: str = "impact") -> list[float]:
    return [event["t"] for event in traj.events if event["kind"] == kind]


def first_fall(gap: Callable[[float], float], end: float, step: float = 1e-4) -> float:
    """The first zero of a gap by small steps; for gaps that fall through it for longer than a step."""
    grid = np.arange(0.0, end, step)
    values = np.array([gap(t) for t in grid])
    i = int(np.argmax(values < 0))
    assert values[i] < 0 < values[i - 1]
    return float(brentq(gap, grid[i - 1], grid[i], xtol=1e-15))


def rod_gap(t: float) -> float:
    return HEIGHT - 0.5 * G * t**2 - 0.5 * abs(math.sin(SPIN * t))


@pytest.mark.parametrize("dt", [None, 0.05])
@pytest.mark.parametrize("stepper", [*ADAPTIVE, "rk4"])
def test_a_tumbling_rod_meets_the_floor_with_its_first_tip(stepper: str, dt: float | None) -> None:
    traj = go.simulate(go.problem(ROD), stepper=stepper, dt=dt, **PLAIN)
    assert traj.status is go.Status.SOLVED
    assert times(traj)[0] == pytest.approx(first_fall(rod_gap, 1.0), abs=1e-9)
    assert traj.gap.min() > -1e-9


def test_compiled_steps_that_turn_far_are_looked_at() -> None:
    motions = [
        go.simulate(go.problem(ROD), engine=engine, dt=0.02, t_end=0.5, **PLAIN)
        for engine in ("compiled", "interpreted")
    ]
    assert [times(m) for m in motions] == [pytest.approx(times(motions[0]), abs=1e-10)] * 2
    assert times(motions[0])[0] == pytest.approx(first_fall(rod_gap, 1.0), abs=1e-9)


def turning_bar(depth: float) -> go.System:
    """A bar that turns about its centre, without weight; one tip passes the floor at the depth."""
    theta, w = sp.symbols("theta w")
    contact = go.Contact("tip", gap=1 - depth + sp.sin(theta), e_N=1)
    return go.System.from_lagrangian([theta], [w], kinetic=w**2 / 2, contacts=[contact])


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6, 3e-8])
@pytest.mark.parametrize("stepper", ADAPTIVE)
def test_a_graze_is_an_impact(stepper: str, depth: float) -> None:
    traj = go.simulate(turning_bar(depth), q0=[0.0], v0=[5.0], t_end=1.3, stepper=stepper, **PLAIN)
    expected = (math.pi + math.asin(1 - depth)) / 5.0
    assert traj.status is go.Status.SOLVED
    # The instant is as exact as the gap's rate there allows.
    assert times(traj)[0] == pytest.approx(expected, abs=1e-12 / math.sqrt(2 * depth) + 1e-13)


@pytest.mark.parametrize("stepper", ADAPTIVE)
def test_what_passes_above_the_floor_is_no_impact(stepper: str) -> None:
    traj = go.simulate(turning_bar(-1e-6), q0=[0.0], v0=[5.0], t_end=1.3, stepper=stepper, **PLAIN)
    assert traj.status is go.Status.SOLVED
    assert not times(traj)


@pytest.mark.parametrize("stepper", ADAPTIVE)
@pytest.mark.parametrize("frequency", [7.0, 60.0, 400.0])
def test_a_moving_floor_is_met_at_the_first_touch(stepper: str, frequency: float) -> None:
    y, vy, t = sp.symbols("y vy t")
    floor = 0.1 * sp.sin(frequency * t)
    system = go.System.from_lagrangian(
        [y], [vy], kinetic=vy**2 / 2, potential=sp.Float(G) * y, contacts=[go.Contact("floor", gap=y - floor, e_N=0.5)]
    )
    expected = first_fall(
        lambda s: 0.5 - G * s**2 / 2 - 0.1 * math.sin(frequency * s), 1.0, 1e-4 if frequency < 100 else 1e-5
    )
    traj = go.simulate(system, q0=[0.5], v0=[0.0], t_end=1.3 * expected, stepper=stepper, **PLAIN)
    assert times(traj)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("stepper", ADAPTIVE)
def test_a_system_of_plain_functions_too(stepper: str) -> None:
    def tips(t: float, q: Any) -> Any:
        half = 0.5 * np.array([-1.0, 1.0])
        return np.stack((q[0] + half * np.cos(q[2]), q[1] + half * np.sin(q[2])), axis=1)

    system = go.System(
        np.diag([1.0, 1.0, 1 / 12]), [0.0, -G, 0.0], contacts=go.contact_points(tips, mu=0.3, e_N=0.5, names=["A", "B"])
    )
    traj = go.simulate(
        system, q0=[0, HEIGHT, 0], v0=[0, 0, SPIN], t_end=0.47, stepper=stepper, **PLAIN
    )  # fmt: skip
    assert times(traj)[0] == pytest.approx(first_fall(rod_gap, 1.0), abs=1e-8)
    assert turning_of(system, 0.0, np.array([0.0, HEIGHT, 0.0])).at(0.0, np.arange(3.0), np.arange(3.0)) == (
        [2.0], [2.0]
    )  # fmt: skip


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize(("stepper", "dt"), [*((s, None) for s in ADAPTIVE), ("rk4", 0.5)])
def test_an_event_that_passes_zero_twice_within_a_step(stepper: str, dt: float | None, direction: int) -> None:
    y, vy = sp.symbols("y vy")
    ball = go.System.from_lagrangian(
        [y], [vy], kinetic=vy**2 / 2, potential=sp.Float(G) * y, contacts=[go.Contact("floor", gap=y)]
    )
    level = 100.0 + 0.5 * G * 16.0 - 0.01  # passed shortly before the top at t = 4 and shortly after it
    event = go.Event("level", lambda t, q, v: q[0] - level, direction)
    traj = go.simulate(
        ball, q0=[100.0], v0=[4.0 * G], t_end=9.9, stepper=stepper, dt=dt, events=[event], **PLAIN
    )  # fmt: skip
    half = math.sqrt(2 * 0.01 / G)
    expected = {-1: [4 + half], 0: [4 - half, 4 + half], 1: [4 - half]}[direction]
    assert times(traj, "level") == pytest.approx(expected, abs=1e-8)


def test_compiled_leaps_do_not_pass_an_event_that_comes_twice() -> None:
    event = go.Event("dip", lambda t, q, v: abs(t - 0.0305) - 2e-4)
    settings: dict[str, Any] = {"stepper": "rk4", "dt": 1e-3, "t_end": 0.06, "events": [event], **PLAIN}
    for engine in ("compiled", "interpreted"):
        traj = go.simulate("sliding-rod", engine=engine, **settings)
        assert times(traj, "dip") == pytest.approx([0.0303, 0.0307], abs=1e-9)


def test_what_the_search_does_not_find_ends_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look, at instants that the search does not choose, refuses what went through an obstacle."""
    monkeypatch.setattr(StepInterior, "closing", lambda *_: None)
    system = turning_bar(0.5)
    traj = go.simulate(system, q0=[0.0], v0=[5.0], t_end=20.0, stepper="rk45", **PLAIN)
    assert traj.status is go.Status.INACCURATE
    assert "contact 'tip' was 0." in traj.message
    assert "limit the steps by dt" in traj.message
    assert traj.t[-1] < 20.0


def test_a_time_stepping_step_that_turns_through_the_floor_is_refused() -> None:
    traj = go.simulate(go.problem(ROD), stepper="moreau-jean", dt=0.1, **PLAIN)
    assert traj.status is go.Status.INACCURATE
    assert "use a smaller dt" in traj.message
    assert go.simulate(go.problem(ROD), stepper="moreau-jean", dt=5e-3, **PLAIN).status is go.Status.SOLVED


def test_a_step_with_too_many_turns_is_refused_with_a_sentence() -> None:
    traj = go.simulate(turning_bar(-1.0), q0=[0.0], v0=[1e5], t_end=50.0, stepper="dop853", **PLAIN)
    assert traj.status is go.Status.SOLVER_ERROR
    assert "limit the steps by dt" in traj.message


# -- the search itself ------------------------------------------------------------------------------------------------


def search(f: Callable[[float], float], end: float = 1.0, number: int = 1) -> tuple[float, float] | None:
    """The first fall of a function whose rate is taken by differences."""

    def both(s: float) -> tuple[float, float]:
        return f(s), (f(s + 1e-6) - f(s - 1e-6)) / 2e-6

    return CrossingSearch(both, end, 1e-9, 1e-14, "f").first(
        HermitePoint(0.0, *both(0.0)), HermitePoint(end, *both(end)), number
    )


@pytest.mark.parametrize("place", [0.013, 0.25, 0.5, 0.613, 0.99])
@pytest.mark.parametrize("depth", [1e-4, 1e-3, 0.2])
def test_a_dip_is_found_wherever_it_is(place: float, depth: float) -> None:
    found = search(lambda s: (s - place) ** 2 - depth**2)
    assert found is not None
    low, high = found
    first = place - depth
    assert low <= max(first, 0.0) + 1e-12
    assert first < high < place + depth
    assert search(lambda s: (s - place) ** 2 + depth**2) is None


def test_the_first_of_many_falls_is_found() -> None:
    found = search(lambda s: 1.02 + math.sin(20 * s + 0.3) - 0.3 * s, number=40)
    assert found is not None
    first = first_fall(lambda s: 1.02 + math.sin(20 * s + 0.3) - 0.3 * s, 1.0)
    assert found[0] <= first <= found[1]


def test_a_kink_and_a_jump_are_found() -> None:
    for f in (lambda s: abs(s - 0.37) - 1e-5, lambda s: 1.0 if s < 0.37 else -1.0):
        found = search(f)
        assert found is not None
        assert found[0] < 0.37 < found[1] + 2e-5


def test_a_function_that_is_noise_is_refused() -> None:
    random = np.random.default_rng(0)
    with pytest.raises(MotionStopped, match=f"{LOOKS} looks"):
        CrossingSearch(lambda s: (abs(float(random.normal())), 0.0), 1.0, 1e-9, 0.0, "f").first(
            HermitePoint(0.0, 1.0, 0.0), HermitePoint(1.0, 1.0, 0.0), 1
        )


def test_values_on_a_grid_that_keep_away_from_zero() -> None:
    t = np.linspace(0, 1, 11)
    assert unmoved(np.array([1.0 + t, -1.0 - t])) == 10
    assert unmoved(np.array([0.55 - t])) == 5
    assert unmoved(np.array([(t - 0.45) ** 2 + 1e-4])) <= 4
    assert unmoved(np.array([[1.0, 0.1]])) == 0
