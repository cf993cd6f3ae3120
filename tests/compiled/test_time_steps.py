"""Moreau-Jean steps in machine code: the same motions, events and certificates as interpreted; batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.bodies import Distance, Model, Touch
from gaussopt.core.errors import NotAccepted
from gaussopt.integration.trajectory import CONTACT_COLUMNS

AGREE = 1e-12

CASES: dict[str, dict[str, Any]] = {
    "bouncing-ball": {"t_end": 1.5, "dt": 5e-3},
    "block-on-incline": {"t_end": 0.05},
    "friction-oscillator": {"t_end": 2.0, "dt": 0.05},
    "impacting-stick": {"t_end": 0.1, "dt": 1e-3},
    "sliding-to-rolling": {"t_end": 0.3, "dt": 0.01},
    "sliding-rod": {"dt": 5e-3},
    "two-bar": {"t_end": 0.6, "dt": 0.01},
    "box": {"t_end": 0.18},
}


def table(mu: float = 0.3, legs: int = 2) -> go.Problem:
    """A table that falls onto springs and slides; with four rigid legs its normal forces would not be unique."""
    x, y, phi, u, v, w, m, J, k = sp.symbols("x y phi u v w m J k")
    places = np.linspace(-1.0, 1.0, legs)
    feet = [(x + a * sp.cos(phi) + 0.5 * sp.sin(phi), y + a * sp.sin(phi) - 0.5 * sp.cos(phi)) for a in places]
    system = go.System.from_lagrangian(
        [x, y, phi], [u, v, w], name="table", kinetic=(m * (u**2 + v**2) + J * w**2) / 2,
        potential=m * 9.81 * y + k * x**2 / 2, parameters={m: 2.0, J: 0.5, k: 30.0},
        contacts=[go.Contact(f"foot {i}", position=foot, mu=mu, e_N=0.2) for i, foot in enumerate(feet)],
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.2, 0.6, 0.02], v0=[1.0, 0.0, 0.1], t_end=1.0, dt=1e-3)


def pendulum() -> go.Problem:
    """Two masses on a rod, one of them on rails: a joint beside contacts, with a floor that moves."""
    x, a, b, u, s, r, t, mu = sp.symbols("x a b u s r t mu")
    system = go.System.from_lagrangian(
        [x, a, b], [u, s, r], t=t, name="rail", kinetic=(u**2 + 0.5 * (s**2 + r**2)) / 2, potential=0.5 * 9.81 * b,
        holonomic={"rod": (a - x) ** 2 + b**2 - 1}, parameters={mu: 0.3},
        contacts=[go.Contact("stop", position=(a, b - sp.sin(3 * t) / 10 + 0.2), mu=mu, e_N=0.5)],
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.0, 0.6, 0.8], v0=[0.0, 0.0, 0.0], t_end=1.5, dt=1e-3)


def motions(problem: Any, **settings: Any) -> tuple[go.Trajectory, go.Trajectory]:
    settings = {"stepper": "moreau-jean", "step_folder": None, "error_estimate": False, **settings}
    ours, known = (go.simulate(problem, engine=engine, **settings) for engine in ("compiled", "interpreted"))
    return ours, known


def same(ours: go.Trajectory, known: go.Trajectory, agree: float = AGREE) -> None:
    assert ours.status is known.status
    slow = [w for w in ours.warnings if "steps were interpreted" in w]  # where most steps are not regular
    assert bool(slow) == (ours.meta["engine"] == "interpreted")
    assert ours.message.replace("".join(f" {w}" for w in slow), "") == known.message
    assert [dict(e) for e in ours.events] == [dict(e) for e in known.events]
    np.testing.assert_array_equal(ours.t, known.t)
    for name in ("q", "v", "a", "lam", "kinetic", "potential", "position_drift", "velocity_drift", *CONTACT_COLUMNS):
        if not known.forces_unique.all() and name in ("a", "lam", "lam_N", "lam_T"):
            continue
        np.testing.assert_allclose(getattr(ours, name), getattr(known, name), rtol=agree, atol=agree, err_msg=name)
    assert ours.meta["steps"] == known.meta["steps"]
    assert (ours.relative_error <= 1e-9).all()
    np.testing.assert_array_equal(ours.forces_unique, known.forces_unique)


@pytest.mark.parametrize("name", CASES)
def test_motions_and_events_are_those_of_the_interpreted_loop(name: str) -> None:
    ours, known = motions(name, **CASES[name])
    same(ours, known)
    assert ours.meta["engine"] == ("interpreted" if name == "box" else "compiled")
    if name == "box":  # two feet that stick share their friction in many ways
        assert "friction" in ours.meta["why_interpreted"]


@pytest.mark.parametrize(
    ("problem", "shared"), [(table(), True), (table(0.0), False), (pendulum(), False)],
    ids=["table", "smooth table", "rail"],
)  # fmt: skip
def test_two_contacts_and_joints_agree_through_landings_and_lift_offs(problem: go.Problem, shared: bool) -> None:
    ours, known = motions(problem, t_end=0.7, dt=5e-3)
    kinds = {e["kind"] for e in known.events}
    assert {"landing", "lift_off"} <= kinds
    same(ours, known, 1e-11)
    # Two feet that stick share their friction in many ways, which is left to the interpreted loop.
    assert (ours.meta["handed_over"] > 0) is shared


def thrown(feet: int, mu: float, joint: bool = False) -> go.Problem:
    """A turning body with feet that lands on a floor, with a ball on a rod beside it if `joint`."""
    model = Model(dim=3, gravity=(0, 0, -9.81), name=f"thrown on {feet} feet{' with a ball' * joint}")
    body = model.body(
        "body", 2.0, (0.02, 0.03, 0.04), at=(0, 0, 0.16), velocity=(0.6, -0.2, -1.6), spin=(0.4, 0.5, 3.0),
        quaternion_mass=0.03,
    )  # fmt: skip
    floor = model.ground.at(0, 0, 0, axis=(0, 0, 1))
    for i in range(feet):
        angle = 2.1 * i + 0.3
        foot = 0.2 * np.cos(angle), 0.2 * np.sin(angle), -0.1
        model.add(Touch(f"foot {i + 1}", floor, body.at(*foot), mu=mu, e_N=0.3, e_T=0.1 * i))
    if joint:
        fall = {"at": (0.4, 0, 0.26), "velocity": (0.6, -0.2, -1.6)}
        ball = model.body("ball", 0.5, (0.002,) * 3, quaternion_mass=0.002, **fall)
        model.add(Distance("rod", body, ball, 0.17**0.5))
        model.add(Touch("under the ball", floor, ball, mu=mu, radius=0.05))
    return model.problem(t_end=0.2, dt=2e-3)


SPACE: dict[str, tuple[Any, dict[str, Any]]] = {
    "sphere": ("spinning-sphere", {"dt": 0.01}),
    "cube": ("sliding-cube", {"dt": 0.01, "t_end": 1.3}),
    "capsule": ("pinched-capsule", {"dt": 0.02, "t_end": 0.5}),
    "top": ("tippe-top", {"dt": 5e-4, "t_end": 0.04}),
    "table": ("four-leg-table", {"dt": 5e-3, "t_end": 0.3}),
    "three feet": (thrown(3, 0.4), {}),
    "smooth feet": (thrown(3, 0.0), {}),
    "joint": (thrown(2, 0.3, True), {"t_end": 0.3}),
}


@pytest.mark.parametrize("name", SPACE)
def test_motions_in_space_are_those_of_the_interpreted_loop(name: str) -> None:
    problem, settings = SPACE[name]
    ours, known = motions(problem, **settings)
    same(ours, known, 1e-9)
    assert ours.meta["open_forces"] == known.meta["open_forces"]
    np.testing.assert_allclose(ours.q, known.q, rtol=0, atol=1e-12)
    assert ours.meta["engine"] == "compiled"
    assert ours.worst.relative_error < 1e-11


def test_motions_in_space_are_thinned_out_continue_and_end_at_events() -> None:
    problem = thrown(3, 0.4)
    low = go.Event("low", lambda t, q, v: q[2] - 0.11, terminal=True)
    for events in ((), (low,)):
        ours, known = motions(problem, events=events, record_every=7)
        same(ours, known, 1e-9)
    assert ours.t[-1] < 0.2
    settings = {"stepper": "moreau-jean", "engine": "compiled", "error_estimate": False, "step_folder": None}
    half, whole = (go.simulate(problem, t_end=end, **settings) for end in (0.101, 0.2))
    rest = go.simulate(problem, t_end=0.2, start=half, **settings)
    assert [e["t"] for e in half.events] + [e["t"] for e in rest.events] == [e["t"] for e in whole.events]


def test_a_gap_in_space_that_turns_too_far_within_a_step_goes_through_the_interpreted_loop() -> None:
    x, y, z, u, v, w, t = sp.symbols("x y z u v w t")
    system = go.System.from_lagrangian(
        [x, y, z], [u, v, w], t=t, name="shaken", kinetic=(u**2 + v**2 + w**2) / 2, potential=9.81 * z,
        contacts=[go.Contact("floor", position=(x, y, z - sp.sin(200 * t) / 1000), mu=0.3)],
    )  # fmt: skip
    problem = go.Problem.of(system, q0=[0, 0, 0.01], v0=[1.0, 0.5, 0.0], t_end=0.1, dt=1e-3)
    same(*motions(problem))
    ours, known = motions(problem, dt=4e-3, t_end=0.04)
    same(ours, known)
    assert ours.meta["handed_over"] > 0
    assert "a gap turns too far" in ours.meta["why_interpreted"]


@pytest.mark.parametrize("every", [1, 7, 10**6])
def test_recorded_states_are_thinned_out_and_keep_their_certificates(every: int) -> None:
    ours, known = motions("friction-oscillator", t_end=1.05, dt=0.03, record_every=every)
    same(ours, known)
    assert 0.0 <= ours.error_bound.max() <= 1e-12


def test_events_of_the_user_are_found_at_the_ends_of_steps_and_end_the_motion() -> None:
    for terminal in (False, True):
        low = go.Event("low", lambda t, q, v: q[0] - 0.1, terminal=terminal)
        ours, known = motions("bouncing-ball", events=[low], t_end=1.9, dt=0.01, record_every=7)
        same(ours, known)
        assert ours.meta["engine"] == "compiled"
        assert "low" in {e["kind"] for e in ours.events}


def test_a_motion_continues_where_it_ended() -> None:
    settings: dict[str, Any] = {"stepper": "moreau-jean", "engine": "compiled", "error_estimate": False}
    whole = go.simulate("bouncing-ball", t_end=1.2, dt=1e-3, **settings)
    half = go.simulate("bouncing-ball", t_end=0.6005, dt=1e-3, **settings)
    rest = go.simulate("bouncing-ball", t_end=1.2, start=half, **settings)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=0, atol=1e-12)
    assert [e["t"] for e in half.events] + [e["t"] for e in rest.events] == [e["t"] for e in whole.events]


def test_it_is_compiled_by_default_where_the_motion_is_long() -> None:
    assert go.simulate("bouncing-ball", stepper="moreau-jean", dt=1e-3, t_end=1.5).meta["engine"] == "compiled"
    short = go.simulate("bouncing-ball", stepper="moreau-jean", dt=1e-3, t_end=0.1, error_estimate=False)
    assert short.meta["engine"] == "interpreted"


def test_what_has_no_machine_code_is_refused_by_a_sentence() -> None:
    with pytest.raises(NotAccepted, match="it has two-sided contacts"):
        go.simulate("guided-slider-crank", stepper="moreau-jean", t_end=0.01, engine="compiled")
    with pytest.raises(NotAccepted, match="'projection' of these steps is interpreted"):
        go.simulate(pendulum(), stepper="moreau-jean", t_end=0.01, engine="compiled", stabilisation="projection")


# -- batches -----------------------------------------------------------------------------------------------


def test_members_of_a_batch_are_single_motions() -> None:
    mu = np.array([0.0, 0.2, 0.45])
    settings: dict[str, Any] = {"stepper": "moreau-jean", "t_end": 0.303, "record_every": 20}
    data = go.simulate_batch("friction-oscillator", parameters={"mu": mu}, **settings)
    assert data.attrs["engine"] == "side by side"
    assert (data.status == "solved").all()
    for i, value in enumerate(mu):
        one = go.simulate(
            go.problem("friction-oscillator", mu=value), engine="interpreted", error_estimate=False, **settings
        )
        for name in data.data_vars:
            if name not in ("status", "message", "reached"):
                found, known = data[name].values[i], getattr(one, str(name))
                np.testing.assert_allclose(found, known, rtol=AGREE, atol=AGREE, err_msg=str(name))


def test_a_member_that_starts_inside_its_obstacle_is_refused_alone() -> None:
    q0 = np.array([[1.0], [-0.5], [0.3]])
    for certify in (True, False):
        data = go.simulate_batch(
            "bouncing-ball", initial={"q0": q0, "v0": np.zeros((3, 1))}, stepper="moreau-jean", dt=1e-3, t_end=0.4,
            record_every=50, certify=certify,
        )  # fmt: skip
        assert data.status.values.tolist() == ["solved", "bad_input", "solved"]
        assert "penetrates" in str(data.message.values[1])
        assert np.isnan(data.q.values[1]).all()
