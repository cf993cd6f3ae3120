"""Steppers on problems with closed forms: order, tolerance, and where they land."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.stepper import Control

FIXED = ["semi-implicit", "rk4"]
ADAPTIVE = ["rk45", "dop853", "radau"]


def oscillator(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """x'' = -x from x = 1, x' = 0: x = cos t."""
    return -q


class Free:
    """The motion of an acceleration: the state beside q is the velocity."""

    def __init__(self, acceleration: Callable[..., np.ndarray]) -> None:
        self.rate = acceleration

    def velocity(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return u

    def passed(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Nothing to look for at the states in between."""


def run(
    name: str,
    acceleration: Callable[..., np.ndarray] = oscillator,
    *,
    t0: float = 0.0,
    t_end: float = 1.0,
    dt: float | None = None,
    rtol: float = 1e-9,
    q: Any = (1.0,),
    v: Any = (0.0,),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stepper = registry.load("stepper", name)
    integration = stepper.start(
        Free(acceleration), t0, np.array(q, dtype=float), np.array(v, dtype=float), Control(t_end, dt, rtol, rtol)
    )
    t, rows = t0, []
    while t < t_end:
        t, q, v = integration.advance()
        rows.append((t, q, v))
    times, positions, velocities = zip(*rows, strict=True)
    return np.array(times), np.array(positions), np.array(velocities)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("part", ["position", "velocity"])
def test_order_of_convergence(name: str, part: str) -> None:
    errors = []
    for dt in (1 / 64, 1 / 128):
        # A start at rest would be special: the velocities of semi-implicit Euler are of order 2 there.
        _, q, v = run(name, dt=dt, v=[0.5])
        exact_q, exact_v = math.cos(1) + 0.5 * math.sin(1), 0.5 * math.cos(1) - math.sin(1)
        errors.append(abs(q[-1, 0] - exact_q) if part == "position" else abs(v[-1, 0] - exact_v))
    # The order is approached with an error of size dt.
    assert math.log2(errors[0] / errors[1]) == pytest.approx(registry.load("stepper", name).order, abs=2 / 64)


def test_the_order_of_the_papers_scheme_is_one_and_it_is_symplectic() -> None:
    """Velocity first, then position with the new velocity: the oscillator's amplitude never grows."""
    _, q, v = run("semi-implicit", dt=0.1, t_end=1000.0)
    # It conserves q^2 + v^2 - dt q v exactly.
    invariant = q[:, 0] ** 2 + v[:, 0] ** 2 - 0.1 * q[:, 0] * v[:, 0]
    np.testing.assert_allclose(invariant, 1.0, rtol=1e-11)


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_adaptive_steppers_meet_their_tolerance(name: str, rtol: float) -> None:
    t, q, v = run(name, t_end=2 * math.pi, rtol=rtol)
    # An oscillator does not amplify local errors: each step may add rtol |y| + atol, that is 2 rtol.
    error = max(abs(q[-1, 0] - 1), abs(v[-1, 0]))
    assert error <= 2 * rtol * len(t)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_tighter_tolerance_is_a_smaller_error(name: str) -> None:
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        _, q, _ = run(name, t_end=5.0, rtol=rtol)
        errors.append(abs(q[-1, 0] - math.cos(5)))
    assert errors[0] > errors[1] > errors[2]


def test_radau_takes_a_stiff_system_in_few_steps() -> None:
    """x'' = -1e6 (x' - cos t): the velocity follows cos t at a distance of 1e-6."""
    t, q, v = run("radau", lambda t, q, v: -1e6 * (v - math.cos(t)), rtol=1e-8, q=[0.0], v=[1.0])
    assert len(t) < 1000  # an explicit method would need some 1e6
    assert v[-1, 0] == pytest.approx(math.cos(1), abs=1e-5)
    assert q[-1, 0] == pytest.approx(math.sin(1), abs=1e-5)


@pytest.mark.parametrize("name", [*FIXED, *ADAPTIVE])
@pytest.mark.parametrize(
    ("t0", "t_end", "dt", "count"),
    [(0.0, 1.0, 0.1, 10), (0.0, 0.3, 0.1, 3), (0.0, 0.35, 0.1, 4), (0.0, 0.05, 0.1, 1), (2.0, 3.0, 0.125, 8)],
)
def test_recording_instants_and_the_end_are_met_exactly(
    name: str, t0: float, t_end: float, dt: float, count: int
) -> None:
    t, q, _ = run(name, t0=t0, t_end=t_end, dt=dt, q=[math.cos(t0)], v=[-math.sin(t0)])
    assert len(t) == count
    np.testing.assert_array_equal(t[:-1], t0 + dt * np.arange(1, count))
    assert t[-1] == t_end
    if name in ADAPTIVE:
        # Landing costs no accuracy: a piece of dt is a few steps, each within 2 rtol.
        np.testing.assert_allclose(q[:, 0], np.cos(t), atol=1e-9 * 100)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_without_a_recording_interval_the_steps_are_its_own(name: str) -> None:
    t, *_ = run(name, t_end=10.0, rtol=1e-6)
    assert t[-1] == 10.0
    assert (np.diff(t) > 0).all()
    assert len(np.unique(np.diff(t).round(6))) > 2


@pytest.mark.parametrize("name", [*FIXED, *ADAPTIVE])
def test_a_corrected_state_is_continued_from(name: str) -> None:
    """Free motion: after the correction the position differs by the correction and nothing else."""
    stepper = registry.load("stepper", name)
    integration = stepper.start(
        Free(lambda t, q, v: np.zeros(1)), 0.0, np.zeros(1), np.ones(1), Control(1.0, 0.25, 1e-9, 1e-9)
    )
    t, q, v = integration.advance()
    integration.replace(q + 10.0, v * 2.0)
    ends = []
    while t < 1.0:
        t, q, v = integration.advance()
        ends.append((t, q[0], v[0]))
    np.testing.assert_allclose(ends, [(0.5, 10.75, 2.0), (0.75, 11.25, 2.0), (1.0, 11.75, 2.0)], rtol=1e-14)


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_step_is_needed(name: str) -> None:
    with pytest.raises(go.BadInput, match="dt"):
        registry.load("stepper", name).start(
            Free(oscillator), 0.0, np.ones(1), np.zeros(1), Control(1.0, None, 1e-9, 1e-9)
        )


@pytest.mark.parametrize("name", ["rk45", "dop853"])
def test_an_integrator_that_cannot_go_on_says_where(name: str, assert_sentence: Callable[..., None]) -> None:
    """x'' = 2 x^3 from x = 1, x' = 1 reaches infinity at t = 1."""
    with pytest.raises(go.BadInput) as caught, np.errstate(all="ignore"):
        run(name, lambda t, q, v: 2 * q**3, t_end=2.0, v=[1.0])
    assert_sentence(caught.value, "t = 1")
