"""Guides without clearance where something impacts elsewhere, against the same models in coordinates along them."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from soundness.guides import by_modes

import gaussopt as go
from gaussopt.integration.accelerations import Rejected
from gaussopt.integration.events.guides import solve_guided
from gaussopt.solving.solve import solve_step

SOLVED = go.Status.SOLVED
G = sp.Symbol("g")


def pendulum_cart(guide: bool, rough: float = 0.0, e_guide: float = 0.9) -> go.System:
    """A cart with a pendulum in front of a stop: in a guide, or in coordinates that know no height."""
    x, y, a, vx, vy, wa, m, L, e = sp.symbols("x y a vx vy wa m L e")
    q, v = ([x, y, a], [vx, vy, wa]) if guide else ([x, a], [vx, wa])
    h, u = (y, vy) if guide else (sp.S.Zero, sp.S.Zero)
    tip = sp.Matrix([vx + wa * sp.cos(a) / 2, u + wa * sp.sin(a) / 2])
    contacts = [go.Contact("stop", gap=L - x, e_N=e)]
    if guide:
        contacts.insert(0, go.Contact("guide", position=(x, y), mu=rough, e_N=e_guide, two_sided=True))
    return go.System.from_lagrangian(
        q, v, kinetic=(vx**2 + u**2) / 2 + m * tip.dot(tip) / 2, potential=G * (h + m * (h - sp.cos(a) / 2)),
        contacts=contacts, parameters={m: 0.5, G: 9.81, L: 0.01, e: 0.5},
    )  # fmt: skip


def moved(guide: bool, angle: float, speed: float = 1.0, numbers: Any = None, **settings: Any) -> go.Trajectory:
    system = pendulum_cart(guide).with_parameters(**(numbers or {}))
    between = [0.0] if guide else []
    settings = {"t_end": 0.02, "dt": 5e-4, "step_folder": None, "error_estimate": False} | settings
    return go.simulate(system, q0=[0.0, *between, angle], v0=[speed, *between, 0.0], **settings)


# Guides let go in all but the first: the motion died, or was called solved.
CASES = [
    (0.7, 1.0, {}), (-0.7, 1.0, {}), (-0.7, 0.003, {"L": 1e-5, "g": 0.1}), (-0.7, 1.0, {"m": 1e-3, "L": 1e-5, "g": 0.1})
]  # fmt: skip
WAYS: list[dict[str, Any]] = [
    {"engine": "interpreted"}, {"engine": "compiled"}, {"stepper": "moreau-jean"}, {"impact": "poisson"},
    {"stepper": "dop853"}, {"stepper": "moreau-jean", "stabilisation": "projection"},
]  # fmt: skip
EACH = [(way, *case) for i, way in enumerate(WAYS) for case in (CASES if i < 3 else CASES[:2])]


@pytest.mark.parametrize(("way", "angle", "speed", "numbers"), EACH)
def test_a_guide_holds_through_an_impact(way: Any, angle: float, speed: float, numbers: dict[str, float]) -> None:
    guided, exact = (moved(guide, angle, speed, numbers, **way) for guide in (True, False))
    assert guided.status is exact.status is SOLVED, guided.message
    assert np.abs(guided.v[-1, [0, 2]] - exact.v[-1]).max() < 1e-11 * np.abs(exact.v).max()
    assert np.abs(guided.q[-1, [0, 2]] - exact.q[-1]).max() < 1e-12
    assert np.abs(guided.v[:, 1]).max() < 1e-12
    if "stepper" not in way:
        (one,), (other,) = ([e for e in m.events if e["kind"] == "impact"] for m in (guided, exact))
        assert one["Lam_N"][1] == pytest.approx(other["Lam_N"][0], rel=1e-10)
        assert np.sign(one["Lam_N"][0]) == np.sign(angle)  # impulses of both signs
        assert one["energy_change"] == pytest.approx(other["energy_change"], rel=1e-9)


def test_the_stated_impulse_on_the_stop() -> None:
    (impact,) = [e for e in moved(True, -0.7).events if e["kind"] == "impact"]
    assert impact["Lam_N"] == pytest.approx([-0.361967, 1.774039], abs=1e-6)
    assert impact["v_after"][2] == pytest.approx(2.4082225, abs=1e-7)


def test_redundant_guides_share_an_impulse() -> None:
    x, y, vx, vy = sp.symbols("x y vx vy")
    guides = [go.Contact(f"guide{i}", gap=f * y, two_sided=True) for i, f in enumerate((1, 2, -3))]
    system = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, contacts=[*guides, go.Contact("slope", gap=0.1 - x - y, e_N=0.5)]
    )
    for law in ("newton", "poisson"):
        motion = go.simulate(system, q0=[0.0, 0.0], v0=[1.0, 0.0], t_end=0.3, dt=1e-2, impact=law, error_estimate=False)
        assert motion.status is SOLVED, motion.message
        assert motion.v[-1] == pytest.approx([-0.5, 0.0], abs=1e-14)
        (impact,) = [e for e in motion.events if e["kind"] == "impact"]
        assert np.dot(impact["Lam_N"], [1, 2, -3, -1]) == pytest.approx(0.0, abs=1e-14)
        assert impact["Lam_N"][3] == pytest.approx(1.5)


# -- friction ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.7, -0.7])
def test_the_friction_of_a_guide_is_bounded_by_either_wall(angle: float) -> None:
    """The pendulum pulls the cart up or down while the stop throws it back."""
    motion = go.simulate(
        pendulum_cart(True, rough=0.2), q0=[0.0, 0.0, angle], v0=[1.0, 0.0, 0.0], t_end=0.02, dt=5e-4, step_folder=None,
        error_estimate=False,
    )  # fmt: skip
    assert motion.status is SOLVED, motion.message
    (impact,) = [e for e in motion.events if e["kind"] == "impact"]
    (normal, _), (friction, _) = impact["Lam_N"], impact["Lam_T"]
    assert np.sign(normal) == np.sign(angle)
    assert impact["v_after"][0] < 0
    assert friction == pytest.approx(0.2 * abs(normal), rel=1e-12)
    assert abs(impact["v_after"][1]) < 1e-14
    assert impact["energy_change"] < 0


def cart_energies() -> go.Problem:
    """A double pendulum on a cart, on a rail with friction, in front of a stop."""
    x, y, a, b, vx, vy, wa, wb = sp.symbols("x y a b vx vy wa wb")
    one = sp.Matrix([vx + wa * sp.cos(a) / 2, vy + wa * sp.sin(a) / 2])
    two = one + 0.4 * wb * sp.Matrix([sp.cos(b), sp.sin(b)])
    height = y - sp.cos(a) / 2
    system = go.System.from_lagrangian(
        [x, y, a, b], [vx, vy, wa, wb], kinetic=(vx**2 + vy**2) / 2 + 0.15 * one.dot(one) + 0.1 * two.dot(two),
        potential=9.81 * (y + 0.3 * height + 0.2 * (height - 0.4 * sp.cos(b))),
        contacts=[
            go.Contact("rail", position=(x, y), mu=0.1, two_sided=True), go.Contact("stop", gap=0.15 - x, e_N=0.5)
        ],
    )  # fmt: skip
    return go.Problem.of(system, q0=[0.0, 0.0, 1.2, 0.8], t_end=2.3)


def test_what_a_stop_gives_back_after_poisson_is_open_beside_a_rough_rail() -> None:
    """At the end of the compression the cart sticks: stop and friction share the impulse in many ways."""
    motion = go.simulate(
        pendulum_cart(True, rough=0.2), q0=[0.0, 0.0, 0.7], v0=[1.0, 0.0, 0.0], t_end=0.02, dt=5e-4, impact="poisson",
        step_folder=None, error_estimate=False,
    )  # fmt: skip
    assert motion.status is go.Status.MULTIPLE_SOLUTIONS
    assert "choose the impact law newton" in motion.message
    assert motion.t[-1] > 0.009


def test_poisson_where_normal_and_friction_act_in_one_direction() -> None:
    """A point on a line meets a tilted wall: what its normal impulse is beside its friction nobody knows."""
    x, vx = sp.symbols("x vx")
    for mu, expected in ((0.2, go.Status.MULTIPLE_SOLUTIONS), (0.0, SOLVED)):
        wall = go.Contact("wall", gap=0.1 - 0.6 * x, slip=[0.8 * vx], mu=mu, e_N=0.5)
        system = go.System.from_lagrangian([x], [vx], kinetic=vx**2 / 2, contacts=[wall])
        for law in ("poisson", "newton"):
            motion = go.simulate(
                system, q0=[0.0], v0=[1.0], t_end=0.3, dt=1e-2, impact=law, step_folder=None, error_estimate=False
            )
            assert motion.status is (expected if law == "poisson" else SOLVED), motion.message
            assert motion.v[-1, 0] == pytest.approx(1.0 if motion.status is not SOLVED else -0.5)


def test_the_energy_of_a_cart_on_a_rough_rail_balances() -> None:
    """What friction took on the way and what the impact took is what is missing at the end."""
    motion = go.simulate(cart_energies(), dt=1e-3, step_folder=None, error_estimate=False)
    assert motion.status is SOLVED, motion.message
    (impact,) = [e for e in motion.events if e["kind"] == "impact"]
    power = np.einsum("tkd,tkd->t", motion.lam_T, motion.slip)
    assert power.max() < 1e-13
    work = float(np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(motion.t)))
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(work + impact["energy_change"], abs=2e-6)
    assert impact["energy_change"] < -1e-5
    assert np.abs(motion.q[:, 1]).max() < 1e-12


def random_step(random: np.random.Generator, steep: float) -> tuple[go.StepData, np.ndarray]:
    """An impact of one contact where two guides hold, all with friction."""
    n, k = 5, 3
    B = random.normal(size=(n, n))
    J_N, J_T = random.normal(size=(k, n)), random.normal(size=(k, 1, n))
    guides = np.array([True, True, False])
    v = random.normal(size=n)
    v -= np.linalg.lstsq(J_N[guides], J_N[guides] @ v, rcond=None)[0]
    J_N[2] *= -np.sign(J_N[2] @ v)
    step = go.StepData.from_mapping({
        "M": B @ B.T + np.eye(n), "Q": np.zeros(n), "J_N": J_N, "zeta_N": J_N @ v, "J_T": J_T, "zeta_T": J_T @ v,
        "mu": random.uniform(0.05, steep, k),
    })  # fmt: skip
    return step, guides


def test_guides_with_friction_against_all_modes() -> None:
    """Where the laws have one solution it is found, and where they have none or several that is said."""
    counts = {0: 0, 1: 0, 2: 0}

    def solve(step: go.StepData) -> Any:
        answer = solve_step(step, "stick-slip", "lemke")
        if answer.status is not SOLVED:
            raise Rejected(step, answer)
        return answer

    for seed, steep in itertools.product(range(40), (0.2, 3.0)):
        step, guides = random_step(np.random.default_rng([seed]), steep)
        expected = by_modes(step, guides, step.zeta_N, step.zeta_T[:, 0], np.zeros(step.k))
        counts[min(len(expected), 2)] += 1
        try:
            answer = solve_guided(step, guides, solve)
        except Rejected as error:
            answer = error.answer
        if answer.status is not SOLVED:
            assert len(expected) != 1 or answer.status is go.Status.MULTIPLE_SOLUTIONS
            assert steep > 1
            continue
        assert len(expected) == 1
        assert answer.a is not None
        assert np.abs(answer.a - expected[0][0]).max() < 1e-9 * (1 + np.abs(answer.a).max())
        assert np.abs(step.zeta_N + step.J_N @ answer.a)[guides].max() < 1e-9
    assert counts[1] > 50
    assert counts[0] + counts[2] > 0


@pytest.mark.parametrize("stepper", ["rk4", "moreau-jean"])
@pytest.mark.parametrize(("second", "words"), [
    ([go.Contact("again", gap=sp.Symbol("y") / 2, slip=[sp.Symbol("vx")], mu=0.1, two_sided=True)], "'again'"),
    ([go.Contact("smooth", gap=sp.Symbol("y"), two_sided=True)], "'rail'"),
    ([go.Contact(f"more{i}", gap=sp.Symbol("y"), slip=[sp.Symbol("vx")], mu=0.1, two_sided=True) for i in range(6)],
     "7 two-sided contacts with friction"),
])  # fmt: skip
def test_friction_that_no_law_states_is_refused_before_the_motion(second: Any, words: str, stepper: str) -> None:
    x, y, vx, vy = sp.symbols("x y vx vy")
    rail = go.Contact("rail", position=(x, y), mu=0.3, two_sided=True)
    system = go.System.from_lagrangian([x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, contacts=[rail, *second])
    with pytest.raises(go.BadInput, match=words):
        go.simulate(system, q0=[0.0, 0.0], v0=[1.0, 0.0], t_end=0.1, dt=1e-2, stepper=stepper, step_folder=None)


# -- time stepping -------------------------------------------------------------------------------------------------


@cache
def turning() -> go.Trajectory:
    return go.simulate(go.problem("guided-slider-crank", case="turning"), t_end=0.05, dt=1e-3, error_estimate=False)


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_steps_at_velocity_level_converge_in_a_rough_guide(stabilisation: str) -> None:
    """With projection friction has to feel the forces that turn the velocities, too."""
    problem, exact, errors = go.problem("guided-slider-crank", case="turning"), turning(), []
    for dt in (2e-3, 1e-3):
        motion = go.simulate(
            problem, t_end=0.05, dt=dt, stepper="moreau-jean", stabilisation=stabilisation, error_estimate=False,
            step_folder=None,
        )  # fmt: skip
        assert motion.status is SOLVED
        errors.append(np.abs(motion.v[-1] - exact.v[-1]).max())
        assert motion.lam_N[-1, 0] == pytest.approx(exact.lam_N[-1, 0], rel=10 * dt)
    assert errors[1] < 0.6 * errors[0] < 0.03


def test_a_start_off_its_guide_is_refused() -> None:
    with pytest.raises(go.BadInput, match="off its two-sided contacts"):
        go.simulate(
            pendulum_cart(True), q0=[0.0, 0.1, 0.0], v0=[1.0, 0.0, 0.0], t_end=0.02, dt=1e-3, stepper="moreau-jean",
            step_folder=None,
        )  # fmt: skip


def test_velocity_level_steps_start_from_gaps_as_such_steps_leave_them() -> None:
    """States of other codes penetrate by a millionth; the contact takes part, which is said."""
    x, y, vx, vy = sp.symbols("x y vx vy")
    floor = go.Contact("floor", position=(x, y), mu=0.5)
    block = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=9.81 * y, contacts=[floor], name="block"
    )
    start: dict[str, Any] = {"q0": [0.0, -1e-6], "v0": [1.0, 0.0], "t_end": 0.1, "dt": 1e-3, "step_folder": None}
    motion = go.simulate(block, stepper="moreau-jean", error_estimate=False, **start)
    assert motion.status is SOLVED
    assert motion.v[-1] == pytest.approx([1.0 - 0.5 * 9.81 * 0.1, 0.0], abs=1e-12)
    assert motion.gap[:, 0] == pytest.approx(-1e-6)
    assert motion.lam_N[:, 0] == pytest.approx(9.81)
    assert any("'floor' (1e-06 m)" in sentence for sentence in motion.warnings)
    with pytest.raises(go.BadInput, match="penetrates"):
        go.simulate(block, stepper="rk4", **start)
    with pytest.raises(go.BadInput, match="penetrates"):
        go.simulate(block, stepper="moreau-jean", **start | {"q0": [0.0, -0.04]})
