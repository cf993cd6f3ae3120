"""Moreau-Jean steps against published tables, and the printed loop of 001 against what happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from closed_forms import block_on_incline as block_on_incline_forms
from closed_forms import bouncing_ball as bouncing_ball_forms

import gaussopt as go
from gaussopt.problems import two_bar

G = 9.81
SOLVED = go.Status.SOLVED


def moreau(problem: Any, dt: float, **settings: Any) -> go.Trajectory:
    settings = {"step_folder": None, "error_estimate": False, **settings}
    traj = go.simulate(problem, stepper="moreau-jean", dt=dt, **settings)
    assert traj.status is SOLVED, traj.message
    return traj


# -- published tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("formulation", "solver"), [(None, None), ("stick-slip", "newton"), ("lcp", "lemke")])
def test_the_rows_of_the_bouncing_ball(formulation: str | None, solver: str | None, data: Callable[[str], Any]) -> None:
    table = data("bouncing_ball.json")
    t_end = 10.0 if formulation is None else 1.0
    traj = moreau(go.problem("bouncing-ball"), table["params"]["h"], formulation=formulation, solver=solver,
                  t_end=t_end)  # fmt: skip
    rows = [r for r in table["TS"]["rows"] if r[1] <= t_end + 1e-9]
    assert len(rows) == (20 if formulation is None else 11)
    for k, t, q, v, _, impulse in rows:
        i = int(k)
        assert traj.t[i] == pytest.approx(t, abs=1e-12)
        assert traj.q[i, 0] == pytest.approx(q, abs=1e-10), k
        assert traj.v[i, 0] == pytest.approx(v, abs=1e-10), k
        if i:
            assert traj.lam_N[i, 0] * 0.005 == pytest.approx(impulse, abs=1e-10), k
    # It does not stop where the impacts accumulate, and it never penetrates by more than a step's fall.
    assert traj.gap.min() > -G * 0.005**2 * 100
    assert np.abs(traj.v[traj.t > 8.7]).max(initial=0.0) <= G * 0.005 + 1e-9


def test_the_rows_of_the_impacting_stick(data: Callable[[str], Any]) -> None:
    table = data("impacting_stick.json")
    names = table["columns"]
    traj = moreau(go.problem("impacting-stick"), table["params"]["h"])
    assert len(table["rows"]) == 12
    for row in table["rows"]:
        stated = dict(zip(names, row, strict=True))
        i = int(stated["k"])
        assert traj.q[i] == pytest.approx([stated["x"], stated["y"], stated["phi"]], abs=1e-10), i
        assert traj.v[i] == pytest.approx([stated["vx"], stated["vy"], stated["w"]], abs=1e-10), i
        if i:
            assert traj.lam_N[i, 0] * 1e-4 == pytest.approx(stated["PN"], abs=1e-10), i
            assert traj.lam_T[i, 0, 0] * 1e-4 == pytest.approx(stated["PT"], abs=1e-10), i
    # Exactly two impacts, at the stated rows; the first one feeds energy.
    pushing = np.flatnonzero(traj.lam_N[1:, 0] > 0) + 1
    assert pushing.tolist() == [604, 1636]
    gains = [e for e in traj.events if e["kind"] == "energy_gain"]
    assert len(gains) == 1
    assert gains[0]["gain"] == pytest.approx(7.07e-4, abs=1e-6)
    assert gains[0]["t"] == pytest.approx(0.0604, abs=1e-12)
    rise = traj.energy[604] - traj.energy[603]
    # Gravity's work over the step is exact for theta = 1/2.
    assert gains[0]["gain"] == pytest.approx(rise, rel=1e-6)


def test_the_rows_of_the_friction_oscillator(data: Callable[[str], Any]) -> None:
    """The source's relay is our Coulomb law on a floor that carries the weight: the same scheme, row by row."""
    table = data("friction_oscillator.json")
    rows = table["rows"]
    compared = 0
    # The whole is 10000 rows: the first swings from the start, then from the last turn into the stick.
    for first, last, engine in ((0, 358, "compiled"), (2242, 2300, "interpreted")):
        start = next(r for r in rows if r[0] == first)
        traj = moreau(go.problem("friction-oscillator"), 0.01, q0=[start[2], 0.0], v0=[start[3], 0.0],
                      t_end=0.01 * (last - first), engine=engine)  # fmt: skip
        for k, _, x, v, friction, _ in rows:
            if first <= k <= last:
                compared += 1
                i = int(k) - first
                assert traj.q[i, 0] == pytest.approx(x, abs=1e-9), k
                assert traj.v[i, 0] == pytest.approx(v, abs=1e-9), k
                if i:
                    assert traj.lam_T[i, 0, 0] == pytest.approx(friction, abs=1e-9), k
    assert compared == 11
    # It sticks, and stays to the last row.
    assert traj.q[-1, 0] == pytest.approx(rows[-1][2], abs=1e-9)
    assert abs(traj.v[-1, 0]) <= 1e-12


# -- convergence -------------------------------------------------------------------------------------------


def test_it_converges_to_the_motion_from_event_to_event() -> None:
    """First order through a reversal."""
    problem = go.problem("two-bar", case="contact")
    rows = problem.reference("two-bar-contact")
    i = int(np.searchsorted(rows.t, 0.2))
    errors = []
    for n in (20, 40, 80):
        traj = moreau(problem, float(rows.t[i]) / n, t_end=float(rows.t[i]))
        errors.append(max(float(np.abs(traj.q[-1] - rows.q[i]).max()), float(np.abs(traj.v[-1] - rows.v[i]).max())))
    for coarse, fine in itertools.pairwise(errors):
        assert fine <= 0.7 * coarse
    assert errors[-1] <= 4e-3


def test_it_passes_the_landing_of_both_ends() -> None:
    problem = go.problem("two-bar", case="airborne")
    rows = problem.reference("two-bar-airborne")
    i = int(np.searchsorted(rows.t, 0.6))
    traj = moreau(problem, 2e-3, t_end=float(rows.t[i]), engine="compiled")
    # The instant of the impact is known to a step, within which a velocity of 4 m/s stops.
    assert np.abs(traj.q[-1] - rows.q[i]).max() <= 4 * 2e-3
    assert traj.gap.min() > -4 * 2e-3
    landings = [e for e in traj.events if e["kind"] == "landing"]
    assert [e["contact"] for e in landings[:2]] == ["A", "C"]
    assert landings[0]["t"] == pytest.approx(0.504586063159988499, abs=2e-3)


def test_a_block_stops_and_sticks() -> None:
    problem = go.problem("block-on-incline", case="up")
    t, s = block_on_incline_forms.stop(problem.parameter_values)
    traj = moreau(problem, 1e-3)
    # Constant forces are integrated exactly; the step in which it stops is the only one with an error.
    assert traj.q[-1, 0] == pytest.approx(s, abs=1e-5)
    assert np.abs(traj.v[traj.t > t + 1e-3]).max() <= 1e-12
    assert traj.lam_T[-1, 0, 0] == pytest.approx(
        -block_on_incline_forms.friction_at_rest(problem.parameter_values), abs=1e-9
    )


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_block_moves_with_a_belt_on_which_it_does_not_slip(engine: str) -> None:
    """Its slip is exactly zero, and its velocity is not."""
    x, y, u, v, m, mu, V = sp.symbols("x y u v m mu V")
    system = go.System.from_lagrangian(
        [x, y], [u, v], name="belt", kinetic=m * (u**2 + v**2) / 2, potential=m * G * y,
        contacts=[go.Contact("block", gap=y, slip=[u - V], mu=mu)], parameters={m: 1.0, mu: 0.5, V: 0.25},
    )  # fmt: skip
    traj = moreau(system, 2**-7, q0=[0.0, 0.0], v0=[0.25, 0.0], t_end=0.25, engine=engine)
    assert (traj.v == [0.25, 0.0]).all()
    assert traj.q[-1, 0] == 0.0625


def test_impacts_that_accumulate_are_passed() -> None:
    problem = go.problem("bouncing-ball", e=0.5)
    traj = moreau(problem, 1e-3, t_end=2.0)
    late = traj.t > bouncing_ball_forms.accumulation_time(problem.parameter_values) + 0.01
    assert late.any()
    assert np.abs(traj.q[late]).max() <= 1e-4
    assert traj.lam_N[late, 0].mean() == pytest.approx(G, rel=0.02)


def test_joints_hold_in_time_steps() -> None:
    """The hinge rows of the bars keep their velocity residual; minimal and maximal steps stay together."""
    minimal = moreau(go.problem("two-bar", case="contact"), 2e-3, t_end=0.1)
    maximal = moreau(go.problem("two-bar", case="contact", variant="maximal"), 2e-3, t_end=0.1)
    q, _ = two_bar.to_maximal(minimal.q[-1], minimal.v[-1], 2.0)
    assert maximal.q[-1] == pytest.approx(q, abs=4e-3)
    assert maximal.position_drift.max() <= 1e-3
    assert (np.einsum("tkd,tkd->t", minimal.lam_T, minimal.slip) <= 1e-9).all()


def test_events_of_ones_own_end_a_time_stepped_motion() -> None:
    event = go.Event("half", lambda t, q, v: q[0] - 0.5, direction=-1, terminal=True)
    traj = moreau(go.problem("bouncing-ball"), 1e-3, events=[event])
    t = np.sqrt(2 * 0.5 / G)
    assert t <= traj.t[-1] <= t + 1e-3
    assert traj.events[-1]["kind"] == "half"


def test_a_state_of_a_motion_that_penetrates_says_how_to_go_on(assert_sentence: Any) -> None:
    problem = go.problem("bouncing-ball")
    first = moreau(problem, 1e-3, t_end=0.5)
    deepest = int(first.gap[:, 0].argmin())
    assert first.gap[deepest, 0] < -1e-3
    with pytest.raises(go.BadInput) as caught:
        moreau(problem, 1e-3, q0=first.q[deepest], v0=first.v[deepest])
    assert_sentence(caught.value, "penetrates", "start=motion instead of q0 and v0")
    ended = moreau(problem, 1e-3, t_end=float(first.t[deepest]))
    assert ended.gap[-1, 0] == first.gap[deepest, 0]
    assert moreau(problem, 1e-3, t_end=0.6, start=ended).t[-1] == pytest.approx(0.6)


@pytest.mark.parametrize(("problem", "settings", "words"), [
    ("bouncing-ball", {"impact": "poisson"}, ("moreau-jean", "newton")),
    ("bouncing-ball", {"q0": [-0.1], "v0": [0.0]}, ("penetrates", "'floor'", "-0.1")),
    ("guided-slider-crank", {"q0": np.arange(8.0), "v0": np.zeros(8)}, ("guided-slider-crank",)),
])  # fmt: skip
def test_what_it_refuses(problem: str, settings: dict[str, Any], words: tuple[str, ...], assert_sentence: Any) -> None:
    with pytest.raises(go.BadInput) as caught:
        go.simulate(go.problem(problem), stepper="moreau-jean", dt=1e-3, step_folder=None, **settings)
    assert_sentence(caught.value, *words)


# -- the printed loop --------------------------------------------------------------------------------------


def printed(problem: go.Problem, dt: float, **settings: Any) -> go.Trajectory:
    settings = {"step_folder": None, "error_estimate": False, **settings}
    return go.simulate(problem, stepper="as-printed-001", dt=dt, **settings)


def test_the_printed_loop_presses_the_floor_from_the_air() -> None:
    """F = -40 N, no gravity, the printed formulas: 10.7 and 11.0 N at 0.707 m height (erratum 001-6)."""
    problem = go.problem("two-bar", case="airborne", variant="as-printed", F=-40.0, g=0.0)
    traj = printed(problem, 1e-3, t_end=0.01)
    assert traj.meta["formulation"] == "normal-force-qp"
    assert traj.meta["solver"] == "newton"
    assert traj.gap[0] == pytest.approx([2**-0.5] * 2, abs=1e-12)
    assert traj.lam_N[0] == pytest.approx([10.7, 11.0], abs=0.05)
    assert (traj.gap > 0.7).all()
    assert (traj.mode > 0).all()
    assert "no gap" in traj.message


def test_the_printed_loop_follows_the_motion_to_first_order() -> None:
    """While both ends slide as they do at the start, the loop has only the error of its step."""
    problem = go.problem("two-bar", case="contact")
    rows = problem.reference("two-bar-contact")
    i = int(np.searchsorted(rows.t, 0.09))
    errors = []
    for dt in (float(rows.t[i]) / 40, float(rows.t[i]) / 80, float(rows.t[i]) / 160):
        traj = printed(problem, dt, t_end=float(rows.t[i]))
        assert traj.status is SOLVED, traj.message
        errors.append(float(np.abs(traj.q[-1] - rows.q[i]).max()))
    assert errors[0] == pytest.approx(2 * errors[1], rel=0.1)
    assert errors[1] == pytest.approx(2 * errors[2], rel=0.1)
    assert errors[2] < 1e-3


def test_the_printed_loop_looks_for_no_event() -> None:
    traj = printed(go.problem("two-bar", case="contact"), 5e-3, t_end=0.2)
    assert traj.events == ()  # although the end C has turned
    assert traj.slip[0, 1, 0] < 0 < traj.slip[-1, 1, 0]
