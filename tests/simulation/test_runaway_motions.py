"""Motions whose steps are unstable, or whose state grows without bound, are never simply solved."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import gaussopt as go
from gaussopt.compiled.advances.fixed_steps import GeneratedFixedSteps


def _spring() -> go.System:
    x, v, k, c = sp.symbols("x v k c")
    return go.System.from_lagrangian(
        [x], [v], kinetic=v**2 / 2, potential=k * x**2 / 2, forces={x: -c * v}, parameters={k: 0.0, c: 0.0},
        name="spring-and-damper",
    )  # fmt: skip


@pytest.mark.parametrize("every", [1, 1000])
@pytest.mark.parametrize("engine", ["interpreted", "auto"])
@pytest.mark.parametrize(
    ("stepper", "k", "c", "dt", "t_end"),
    [
        ("rk4", 1e4, 0.0, 0.0285, 1.0), ("rk4", 0.0, 300.0, 0.00935, 0.1), ("rk4", 0.0, 300.0, 0.0102, 0.3),
        ("semi-implicit", 1e4, 0.0, 0.0205, 1.0), ("semi-implicit", 0.0, 300.0, 0.007, 0.2),
        ("rattle", 1e4, 0.0, 0.0205, 1.0), ("velocity-gauss", 1e4, 0.0, 0.0205, 1.0),
    ],
)  # fmt: skip
def test_steps_beyond_the_stability_of_a_method_are_told(
    stepper: str, k: float, c: float, dt: float, t_end: float, engine: str, every: int
) -> None:
    motion = go.simulate(
        _spring().with_parameters(k=k, c=c), q0=[1.0], v0=[1.0], stepper=stepper, dt=dt, t_end=t_end, engine=engine,
        record_every=every, error_estimate=False,
    )  # fmt: skip
    assert motion.status == "solved"
    assert any("no step follows it" in sentence for sentence in motion.warnings)


@pytest.mark.parametrize(("k", "c", "stepper"), [(1e4, 0.0, "rk4"), (0.0, 107.0, "semi-implicit"), (1.0, 0.0, "rk4")])
def test_a_short_step_decides_whether_steps_may_be_too_long(
    k: float, c: float, stepper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a row given twice an acceleration takes a decomposition, which a calm motion does not need."""
    x, y, v, w = sp.symbols("x y v w")
    system = go.System.from_lagrangian(
        [x, y], [v, w], kinetic=(v**2 + w**2) / 2, potential=k * x**2 / 2, forces={x: -c * v}, holonomic=[y, 2 * y]
    )
    asked: list[float] = []
    exact = GeneratedFixedSteps.acceleration

    def counted(self: GeneratedFixedSteps, t: float, *state: Any) -> Any:
        asked.append(t)
        return exact(self, t, *state)

    monkeypatch.setattr(GeneratedFixedSteps, "acceleration", counted)
    dt = 0.0285 if stepper == "rk4" else 0.0205
    motion = go.simulate(
        system, q0=[1.0, 0.0], v0=[1.0, 0.0], stepper=stepper, dt=dt, t_end=35 * dt, engine="compiled",
        record_every=100, error_estimate=False,
    )  # fmt: skip
    assert motion.status == "solved"
    told = [sentence for sentence in motion.warnings if "no step follows it" in sentence]
    assert bool(told) == bool(asked) == (k != 1.0)
    assert asked == pytest.approx([34 * dt] * bool(told))


@pytest.mark.parametrize("estimate", [True, False])
def test_a_state_that_grows_by_ten_orders_is_told(estimate: bool) -> None:
    """A motion without noise, whose own exponential is followed well: still nobody should take it for solved."""
    run = {"q0": [1e-3], "v0": [0.0], "dt": 0.01, "error_estimate": estimate}
    grown = go.simulate(_spring().with_parameters(k=-1.0), t_end=32.0, **run)
    assert np.abs(grown.q).max() > 1e10
    assert any(sentence.startswith("The motion runs away: ") for sentence in grown.warnings)
    assert "runs away" in grown.message
    assert go.simulate(_spring().with_parameters(k=-1.0), t_end=5.0, **run).warnings == ()


def test_a_motion_from_rest_does_not_run_away() -> None:
    """A pulse far behind a start at rest, and a long fall: what grows from nothing has no orders to grow by."""
    t = sp.symbols("t")
    x, v = sp.symbols("x v")
    pulse = sp.exp(-(((t - 5) / sp.Rational(1, 2)) ** 2))
    kicked = go.System.from_lagrangian([x], [v], kinetic=v**2 / 2, forces={x: pulse}, t=t, name="kicked")
    for system, t_end, dt in ((kicked, 10.0, 0.05), (go.System(mass=[[1.0]], force=lambda t, q, v: [-9.81]), 1e6, 5e3)):
        motion = go.simulate(system, q0=[0.0], v0=[0.0], t_end=t_end, dt=dt)
        assert motion.status == "solved"
        assert motion.warnings == ()


def test_no_warning_where_the_fastest_states_are_not_recorded() -> None:
    """An oscillator recorded at its turning points, whose steps change its velocities by a sixth."""
    dt = np.pi / 20
    motion = go.simulate(_spring().with_parameters(k=1.0), q0=[1.0], v0=[0.0], dt=dt, t_end=400 * dt, record_every=20)
    assert motion.warnings == ()
