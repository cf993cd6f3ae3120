"""The other problems with contacts: stated steps and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from closed_forms import block_on_incline as block_on_incline_forms
from closed_forms import bouncing_ball as bouncing_ball_forms
from closed_forms import box as box_forms
from closed_forms import friction_oscillator as friction_oscillator_forms
from closed_forms import guided_slider_crank as guided_slider_crank_forms
from closed_forms import sliding_to_rolling as sliding_to_rolling_forms

import gaussopt as go
from gaussopt.core.step_data import StepData
from gaussopt.problems import (
    guided_slider_crank,
)

TOUCHING = (
    "block-on-incline", "bouncing-ball", "box", "box-wall", "four-leg-table", "friction-oscillator",
    "guided-slider-crank", "impacting-stick", "pinched-capsule", "sliding-cube", "sliding-rod",
    "sliding-to-rolling", "sphere-pile", "spinning-sphere", "tippe-top", "two-bar", "woodpecker",
)  # fmt: skip


def first_step(name: str, **settings: Any) -> StepData:
    problem = go.problem(name, **settings)
    return problem.system.evaluate(0.0, problem.q0, problem.v0)


def sliding_acceleration(step: StepData) -> np.ndarray:
    """Joints and contacts closed, sliding: one linear system."""
    k, m = step.k, step.m
    K = np.block([
        [step.M, -step.J.T, -step.friction_map], [step.J, np.zeros((m, m + k))], [step.J_N, np.zeros((k, m + k))]
    ])  # fmt: skip
    return np.linalg.solve(K, np.concatenate((step.force, step.gamma, -step.zeta_N)))[: step.n]


def test_no_problem_with_contacts_is_left_out() -> None:
    assert tuple(n for n in go.names("problem") if go.problem(n).system.contact_names) == TOUCHING


@pytest.mark.parametrize("name", TOUCHING)
def test_every_case_and_variant_starts_without_penetration(name: str) -> None:
    entry = go.problem(name)
    for variant in ("", *entry.variants):
        for case in ("", *entry.cases):
            problem = entry.at(**{k: v for k, v in (("variant", variant), ("case", case)) if v})
            system = problem.system
            step = system.evaluate(0.0, problem.q0, problem.v0)
            assert step.k == len(system.contact_names) == len(system.two_sided) > 0
            assert (step.g_N >= -1e-15).all(), (variant, case)
            # A closed contact neither penetrates nor separates.
            assert np.abs(step.gdot_N[step.g_N < 1e-12]).max(initial=0.0) < 1e-12, (variant, case)
            if step.m:
                assert np.abs(system.position_residual(0.0, problem.q0)).max() < 1e-14
                assert np.abs(system.velocity_residual(0.0, problem.q0, problem.v0)).max() < 1e-14
            assert system.gaps(0.0, problem.q0) == pytest.approx(step.g_N, abs=1e-15)
            assert system.gap_rates(0.0, problem.q0, problem.v0) == pytest.approx(step.gdot_N, abs=1e-15)
            assert problem.t_end > 0


@pytest.mark.parametrize(
    ("name", "reference", "row", "tau", "upper"),
    [("A_2s_row10", "crank-A-2s", 10, -0.5, False), ("A_2s_row30", "crank-A-2s", 30, -0.5, False),
     ("A_2s_row30_other_wall", "crank-A-2s", 30, -0.5, True), ("A_2s_row75", "crank-A-2s", 75, -0.5, True),
     ("A_2s_row140", "crank-A-2s", 140, -0.5, False), ("B_20s_row7", "crank-B-20s", 7, 0.0, False)],
)  # fmt: skip
def test_stated_steps_of_the_guide(
    name: str, reference: str, row: int, tau: float, upper: bool, cases: dict[str, dict[str, Any]],
    assert_stated: Callable[..., None],
) -> None:  # fmt: skip
    problem = go.problem("guided-slider-crank", tau=tau)
    rows = go.problem("crank-slider").reference(reference)
    q, v = np.append(rows.q[row], 0.0), np.append(rows.v[row], 0.0)
    step = problem.system.evaluate(0.0, q, v)
    if upper:
        step = guided_slider_crank_forms.other_wall(step)
    assert_stated(step, f"guide_crank_{name}")
    lcp = cases[f"guide_crank_{name}"]["expect"]["lcp"]
    if lcp["lam_N"][0] > 0:
        assert sliding_acceleration(step) == pytest.approx(lcp["a"], rel=1e-9, abs=1e-9)
    # The closed form of the linkage is the same state.
    place, rate = guided_slider_crank.at_angle(q[2], v[2], problem.parameter_values)
    assert place == pytest.approx(q, abs=1e-12)
    assert rate == pytest.approx(v, abs=1e-11)


def test_dead_centre_of_the_guide(assert_stated: Callable[..., None]) -> None:
    problem = go.problem("guided-slider-crank", case="dead-centre")
    assert problem.system.two_sided == (True,)
    assert_stated(first_step("guided-slider-crank"), "guide_dead_centre_stick")


def test_a_smooth_guide_moves_like_the_crank_slider() -> None:
    problem = go.problem("guided-slider-crank", mu=0.0)
    rows = go.problem("crank-slider").reference("crank-A-2s")
    for i in range(0, 201, 20):
        step = problem.system.evaluate(0.0, np.append(rows.q[i], 0.0), np.append(rows.v[i], 0.0))
        a = sliding_acceleration(step)
        assert a[:7] == pytest.approx(rows.a[i], rel=1e-9, abs=1e-9)
        assert a[7] == pytest.approx(0.0, abs=1e-9)


def test_the_other_wall_mirrors_the_gap_and_keeps_the_slip() -> None:
    problem = go.problem("guided-slider-crank", case="turning")
    q, v = problem.q0 + 1e-3, problem.v0 + 0.01
    step = problem.system.evaluate(0.0, q, v)
    other = guided_slider_crank_forms.other_wall(step)
    for name in ("J_N", "zeta_N", "g_N", "gdot_N"):
        assert (getattr(other, name) == -getattr(step, name)).all()
    assert (other.J_T == step.J_T).all()
    assert (other.v_T == step.v_T).all()


@pytest.mark.parametrize(
    ("stated", "case", "variant"),
    [("box3_slide", "slide", ""), ("box3_slide_mu_differs", "slide-mu-differs", ""), ("box3_stick", "stick", ""),
     ("box3_frictionless", "frictionless", ""), ("box3_stick_mu_differs", "stick-mu-differs", ""),
     ("box3_push_between", "push-between", ""), ("box2_slide", "slide", "two"),
     ("box2_slide_mu_differs", "corners-differ", "two"), ("box2_slide_tips", "tips", "two"),
     ("box2_stick", "stick", "two"), ("box2_slip_onset", "slip-onset", "two")],
)  # fmt: skip
def test_stated_steps_of_the_box(stated: str, case: str, variant: str, assert_stated: Callable[..., None]) -> None:
    settings = {"case": case, **({"variant": variant} if variant else {})}
    assert_stated(first_step("box", **settings), stated)


@pytest.mark.parametrize("case", ["slide", "corners-differ"])
def test_corner_forces_of_the_sliding_box(case: str, cases: dict[str, dict[str, Any]]) -> None:
    stated = cases["box2_slide" if case == "slide" else "box2_slide_mu_differs"]["expect"]["lcp"]["lam_N"]
    assert box_forms.corner_forces(go.problem("box", case=case).parameter_values) == pytest.approx(stated, rel=1e-12)


def test_the_box_stops_where_its_deceleration_says(cases: dict[str, dict[str, Any]]) -> None:
    time, place = box_forms.stop(go.problem("box", case="slide").parameter_values)
    a = cases["box3_slide"]["expect"]["lcp"]["a"][0]
    assert 1.0 + a * time == pytest.approx(0.0, abs=1e-14)
    assert time + a * time**2 / 2 == pytest.approx(place, rel=1e-13)
    assert box_forms.stop(go.problem("box", case="frictionless").parameter_values) == (np.inf, np.inf)


def test_a_tilted_box_has_contacts_at_its_points() -> None:
    problem = go.problem("box")
    q, v = np.array([0.2, 0.6, 0.4]), np.array([1.0, -2.0, 3.0])
    step = problem.system.evaluate(0.0, q, v)
    c, s = np.cos(0.4), np.sin(0.4)
    R = np.array([[c, -s], [s, c]])
    for i, along in enumerate((-0.5, 0.0, 0.5)):
        r = R @ [along, -0.25]
        assert step.g_N[i] == pytest.approx(0.6 + r[1], abs=1e-15)
        assert step.v_T[i] == pytest.approx([1.0 - 3.0 * r[1]], abs=1e-14)
        assert step.gdot_N[i] == pytest.approx(-2.0 + 3.0 * r[0], abs=1e-14)
        assert [step.zeta_T[i, 0], step.zeta_N[i]] == pytest.approx(-9.0 * r, abs=1e-13)


def test_bouncing_ball_in_closed_form(data: Callable[[str], Any]) -> None:
    table = data("bouncing_ball.json")
    problem = go.problem("bouncing-ball")
    p = problem.parameter_values
    assert bouncing_ball_forms.accumulation_time(p) == pytest.approx(table["exact"]["zeno"], rel=1e-14)
    times = bouncing_ball_forms.impact_times(p, 200)
    assert times[0] == pytest.approx(table["exact"]["first_impact"], rel=1e-14)
    assert times[-1] == pytest.approx(table["exact"]["zeno"], abs=1e-7)
    assert (np.diff(times) > 0).all()
    for t, y, v in table["ED"]["rows"]:
        if np.abs(times - t).min() > 1e-6:  # at impacts the table holds velocities before and after
            assert bouncing_ball_forms.exact(t, p) == pytest.approx((y, v), abs=1e-9)
    assert bouncing_ball_forms.exact(9.0, p) == (0.0, 0.0)
    step = first_step("bouncing-ball")
    assert (step.e_N[0], step.mu[0], step.g_N[0]) == (0.9, 0.0, 1.0)


@pytest.mark.parametrize(
    ("case", "stated"),
    [("down", "block_incline_sliding_down"), ("up", "block_incline_up"), ("up-low-mu", "block_incline_up_low_mu")],
)
def test_block_on_the_incline(case: str, stated: str, data: Callable[[str], Any]) -> None:
    table = data("unilateral_friction.json")[stated]
    problem = go.problem("block-on-incline", case=case)
    p = problem.parameter_values
    time, place = block_on_incline_forms.stop(p)
    assert time == pytest.approx(table.get("t_stop", table.get("t_top")), rel=1e-13)
    assert abs(place) == pytest.approx(table.get("d_stop", table.get("d_top")), rel=1e-13)
    assert block_on_incline_forms.sticks(p) == table.get("sticks", table.get("sticks_after"))
    if "friction_after" in table:
        assert block_on_incline_forms.friction_at_rest(p) == pytest.approx(table["friction_after"], rel=1e-13)
    if "accel_after" in table:
        assert block_on_incline_forms.acceleration_back(p) == pytest.approx(table["accel_after"], rel=1e-13)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert sliding_acceleration(step) == pytest.approx([-p["speed0"] / time, 0.0], rel=1e-12)
    # Without enough friction it never stops on its way down.
    assert block_on_incline_forms.stop({**p, "speed0": 1.0, "mu": 0.1}) == (np.inf, np.inf)


def test_friction_oscillator_in_closed_form(data: Callable[[str], Any]) -> None:
    exact = data("friction_oscillator.json")["exact"]
    problem = go.problem("friction-oscillator")
    p = problem.parameter_values
    time, place = friction_oscillator_forms.stop(p)
    assert time == pytest.approx(exact["t_stop"], rel=1e-14)
    assert place == pytest.approx(exact["x_stop"], rel=1e-12)
    _, places = friction_oscillator_forms.turning_points(p)
    assert np.abs(places[:-1]) == pytest.approx(exact["turning_abs"], rel=1e-13)
    assert problem.t_end > time
    mirrored = friction_oscillator_forms.turning_points({**p, "x0": -12.0, "speed0": -6.0})[1]
    assert mirrored == pytest.approx(-places, rel=1e-14)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert sliding_acceleration(step) == pytest.approx([-13.0, 0.0], rel=1e-13)
    with pytest.raises(go.BadInput, match="never stops"):
        friction_oscillator_forms.stop({**p, "mu": 0.0})


@pytest.mark.parametrize(("case", "stated"), [("sphere", "ball_slide_to_roll"), ("disc", "disc_slide_to_roll")])
def test_sliding_to_rolling_in_closed_form(case: str, stated: str, data: Callable[[str], Any]) -> None:
    table = data("unilateral_friction.json")[stated]
    problem = go.problem("sliding-to-rolling", case=case)
    time, place, speed = sliding_to_rolling_forms.rolling(problem.parameter_values)
    assert (time, place, speed) == pytest.approx((table["t"], table["x"], table["v"]), rel=1e-13)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    a = sliding_acceleration(step)
    assert problem.v0[0] + a[0] * time == pytest.approx(speed, rel=1e-13)
    # Rolling begins where the slip is used up.
    assert step.v_T[0, 0] + float((step.J_T[0] @ a)[0]) * time == pytest.approx(0.0, abs=1e-13)


def test_impacting_stick_has_the_published_gap_slip_and_flight(data: Callable[[str], Any]) -> None:
    table = data("impacting_stick.json")
    problem = go.problem("impacting-stick")
    place = {name: i for i, name in enumerate(table["columns"])}
    rows = np.array(table["rows"])
    q, v = rows[:, [place[c] for c in ("x", "y", "phi")]], rows[:, [place[c] for c in ("vx", "vy", "w")]]
    assert problem.q0 == pytest.approx(q[0], abs=1e-15)
    assert problem.v0 == pytest.approx(v[0], abs=1e-15)
    step = problem.system.evaluate(0.0, problem.q0, problem.v0)
    assert (step.e_N[0], step.e_T[0], step.mu[0]) == (1.0, 0.0, 0.01)
    assert np.linalg.solve(step.M, step.force) == pytest.approx([0, -10, 0])
    # The table's first row holds no kinematics.
    for row, place_of, rate in zip(rows[1:], q[1:], v[1:], strict=True):
        at = problem.system.evaluate(0.0, place_of, rate)
        assert at.g_N == pytest.approx([row[place["gap"]]], abs=1e-12)
        assert at.v_T[0] == pytest.approx([row[place["uT"]]], abs=1e-12)
        assert at.gdot_N == pytest.approx([row[place["uN"]]], abs=1e-12)
    # An impulse of the table moves the velocity along its rows: PN and PT act through J_N and J_T.
    i = next(k for k, row in enumerate(rows) if row[place["PN"]] > 0)
    struck = problem.system.evaluate(0.0, q[i - 1], v[i - 1])
    impulse = struck.J_N[0] * rows[i, place["PN"]] + struck.J_T[0, 0] * rows[i, place["PT"]]
    jump = np.linalg.solve(struck.M, impulse + 1e-4 * struck.force)
    assert v[i] - v[i - 1] == pytest.approx(jump, abs=1e-12)


def test_the_woodpecker_falls_in_the_period_of_steps_written_here() -> None:
    # Moreau's steps with the matrices of the source, sweeps over the three contacts, and no code of ours.
    p = go.problem("woodpecker").parameter_values
    m_M, m_S, l_M, l_G, l_S, h_M, h_S, g, c = (
        p[k] for k in ("m_M", "m_S", "l_M", "l_G", "l_S", "h_M", "h_S", "g", "c")
    )
    arm, sleeve = np.array([1.0, l_M, l_G]), np.array([m_M, 0.0, 0.0])
    inverse = np.linalg.inv(m_S * np.outer(arm, arm) + np.diag([m_M, p["J_M"], p["J_S"]]))
    rows = np.array([[0, 0, -h_S], [0, h_M, 0], [0, -h_M, 0], [1, l_M, l_G - l_S], [1, p["r_M"], 0], [1, p["r_M"], 0]])
    clear = np.array([l_M + l_G - l_S - p["r_0"], p["r_M"] - p["r_0"], p["r_M"] - p["r_0"]])
    W, restitution, h = (rows @ inverse @ rows.T).tolist(), (p["e_N"], 0.0, 0.0), 2e-5
    q, v = np.array([0.0, -clear[1] / h_M, p["phi_S0"]]), np.array([p["speed0"], 0.0, p["omega_S0"]])
    strikes: list[float] = []
    for k in range(round(0.23 / h)):
        middle = q + h / 2 * v
        touching = [i for i in range(3) if clear[i] + rows[i] @ middle <= 0]
        twist = c * (middle[1] - middle[2])
        free = v + h * inverse @ (-(m_S * arm + sleeve) * g + [0.0, -twist, twist])
        goal = (rows @ free).tolist()
        for i in touching:
            goal[i] += restitution[i] * float(rows[i] @ v)
        impulses, moved = [0.0] * 6, 1.0
        while touching and moved > 1e-12:
            moved = 0.0
            for i in (*touching, *(i + 3 for i in touching)):
                rate = goal[i] + sum(w * x for w, x in zip(W[i], impulses, strict=True))
                low, high = (0.0, np.inf) if i < 3 else (-p["mu"] * impulses[i - 3], p["mu"] * impulses[i - 3])
                value = min(max(impulses[i] - rate / W[i][i], low), high)
                moved, impulses[i] = max(moved, abs(value - impulses[i])), value
        v = free + inverse @ rows.T @ impulses
        if impulses[0] > 0 and not (strikes and k * h - strikes[-1] < 0.01):
            strikes.append(k * h)
        q = middle + h / 2 * v
    motion = go.simulate("woodpecker", t_end=0.23)
    ours = [e["t"] for e in motion.events if e["kind"] == "impact" and e["contacts"] == ["beak"]]
    assert len(strikes) == 2
    assert ours == pytest.approx(strikes, abs=2e-4)
    assert motion.q[-1, 0] == pytest.approx(q[0], abs=1e-4)
