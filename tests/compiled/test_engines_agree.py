"""Both engines compute the same motion of every registered problem with contact, to 1e-12.

Where a motion amplifies rounding errors, 1e-12 is multiplied by the amplification, which is measured: the interpreted
motion is computed again from a start that differs by a few units of the last place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core import registry
from gaussopt.core.errors import NotAccepted
from gaussopt.jit.kernel import COMPILED
from gaussopt.linalg.dense import EPS

pytestmark = pytest.mark.skipif(not COMPILED, reason="compilation is switched off")

AGREE = 1e-12

MOVED = 4.0 * EPS
"""Change of the start, relative to the larger of 1 and each coordinate or velocity."""

NAMES = [name for name in registry.names("problem") if go.problem(name).system.contact_names]

HORIZONS: dict[str, dict[str, float]] = {
    "block-on-incline": {"t_end": 2.0, "dt": 0.05},
}
"""End and step of motions whose first 20 steps would show no event, or take long."""

STEPS = 20

METHODS = ("rk4", "rk4 projected", "moreau-jean", "semi-implicit", "rk45", "dop853", "radau")


def settings_of(name: str, method: str) -> dict[str, Any]:
    problem, (stepper, *projected) = go.problem(name), method.split()
    found: dict[str, Any] = {"stepper": stepper, "dt": problem.dt, "t_end": STEPS * (problem.dt or 0.0)}
    found |= HORIZONS.get(name, {})
    if stepper not in ("rk4", "moreau-jean"):
        found["t_end"] = 4 * found["dt"]
    return found | ({"stabilisation": "projection"} if projected else {})


def moved(problem: go.Problem) -> dict[str, Any]:
    """A start that differs by a few units of the last place."""
    random = np.random.default_rng(0)
    return {
        key: x + MOVED * np.maximum(1.0, np.abs(x)) * random.choice((-1.0, 1.0), len(x))
        for key, x in (("q0", problem.q0), ("v0", problem.v0))
    }


def apart(ours: Any, theirs: Any) -> float:
    """Largest difference, relative to 1 + the largest entry."""
    return float(np.abs(np.subtract(ours, theirs)).max(initial=0.0) / (1.0 + np.abs(theirs).max(initial=0.0)))


def spread(ours: go.Trajectory, theirs: go.Trajectory) -> float:
    """Largest difference of two motions with the same events, in times, positions, velocities and instants."""
    assert [(e["kind"], e.get("contact")) for e in ours.events] == [(e["kind"], e.get("contact")) for e in theirs.events]
    assert ours.t.shape == theirs.t.shape
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    instants = apart([e["t"] for e in ours.events], [e["t"] for e in theirs.events])
    return max(instants, *(apart(getattr(ours, x), getattr(theirs, x)) for x in ("t", "q", "v")))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_both_engines_compute_the_same_motion(name: str, method: str) -> None:
    problem, settings = go.problem(name), settings_of(name, method)
    settings |= {"error_estimate": False, "step_folder": None}
    ours = go.simulate(problem, engine="compiled", **settings)
    theirs = go.simulate(problem, engine="interpreted", **settings)
    start = moved(problem)
    other = go.simulate(problem, engine="interpreted", **start, **settings)
    assert ours.status is theirs.status
    amplified = spread(other, theirs) / MOVED
    print(len(ours.t), len(theirs.events), f"{spread(ours, theirs):.1e}", f"{amplified:.1e}")
    assert spread(ours, theirs) <= AGREE * max(1.0, amplified)
