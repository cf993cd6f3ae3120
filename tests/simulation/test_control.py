"""Controls of motions: every engine against SciPy or MuJoCo with the same held inputs, records, files, messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import sympy as sp
from scipy.integrate import solve_ivp

import gaussopt as go
from gaussopt.bodies import AppliedTorque, Revolute, SpringDamper
from gaussopt.bodies.model import MANY
from gaussopt.modelling.chain import Chain
from gaussopt.simulation import engine as engine_choice

CART, POLE, LENGTH, GRAVITY = 1.0, 0.2, 0.6, 9.81
"""Masses of cart and pole, kg, length of the pole, m, and gravity, m/s2."""

GAINS = np.array([-3.0, -40.0, -5.0, -7.0])


def inverted_pendulum() -> go.System:
    """A cart that a force F pushes, with a point mass on a rod above it; theta is zero upright."""
    x, theta, v, w, F = sp.symbols("x theta v_x v_theta F")
    speed = (v + LENGTH * w * sp.cos(theta)) ** 2 + (LENGTH * w * sp.sin(theta)) ** 2
    return go.System.from_lagrangian(
        [x, theta], [v, w], kinetic=CART * v**2 / 2 + POLE * speed / 2,
        potential=POLE * GRAVITY * LENGTH * sp.cos(theta), forces={x: F}, parameters={F: 0.0}, name="cart",
    )  # fmt: skip


def upright(t: float, q: Any, v: Any, outputs: Mapping[str, float]) -> dict[str, float]:
    return {"F": float(-GAINS @ np.append(q, v))}


def sampled(period: float, end: float, start: np.ndarray, gains: np.ndarray = GAINS) -> np.ndarray:
    """Return the final state of the sampled system by SciPy, piece by piece."""

    def rates(t: float, y: np.ndarray, F: float) -> np.ndarray:
        theta, v, w = y[1:]
        M = np.array([[CART + POLE, POLE * LENGTH * np.cos(theta)], [POLE * LENGTH * np.cos(theta), POLE * LENGTH**2]])
        f = np.array([F + POLE * LENGTH * w**2 * np.sin(theta), POLE * GRAVITY * LENGTH * np.sin(theta)])
        return np.array([v, w, *np.linalg.solve(M, f)])

    y = start
    for k in range(round(end / period)):
        span = k * period, (k + 1) * period
        y = solve_ivp(rates, span, y, "DOP853", rtol=1e-13, atol=1e-13, args=(float(-gains @ y),)).y[:, -1]
    return y


START = {"q0": [0.0, 0.2], "v0": [0.1, 0.0]}


METHODS = [("rk4", 1e-3, 1e-10), ("dop853", None, 1e-9), ("dop853", 0.05, 1e-9)]


@pytest.mark.parametrize(("stepper", "dt", "close"), METHODS)
def test_a_pole_is_held_as_scipy_holds_it_in_both_engines(stepper: str, dt: float | None, close: float) -> None:
    wanted = sampled(0.02, 0.5, np.array([0.0, 0.2, 0.1, 0.0]))
    found = {}
    fine = {} if stepper == "rk4" else {"rtol": 1e-11, "atol": 1e-11}
    for engine in ("interpreted", "compiled"):
        motion = go.simulate(
            inverted_pendulum(), **START, t_end=0.5, dt=dt, stepper=stepper, engine=engine, **fine,
            control=go.Controller(upright, period=0.02),
        )  # fmt: skip
        assert motion.status is go.Status.SOLVED, motion.message
        assert motion.meta["engine"] == engine
        assert motion.meta["control"] == {"function": "upright", "period": 0.02, "inputs": ["F"]}
        state = np.append(motion.q[-1], motion.v[-1])
        assert np.abs(state - wanted).max() < close
        assert np.nanmax(motion.error_estimate) < 1e-7
        assert (np.diff(motion.t) > 0).all()
        found[engine] = motion
    one, two = found.values()
    if dt is not None:
        assert np.array_equal(one.t, two.t)
        for name in ("q", "v", "a"):
            scale = 1.0 + np.abs(getattr(one, name)).max()
            assert np.abs(getattr(one, name) - getattr(two, name)).max() < 1e-12 * scale


def test_ten_lines_of_linear_quadratic_control_hold_the_pole_upright() -> None:
    system = inverted_pendulum()
    found = go.linearise(system, [0.0, 0.0], [0.0, 0.0])
    B = found.B[:, :1]  # the force on the cart is the first generalised force
    P = scipy.linalg.solve_continuous_are(found.A, B, np.eye(4), np.eye(1))
    gains = (B.T @ P)[0] @ scipy.linalg.block_diag(found.Y.T, found.W.T)
    hold = go.Controller(lambda t, q, v, outputs: {"F": -gains @ np.append(q, v)}, period=0.02)
    motion = go.simulate(system, **START, t_end=8.0, dt=1e-3, control=hold)
    assert motion.meta["engine"] == "compiled"
    state = np.append(motion.q[-1], motion.v[-1])
    assert np.abs(state).max() < 1e-2
    assert np.abs(state - sampled(0.02, 8.0, np.array([0.0, 0.2, 0.1, 0.0]), gains)).max() < 1e-11


def driven_arm() -> tuple[go.Model, go.Problem]:
    """A rod on a hinge with a motor."""
    model = go.Model(dim=2, gravity=(0, -GRAVITY), name="arm")
    torque = model.parameter("torque", 0.0, "N m")
    rod = model.body("rod", mass=2.0, inertia=0.1, at=(0.4, 0), points={"hand": (0.4, 0)})
    model.add(Revolute("hinge", model.ground, rod.at(-0.4, 0)))
    model.add(AppliedTorque("motor", model.ground, rod, torque))
    model.add(SpringDamper("coil", model.ground.at(0.9, 1.1), rod["hand"], stiffness=30, length=0.5))
    return model, model.problem(t_end=0.2)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_motor_of_a_mechanism_gets_the_outputs_at_its_instants(engine: str) -> None:
    model, problem = driven_arm()
    seen: list[tuple[float, float, Mapping[str, float]]] = []

    def lift(t: float, q: Any, v: Any, outputs: Mapping[str, float]) -> dict[str, float]:
        seen.append((t, q[2], outputs))
        return {"torque": 40.0 * (0.3 - outputs["hand.y"]) - 4.0 * v[2]}

    wanted = {
        "hand": model.point("hand"),
        "coil": model.force("coil"),
        "work": sp.Symbol("torque") * sp.Symbol("v_theta_rod"),
    }
    motion = go.simulate(
        problem, dt=1e-3, engine=engine, stabilisation="projection", outputs=wanted, control=go.Controller(lift, 0.02)
    )
    assert (motion.status, motion.meta["engine"], len(seen)) == (go.Status.SOLVED, engine, 10)
    torque = motion.outputs["control.torque"]
    for k, (t, angle, outputs) in enumerate(seen):
        row = int(np.flatnonzero(motion.t == t)[0])
        assert t == pytest.approx(0.02 * k, abs=1e-12)
        assert angle == motion.q[row, 2]
        assert set(outputs) == {"hand.x", "hand.y", "hand.v_x", "hand.v_y", "coil.length", "coil.force", "work"}
        for name in set(outputs) - {"work"}:
            assert outputs[name] == motion.outputs[name][row]
        assert (torque[row : row + 20] == 40.0 * (0.3 - outputs["hand.y"]) - 4.0 * motion.v[row, 2]).all()
    assert np.array_equal(motion.outputs["work"], torque * motion.v[:, 2])
    # Work of motor and spring, gained energy: the torque that acts is the one recorded.
    M = 0.1 + 2.0 * 0.4**2
    way = np.array([0.8 * np.cos(motion.q[:, 2]) - 0.9, 0.8 * np.sin(motion.q[:, 2]) - 1.1])
    arm = 0.8 * np.array([-np.sin(motion.q[:, 2]), np.cos(motion.q[:, 2])])
    pull = -30.0 * (1.0 - 0.5 / np.hypot(*way)) * way
    exact = (torque - 2.0 * GRAVITY * 0.4 * np.cos(motion.q[:, 2]) + (pull * arm).sum(axis=0)) / M
    np.testing.assert_allclose(motion.a[:, 2], exact, rtol=1e-10, atol=1e-10)


def test_a_system_of_functions_gets_generalised_forces() -> None:
    system = go.System(np.diag([2.0, 3.0]), lambda t, q, v: -4.0 * q, coordinates=("x", "y"))
    held = np.zeros(2)

    def push(t: float, q: Any, v: Any, outputs: Any) -> np.ndarray:
        held[:] = 1.0 + t, -q[1]  # the same array each time
        return held

    motion = go.simulate(system, q0=[0, 1], v0=[0, 0], t_end=0.3, dt=1e-2, control=go.Controller(push, 0.1))
    assert motion.outputs["control.x"].tolist() == [1.0] * 10 + [1.1] * 10 + [1.2] * 11
    force = np.column_stack([motion.outputs["control.x"], motion.outputs["control.y"]])
    np.testing.assert_allclose(motion.a * [2.0, 3.0], force - 4.0 * motion.q, atol=1e-14)
    again = go.simulate(system, q0=[0, 1], v0=[0, 0], t_end=0.3, dt=1e-2)
    np.testing.assert_allclose(again.a * [2.0, 3.0], -4.0 * again.q, atol=1e-14)  # the user's system is as it was


def test_a_model_of_many_bodies_gets_parameters() -> None:
    model = go.Model(dim=2, gravity=(0, -GRAVITY), name="row")
    F = model.parameter("F", 0.0)
    last = None
    for i in range(MANY + 1):
        rod = model.body(f"rod{i}", mass=1.0, inertia=0.1, at=(i + 0.5, 0))
        model.add(Revolute(f"pin{i}", model.ground if last is None else last.at(0.5, 0), rod.at(-0.5, 0)))
        model.add(AppliedTorque(f"motor{i}", model.ground, rod, F))
        last = rod
    problem = model.problem(t_end=0.02)
    whole = go.simulate(problem.at(F=5.0), dt=1e-3, error_estimate=False)
    held = go.simulate(problem, dt=1e-3, error_estimate=False, control=go.Controller(lambda *state: {"F": 5.0}, 0.005))
    np.testing.assert_allclose(held.q, whole.q, atol=1e-13)


def block() -> go.System:
    """A block on a floor with friction, pushed by F."""
    x, y, v, w, F = sp.symbols("x y v_x v_y F")
    contact = go.Contact("floor", gap=y, slip=[v], mu=0.3)
    return go.System.from_lagrangian(
        [x, y], [v, w], kinetic=(v**2 + w**2) / 2, potential=GRAVITY * y, forces={x: F}, parameters={F: 0.0},
        contacts=[contact], name="block",
    )  # fmt: skip


def waves(t: float, q: Any, v: Any, outputs: Any) -> dict[str, float]:
    return {"F": 5.0 * math.sin(8.0 * t)}


def slides(end: float) -> tuple[list[tuple[float, str]], float]:
    """Return the events of the block under `waves`, held for 0.05 s, and where it ends, in closed form."""
    most, x, v, events = 0.3 * GRAVITY, 0.0, 0.0, []
    for k in range(round(end / 0.05)):
        t, left, F = 0.05 * k, 0.05, waves(0.05 * k, None, None, None)["F"]
        while left > 1e-12:
            if v == 0.0:
                if abs(F) <= most:
                    break
                events.append((t, "slip"))
            side = math.copysign(1.0, v or F)
            a = F - side * most
            stop = -v / a if v * a < 0 else math.inf
            span = min(left, stop)
            x, v, t, left = x + v * span + a * span**2 / 2, v + a * span, t + span, left - span
            if span == stop:
                v = 0.0
                if abs(F) <= most:
                    events.append((t, "stick"))
    return events, x


def test_contacts_stick_and_slip_where_the_held_force_says_and_stay_compiled() -> None:
    events, x = slides(2.0)
    assert [kind for _, kind in events].count("slip") > 3
    motion = go.simulate(block(), q0=[0, 0], v0=[0, 0], t_end=2.0, dt=1e-3, control=go.Controller(waves, 0.05))
    assert (motion.status, motion.meta["engine"]) == (go.Status.SOLVED, "compiled")
    assert [(e["kind"], round(e["t"], 9)) for e in motion.events] == [(kind, round(t, 9)) for t, kind in events]
    assert motion.q[-1, 0] == pytest.approx(x, abs=1e-11)


def test_time_steps_hold_the_inputs_too() -> None:
    motion = go.simulate(
        block(), q0=[0, 0], v0=[0, 0], t_end=0.3, dt=2e-3, stepper="moreau-jean", error_estimate=False,
        control=go.Controller(waves, 0.05),
    )  # fmt: skip
    assert len(motion.t) == 151
    assert motion.q[-1, 0] == pytest.approx(slides(0.3)[1], abs=1e-3)
    assert len(set(motion.outputs["control.F"].tolist())) == 6


def test_contacts_are_the_same_interpreted() -> None:
    settings: dict[str, Any] = {"q0": [0, 0], "v0": [0, 0], "t_end": 0.15, "dt": 2e-3, "error_estimate": False}
    control = go.Controller(waves, 0.05)
    one, two = (go.simulate(block(), **settings, control=control, engine=e) for e in ("interpreted", "compiled"))
    assert np.array_equal(one.t, two.t)
    for name in ("q", "v", "a", "lam_N", "lam_T"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-12)


def test_a_lift_opens_a_contact_at_its_instant() -> None:
    y, w, F = sp.symbols("y v_y F")
    mass = go.System.from_lagrangian(
        [y], [w], kinetic=w**2 / 2, potential=GRAVITY * y, forces={y: F}, parameters={F: 0.0},
        contacts=[go.Contact("floor", gap=y)], name="mass",
    )  # fmt: skip
    lift = go.Controller(lambda t, q, v, outputs: {"F": 20.0 if 0.05 < t < 0.15 else 0.0}, 0.1)
    motion = go.simulate(mass, q0=[0.0], v0=[0.0], t_end=0.2, dt=1e-3, control=lift)
    assert [(e["kind"], e["t"]) for e in motion.events] == [("lift_off", 0.1)]
    assert motion.q[-1, 0] == pytest.approx((20.0 - GRAVITY) * 0.1**2 / 2, abs=1e-14)


def test_events_are_located_between_instants_and_may_end_the_motion() -> None:
    down = go.Event("down", lambda t, q, v: q[1] - 0.05, direction=-1, terminal=True)
    control = go.Controller(upright, 0.02)
    motion = go.simulate(inverted_pendulum(), **START, t_end=2.0, dt=1e-3, control=control, events=[down])
    assert motion.events[-1]["kind"] == "down"
    assert motion.q[-1, 1] == pytest.approx(0.05, abs=1e-9)
    assert len(motion.outputs["control.F"]) == len(motion.t)
    assert motion.t[-1] % 0.02 > 1e-3


def test_steps_end_at_instants_off_their_grid_and_records_hold_each_instant() -> None:
    control = go.Controller(upright, 0.0033)
    motion = go.simulate(inverted_pendulum(), **START, t_end=0.01, dt=1e-3, control=control, record_every=2)
    wanted = [0.0, 0.002, 0.0033, 0.0053, 0.0066, 0.0086, 0.0099, 0.01]
    np.testing.assert_allclose(motion.t, wanted, atol=1e-15)
    assert motion.meta["steps"] == 13
    assert len(set(motion.outputs["control.F"].tolist())) == 4


def test_a_motion_goes_on_from_its_last_state_as_one_longer_motion() -> None:
    control = go.Controller(upright, 0.02)
    settings: dict[str, Any] = {"dt": 1e-3, "control": control, "engine": "compiled"}
    whole = go.simulate(inverted_pendulum(), **START, t_end=0.8, **settings)
    half = go.simulate(inverted_pendulum(), **START, t_end=0.4, **settings)
    rest = go.simulate(inverted_pendulum(), q0=half.q[-1], v0=half.v[-1], t0=0.4, t_end=0.8, **settings)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-14)


def test_files_tables_and_figures_hold_the_inputs(tmp_path: Path) -> None:
    motion = go.simulate(inverted_pendulum(), **START, t_end=0.1, dt=1e-3, control=go.Controller(upright, 0.02))
    F = motion.outputs["control.F"]
    loaded = go.Trajectory.load(motion.save(tmp_path / "held.nc"))
    assert np.array_equal(loaded.outputs["control.F"], F)
    assert loaded.meta["control"] == motion.meta["control"]
    assert np.array_equal(motion.to_pandas()["control.F"], F)
    motion.plot("control.F")
    with pytest.raises(go.BadInput, match="under a control, and what its function remembers is in no file"):
        go.simulate(inverted_pendulum(), start=loaded, t_end=0.2)


SOON = {**START, "t_end": 0.5, "dt": 1e-2}


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (upright, "give go.Controller"),
        (go.Controller(lambda t, q, v, o: 3.0, 0.1), "at t = 0 returned no inputs: 3.0 names no parameters"),
        (go.Controller(lambda t, q, v, o: {"G": 1.0}, 0.1), "Unknown parameter 'G'; known: F"),
        (go.Controller(lambda t, q, v, o: {"F": [1, 2]}, 0.1), r"'F' is \[1, 2\], which is not a number"),
        (go.Controller(lambda t, q, v, o: 1 / 0, 0.1), "at t = 0 raised ZeroDivisionError"),
        (go.Controller(lambda t, q, v, o: q.fill(1), 0.1), "at t = 0 writes into the q or v"),
        (go.Controller(upright, 1e-12), "its instants exceed 1e.09"),
    ],
)
def test_a_control_that_cannot_be_used_is_refused_in_a_sentence(control: Any, message: str) -> None:
    with pytest.raises(go.BadInput, match=message):
        go.simulate(inverted_pendulum(), **SOON, control=control)


@pytest.mark.parametrize(
    ("late", "message"),
    [({"F": math.nan}, "'F' is nan; it must be finite"), ({}, r"sets \[\], and \['F'\] at the start")],
)
def test_a_control_that_fails_later_ends_the_motion_there(late: dict[str, float], message: str) -> None:
    fails = go.Controller(lambda t, q, v, o: late if t > 0.25 else {"F": 0.0}, 0.1)
    motion = go.simulate(inverted_pendulum(), **SOON, control=fails)
    assert (motion.status, motion.t[-1]) == (go.Status.BAD_INPUT, pytest.approx(0.3))
    assert message.replace("\\", "") in motion.message


def test_what_a_control_does_not_go_with_is_refused() -> None:
    control = go.Controller(upright, 0.1)
    with pytest.raises(go.BadInput, match="Integrals are not summed under a control"):
        go.simulate(inverted_pendulum(), **SOON, control=control, integrals={"I": lambda t, q, v: 1.0})
    motion = go.simulate(inverted_pendulum(), **SOON)
    with pytest.raises(go.BadInput, match="control is given beside start"):
        go.simulate(inverted_pendulum(), start=motion, t_end=1.0, control=control)
    with pytest.raises(go.BadInput, match=r"A batch takes no control, .* call go.simulate"):
        go.simulate_batch(inverted_pendulum(), parameters={"F": [1.0]}, t_end=1.0, control=control)
    with pytest.raises(go.BadInput, match="has no inputs that a control could set"):
        go.simulate("sphere-pile", t_end=0.01, control=go.Controller(lambda *state: {"F": 0.0}, 0.1))
    with pytest.raises(go.BadInput, match="has a name that the inputs have"):
        go.simulate(inverted_pendulum(), **SOON, control=control, outputs={"control.F": lambda t, q, v: 1.0})
    assert go.Controller(upright, np.int64(1)).period == 1
    for function, period in ((3, 0.1), (upright, 0.0), (upright, math.inf), (upright, "a")):
        with pytest.raises(go.BadInput, match="control"):
            go.Controller(function, period)  # type: ignore[arg-type]


def raised_floor(level: float, stepper: str, engine: str, q0: float = 0.0) -> go.Trajectory:
    """A mass on, or above, a floor that a control sets at 0.1 s."""
    y, w, H = sp.symbols("y v_y H")
    mass = go.System.from_lagrangian(
        [y], [w], kinetic=w**2 / 2, potential=GRAVITY * y, parameters={H: 0.0},
        contacts=[go.Contact("floor", gap=y - H)], name="mass",
    )  # fmt: skip
    step = go.Controller(lambda t, q, v, o: {H: level if t > 0.05 else 0.0}, 0.1)
    return go.simulate(mass, q0=[q0], v0=[0.0], t_end=0.3, dt=1e-2, stepper=stepper, engine=engine, control=step)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("stepper", ["rk4", "moreau-jean"])
def test_a_control_must_not_move_a_floor_under_a_body(stepper: str, engine: str) -> None:
    for level, gap in ((0.1, "-0.1"), (-0.2, "0.2"), (1e-3, "-0.001")):
        motion = raised_floor(level, stepper, engine)
        assert (motion.status, motion.t[-1]) == (go.Status.BAD_INPUT, pytest.approx(0.1))
        assert f"at t = 0.1 moved the gap of contact 'floor' from 0 to {gap}, and bodies" in motion.message
    free = raised_floor(0.05, stepper, engine, q0=1.0)  # nothing touches it
    assert free.status is go.Status.SOLVED
    assert free.gap[-1, 0] == pytest.approx(0.95 - GRAVITY * 0.3**2 / 2, abs=1e-12)


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_a_control_must_not_set_the_length_of_a_joint(stabilisation: str) -> None:
    model = go.Model(dim=2, gravity=(0, -GRAVITY), name="arm")
    length = model.parameter("length", 0.4, "m")
    rod = model.body("rod", mass=2.0, inertia=0.1, at=(0.4, 0))
    model.add(Revolute("hinge", model.ground, rod.at(-length, 0)))
    grow = go.Controller(lambda t, q, v, outputs: {"length": 0.4 if t < 0.05 else 0.5}, 0.1)
    motion = go.simulate(model.problem(t_end=0.3), dt=1e-3, stabilisation=stabilisation, control=grow)
    assert (motion.status, motion.t[-1]) == (go.Status.BAD_INPUT, pytest.approx(0.1))
    assert "at t = 0.1 moved the residual of constraint 'hinge.x' from" in motion.message


@pytest.mark.parametrize(("system", "start"), [(inverted_pendulum, START), (block, {"q0": [0, 0], "v0": [0, 0]})])
def test_the_steps_that_a_short_period_makes_count_for_the_choice_of_the_engine(system: Any, start: Any) -> None:
    control = go.Controller(lambda *state: {"F": 0.0}, 1e-4)
    motion = go.simulate(system(), **start, t_end=0.2, dt=0.1, control=control, error_estimate=False)
    assert (motion.meta["engine"], motion.meta["steps"]) == ("compiled", 2000)


def test_the_function_is_asked_once_at_each_instant() -> None:
    asked: list[float] = []

    def noted(t: float, q: Any, v: Any, outputs: Any) -> dict[str, float]:
        asked.append(t)
        return upright(t, q, v, outputs)

    for engine, stepper in (("compiled", "rk4"), ("interpreted", "rk4"), ("auto", "dop853")):
        asked.clear()
        motion = go.simulate(
            inverted_pendulum(), **START, t_end=0.5, dt=1e-2, stepper=stepper, engine=engine,
            control=go.Controller(noted, 0.05),
        )  # fmt: skip
        assert motion.meta["compared_with"]
        np.testing.assert_allclose(asked, 0.05 * np.arange(10), atol=1e-14)


@pytest.mark.parametrize("engine", ["interpreted", "auto"])
@pytest.mark.parametrize(
    "stepper", ["rk4", "semi-implicit", "rattle", "velocity-gauss", "radau", "radau-projected", "dop853", "rk45"]
)
def test_every_stepper_goes_on_at_the_instants_as_if_they_were_none(stepper: str, engine: str) -> None:
    """Under a control that returns what the parameter is anyway."""
    problem = go.problem("crank-slider", tau=3.0)
    settings: dict[str, Any] = {"stepper": stepper, "t_end": 0.02, "engine": engine, "error_estimate": False}
    settings |= {"stabilisation": "projection"} if stepper in ("rk4", "radau", "dop853") else {}
    adaptive = stepper in ("radau", "radau-projected", "dop853", "rk45")
    settings |= {"rtol": 1e-11, "atol": 1e-11} if adaptive else {"dt": 1e-3}
    control = go.Controller(lambda *state: {"tau": 3.0}, 0.008)
    free = go.simulate(problem, **settings)
    held = go.simulate(problem.at(tau=-1.0), **settings, control=control)
    assert held.status is go.Status.SOLVED, held.message
    assert held.meta["engine"] == free.meta["engine"]
    for name in ("q", "v", "lam"):
        assert getattr(held, name)[-1] == pytest.approx(getattr(free, name)[-1], abs=1e-7 if adaptive else 1e-10)
    if not adaptive:
        np.testing.assert_allclose(held.t, free.t, atol=1e-15)
        np.testing.assert_allclose(held.a, free.a, atol=1e-8)


def test_quasi_velocities_go_on_at_the_instants_too() -> None:
    problem = go.problem("knife-edge-body")
    name, value = next(iter(problem.parameter_values.items()))
    settings: dict[str, Any] = {"state": "quasi-velocity", "dt": 1e-2, "t_end": 0.3, "error_estimate": False}
    free = go.simulate(problem, **settings)
    held = go.simulate(problem, **settings, control=go.Controller(lambda *state: {name: value}, 0.05))
    np.testing.assert_allclose(held.q, free.q, atol=1e-13)
    assert held.meta["state"] == "quasi-velocity"


@pytest.mark.parametrize("period", [0.1, 0.0505])
def test_compiled_time_steps_read_the_inputs_from_the_first_instant_on(period: float) -> None:
    x, y, vx, vy, F = sp.symbols("x y vx vy F")
    block = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, forces={x: F}, parameters={F: 0.0},
        contacts=[go.Contact("c", position=(x, y), mu=0.3, e_N=0)],
    )  # fmt: skip
    wave = go.Controller(lambda t, q, v, outputs: {"F": 1.0 + 3.0 * math.sin(9.0 * t)}, period=period)
    quick, slow = (
        go.simulate(
            block, q0=[0, 0], v0=[2, 0], dt=0.01, t_end=0.7, stepper="moreau-jean", engine=e, control=wave,
            error_estimate=False,
        )
        for e in ("compiled", "interpreted")
    )  # fmt: skip
    assert quick.status is slow.status is go.Status.SOLVED
    assert quick.meta["engine"] == "compiled"
    np.testing.assert_array_equal(quick.t, slow.t)
    for column in ("q", "v", "lam_T"):
        np.testing.assert_allclose(getattr(quick, column), getattr(slow, column), rtol=0, atol=1e-11)


def test_kernels_without_inputs_leave_a_controlled_linkage_to_the_interpreted_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_choice, "MANY", 100)  # accelerations of a motion that would be compiled
    chain = Chain(3)
    q, v = chain.hanging()
    push = go.Controller(lambda t, q, v, outputs: np.r_[1250.0, np.zeros(len(q) - 1)], period=0.01)
    given: dict[str, Any] = {"q0": q, "v0": v, "dt": 1e-3, "control": push}
    slow, chosen = (
        go.simulate(chain.system, **given, t_end=0.1, engine=e, error_estimate=False) for e in ("interpreted", "auto")
    )
    assert chosen.q[-1, 0] > 0.01
    np.testing.assert_array_equal(chosen.q, slow.q)
    with pytest.raises(go.NotAccepted, match="no inputs that a control could set"):
        go.simulate(chain.system, **given, t_end=0.06, engine="compiled")


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize("t0", [2e5, 1e6, 1e7])
def test_a_late_start_has_every_instant_once(t0: float, engine: str) -> None:
    x, v, F = sp.symbols("x v F")
    mass = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, forces={x: F}, parameters={F: 0.0})
    at: list[float] = []

    def noted(t: float, q: Any, v: Any, outputs: Mapping[str, float]) -> dict[str, float]:
        at.append(t - t0)
        return {"F": 1.0}

    motion = go.simulate(
        mass, q0=[0.0], v0=[0.0], dt=1e-3, t0=t0, t_end=t0 + 0.05, engine=engine, control=go.Controller(noted, 0.01)
    )
    assert motion.status is go.Status.SOLVED
    np.testing.assert_allclose(at, 0.01 * np.arange(5), rtol=0, atol=1e-8)
    assert motion.v[-1, 0] == pytest.approx(0.05, abs=1e-8)


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize(("t0", "period", "dt"), [(7e4, 0.01, 1e-3), (1e5, 0.03, 1e-2), (3e5, 0.1, 1e-3)])
def test_no_step_is_a_rounding_error_of_a_late_time(t0: float, period: float, dt: float, engine: str) -> None:
    control = go.Controller(lambda *state: {"F": 0.0}, period)
    settings: dict[str, Any] = {"dt": dt, "engine": engine, "error_estimate": False}
    motion = go.simulate(inverted_pendulum(), **START, t0=t0, t_end=t0 + 0.5, control=control, **settings)
    assert np.diff(motion.t).min() > 0.9 * dt
    assert motion.meta["steps"] == round(0.5 / dt)


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize(("t0", "length"), [(7e4, 0.5), (3e5, 0.3), (1e6, 0.7), (1e7, 1.2)])
def test_contacts_keep_their_multiples_of_dt_at_late_times(t0: float, length: float, engine: str) -> None:
    y, w = sp.symbols("y w")
    ball = go.System.from_lagrangian(
        [y], [w], kinetic=w**2 / 2, potential=GRAVITY * y, contacts=[go.Contact("floor", gap=y, e_N=0.5)]
    )
    settings: dict[str, Any] = {"q0": [1.0], "v0": [0.0], "dt": 1e-2, "engine": engine, "error_estimate": False}
    early, late = (go.simulate(ball, **settings, t0=t, t_end=t + length) for t in (0.0, t0))
    assert late.meta["steps"] == early.meta["steps"]
    np.testing.assert_allclose(late.t - t0, early.t, atol=1e-8)
    np.testing.assert_allclose(late.q, early.q, atol=1e-7)


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
def test_impacts_accumulate_at_late_times_as_at_early_ones(engine: str) -> None:
    """When a sequence of impacts counts as geometric does not depend on the time at which the motion starts."""
    y, w = sp.symbols("y w")
    ball = go.System.from_lagrangian(
        [y], [w], kinetic=w**2 / 2, potential=GRAVITY * y, contacts=[go.Contact("floor", gap=y, e_N=0.5)]
    )
    settings: dict[str, Any] = {"q0": [1.0], "v0": [0.0], "dt": 1e-2, "engine": engine, "error_estimate": False}
    whole = 3.0 * np.sqrt(2.0 / GRAVITY)
    for t0 in (0.0, 1e5, 1e8):
        motion = go.simulate(ball, **settings, t0=t0, t_end=t0 + 2.0)
        assert motion.status is go.Status.ACCUMULATION
        limit = next(e["time_estimate"] for e in motion.events if e["kind"] == "accumulation")
        assert limit - t0 == pytest.approx(whole, abs=1e-8 + 1e-15 * t0)
        assert motion.t[-1] - t0 == pytest.approx(whole, abs=1e-4 + 1e-12 * t0)
