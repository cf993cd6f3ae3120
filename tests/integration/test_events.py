"""Motions with contacts from event to event: references, closed forms, impacts, energies, and how runs end."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from closed_forms import block_on_incline as block_on_incline_forms
from closed_forms import bouncing_ball as bouncing_ball_forms
from closed_forms import box as box_forms
from closed_forms import friction_oscillator as friction_oscillator_forms
from closed_forms import sliding_to_rolling as sliding_to_rolling_forms
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.integration.events.accelerations import ContactSolvers
from gaussopt.problems import guided_slider_crank, two_bar

G = 9.81
FINE: dict[str, Any] = {
    "stepper": "dop853", "rtol": 1e-12, "atol": 1e-12, "step_folder": None, "engine": "compiled",
    "error_estimate": False,
}  # fmt: skip
"""By machine code where the system has it; tests/compiled/test_contact_phases.py holds both engines to each other."""
SOLVED = go.Status.SOLVED
REFERENCES = [
    (name, reference.name) for name in ("sliding-rod", "two-bar") for reference in go.problem(name).references
]


def kinds(traj: go.Trajectory, *wanted: str) -> list[tuple[str, float]]:
    """Events as the references name them, "stick:A" and its time; impacts apart."""
    found = [
        (f"{e['kind']}:{e['contact']}" if "contact" in e else e["kind"], e["t"])
        for e in traj.events
        if e["kind"] not in ("impact", "energy_gain")
    ]
    return [e for e in found if not wanted or e[0].split(":")[0] in wanted]


def times(traj: go.Trajectory, kind: str) -> list[float]:
    return [e["t"] for e in traj.events if e["kind"] == kind]


def at_time(traj: go.Trajectory, t: float) -> int:
    """The last row recorded at an instant, after whatever happened there."""
    rows = np.flatnonzero(np.abs(traj.t - t) <= 1e-12 * (1 + t))
    assert len(rows), t
    return int(rows[-1])


def particle(
    force: Callable[[float, Any, Any], Any], mu: float = 0.0, e_N: float = 0.0, e_T: float = 0.0, n: int = 2
) -> go.System:
    """A point of 1 kg over a floor; the last coordinate is its height."""
    rows = np.eye(n)

    def floor(t: float, q: Any, v: Any) -> dict[str, Any]:
        return {
            "g_N": q[-1:], "J_N": rows[-1:], "zeta_N": [0.0], "J_T": rows[None, :-1], "zeta_T": np.zeros((1, n - 1)),
            "mu": mu, "e_N": e_N, "e_T": e_T,
        }  # fmt: skip

    return go.System(rows, force, contacts=floor, contact_names=["floor"], name="particle")


# -- the references ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motions() -> dict[str, go.Trajectory]:
    """The five references, landing on every row, the shortest by the interpreted engine."""
    found = {}
    for name, label in REFERENCES:
        problem = go.problem(name)
        reference = next(r for r in problem.references if r.name == label)
        rows = reference.load()
        engine = "interpreted" if label == "two-bar-airborne" else "compiled"
        fine = FINE | {"dt": float(rows.t[1] - rows.t[0]), "engine": engine}
        found[label] = go.simulate(problem.at(**reference.settings), t_end=float(rows.t[-1]) + 1e-3, **fine)
    return found


@pytest.mark.parametrize(("name", "label"), REFERENCES)
def test_every_row_of_the_references(name: str, label: str, motions: dict[str, go.Trajectory]) -> None:
    reference = next(r for r in go.problem(name).references if r.name == label)
    rows, traj = reference.load(), motions[label]
    assert traj.status is SOLVED, traj.message
    found = kinds(traj)
    assert [kind for kind, _ in found] == [kind for kind, _ in reference.events]
    for (kind, t), (_, stated) in zip(found, reference.events, strict=True):
        assert t == pytest.approx(stated, abs=1e-9), kind
    phase = np.zeros(len(rows.t), dtype=int) if rows.phase is None else rows.phase
    compared = 0
    for i, t in enumerate(rows.t):
        near = np.flatnonzero(np.abs(traj.t - t) <= 1e-9)
        if not len(near):
            # Rows of a phase are spaced on their own in one of the files.
            continue
        # Around an event there are rows before and after it.
        j = int(near[0] if i + 1 < len(phase) and phase[i + 1] > phase[i] else near[-1])
        if label == "rod-stop" and i == len(rows.t) - 1:
            j = int(near[0])
        compared += 1
        np.testing.assert_allclose(traj.q[j], rows.q[i], rtol=0, atol=1e-9)
        np.testing.assert_allclose(traj.v[j], rows.v[i], rtol=0, atol=1e-8)
        assert traj.energy[j] == pytest.approx(rows.energy[i], abs=1e-8)
        if abs(t - reference.events[0][1]) > 1e-9 and i + 1 < len(rows.t):
            assert traj.lam_N[j] == pytest.approx(rows.lam_N[i], abs=1e-7)
    assert compared == len(rows.t)
    assert traj.worst.relative_error <= 1e-7


@pytest.mark.parametrize("label", [label for _, label in REFERENCES])
def test_friction_only_takes_energy_and_the_balance_closes(label: str, motions: dict[str, go.Trajectory]) -> None:
    traj = motions[label]
    power = np.einsum("tkd,tkd->t", traj.lam_T, traj.slip)
    assert power.max() <= 1e-12
    assert np.diff(traj.energy).max() <= 1e-10
    name, file = next((n, r.file) for n, label_ in REFERENCES for r in go.problem(n).references
                      if r.name == label_ == label)  # fmt: skip
    path = Path(go.__file__).parent / "problems" / "data" / file
    table = np.genfromtxt(path, delimiter=",", names=True)
    for t, mechanical, lost in zip(table["t"], table["E_mech"], table["E_dissipated"], strict=True):
        assert mechanical + lost == pytest.approx(table["E_mech"][0], abs=1e-8), name
        if np.abs(traj.t - t).min() <= 1e-9:
            near = np.flatnonzero(np.abs(traj.t - t) <= 1e-9)
            nearest = near[np.argmin(np.abs(traj.energy[near] - mechanical))]
            assert traj.energy[nearest] + lost == pytest.approx(traj.energy[0], abs=1e-8), t


def test_the_bars_land_as_stated(motions: dict[str, go.Trajectory]) -> None:
    traj = motions["two-bar-airborne"]
    (impact,) = [e for e in traj.events if e["kind"] == "impact"]
    assert impact["t"] == pytest.approx(0.504586063159988499, abs=1e-9)
    assert impact["contacts"] == ["A", "C"]
    assert impact["gap_rates"] == pytest.approx([-3.873359] * 2, abs=1e-6)
    assert impact["Lam_N"] == pytest.approx([5.341441] * 2, abs=1e-6)
    assert impact["v_after"] == pytest.approx([-2.083712, -1.279269, -1.723142, 1.723142], abs=1e-6)
    assert impact["energy_change"] == pytest.approx(35.9340 - 59.2376, abs=2e-4)
    assert times(traj, "energy_gain") == []
    before, after = np.flatnonzero(np.abs(traj.t - impact["t"]) < 1e-12)
    assert traj.gap[before] == pytest.approx([0, 0], abs=1e-12)
    assert traj.v[before] == pytest.approx(impact["v_before"], abs=1e-14)
    assert traj.v[after] == pytest.approx(impact["v_after"], abs=1e-12)


@pytest.mark.parametrize("case", ["contact", "airborne"])
def test_two_bars_with_hinge_rows(case: str, motions: dict[str, go.Trajectory]) -> None:
    """Six coordinates and two joints: through reversals, landing and impact as in four coordinates."""
    minimal = motions[f"two-bar-{case}"]
    problem = go.problem("two-bar", case=case, variant="maximal")
    traj = go.simulate(problem, **FINE)
    assert traj.status is SOLVED
    assert [k for k, _ in kinds(traj)] == [k for k, _ in kinds(minimal)]
    for (_, t), (_, other) in zip(kinds(traj), kinds(minimal), strict=True):
        assert t == pytest.approx(other, abs=1e-9)
        q, v = two_bar.to_maximal(minimal.q[at_time(minimal, other)], minimal.v[at_time(minimal, other)], 2.0)
        j = at_time(traj, t)
        np.testing.assert_allclose(traj.q[j], q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(traj.v[j], v, rtol=0, atol=1e-8)
        np.testing.assert_allclose(traj.lam_N[j], minimal.lam_N[at_time(minimal, other)], rtol=0, atol=1e-7)
    impacts = [[e for e in m.events if e["kind"] == "impact"] for m in (traj, minimal)]
    for mine, other in zip(*impacts, strict=True):
        assert mine["Lam_N"] == pytest.approx(other["Lam_N"], abs=1e-9)
        assert mine["Lam_T"] == pytest.approx(other["Lam_T"], abs=1e-9)
    assert traj.position_drift.max() <= 1e-9


@pytest.fixture(scope="module")
def finer() -> go.Trajectory:
    """The bars by half the steps of those that are compared with them."""
    problem = go.problem("two-bar", case="contact")
    return go.simulate(problem, dt=0.005, t_end=0.1, step_folder=None, error_estimate=False)


@pytest.mark.parametrize(("formulation", "solver"), [
    ("lcp", "lemke"), ("lcp", "enumerate"), ("lcp", "pgs"), ("stick-slip", "newton"), ("lcp-qp", "daqp"),
    ("weighted-normal-force-qp", "daqp"), ("normal-force-qp", "newton"), ("frozen-friction", "osqp"),
])  # fmt: skip
def test_every_formulation_of_friction_moves_the_bars_alike(
    formulation: str, solver: str, finer: go.Trajectory
) -> None:
    """Along this motion the printed program is the LCP too (papers.md 2.3)."""
    settings: dict[str, Any] = {"dt": 0.01, "t_end": 0.1, "step_folder": None, "error_estimate": False}
    traj = go.simulate(go.problem("two-bar", case="contact"), formulation, solver, **settings)
    assert traj.status is SOLVED, traj.message
    (reversal,) = kinds(traj)
    assert reversal[0] == "reversal:C"
    # Runge-Kutta of fourth order with 0.01 s; the rates of the bars are of size 1/s.
    assert reversal[1] == pytest.approx(0.0962534976909762782, abs=1e-8)
    # The same motion to the accuracy of the method, whoever solves its steps.
    np.testing.assert_allclose(traj.q[-1], finer.q[-1], rtol=0, atol=1e-7)
    np.testing.assert_allclose(traj.v[-1], finer.v[-1], rtol=0, atol=1e-7)


def test_a_program_of_friction_has_inequalities_and_is_no_linear_system() -> None:
    with pytest.raises(go.NotAccepted):
        go.simulate(go.problem("two-bar", case="contact"), "frozen-friction", "kkt", dt=0.01, t_end=0.12)


# -- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "label"), [
    ("down", "block_incline_sliding_down"), ("up", "block_incline_up"), ("up-low-mu", "block_incline_up_low_mu"),
])  # fmt: skip
def test_block_on_an_incline(case: str, label: str, data: Callable[[str], Any]) -> None:
    stated = data("unilateral_friction.json")[label]
    problem = go.problem("block-on-incline", case=case)
    traj = go.simulate(problem, **FINE)
    t, s = block_on_incline_forms.stop(problem.parameter_values)
    assert t == pytest.approx(stated.get("t_stop", stated.get("t_top")), abs=1e-12)
    (event,) = kinds(traj)
    sticks = block_on_incline_forms.sticks(problem.parameter_values)
    assert event[0] == ("stick:slope" if sticks else "reversal:slope")
    assert event[1] == pytest.approx(t, abs=1e-9)
    assert traj.q[at_time(traj, event[1]), 0] == pytest.approx(s, abs=1e-9)
    if sticks:
        assert traj.q[-1, 0] == pytest.approx(s, abs=1e-9)
        assert traj.v[-1] == pytest.approx([0, 0], abs=1e-14)
        assert traj.mode[-1].tolist() == [2]
        assert traj.lam_T[-1, 0, 0] == pytest.approx(
            -block_on_incline_forms.friction_at_rest(problem.parameter_values), abs=1e-12
        )
    else:
        later = problem.t_end - t
        a = block_on_incline_forms.acceleration_back(problem.parameter_values)
        assert a == pytest.approx(stated["accel_after"], abs=1e-12)
        assert traj.q[-1, 0] == pytest.approx(s + a * later**2 / 2, abs=1e-9)


@pytest.mark.parametrize(("case", "label"), [("sphere", "ball_slide_to_roll"), ("disc", "disc_slide_to_roll")])
def test_sliding_to_rolling(case: str, label: str, data: Callable[[str], Any]) -> None:
    stated = data("unilateral_friction.json")[label]
    problem = go.problem("sliding-to-rolling", case=case)
    traj = go.simulate(problem, **FINE)
    t, x, v = sliding_to_rolling_forms.rolling(problem.parameter_values)
    (event,) = kinds(traj)
    assert event == ("stick:floor", pytest.approx(t, abs=1e-9))
    assert (t, x, v) == pytest.approx((stated["t"], stated["x"], stated["v"]), abs=1e-12)
    j = at_time(traj, event[1])
    assert traj.q[j, 0] == pytest.approx(x, abs=1e-9)
    assert traj.q[-1, 0] == pytest.approx(x + v * (1.0 - t), abs=1e-9)
    assert traj.v[-1] == pytest.approx([v, 0.0, v / 0.1], abs=1e-9)
    assert traj.lam_T[-1, 0, 0] == pytest.approx(0.0, abs=1e-12)  # rolling needs no friction


def test_friction_oscillator_to_its_exact_stop(data: Callable[[str], Any]) -> None:
    stated = data("friction_oscillator.json")["exact"]
    problem = go.problem("friction-oscillator")
    traj = go.simulate(problem, **{**FINE, "dt": 0.5})
    at, places = friction_oscillator_forms.turning_points(problem.parameter_values)
    found = kinds(traj)
    assert [k for k, _ in found] == ["reversal:floor"] * 7 + ["stick:floor"]
    assert [t for _, t in found] == pytest.approx(at, abs=1e-9)
    assert [traj.q[at_time(traj, t), 0] for _, t in found] == pytest.approx(places, abs=1e-9)
    assert np.abs(places) == pytest.approx(stated["turning_abs"] + [stated["x_stop"]][: 8 - len(stated["turning_abs"])])
    assert traj.q[-1, 0] == pytest.approx(stated["x_stop"], abs=1e-9)
    assert found[-1][1] == pytest.approx(stated["t_stop"], abs=1e-9)
    assert traj.lam_T[-1, 0, 0] == pytest.approx(stated["x_stop"], abs=1e-9)  # the spring is held


def test_bouncing_ball_to_its_accumulation(data: Callable[[str], Any]) -> None:
    exact = data("bouncing_ball.json")["exact"]
    problem = go.problem("bouncing-ball")
    traj = go.simulate(problem, **FINE)
    assert traj.status is go.Status.ACCUMULATION
    impacts = times(traj, "impact")
    assert len(impacts) > 100
    assert impacts == pytest.approx(bouncing_ball_forms.impact_times(problem.parameter_values, len(impacts)), abs=1e-9)
    (end,) = [e for e in traj.events if e["kind"] == "accumulation"]
    assert end["time_estimate"] == pytest.approx(exact["zeno"], abs=1e-9)
    assert end["ratio"] == pytest.approx(0.9, abs=1e-4)
    assert end["contact"] == "floor"
    assert "accumulate" in traj.message
    assert "accelerations certified" in repr(traj)
    assert traj.t[-1] <= exact["zeno"]
    for j in range(len(traj.t)):
        if np.abs(np.array(impacts) - traj.t[j]).min() > 1e-9:
            y, v = bouncing_ball_forms.exact(float(traj.t[j]), problem.parameter_values)
            assert traj.q[j, 0] == pytest.approx(y, abs=1e-9)
            assert traj.v[j, 0] == pytest.approx(v, abs=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_with_other_restitutions(e: float) -> None:
    problem = go.problem("bouncing-ball", e=e)
    traj = go.simulate(problem, **{**FINE, "t_end": 3.0})
    impacts = times(traj, "impact")
    if e == 0.0:
        assert traj.status is SOLVED
        assert len(impacts) == 1
        assert traj.q[-1, 0] == pytest.approx(0.0, abs=1e-12)
        assert traj.lam_N[-1] == pytest.approx([G], rel=1e-12)
        assert [k for k, _ in kinds(traj)] == ["landing:floor"]
    elif e == 1.0:
        assert traj.status is SOLVED
        assert impacts == pytest.approx(bouncing_ball_forms.impact_times(problem.parameter_values, 3), abs=1e-9)
        assert np.ptp(traj.energy) <= 1e-10
        assert times(traj, "energy_gain") == []
    else:
        assert traj.status is go.Status.ACCUMULATION
        (end,) = [x for x in traj.events if x["kind"] == "accumulation"]
        assert end["time_estimate"] == pytest.approx(
            bouncing_ball_forms.accumulation_time(problem.parameter_values), abs=1e-9
        )


def test_a_box_on_three_points_slides_and_stops_with_one_acceleration() -> None:
    problem = go.problem("box", case="slide")
    traj = go.simulate(problem, **{**FINE, "dt": 0.05})
    assert traj.status is SOLVED
    t, x = box_forms.stop(problem.parameter_values)
    assert kinds(traj) == [(f"stick:{c}", pytest.approx(t, abs=1e-9)) for c in ("left", "middle", "right")]
    assert traj.q[-1] == pytest.approx([x, 0.25, 0.0], abs=1e-9)
    sliding = traj.t < t - 1e-9
    assert traj.a[sliding] == pytest.approx(np.tile([-0.3 * G, 0, 0], (sliding.sum(), 1)), abs=1e-9)
    assert traj.lam_N.sum(axis=1) == pytest.approx(np.full(len(traj.t), 2 * G), abs=1e-9)
    # The forces are not determined, and that is said of the step.
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    answer = go.solve_step(step, "stick-slip", "lemke")
    assert not answer.forces_unique
    assert answer.contact.ranges["lam_N"][1] == pytest.approx([0, 16.677], abs=1e-6)
    power = np.einsum("tkd,tkd->t", traj.lam_T, traj.slip)
    assert power.max() <= 1e-12


@pytest.mark.parametrize("case", ["slide-mu-differs", "push-between"])
def test_a_box_whose_acceleration_is_open_is_not_moved(case: str) -> None:
    traj = go.simulate(go.problem("box", case=case), **FINE)
    assert traj.status is go.Status.ACCELERATION_NOT_UNIQUE
    assert len(traj.t) == 1
    assert np.isnan(traj.a).all()
    assert "continuum" in traj.message


def test_two_corners_stick_at_once() -> None:
    problem = go.problem("box", case="corners-differ", variant="two")
    traj = go.simulate(problem, **FINE)
    p = problem.parameter_values
    left, right = box_forms.corner_forces(p)
    a = (p["mu1"] * left + p["mu3"] * right) / p["m"]
    t = p["vx0"] / a
    assert kinds(traj) == [("stick:left", pytest.approx(t, abs=1e-9)), ("stick:right", pytest.approx(t, abs=1e-9))]
    before = np.flatnonzero(traj.t < t - 1e-9)[-1]
    assert traj.lam_N[before] == pytest.approx([left, right], abs=1e-9)
    assert traj.q[-1, 0] == pytest.approx(p["vx0"] ** 2 / (2 * a), abs=1e-9)
    assert traj.mode[-1].tolist() == [2, 2]


@pytest.mark.parametrize("case", ["stick", "stick-mu-differs"])
def test_a_box_that_rests_stays(case: str) -> None:
    problem = go.problem("box", case=case)
    traj = go.simulate(problem, **FINE)
    assert traj.status is SOLVED
    assert traj.events == ()
    assert np.abs(traj.q - problem.q0).max() <= 1e-12
    assert (traj.mode == 2).all()
    assert traj.lam_T.sum(axis=(1, 2)) == pytest.approx(-problem.parameter_values["P"], abs=1e-9)


def test_a_box_pushed_hard_enough_slips_from_the_first_instant() -> None:
    problem = go.problem("box", case="slip-onset")
    traj = go.simulate(problem, **FINE)
    a = (12 - 0.4 * 2 * G) / 2
    assert traj.q[-1] == pytest.approx([a / 2, 0.25, 0], abs=1e-9)


def test_a_dropped_box_lands_flat_and_slides_on() -> None:
    problem = go.problem("box", case="dropped")
    traj = go.simulate(problem, **FINE)
    fall = math.sqrt(2 * 0.1 / G)
    (impact,) = [e for e in traj.events if e["kind"] == "impact"]
    assert impact["t"] == pytest.approx(fall, abs=1e-9)
    assert sum(impact["Lam_N"]) == pytest.approx(2 * G * fall, abs=1e-9)
    v = 1 - 0.3 * G * fall  # the impulse of friction slows it down at once
    assert impact["v_after"] == pytest.approx([v, 0, 0], abs=1e-9)
    stick = times(traj, "stick")
    assert stick == pytest.approx([fall + v / (0.3 * G)] * 3, abs=1e-9)
    assert impact["energy_change"] == pytest.approx(v**2 - 1 - (G * fall) ** 2, abs=1e-9)


# -- stick, lift-off, landing ------------------------------------------------------------------------------


def test_stick_breaks_when_the_push_reaches_the_bound() -> None:
    mu, rate = 0.4, 5.0
    traj = go.simulate(particle(lambda t, q, v: [rate * t, -G], mu), q0=[0, 0], v0=[0, 0], t_end=1.5, **FINE)
    t = mu * G / rate
    assert kinds(traj) == [("slip:floor", pytest.approx(t, abs=1e-9))]
    assert traj.q[-1, 0] == pytest.approx(rate * (1.5 - t) ** 3 / 6, abs=1e-9)
    held = traj.t < t - 1e-9
    assert traj.lam_T[held, 0, 0] == pytest.approx(-rate * traj.t[held], abs=1e-12)
    assert (traj.mode[held] == 2).all()
    assert traj.mode[-1].tolist() == [1]


def test_a_push_to_and_fro_sticks_and_slips_by_turns() -> None:
    """x'' = F sin(w t) -+ mu g between the instants where F |sin| passes mu g and where the slip ends."""
    mu, F, w = 0.3, 5.0, 3.0
    traj = go.simulate(particle(lambda t, q, v: [F * math.sin(w * t), -G], mu), q0=[0, 0], v0=[0, 0], t_end=3.2, **FINE)
    expected: list[tuple[str, float]] = []
    first = math.asin(mu * G / F) / w
    t, sign = first, 1
    while True:
        expected.append(("slip:floor", t))

        def speed(s: float, t: float = t, sign: int = sign) -> float:
            return sign * F / w * (math.cos(w * t) - math.cos(w * s)) - mu * G * (s - t)

        # It stops before the push has turned; then it is held until the push is large enough the other way.
        stop = brentq(speed, t + 0.2, t + math.pi / w, xtol=1e-14)
        if stop > 3.2:
            break
        expected.append(("stick:floor", stop))
        t, sign = t + math.pi / w, -sign
        assert stop < t
        if t > 3.2:
            break
    found = kinds(traj)
    assert [k for k, _ in found] == [k for k, _ in expected]
    assert [t for _, t in found] == pytest.approx([t for _, t in expected], abs=1e-9)
    assert len(found) >= 5


def test_lift_off_and_landing_again() -> None:
    """A vertical push 2 g sin(w t) lifts the particle, lets it fall, and it stays down until the next turn."""
    w = 4.0
    system = particle(lambda t, q, v: [0.0, -G + 2 * G * math.sin(w * t)], 0.2)
    traj = go.simulate(system, q0=[0, 0], v0=[1.0, 0], t_end=1.6, **FINE)
    up = math.pi / 6 / w

    def height(t: float) -> float:
        s = t - up
        return -G * s**2 / 2 + 2 * G * (math.cos(w * up) * s / w - (math.sin(w * t) - math.sin(w * up)) / w**2)

    down = brentq(height, up + 0.5, up + 1.5, xtol=1e-14)
    found = kinds(traj, "lift_off", "landing")
    assert found[:2] == [
        ("lift_off:floor", pytest.approx(up, abs=1e-9)),
        ("landing:floor", pytest.approx(down, abs=1e-9)),
    ]
    (impact,) = [e for e in traj.events if e["kind"] == "impact"]
    rate = -G * (down - up) + 2 * G / w * (math.cos(w * up) - math.cos(w * down))
    assert impact["gap_rates"] == pytest.approx([rate], abs=1e-9)
    # Along the floor: friction mu N until lift-off, free flight, then the impulse.
    lost = 0.2 * quad(lambda t: G - 2 * G * math.sin(w * t), 0, up)[0]
    assert impact["v_before"][0] == pytest.approx(1 - lost, abs=1e-9)
    assert impact["v_after"] == pytest.approx([max(0.0, 1 - lost + 0.2 * rate), 0], abs=1e-9)
    j = np.argmin(np.abs(traj.t - 0.5 * (up + down)))
    assert traj.gap[j, 0] == pytest.approx(height(float(traj.t[j])), abs=1e-9)
    assert traj.mode[j].tolist() == [0]
    assert traj.lam_N[j].tolist() == [0]


def test_a_moving_floor_throws_a_particle_off() -> None:
    """An explicitly time-dependent gap: the plate oscillates, contact is lost where its acceleration reaches -g."""
    a, w = 0.1, 12.0
    contact = go.contact_points(lambda t, q: [[q[0], q[1] - a * np.sin(w * t)]], names=["plate"])
    system = go.System(np.eye(2), [0.0, -G], contacts=contact, name="plate")
    traj = go.simulate(system, q0=[0, 0], v0=[0, a * w], t_end=0.3, **FINE)
    t = math.asin(G / (a * w**2)) / w
    assert kinds(traj, "lift_off") == [("lift_off:plate", pytest.approx(t, abs=1e-9))]
    s = 0.3 - t
    exact = a * math.sin(w * t) + a * w * math.cos(w * t) * s - G * s**2 / 2
    assert traj.q[-1, 1] == pytest.approx(exact, abs=1e-9)


def test_a_start_that_impacts_and_a_start_that_separates() -> None:
    system = particle(lambda t, q, v: [0.0, -G], 0.5, e_N=0.5)
    traj = go.simulate(system, q0=[0, 0], v0=[3.0, -2.0], t_end=0.1, **FINE)
    (impact,) = [e for e in traj.events if e["kind"] == "impact"]
    assert impact["t"] == 0.0
    assert impact["v_after"] == pytest.approx([3 - 0.5 * 3, 1.0], abs=1e-12)
    assert traj.q[-1] == pytest.approx([0.15, 0.1 - G * 0.005], abs=1e-10)
    traj = go.simulate(system, q0=[0, 0], v0=[3.0, 2.0], t_end=0.1, **FINE)
    assert traj.events == ()
    assert traj.q[-1] == pytest.approx([0.3, 0.2 - G * 0.005], abs=1e-10)


# -- the crank-slider in its guide -------------------------------------------------------------------------


def guide_by_angle(problem: go.Problem, t_end: float) -> tuple[list[tuple[str, float]], np.ndarray]:
    """The same mechanism in its crank angle: both walls tried by hand, turns of the slip passed with the velocity."""
    p, system = problem.parameter_values, problem.system

    def solve(theta: float, omega: float, side: float) -> tuple[float, float]:
        step = system.evaluate(0.0, *guided_slider_crank.at_angle(theta, omega, p))
        n, m = step.n, step.m
        for wall in (1.0, -1.0):
            K = np.zeros((n + m + 1, n + m + 1))
            K[:n, :n], K[:n, n : n + m], K[n : n + m, :n] = step.M, -step.J.T, step.J
            K[:n, -1], K[-1, :n] = -wall * step.J_N[0] - step.mu[0] * side * step.J_T[0, 0], step.J_N[0]
            x = np.linalg.solve(K, np.concatenate((step.force, step.gamma, -step.zeta_N)))
            if x[-1] >= 0:
                break
        return float(x[2]), float(wall * x[-1])

    def slip(t: float, y: Any, side: float) -> float:
        return float(guided_slider_crank.at_angle(y[0], y[1], p)[1][6])

    def force(t: float, y: Any, side: float) -> float:
        return solve(y[0], y[1], side)[1]

    slip.terminal = True  # type: ignore[attr-defined]
    events: list[tuple[str, float]] = []
    t, y, side = 0.0, np.array([p["theta1_0"], p["omega1_0"]]), 1.0
    while t < t_end:
        slip.direction = side  # type: ignore[attr-defined]
        # Away from where the last turn was, by a step whose error is of fourth order.
        h = 1e-4
        a = solve(y[0], y[1], side)[0]
        b = solve(y[0] + h * y[1], y[1] + h * a, side)[0]
        y = np.array([y[0] + h * y[1] + h**2 * (2 * a + b) / 6, y[1] + h * (a + b) / 2])
        r = solve_ivp(
            lambda t, y, side: [y[1], solve(y[0], y[1], side)[0]], (t + h, t_end), y, method="DOP853", rtol=1e-9,
            atol=1e-9, events=[slip, force], args=(side,), max_step=0.02,
        )  # fmt: skip
        events += [("wall_change", float(x)) for x in r.t_events[1]]
        t, y = float(r.t[-1]), r.y[:, -1]
        if r.status == 1:
            events.append(("reversal", t))
            side = -side
    return events, y


def test_the_guided_slider_turns_over_its_dead_centres_and_changes_walls() -> None:
    """At a dead centre the slip vanishes while the crank turns: friction changes its sign and nothing stops."""
    problem = go.problem("guided-slider-crank", case="dead-centre")
    traj = go.simulate(problem, t_end=1.0, **{**FINE, "rtol": 1e-10, "atol": 1e-10, "dt": 0.01})
    assert traj.status is SOLVED, traj.message
    expected, y = guide_by_angle(problem, 1.0)
    found = [(e["kind"], e["t"]) for e in traj.events if e["t"] > 0]
    assert [k for k, _ in found] == [k for k, _ in expected]
    assert [t for _, t in found] == pytest.approx([t for _, t in expected], abs=1e-7)
    assert {k for k, _ in found} == {"reversal", "wall_change"}
    assert traj.q[-1, 2] == pytest.approx(y[0], abs=1e-6)
    assert traj.v[-1, 2] == pytest.approx(y[1], abs=1e-5)
    assert traj.lam_N.min() < -0.1 < 1 < traj.lam_N.max()
    assert (np.abs(traj.lam_T[:, 0, 0]) <= 0.3 * np.abs(traj.lam_N[:, 0]) * (1 + 1e-9)).all()
    assert np.einsum("tkd,tkd->t", traj.lam_T, traj.slip).max() <= 1e-10
    assert np.abs(traj.gap).max() <= 1e-12
    # The velocity has no jump anywhere: it changes by the largest acceleration times the step at most.
    assert (np.abs(np.diff(traj.v[:, 2])) <= 1.5 * np.abs(traj.a[:, 2]).max() * np.diff(traj.t) + 1e-9).all()


def test_without_friction_the_guide_is_that_of_the_source() -> None:
    """The force of the guide is the joint's force in the source's model and the weight of the slider."""
    problem = go.problem("guided-slider-crank", case="dead-centre", mu=0.0)
    traj = go.simulate(problem, t_end=0.6, **{**FINE, "rtol": 1e-11, "atol": 1e-11, "dt": 0.05})
    assert traj.status is SOLVED, traj.message
    rows = go.problem("crank-slider").reference("crank-A-2s")
    compared = 0
    for t in np.arange(13) * 0.05:
        i, j = int(np.argmin(np.abs(rows.t - t))), at_time(traj, t)
        assert rows.t[i] == pytest.approx(t, abs=1e-12)
        compared += 1
        assert traj.q[j, 2] == pytest.approx(rows.q[i, 2], abs=1e-8)
        assert traj.lam_N[j, 0] == pytest.approx(0.1 * G + rows.lam[i, 5], abs=1e-6)
    assert compared == 13
    assert [k for k, _ in kinds(traj)] == ["wall_change:guide"] * 2
    assert traj.lam_N.min() < -3


# -- energy ------------------------------------------------------------------------------------------------


def test_the_impacting_stick_gains_energy_and_says_so() -> None:
    """Newton's law with slip reversal: 7.07e-4 J at the first impact."""
    traj = go.simulate(go.problem("impacting-stick"), **FINE)
    assert traj.status is SOLVED
    impacts = [e for e in traj.events if e["kind"] == "impact"]
    gains = [e for e in traj.events if e["kind"] == "energy_gain"]
    assert len(impacts) == 2
    assert len(gains) == 1
    assert gains[0]["t"] == impacts[0]["t"]
    assert gains[0]["gain"] == pytest.approx(7.07e-4, abs=1e-6)  # stated to three digits
    assert gains[0]["gain"] == pytest.approx(impacts[0]["energy_change"], rel=1e-12)
    rows = np.flatnonzero(np.abs(traj.t - gains[0]["t"]) < 1e-12)
    assert traj.energy[rows[-1]] - traj.energy[rows[0]] == pytest.approx(gains[0]["gain"], rel=1e-9)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("mu", [0.0, 0.01, 0.3, 2.0])
def test_impacts_without_restitution_never_gain(mu: float, law: str) -> None:
    for phi in (-1.0, -0.4, 0.3, 0.8):
        for vx in (-2.0, 0.0, 1.5):
            problem = go.problem("impacting-stick", e_N=0.0, mu=mu, phi0=phi, vx0=vx, gap0=0.001)
            traj = go.simulate(problem, t_end=0.05, dt=0.025, impact=law, step_folder=None, error_estimate=False)
            impacts = [e for e in traj.events if e["kind"] == "impact"]
            assert impacts
            assert all(e["energy_change"] <= 0 for e in impacts)
            assert times(traj, "energy_gain") == []


def test_the_printed_sign_of_friction_feeds_energy() -> None:
    problem = go.problem("two-bar", case="contact")
    printed = go.simulate(problem.at(variant="printed-sign"), t_end=0.09, **FINE)
    assert printed.energy[0] == pytest.approx(29.500694047952173, abs=1e-12)  # first row of twobar_contact.csv
    assert printed.energy[-1] == pytest.approx(29.909807, abs=5e-7)
    assert printed.lam_N[0] == pytest.approx([11.191393, 13.678369], abs=1e-6)
    assert np.diff(printed.energy).min() > 0
    right = go.simulate(problem, t_end=0.09, **FINE)
    assert right.energy[-1] == pytest.approx(29.100437, abs=5e-7)
    assert np.diff(right.energy).max() < 0


# -- impact laws -------------------------------------------------------------------------------------------


def test_both_laws_are_one_for_one_contact_without_friction() -> None:
    results = []
    for law in ("newton", "poisson"):
        problem = go.problem("impacting-stick", mu=0.0, e_N=0.6)
        traj = go.simulate(problem, impact=law, **{**FINE, "t_end": 0.1})
        (impact,) = [e for e in traj.events if e["kind"] == "impact"]
        results.append(impact)
        step = problem.system.evaluate(0.0, traj.q[at_time(traj, impact["t"])], np.array(impact["v_after"]))
        assert step.gdot_N == pytest.approx([-0.6 * impact["gap_rates"][0]], rel=1e-9)
    assert results[0]["v_after"] == pytest.approx(results[1]["v_after"], abs=1e-12)


@pytest.mark.parametrize("vx", [1.5, -0.2])
def test_poisson_with_stick_in_both_phases(vx: float) -> None:
    """G (Lam_N, Lam_T) = (-gap rate, -slip), then e Lam_N with the slip kept at zero."""
    problem = go.problem("impacting-stick", mu=5.0, e_N=0.5, phi0=0.2, vx0=vx, vy0=-2.0, gap0=0.001)
    for law in ("poisson", "newton"):
        traj = go.simulate(problem, impact=law, **{**FINE, "t_end": 0.01})
        impact = next(e for e in traj.events if e["kind"] == "impact")
        j = int(np.flatnonzero(np.abs(traj.t - impact["t"]) < 1e-12)[0])
        step = problem.system.evaluate(0.0, traj.q[j], np.array(impact["v_before"]))
        rows = np.vstack((step.J_N, step.J_T[:, 0]))
        response = rows @ np.linalg.solve(step.M, rows.T)
        rate, slip = step.gdot_N[0], step.v_T[0, 0]
        if law == "poisson":
            first = np.linalg.solve(response, [-rate, -slip])
            second = 0.5 * first[0] * np.array([1.0, -response[1, 0] / response[1, 1]])
            assert abs(second[1]) <= 5.0 * second[0]
            total = first + second
        else:
            first = total = np.linalg.solve(response, [-1.5 * rate, -slip])
        assert abs(first[1]) <= 5.0 * first[0]
        assert (impact["Lam_N"][0], impact["Lam_T"][0]) == pytest.approx(tuple(total), rel=1e-9)


def test_poisson_where_the_slip_lasts() -> None:
    """Sliding through both phases the normal impulse is (1 + e) times that of the compression in both laws."""
    for law in ("poisson", "newton"):
        problem = go.problem("impacting-stick", mu=0.05, e_N=0.5, phi0=0.6, vx0=-5.0, vy0=-1.0, gap0=0.001)
        traj = go.simulate(problem, impact=law, **{**FINE, "t_end": 0.01})
        impact = next(e for e in traj.events if e["kind"] == "impact")
        j = int(np.flatnonzero(np.abs(traj.t - impact["t"]) < 1e-12)[0])
        step = problem.system.evaluate(0.0, traj.q[j], np.array(impact["v_before"]))
        A = (step.J_N @ np.linalg.solve(step.M, step.friction_map)).item()
        assert impact["Lam_N"][0] == pytest.approx(1.5 * -step.gdot_N[0] / A, rel=1e-9)
        assert impact["Lam_T"][0] == pytest.approx(step.sigma[0, 0] * 0.05 * impact["Lam_N"][0], rel=1e-9)


def test_tangential_restitution_turns_the_slip() -> None:
    """With much friction the slip after is -e_T times the slip before."""
    system = particle(lambda t, q, v: [0.0, -G], mu=5.0, e_N=0.5, e_T=0.4)
    traj = go.simulate(system, q0=[0, 0], v0=[1.0, -2.0], t_end=0.01, **FINE)
    assert traj.events[0]["v_after"] == pytest.approx([-0.4, 1.0], abs=1e-12)


def test_an_impact_without_a_law(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["run", "bouncing-ball", "--impact", "none", "--save", str(tmp_path / "ball.nc"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 2
    assert found["status"] == "bad_input"
    assert "-4.42945" in found["message"]  # the gap rate
    assert "newton or poisson" in found["message"]
    assert found["t"] == pytest.approx(0.45152364098573095, abs=1e-9)  # what came before it is kept
    with pytest.raises(go.UnknownName, match="newton"):
        go.simulate(go.problem("bouncing-ball"), impact="newtn")


# -- events of a person ------------------------------------------------------------------------------------


def test_events_of_ones_own_with_direction() -> None:
    """A ball thrown up passes 0.5 m twice; its velocity vanishes once."""
    up = go.Event("up", lambda t, q, v: q[0] - 0.5, direction=1)
    down = go.Event("down", lambda t, q, v: q[0] - 0.5, direction=-1)
    either = go.Event("either", lambda t, q, v: q[0] - 0.5)
    top = go.Event("top", lambda t, q, v: v[0])
    traj = go.simulate("bouncing-ball", events=[up, down, either, top], q0=[0.0], v0=[4.0], **{**FINE, "t_end": 0.8})
    root = math.sqrt(16 - 2 * G * 0.5)
    rise, fall = (4 - root) / G, (4 + root) / G
    assert times(traj, "up") == pytest.approx([rise], abs=1e-9)
    assert times(traj, "down") == pytest.approx([fall], abs=1e-9)
    assert times(traj, "either") == pytest.approx([rise, fall], abs=1e-9)
    assert times(traj, "top") == pytest.approx([4 / G], abs=1e-9)
    assert traj.status is SOLVED
    assert traj.t[-1] == 0.8


def test_a_terminal_event_ends_the_motion_there() -> None:
    top = go.Event("top", lambda t, q, v: v[0], direction=-1, terminal=True)
    traj = go.simulate("bouncing-ball", events=[top], q0=[0.0], v0=[4.0], **FINE)
    assert traj.status is SOLVED
    assert traj.t[-1] == pytest.approx(4 / G, abs=1e-9)
    assert traj.q[-1, 0] == pytest.approx(8 / G, abs=1e-9)
    assert traj.events[-1]["kind"] == "top"
    assert "'top'" in traj.message


def test_an_event_that_vanishes_at_the_start_waits_for_the_next_time() -> None:
    back = go.Event("back", lambda t, q, v: q[0])
    traj = go.simulate("friction-oscillator", events=[back], q0=[0.0, 0.0], v0=[10.0, 0.0], **{**FINE, "t_end": 5.0})
    # About -1 with amplitude sqrt(101): x = -1 + sqrt(101) sin(t + d), back at 0 after the turn about +1.
    first = math.pi / 2 - math.atan2(1, 10)
    amplitude = math.sqrt(101) - 2
    second = first + math.acos(-1 / amplitude)
    assert times(traj, "back") == pytest.approx([second], abs=1e-9)


def test_an_event_at_the_instant_of_an_impact() -> None:
    half = go.Event("half", lambda t, q, v: t - 0.45152364098573095)
    traj = go.simulate(go.problem("bouncing-ball"), events=[half], **{**FINE, "t_end": 0.6})
    assert times(traj, "half") == pytest.approx([0.45152364098573095], abs=1e-9)
    assert times(traj, "impact") == pytest.approx([0.45152364098573095], abs=1e-9)
    y, v = bouncing_ball_forms.exact(0.6, go.problem("bouncing-ball").parameter_values)
    assert (traj.q[-1, 0], traj.v[-1, 0]) == pytest.approx((y, v), abs=1e-9)


# -- methods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stepper", "order"), [("rk4", 4)])
def test_a_fixed_step_finds_the_events_to_its_order(stepper: str, order: int) -> None:
    exact = 0.531209696578125137
    errors = []
    for dt in (0.02, 0.01, 0.005):
        traj = go.simulate(
            go.problem("two-bar", case="contact"), stepper=stepper, dt=dt, engine="compiled", step_folder=None,
            error_estimate=False,
        )  # fmt: skip
        found = dict(kinds(traj)[-1:])
        errors.append(abs(found["floor"] - exact))
    for coarse, fine in itertools.pairwise(errors):
        assert fine <= coarse / 2 ** (order - 0.7)
    assert errors[-1] <= 1e-8


@pytest.mark.parametrize("stepper", ["rk45", "radau"])
def test_other_adaptive_methods(stepper: str) -> None:
    problem = go.problem("sliding-rod", case="stop")
    traj = go.simulate(
        problem, stepper=stepper, rtol=1e-10, atol=1e-10, t_end=0.06, step_folder=None, error_estimate=False
    )
    assert kinds(traj) == [("stick:A", pytest.approx(0.0593115888740283681, abs=1e-8))]


def test_states_are_recorded_on_the_grid_of_the_start() -> None:
    problem = go.problem("block-on-incline", case="up")
    for settings in ({"stepper": "rk4"}, {"stepper": "dop853", "rtol": 1e-10, "atol": 1e-10}):
        traj = go.simulate(problem, dt=0.1, t_end=0.55, step_folder=None, error_estimate=False, **settings)
        event = kinds(traj)[0][1]
        apart = traj.t[np.abs(traj.t - event) > 1e-12]
        np.testing.assert_allclose(apart, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55], rtol=0, atol=1e-12)


@pytest.mark.parametrize("stabilisation", ["projection", "baumgarte"])
def test_stabilised_motions_end_at_the_same_place(stabilisation: str) -> None:
    problem = go.problem("two-bar", case="contact", variant="maximal")
    traj = go.simulate(
        problem, stabilisation=stabilisation, stepper="dop853", rtol=1e-10, atol=1e-10, error_estimate=False
    )
    assert traj.status is SOLVED
    assert kinds(traj)[-1][1] == pytest.approx(0.531209696578125137, abs=1e-8)
    closed = traj.mode > 0
    assert np.abs(traj.gap[closed]).max() <= 1e-9


# -- how runs end ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "status"), [
    ("inconsistent", go.Status.NO_SOLUTION), ("indeterminate", go.Status.MULTIPLE_SOLUTIONS),
    ("unit-inconsistent", go.Status.NO_SOLUTION), ("unit-indeterminate", go.Status.MULTIPLE_SOLUTIONS),
])  # fmt: skip
@pytest.mark.parametrize("solver", ["lemke", "newton", "enumerate"])
def test_painleve_starts_are_named_and_not_moved(case: str, status: go.Status, solver: str, tmp_path: Path) -> None:
    traj = go.simulate(go.problem("sliding-rod", case=case), "lcp", solver, step_folder=tmp_path)
    assert traj.status is status
    assert (traj.q[-1] == go.problem("sliding-rod", case=case).q0).all()
    assert np.isnan([*traj.a[0], *traj.lam_N[0]]).all()
    assert traj.failed_step is not None
    assert traj.failed_step.k == 1
    assert traj.failed_step_file is not None
    again = go.solve_step(go.StepData.from_mapping(json.loads(Path(traj.failed_step_file).read_text())), "lcp", solver)
    assert again.status is status


def test_a_motion_into_a_painleve_region_keeps_what_came_before() -> None:
    """From 45 degrees the rod turns into the region at its lower angle, where A and B vanish together."""
    problem = go.problem("sliding-rod", mu=1.5, theta0=math.radians(45), omega0=2.0, vA0=-20.0)
    traj = go.simulate(problem, "lcp", "lemke", t_end=0.4, **{**FINE, "rtol": 1e-10, "atol": 1e-10})
    assert traj.status in (go.Status.NO_SOLUTION, go.Status.MULTIPLE_SOLUTIONS)
    assert "Painleve" in traj.message
    assert traj.message.startswith("Stopped at t = 0.029")
    (event,) = [e for e in traj.events if e["kind"] == "indefinite"]
    assert event["t"] == traj.t[-1]
    lower = math.atan((4.5 - math.sqrt(9 * 1.5**2 - 16)) / 2)
    assert traj.q[-1, 2] == pytest.approx(lower, abs=1e-6)
    assert len(traj.t) > 10
    assert np.isfinite(traj.q).all()
    assert (traj.lam_N[:-1] > 0).all()
    assert traj.failed_step is not None


def test_a_start_that_penetrates(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.simulate(go.problem("bouncing-ball", y0=-0.01), **FINE)
    assert_sentence(caught.value, "penetrates", "'floor'", "-0.01")


def test_an_interrupted_run_keeps_what_it_has() -> None:
    def stop(fraction: float) -> None:
        if fraction > 0.5:
            raise KeyboardInterrupt

    problem = go.problem("sliding-rod", case="floor")
    traj = go.simulate(problem, dt=0.01, progress=stop, keep_interrupted=True, step_folder=None)
    assert traj.status is go.Status.INTERRUPTED
    assert 0.2 < traj.t[-1] < 0.4
    assert len(traj.mode) == len(traj.t)
    with pytest.raises(KeyboardInterrupt):
        go.simulate(problem, dt=0.01, progress=stop, step_folder=None)


def test_a_saved_motion_is_the_same(tmp_path: Path, motions: dict[str, go.Trajectory]) -> None:
    traj = motions["two-bar-airborne"]
    back = go.Trajectory.load(traj.save(tmp_path / "motion.nc"))
    for name in ("t", "q", "v", "a", "lam", "lam_N", "lam_T", "gap", "slip", "mode", "kinetic", "error_bound"):
        np.testing.assert_array_equal(getattr(back, name), getattr(traj, name))
    assert back.events == traj.events
    assert back.contacts == traj.contacts == ("A", "C")
    assert back.status is traj.status
    table = back.to_pandas()
    assert table["lam_N_A"].to_numpy() == pytest.approx(traj.lam_N[:, 0])
    assert table["slip_C"].to_numpy() == pytest.approx(traj.slip[:, 1, 0])


def test_the_command_line_prints_events(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    settings = {"set": "case=stop", "stepper": "dop853", "rtol": 1e-11, "atol": 1e-11, "dt": 0.05, "t-end": 0.06}
    flags = [f"--{name}={x}" for name, x in settings.items()]
    assert run(["run", "sliding-rod", *flags, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(e["kind"], e["contact"]) for e in found["events"]] == [("stick", "A")]
    assert found["events"][0]["t"] == pytest.approx(0.0593115888740284, abs=1e-9)
    assert (found["formulation"], found["solver"]) == ("stick-slip", "lemke")
    assert found["contacts"] == ["A"]
    assert len(found["lam_N"]) == len(found["lam_T"]) == len(found["v_T"]) == 1
    assert run(["run", "sliding-rod", *flags]) == 0
    assert "stick A" in capsys.readouterr().out


# -- in space ----------------------------------------------------------------------------------------------


def space(mu: float = 0.4, force: tuple[float, float] = (0.0, 0.0)) -> go.System:
    return particle(lambda t, q, v: [*force, -G], mu, n=3)


@pytest.mark.parametrize(("formulation", "solver"), [
    ("lcp", "lemke"), ("stick-slip", "newton"), ("lcp-qp", "daqp"), ("weighted-normal-force-qp", "daqp"),
    ("frozen-friction", "daqp"), ("normal-force-qp", "newton"),
])  # fmt: skip
def test_a_particle_slides_straight_in_space(formulation: str, solver: str) -> None:
    v0 = np.array([3.0, -4.0, 0.0])
    traj = go.simulate(
        space(), formulation, solver, q0=[0, 0, 0], v0=v0, t_end=1.0, dt=0.05, step_folder=None, error_estimate=False
    )
    assert traj.status is SOLVED, traj.message
    speed = 5 - 0.4 * G * traj.t
    np.testing.assert_allclose(traj.v, speed[:, None] * v0 / 5, rtol=0, atol=1e-12)
    travelled = 5 * traj.t - 0.2 * G * traj.t**2
    np.testing.assert_allclose(traj.q, travelled[:, None] * v0 / 5, rtol=0, atol=1e-12)
    np.testing.assert_allclose(traj.lam_T[:, 0], np.tile([-0.24 * G, 0.32 * G], (len(traj.t), 1)), atol=1e-12)
    assert (np.einsum("tkd,tkd->t", traj.lam_T, traj.slip) < 0).all()


def test_in_space_friction_follows_a_turning_slip() -> None:
    """On an incline steeper than the friction the slip turns into the slope; energy theorem and hodograph hold."""
    mu, pull = 0.3, 5.0
    traj = go.simulate(space(mu, (pull, 0.0)), "lcp", "lemke", q0=[0, 0, 0], v0=[0.0, 2.0, 0.0], t_end=2.0, **FINE)
    assert traj.status is SOLVED
    # With the angle psi of the slip from the pull and ratio r = mu g / pull:
    # v (1 + cos psi) (tan(psi / 2))^(1 - r)... = const follows from v' = pull cos psi - mu g, v psi' = -pull sin psi.
    slip = traj.slip[:, 0]
    psi, speed = np.arctan2(slip[:, 1], slip[:, 0]), np.linalg.norm(slip, axis=1)
    invariant = speed * np.sin(psi) * np.tan(psi / 2) ** (-mu * G / pull)
    np.testing.assert_allclose(invariant, invariant[0], rtol=1e-9)
    assert psi[-1] < 0.5 * psi[0]


def test_modes_that_come_back_at_one_instant_end_the_motion() -> None:
    problem = go.problem("two-bar", variant="printed-sign")  # friction along the slip: no direction is consistent
    traj = go.simulate(problem, "lcp", "lemke", dt=5e-3, t_end=0.16, step_folder=None, error_estimate=False)
    assert traj.status is go.Status.SOLVER_ERROR
    assert "do not settle" in traj.message
    assert traj.t[-1] == pytest.approx(0.13982, abs=1e-4)
    assert [kind for kind, _ in kinds(traj)] == ["reversal:C"]


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("dt", [0.1, 0.007])
def test_contacts_that_share_friction_arbitrarily_slip_when_their_sum_does(engine: str, dt: float) -> None:
    x, y, th, vx, vy, w, t = sp.symbols("x y th vx vy w t")
    bar = go.System.from_lagrangian(
        [x, y, th], [vx, vy, w], kinetic=(vx**2 + vy**2 + w**2 / 12) / 2, potential=9.81 * y, forces={x: 10 * t}, t=t,
        contacts=[
            go.Contact(name, position=(x + a * sp.cos(th), y + a * sp.sin(th)), mu=0.3)
            for name, a in (("left", -0.5), ("right", 0.5))
        ],
    )  # fmt: skip
    motion = go.simulate(bar, q0=[0, 0, 0], v0=[0, 0, 0], dt=dt, t_end=0.3, engine=engine, error_estimate=False)
    assert [(e["kind"], e["contact"]) for e in motion.events] == [("slip", "left"), ("slip", "right")]
    assert [e["t"] for e in motion.events] == pytest.approx([0.3 * 9.81 / 10] * 2, abs=1e-11)


@pytest.mark.parametrize(
    ("formulation", "solver", "used"), [("null-space", "kkt", "null-space"), ("lcp", "newton", "gauss")]
)
def test_the_formulation_is_used_while_nothing_touches_if_it_can_be(formulation: str, solver: str, used: str) -> None:
    """Every formulation was replaced there, so that any two of them agreed to the last bit."""
    problem = go.problem("crank-slider")
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert ContactSolvers(formulation, solver, None, 1e-7, True).for_step(step).formulation.name == used
