"""Where formulations part along a parameter: bisection in fractions against closed forms, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gaussopt as go
from gaussopt.cli.main import run
from gaussopt.core.contacts import Contact
from gaussopt.core.errors import BadInput
from gaussopt.falsification import check_proof
from gaussopt.modelling.callables import System
from gaussopt.modelling.parameter import Parameter
from gaussopt.modelling.problem import Problem

PAIR = "normal-force-qp", "lcp"
COTANGENT = 0.51
"""Of the angle between the arm and the floor."""


@cache
def arm_on_a_box() -> Problem:
    """A square box of unit mass and side on two corners, and an arm hinged to the middle of its top and leaning on
    the floor: three contacts. `ratio` is the mass of the arm; its length is such that COTANGENT is that of its angle.
    """
    parameters = (Parameter("mu", 0.3, "1", "friction"), Parameter("ratio", 1.0, "1", "mass of the arm"))
    length = float(np.hypot(1.0, COTANGENT))

    def build() -> System:
        import sympy as sp

        q = x, y, theta, phi = sp.symbols("x y theta phi")
        v = vx, vy, omega, psi = sp.symbols("vx vy omega psi")
        mu, ratio = sp.symbols("mu ratio")

        def on_box(s: float, h: float) -> tuple[sp.Expr, sp.Expr]:
            return (x + s * sp.cos(theta) - h * sp.sin(theta), y + s * sp.sin(theta) + h * sp.cos(theta))

        def on_arm(s: float) -> tuple[sp.Expr, sp.Expr]:
            hinge = on_box(0.0, 0.5)
            return (hinge[0] + s * length * sp.cos(phi), hinge[1] - s * length * sp.sin(phi))

        middle = on_arm(0.5)
        speed = [sum(sp.diff(c, a) * b for a, b in zip(q, v, strict=True)) for c in middle]
        kinetic = (vx**2 + vy**2) / 2 + omega**2 / 12
        kinetic += ratio * ((speed[0] ** 2 + speed[1] ** 2) / 2 + length**2 * psi**2 / 24)
        places = {"left": on_box(-0.5, -0.5), "right": on_box(0.5, -0.5), "tip": on_arm(1.0)}
        return System.from_lagrangian(
            q, v, kinetic=kinetic, potential=9.81 * (y + ratio * middle[1]),
            contacts=[Contact(name, position=place, mu=mu) for name, place in places.items()],
            parameters={p.name: p.value for p in parameters}, name="arm-on-a-box",
        )  # fmt: skip

    start = np.array([0.0, 0.5, 0.0, np.arctan2(1.0, COTANGENT)]), np.array([1.0, 0.0, 0.0, 0.0])
    return Problem(
        name="arm-on-a-box", title="Arm hinged to a box", source="test", description="Three contacts.", build=build,
        start=lambda p: start, parameters=parameters, t_end=1.0, dt=1e-3,
    )  # fmt: skip


def test_thresholds_of_the_two_bars_are_the_closed_forms() -> None:
    """The printed QP parts from the law where C lifts, mu tan(theta) = 2."""
    axis = go.Axis("mu", 0.1, 1.0, 4)
    for theta in (1.3, 1.4):
        found = go.threshold("two-bar", *PAIR, axis, slips="-,-", theta1_0=theta)
        (at,) = found.thresholds
        assert at.different == pytest.approx(2 / np.tan(theta), rel=3e-9)
        assert 0 < at.different - at.equal < 2e-9
        assert [part.outcome for part in found.stretches][:2] == ["equal", "different"]


def test_the_state_of_a_threshold_is_solved_differently_and_its_neighbour_equally() -> None:
    found = go.threshold("two-bar", *PAIR, go.Axis("mu", 0.1, 0.8, 2), slips="-,-", theta1_0=1.4)
    (at,) = found.thresholds
    assert at.proof is not None
    assert at.proof.exact
    assert at.state["theta2_0"] == pytest.approx(np.pi / 2 - 1.4)
    far = 1e-3
    for mu, equal in ((at.equal - far, True), (at.different + far, False)):
        states = go.problem("two-bar", theta1_0=1.4, theta2_0=np.pi / 2 - 1.4, omega1_0=-0.1, omega2_0=0.1, mu=mu)
        step = states.system.evaluate(0.0, states.q0, states.v0)
        fields = {name: getattr(step, name) for name in go.StepData.__dataclass_fields__}
        step = go.StepData(**{**fields, "v_T": -np.ones((2, 1)), "g_N": None, "gdot_N": None})
        answers = [
            go.solve_step(step, name, solver, tolerance=float("inf")).lam_N
            for name, solver in (("normal-force-qp", "daqp"), ("lcp", "lemke"))
        ]
        assert (abs(answers[0] - answers[1]).max() < 1e-8) == equal


def test_an_arm_with_three_contacts_parts_at_a_friction_that_no_mass_moves() -> None:
    problem, axis = arm_on_a_box(), go.Axis("mu", 0.05, 0.95, 10)
    fixed, falling = [], []
    for ratio in (0.1, 2.0):
        for slips, kept in (("+,-,+", fixed), ("-,-,+", falling)):
            found = go.threshold(problem, *PAIR, axis, slips=slips, ratio=ratio)
            kept.append(found.thresholds[0].different)
    assert fixed == pytest.approx([COTANGENT] * 2, rel=3e-9)
    assert COTANGENT > falling[0] > falling[1] + 0.06


def test_a_threshold_lies_between_the_cells_of_an_atlas() -> None:
    problem, values = arm_on_a_box(), np.linspace(0.05, 0.95, 19)
    atlas = go.scan(problem, [go.Axis("mu", values)], slips="-,-,+")
    codes = atlas.codes("qp")[:, 0]
    first = int(np.flatnonzero(codes > 0)[0])
    at = go.threshold(problem, *PAIR, go.Axis("mu", 0.05, 0.95, 4), slips="-,-,+").thresholds[0]
    assert values[first - 1] < at.equal < at.different < values[first]


def test_equivalent_formulations_have_no_threshold() -> None:
    axis = go.Axis("m1", 0.01, 100.0, 2)
    found = go.threshold("crank-slider", "gauss", "lagrange", axis)
    assert [tuple(part) for part in found.stretches] == [("", "equal", 0.01, 100.0)]
    assert not found.thresholds
    parted = go.threshold("crank-slider", "least-squares-as-printed", "least-squares", axis)
    assert [part.outcome for part in parted.stretches] == ["different"]


def test_what_exact_arithmetic_does_not_know_is_undecided() -> None:
    found = go.threshold("box", *PAIR, go.Axis("mu1", 0.1, 1.0, 2), slips="+,+,+")
    assert [part.outcome for part in found.stretches] == ["undecided"]
    assert not found.thresholds


def test_bad_input(assert_sentence: Callable[..., None]) -> None:
    with pytest.raises(go.UnknownName, match="'nu' of two-bar"):
        go.threshold("two-bar", *PAIR, go.Axis("nu", 0.1, 1.0, 4))
    with pytest.raises(BadInput) as error:
        go.threshold("two-bar", *PAIR, go.Axis("mu", 0.1, 1.0, 4), slips="+")
    assert_sentence(error.value, "2 contacts")
    for text, word in (("mu=0:1:4:log", "positive"), ("mu=1:2:4:lin", "LOW:HIGH:COUNT:log"), ("mu=1:log", "HIGH")):
        with pytest.raises(BadInput, match=word):
            go.Axis.parse(text)


def test_logarithmic_axes() -> None:
    for count in (1, 2, 7):
        values = go.Axis.parse(f"m=0.3:30:{count}:log").values
        assert len(values) == count
        assert values == pytest.approx(np.geomspace(0.3, 30.0, count), rel=1e-14)
        assert values[0] == 0.3


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["atlas", "two-bar", "--boundary", ",".join(PAIR), "--set", "theta1_0=1.4", "--slips=-,-"]
    axes = ["--axis", "m=0.1:10:3:log", "--axis", "mu=0.1:0.8:2"]
    assert run([*words, *axes, "--out", "found", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["message"] == "normal-force-qp and lcp: 3 thresholds along mu."
    assert [of["at"]["m"] for of in data["boundaries"]] == pytest.approx([0.1, 1.0, 10.0])
    for of in data["boundaries"]:
        (at,) = of["thresholds"]
        assert at["different"] == pytest.approx(2 / np.tan(1.4), rel=3e-9)
        assert go.StepData.from_mapping(at["example"]).k == 2
        check_proof.check(at)
    assert json.loads((tmp_path / "found" / "boundary.json").read_text(encoding="utf-8")) == data
    assert run([*words, "--axis", "mu=0.1:0.8:2"]) == 0
    assert "mu, slip --: equal from 0.1 to 0.3449535, different from 0.3449535 to 0.8" in capsys.readouterr().out
    assert run(["atlas", "two-bar", "--boundary", "lcp", "--axis", "mu=0.1:0.8:2"]) == 2
    assert "--boundary needs two formulations" in capsys.readouterr().err
    assert run([*words, "--axis", "mu=0.1:0.8:2", "--loads", "3"]) == 2
    assert "belong to the maps" in capsys.readouterr().err
