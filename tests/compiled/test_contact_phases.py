"""Leaps of motions with contacts: the same motion as stage by stage, and only where nothing happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.compiled.advances import compiled_phases
from gaussopt.compiled.advances.contact_phases import PhaseMarcher, PhaseSegment
from gaussopt.contact.stage_laws import UNDECIDED
from gaussopt.core.errors import NotCompiled
from gaussopt.core.event import Event
from gaussopt.integration.events.accelerations import ContactAccelerations
from gaussopt.integration.events.regular_stages import StageKernel
from gaussopt.jit.kernel import COMPILED
from gaussopt.simulation import engine

pytestmark = pytest.mark.skipif(not COMPILED, reason="compilation is switched off")

RUNS: list[tuple[str, dict[str, Any]]] = [
    ("sliding-rod", {"t_end": 0.04}), ("two-bar", {"t_end": 0.11}), ("bouncing-ball", {"t_end": 0.6, "dt": 0.01}),
    ("box", {"t_end": 0.65, "dt": 0.02}), ("block-on-incline", {"t_end": 0.05}),
    ("friction-oscillator", {"t_end": 4.0, "dt": 0.1}), ("guided-slider-crank", {"t_end": 0.03}),
    ("impacting-stick", {"t_end": 0.2, "dt": 5e-3}), ("woodpecker", {"t_end": 0.06, "dt": 1e-3}),
]  # fmt: skip
FIELDS = (
    "q", "v", "a", "lam", "lam_N", "lam_T", "gap", "slip", "mode", "kinetic", "potential", "power",
    "position_drift", "velocity_drift",
)  # fmt: skip


@pytest.fixture
def leaps(monkeypatch: pytest.MonkeyPatch) -> list[PhaseSegment]:
    """The leaps that are taken."""
    found: list[PhaseSegment] = []
    take = PhaseMarcher.take

    def noted(self: PhaseMarcher, *state: Any) -> PhaseSegment | None:
        leap = take(self, *state)
        if leap is not None:
            found.append(leap)
        return leap

    monkeypatch.setattr(PhaseMarcher, "take", noted)
    return found


def same(ours: go.Trajectory, other: go.Trajectory) -> None:
    """All that is recorded, and the events, to rounding."""
    assert ours.status is other.status
    assert [e["kind"] for e in ours.events] == [e["kind"] for e in other.events]
    np.testing.assert_allclose([e["t"] for e in ours.events], [e["t"] for e in other.events], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.t, other.t, rtol=0, atol=1e-12)
    for field in FIELDS:
        mine, theirs = getattr(ours, field), getattr(other, field)
        np.testing.assert_allclose(
            mine, theirs, rtol=0, atol=1e-10 * (1 + np.nanmax(np.abs(theirs), initial=0)), err_msg=field
        )


PROJECTED = [
    (f"{name}, projected", name, settings | {"stabilisation": "projection"})
    for name, settings in RUNS
    if name in ("sliding-rod", "two-bar", "box", "guided-slider-crank", "woodpecker")
]


@pytest.mark.parametrize(
    ("name", "settings"),
    [pytest.param(*run[-2:], id=run[0]) for run in (*RUNS, *PROJECTED)],
)
def test_the_motion_is_the_interpreted_one(name: str, settings: dict[str, Any], leaps: list[PhaseSegment]) -> None:
    general = go.simulate(name, stepper="rk4", step_folder=None, engine="interpreted", error_estimate=False, **settings)
    assert not leaps
    ours = go.simulate(name, stepper="rk4", step_folder=None, engine="compiled", error_estimate=False, **settings)
    assert sum(map(len, leaps)) > 0.4 * len(ours.t)
    same(ours, general)
    assert ours.worst.relative_error <= 1e-12
    # The three stages of a step that are no recorded state of their own, at least.
    assert ours.worst.evaluations >= 3 * (len(ours.t) - 1 - len(ours.events))


def test_a_state_far_from_its_contacts_is_left_to_the_event_loop(leaps: list[PhaseSegment]) -> None:
    """Coarse steps of a rod whose tip drifts by more than a correction may be: both engines refuse, by one sentence."""
    ends = [
        go.simulate("two-bar", stepper="rk4", engine=engine, dt=0.3, t_end=6.0, stabilisation="projection",
                    error_estimate=False)
        for engine in ("compiled", "interpreted")
    ]  # fmt: skip
    assert ends[0].status is ends[1].status
    assert ends[0].message == ends[1].message


def test_a_massless_coordinate_runs_as_machine_code(leaps: list[PhaseSegment]) -> None:
    problem = go.problem("guided-slider-crank", case="turning").at(I2=0.0)
    ours, general = (
        go.simulate(problem, engine=engine, t_end=0.03, error_estimate=False) for engine in ("compiled", "interpreted")
    )
    assert ours.meta["engine"] == "compiled"
    assert not [w for w in ours.warnings if "interpreted" in w]
    assert sum(map(len, leaps)) > 0.8 * len(ours.t)
    same(ours, general)


@pytest.mark.parametrize("end", [0.02, 0.02 + 3e-4])
def test_the_end_is_reached_however_long_the_last_step(end: float, leaps: list[PhaseSegment]) -> None:
    ours, general = (
        go.simulate("sliding-rod", stepper="rk4", engine=engine, t_end=end, step_folder=None, error_estimate=False)
        for engine in ("compiled", "interpreted")
    )
    assert leaps
    assert ours.t[-1] == end
    same(ours, general)


@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_events_of_a_person_end_a_leap(direction: int, leaps: list[PhaseSegment]) -> None:
    event = Event("lean", lambda t, q, v: float(q[2]) - 1.04, direction=direction)
    runs = [
        go.simulate("sliding-rod", stepper="rk4", engine=engine, t_end=0.06, events=[event], error_estimate=False)
        for engine in ("interpreted", "compiled")
    ]
    assert leaps
    same(runs[1], runs[0])


def test_uniqueness_of_sticking_contacts_is_proved_state_by_state(
    monkeypatch: pytest.MonkeyPatch, leaps: list[PhaseSegment]
) -> None:
    confirmed: list[float] = []
    confirm = ContactAccelerations.confirm

    def noted(self: ContactAccelerations, step: go.StepData, solver: Any) -> None:
        confirmed.append(step.t)
        confirm(self, step, solver)

    monkeypatch.setattr(ContactAccelerations, "confirm", noted)
    ours = go.simulate("block-on-incline", stepper="rk4", engine="compiled", t_end=2.0, dt=0.01, step_folder=None)
    sticks = ours.t[(ours.mode == 2).any(axis=1)]
    assert len(sticks) > 10
    assert leaps
    # The kernel proves it by the determinants of the modes; what it left open would be confirmed one by one.
    left_open = {t for s in leaps for t in s.t[s.rows[:, -1] == UNDECIDED].tolist()}
    assert left_open <= set(confirmed)
    assert not left_open & set(sticks.tolist())
    step = go.problem("block-on-incline").system.evaluate(float(ours.t[-1]), ours.q[-1], np.zeros_like(ours.v[-1]))
    proof = go.solve_step(step, "stick-slip", "lemke").contact
    assert proof is not None
    assert proof.reason == "oriented"


def test_a_tolerance_below_rounding_takes_no_leap(leaps: list[PhaseSegment]) -> None:
    refused = go.simulate(
        "sliding-rod", stepper="rk4", engine="compiled", t_end=0.01, tolerance=1e-18, step_folder=None
    )
    assert not leaps
    assert refused.status is not go.Status.SOLVED


@pytest.mark.parametrize("settings", [{"stepper": "dop853"}, {"stabilisation": "baumgarte"}], ids=str)
def test_other_methods_go_stage_by_stage(settings: dict[str, Any], leaps: list[PhaseSegment]) -> None:
    ours = go.simulate("sliding-rod", engine="compiled", t_end=0.01, step_folder=None, **settings)
    assert ours.status is go.Status.SOLVED
    assert not leaps


def test_equations_without_translation_go_stage_by_stage(
    monkeypatch: pytest.MonkeyPatch, leaps: list[PhaseSegment]
) -> None:
    def refused(model: object, equations: str) -> None:
        raise NotCompiled("no translation")

    monkeypatch.setattr("gaussopt.compiled.advances.contact_phases.contact_equations", refused)
    ours = go.simulate("sliding-rod", stepper="rk4", engine="compiled", t_end=0.01, step_folder=None)
    assert ours.status is go.Status.SOLVED
    assert not leaps


def test_progress_and_an_interrupt() -> None:
    done: list[float] = []

    def progress(fraction: float) -> None:
        done.append(fraction)
        if fraction > 0.5:
            raise KeyboardInterrupt

    ours = go.simulate(
        "sliding-rod", stepper="rk4", engine="compiled", t_end=0.1, dt=1e-5, progress=progress, keep_interrupted=True,
        step_folder=None,
    )  # fmt: skip
    assert ours.status is go.Status.INTERRUPTED
    assert done == sorted(done)
    assert 0.05 <= ours.t[-1] < 0.1
    assert len(ours.lam_N) == len(ours.t)


@pytest.mark.parametrize("dt", [None, 0.01])
def test_contact_motions_count_the_same_steps_in_both_engines(dt: float | None) -> None:
    bars = go.problem("two-bar", case="contact")
    compiled, interpreted = (
        go.simulate(bars, engine=e, t_end=0.1, dt=dt, error_estimate=False) for e in ("compiled", "interpreted")
    )
    events = {event["t"] for event in compiled.events}
    assert compiled.meta["steps"] == interpreted.meta["steps"]
    assert compiled.meta["steps"] == round(0.1 / compiled.meta["dt"]) + len(events)
    adaptive = go.simulate(bars, stepper="dop853", dt=0.05, t_end=0.1, error_estimate=False)
    assert adaptive.meta["steps"] > 2
    stepping = go.simulate(bars, stepper="moreau-jean", dt=0.01, t_end=0.1, error_estimate=False)
    assert stepping.meta["steps"] == 10


@pytest.mark.parametrize(("stepper", "dt"), [("rk4", 2e-3), ("dop853", 0.02), ("dop853", None), ("moreau-jean", 0.01)])
def test_recorded_states_of_a_motion_with_contacts_are_thinned_out_and_events_kept(
    stepper: str, dt: float | None
) -> None:
    settings: dict[str, Any] = {"t_end": 0.7, "dt": dt, "stepper": stepper, "error_estimate": False}
    if stepper == "rk4":
        motions = [go.simulate("bouncing-ball", engine=e, record_every=k, **settings)
                   for e in ("compiled", "interpreted") for k in (1, 7)]  # fmt: skip
        assert motions[1].t.tolist() == pytest.approx(motions[3].t.tolist(), abs=1e-12)
    else:
        motions = [go.simulate("bouncing-ball", record_every=k, **settings) for k in (1, 7)]
    whole, thin = motions[:2]
    assert [e["t"] for e in whole.events] == [e["t"] for e in thin.events]
    assert whole.meta["steps"] == thin.meta["steps"]
    assert set(thin.t) <= set(whole.t)
    assert thin.t[[0, -1]].tolist() == whole.t[[0, -1]].tolist()
    assert len(thin.t) < len(whole.t) / 2 or dt is None
    if stepper != "moreau-jean":
        assert {e["t"] for e in whole.events} <= set(thin.t)
    kept = np.isin(whole.t, thin.t)
    np.testing.assert_array_equal(thin.q, whole.q[kept])
    np.testing.assert_array_equal(thin.lam_N, whole.lam_N[kept])


def test_redundant_contacts_of_a_massless_coordinate_stay_compiled() -> None:
    """Two contacts at the same point share their forces arbitrarily, while M is singular and regular with the joint."""
    x, y, p, vx, vy, vp = sp.symbols("x y p vx vy vp")
    system = go.System.from_lagrangian(
        [x, y, p], [vx, vy, vp], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, holonomic=[p - x],
        contacts=[go.Contact(name, gap=y, slip=[vx], mu=0.3) for name in ("left", "right")],
    )  # fmt: skip
    motion = go.simulate(
        system, q0=[0, 0, 0], v0=[1, 0, 1], dt=1e-3, t_end=0.6, engine="compiled", error_estimate=False
    )
    assert motion.status is go.Status.SOLVED
    assert not motion.forces_unique.any()
    stop = 1 / (0.3 * 9.81)
    assert [e["kind"] for e in motion.events] == ["stick", "stick"]
    assert motion.events[0]["t"] == pytest.approx(stop, abs=1e-9)
    assert motion.q[-1] == pytest.approx([stop / 2, 0, stop / 2], abs=1e-11)


@pytest.fixture
def driven() -> go.System:
    """A mass on a rough floor, pushed by P + F sin(omega t)."""
    x, y, vx, vy, t, P, F, omega = sp.symbols("x y vx vy t P F omega")
    return go.System.from_lagrangian(
        [x, y], [vx, vy], t=t, kinetic=(vx**2 + vy**2) / 2, potential=10 * y, forces=[P + F * sp.sin(omega * t), 0],
        contacts=[go.Contact("foot", position=(x, y), mu=0.4, e_N=0)], parameters={P: 0.0, F: 6.0, omega: 10.0},
        name="driven",
    )  # fmt: skip


def test_a_slip_with_a_minimum_above_zero_ends_no_leap(driven: go.System, leaps: list[PhaseSegment]) -> None:
    """Within one step the slip falls and rises, and its cubic stays positive: one leap takes the whole motion."""
    settings: dict[str, Any] = {"q0": [0.0, 0.0], "v0": [5.0, 0.0], "t_end": 2.0, "dt": 0.01, "error_estimate": False}
    ours = go.simulate(driven.with_parameters(P=4.0), engine="compiled", **settings)
    assert ((np.diff(ours.v[:-1, 0]) < 0) & (np.diff(ours.v[1:, 0]) > 0)).sum() == 3
    assert [len(leap) for leap in leaps] == [199]
    same(ours, go.simulate(driven.with_parameters(P=4.0), engine="interpreted", **settings))


def test_machine_code_decides_the_modes_at_events(driven: go.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mass that sticks and slips: no stage is evaluated in Python, at the events neither."""
    settings: dict[str, Any] = {"q0": [0, 0], "v0": [0, 0], "t_end": 2.0, "dt": 0.01, "error_estimate": False}
    general = go.simulate(driven, engine="interpreted", **settings)
    monkeypatch.setattr(StageKernel, "solve", lambda *step: pytest.fail("A stage was solved in Python."))
    ours = go.simulate(driven, engine="compiled", **settings)
    assert {"stick", "slip"} <= {e["kind"] for e in ours.events}
    same(ours, general)


def test_an_adaptive_motion_with_contacts_is_compiled_where_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length shows after 20 steps; what stays interpreted, and what to do about it, is said."""
    monkeypatch.setattr(engine, "MANY", 20)
    settings: dict[str, Any] = {"stepper": "rk45", "dt": None, "error_estimate": False}
    rod = go.problem("sliding-rod")
    long, short = (go.simulate(rod, t_end=end, **settings) for end in (0.5, 0.02))
    assert [m.meta["engine"] for m in (long, short)] == ["compiled", "interpreted"]
    assert (long.warnings, short.warnings) == ((), ())
    same(long, go.simulate(rod, t_end=0.5, engine="compiled", **settings))
    monkeypatch.setattr(compiled_phases, "LOOPED", 100)
    told = go.simulate(rod, t_end=0.5, engine="compiled", **settings)
    assert told.meta["why_interpreted"] == "the stepper 'rk45' is taken in Python from event to event: take rk4"
    assert told.warnings == (
        "The accelerations were compiled, and the loop over the steps interpreted, which is slower, because "
        f"{told.meta['why_interpreted']}.",
    )


def test_an_adaptive_motion_that_cannot_be_compiled_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the number of its accelerations on, which no setting tells before."""
    monkeypatch.setattr(engine, "SLOW", 300)
    monkeypatch.setattr(compiled_phases.CompiledPhases, "can", lambda *motion: "it has no kernel")
    settings: dict[str, Any] = {"stepper": "rk45", "dt": None, "error_estimate": False}
    long, short = (go.simulate("sliding-rod", t_end=end, **settings) for end in (0.5, 0.02))
    assert long.warnings == ("Every step was interpreted, which is slow, because it has no kernel.",)
    assert short.warnings == ()
    assert "why_interpreted" not in short.meta
