"""What people do to contacts that nobody planned for: each case once gave a wrong answer, a hang or an unclear end."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_forms import bouncing_ball as bouncing_ball_forms
from command_line import call_json

import gaussopt as go

G = 9.81
SLIDING = {
    "kind": "step", "M": [[1, 0], [0, 1]], "Q": [0, -G], "J_N": [[0, 1]], "zeta_N": [0], "J_T": [[1, 0]], "zeta_T": [0],
    "mu": [0.3], "v_T": [1.0],
}  # fmt: skip
HELD = {"a": [-0.3 * G, 0.0], "lam_N": [G], "lam_T": [-0.3 * G]}
FALLING = {"a": [0.0, -G]}


def block(mu: float = 0.3) -> go.System:
    """A block given by plain functions."""
    return go.System(
        np.eye(2), [0.0, -G],
        contacts=lambda t, q, v: {
            "g_N": [q[1]], "J_N": [[0, 1]], "zeta_N": [0], "J_T": [[1, 0]], "zeta_T": [0], "mu": mu
        },
    )  # fmt: skip


@pytest.mark.parametrize("formulation", ["impact", "moreau-jean"])
def test_jumps_are_no_accelerations(formulation: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--stepper", "moreau-jean")):
        code, data = call_json(capsys, "run", "sliding-rod", "--formulation", formulation, *more)
        assert (code, data["status"]) == (2, "bad_input")
        assert "velocity level" in data["message"]


@pytest.mark.parametrize(
    ("gap", "rate", "answer", "status"),
    [(0.0, 0.0, HELD, "solved"), (0.0, 0.0, FALLING, "inaccurate"), (0.1, 0.0, HELD, "bad_input"),
     (0.1, 0.0, FALLING, "solved"), (0.0, 1.0, HELD, "bad_input"), (0.0, 1.0, FALLING, "solved"),
     (-0.1, 0.0, HELD, "bad_input"), (0.0, -1.0, HELD, "bad_input")],
)  # fmt: skip
def test_verify_and_solve_know_open_contacts(
    gap: float, rate: float, answer: dict[str, Any], status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step, given = tmp_path / "step.json", tmp_path / "answer.json"
    step.write_text(json.dumps({**SLIDING, "g_N": [gap], "gdot_N": [rate]}), encoding="utf-8")
    given.write_text(json.dumps(answer), encoding="utf-8")
    assert call_json(capsys, "verify", str(step), str(given))[1]["status"] == status
    code, data = call_json(capsys, "solve", str(step))
    if gap < 0 or rate < 0:
        assert (code, data["status"]) == (2, "bad_input")
    else:
        right = HELD if gap == 0 and rate == 0 else FALLING
        assert (code, data["status"]) == (0, "solved")
        assert data["a"] == pytest.approx(right["a"], abs=1e-14)
        assert data["lam_N"] == pytest.approx(right.get("lam_N", [0.0]), abs=1e-13)


def test_plain_contacts_need_no_evaluation_before() -> None:
    motion = go.simulate(block(), q0=[0, 0], v0=[1, 0], dt=2e-3, t_end=0.5, error_estimate=False)
    assert motion.meta["formulation"] == "stick-slip"
    assert [e["kind"] for e in motion.events] == ["stick"]
    assert motion.events[0]["t"] == pytest.approx(1 / (0.3 * G), abs=1e-12)


def test_contradicting_contacts_without_friction_are_infeasible() -> None:
    step = go.StepData.from_mapping({"M": [[1.0]], "Q": [0.0], "J_N": [[1], [-1]], "zeta_N": [-1, -1]})
    answer = go.solve_step(step, "stick-slip", "lemke")
    assert answer.status is go.Status.INFEASIBLE
    assert "Painleve" not in answer.message


@pytest.mark.parametrize(
    ("function", "word"), [(lambda t, q, v: math.nan, "nan"), (lambda t, q, v: 1 / 0, "ZeroDivisionError"),
                           (lambda t, q, v: q, "TypeError")]
)  # fmt: skip
def test_events_that_cannot_be_watched(function: Callable[..., Any], word: str) -> None:
    with pytest.raises(go.BadInput, match=word):
        go.simulate(block(), q0=[0, 0], v0=[1, 0], dt=2e-3, t_end=0.1, events=[go.Event("odd", function)])


def test_events_are_checked_where_they_are_made() -> None:
    with pytest.raises(go.BadInput, match="direction"):
        go.Event("odd", lambda t, q, v: 1.0, direction=7)
    with pytest.raises(go.BadInput, match="callable"):
        go.Event("odd", 3)  # type: ignore[arg-type]
    with pytest.raises(go.BadInput, match="Event"):
        go.simulate(block(), q0=[0, 0], v0=[1, 0], dt=0.1, t_end=0.1, events=[3])  # type: ignore[list-item]


def test_a_ball_comes_to_rest_where_its_impacts_accumulate() -> None:
    problem = go.problem("bouncing-ball")
    motion = go.simulate(
        problem, stepper="dop853", t_end=10.0, accumulation="close", error_estimate=False, engine="compiled"
    )
    assert motion.status is go.Status.SOLVED
    found = next(e for e in motion.events if e["kind"] == "accumulation")
    assert found["time_estimate"] == pytest.approx(
        bouncing_ball_forms.accumulation_time(problem.parameter_values), abs=1e-9
    )
    assert motion.events[-1]["kind"] == "landing"
    assert np.abs(motion.q[-1]).max() <= 1e-12
    assert motion.lam_N[-1] == pytest.approx([G], rel=1e-12)
    (contact,) = motion.contacts
    force = motion.reaction(contact)
    assert force.shape == (len(motion.t), 2)
    assert (force[-1, 0], force[-1, 1]) == (motion.lam_N[-1, 0], motion.lam_T[-1, 0, 0])
    with pytest.raises(go.UnknownName, match=rf"Unknown joint or contact 'x'.*{contact}"):
        motion.reaction("x")


def test_drift_is_neither_impact_nor_separation() -> None:
    motion = go.simulate(go.problem("two-bar", case="contact", e_N=0.5), dt=0.02, error_estimate=False)
    assert [e["kind"] for e in motion.events] == ["reversal", "reversal", "floor"]


@pytest.mark.parametrize(("angle", "omega"), [(36.0, 3.0), (30.0, 2.0)])
def test_motions_into_a_painleve_region_end_with_its_name(angle: float, omega: float) -> None:
    rod = go.problem("sliding-rod", mu=2.0, theta0=math.radians(angle), omega0=omega, vA0=-20.0)
    motion = go.simulate(
        rod, "lcp", "lemke", stepper="dop853", rtol=1e-9, atol=1e-9, t_end=0.4, error_estimate=False, engine="compiled"
    )
    assert motion.status in (go.Status.NO_SOLUTION, go.Status.MULTIPLE_SOLUTIONS)
    assert "Painleve" in motion.message
    border = next(e for e in motion.events if e["kind"] == "indefinite")
    theta = float(np.interp(border["t"], motion.t, motion.q[:, 2]))
    # A < 0 from tan theta = (3 mu - sqrt(9 mu^2 - 16)) / 2 on.
    assert math.degrees(theta) == pytest.approx(math.degrees(math.atan(3 - math.sqrt(5))), abs=0.05)


def test_the_ground_that_moves_feeds_energy_by_right() -> None:
    """Work of a belt or a plate on what touches it is no gain of the contact."""
    import sympy as sp

    x, y, vx, vy, t = sp.symbols("x y vx vy t")
    plate = go.System.from_lagrangian(
        [x, y], [vx, vy], kinetic=(vx**2 + vy**2) / 2, potential=G * y, t=t,
        contacts=[go.Contact("plate", gap=y - sp.sin(20 * t) / 100, slip=(vx - t,), mu=sp.Rational(1, 2), e_N=0.5)],
    )  # fmt: skip
    for stepper in ("rk4", "moreau-jean"):
        motion = go.simulate(plate, q0=[0, 0.05], v0=[0, 0], dt=1e-3, t_end=0.3, stepper=stepper, error_estimate=False)
        kinds = {e["kind"] for e in motion.events}
        assert kinds & {"impact", "landing"}
        assert "energy_gain" not in kinds


def test_a_formulation_that_does_not_fit_is_not_replaced_in_time_stepping(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "run", "block-on-incline", "--stepper", "moreau-jean", "--formulation", "gauss")
    assert (code, data["status"]) == (2, "bad_input")
    assert "friction" in data["message"]


def test_resting_contacts_are_not_events_of_every_time_step() -> None:
    motion = go.simulate(go.problem("sliding-rod", case="stop"), stepper="moreau-jean", dt=1e-3, t_end=0.1)
    assert [e["kind"] for e in motion.events] == ["landing"]


@pytest.mark.parametrize(("n", "solver"), [(5, "lemke"), (6, "lemke"), (6, "newton"), (6, "pgs")])
def test_a_beam_on_many_contacts_lands(n: int, solver: str) -> None:
    """More pairs than are enumerated: certified because all laws hold, without a word on uniqueness."""
    import sympy as sp

    x, y, th, vx, vy, w = sp.symbols("x y th vx vy w")
    beam = go.System.from_lagrangian(
        [x, y, th], [vx, vy, w], kinetic=(vx**2 + vy**2 + w**2 / 3) / 2, potential=G * y,
        contacts=[go.Contact(f"p{i}", position=(x + p * sp.cos(th), y + p * sp.sin(th)), mu=0.3)
                  for i, p in enumerate(np.linspace(-0.9, 0.9, n).tolist())],
    )  # fmt: skip
    motion = go.simulate(
        beam, "stick-slip", solver, q0=[0, 0.3, 0.1], v0=[1, 0, 0], dt=1e-2, t_end=0.5, error_estimate=False
    )
    assert motion.status is go.Status.SOLVED
    assert np.abs(motion.gap[-1]).max() <= 1e-12
    assert motion.lam_N[-1].sum() == pytest.approx(G, rel=1e-9)


def test_lemke_tries_other_covering_vectors_after_a_ray() -> None:
    """The impact of a beam on ten contacts: from the vector of ones the path ends on a ray."""
    p = np.linspace(-0.9, 0.9, 10)
    J_N = np.column_stack((np.zeros(10), np.ones(10), p))
    J_T = np.column_stack((np.ones(10), np.zeros(10), np.zeros(10)))
    step = go.StepData.from_mapping(
        {"M": np.diag([1, 1, 1 / 3]), "Q": [0, 0, 0], "J_N": J_N, "zeta_N": [-0.0981] * 10, "J_T": J_T,
         "zeta_T": [0.0288] * 10, "mu": [0.3] * 10}
    )  # fmt: skip
    lcp = go.formulate(step, "stick-slip")
    answer = go.solve(lcp, "lemke")
    assert answer.status is go.Status.SOLVED
    z = answer.x
    assert z is not None
    w = lcp.M @ z + lcp.q
    assert np.abs(np.minimum(z, w)).max() <= 1e-12


def test_enumeration_judges_every_row_in_its_own_scale() -> None:
    M = np.array([[3.19156382, 3.13095423e-13, 0], [3.13095423e-13, 3.20529879e-23, 2.64697796e-23], [0.6, -1, 0]])
    q = np.array([-12.75079532, 9.68676603, 0])
    for z in go.enumerate_lcp(go.LCP(M, q)).solutions:
        w, size = M @ z + q, np.abs(M) @ z + np.abs(q)
        assert (w >= -1e-9 * size).all()
