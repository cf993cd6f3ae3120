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

HORIZONS: dict[str, tuple[float, float]] = {
    "block-on-incline": (2.0, 0.1), "bouncing-ball": (0.6, 0.02), "box": (0.4, 0.02), "box-wall": (0.05, 0.01),
    "four-leg-table": (0.1, 0.01), "friction-oscillator": (4.0, 0.4), "impacting-stick": (0.2, 0.01),
    "pinched-capsule": (0.5, 0.05), "sliding-cube": (1.4, 0.1), "sliding-rod": (0.5, 0.02),
    "sliding-to-rolling": (1.0, 0.05), "sphere-pile": (0.03, 0.01), "two-bar": (0.3, 0.02),
    "woodpecker": (0.06, 2e-3),
}  # fmt: skip
"""End and step of motions whose first steps show no event, or take long."""

STEPS, FEW = 10, 1
"""Number of steps otherwise, and by methods other than `LONG`, which share the stages of the first of them."""

LONG = "rk4", "moreau-jean"

METHODS = (*LONG, "rk4 projected", "semi-implicit", "rk45", "dop853")
"""The steppers of motions with contacts, with and without projection; `radau`, which has the same stages, is slow."""

OWN = {"box-wall", "sphere-pile"}
"""Problems that state Moreau-Jean steps of their own, which are interpreted."""


def settings_of(problem: go.Problem, method: str) -> dict[str, Any]:
    stepper, *projected = method.split()
    end, dt = HORIZONS.get(problem.name, (STEPS * problem.dt, problem.dt))
    return {
        "stepper": stepper, "dt": dt, "t_end": end if method in LONG else FEW * dt, "error_estimate": False,
        "stabilisation": "projection" if projected else "none", "step_folder": None,
    }  # fmt: skip


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
    """Largest difference of positions and velocities at the instants that both record."""
    shared = [np.flatnonzero(np.isin(m.t, n.t) & np.append(np.diff(m.t) > 0, True)) for m, n in
              ((ours, theirs), (theirs, ours))]  # fmt: skip
    return max(apart(getattr(ours, x)[shared[0]], getattr(theirs, x)[shared[1]]) for x in ("q", "v"))


@pytest.mark.parametrize("name", registry.names("problem"))
def test_both_engines_compute_the_same_motion(name: str) -> None:
    problem = go.problem(name)
    if not problem.system.contact_names:
        pytest.skip("it has no contact")
    for method in METHODS:
        settings = settings_of(problem, method)
        theirs = go.simulate(problem, engine="interpreted", **settings)
        if method == "moreau-jean" and (name in OWN or any(problem.system.two_sided)):
            with pytest.raises(NotAccepted, match=r"own time steps|two-sided contacts"):
                go.simulate(problem, engine="compiled", **settings)
            continue
        ours = go.simulate(problem, engine="compiled", **settings)
        assert ours.status is theirs.status is go.Status.SOLVED, method
        happened = [[(e["kind"], e.get("contact")) for e in motion.events] for motion in (ours, theirs)]
        assert happened[0] == happened[1], method
        assert ours.t.shape == theirs.t.shape, method
        np.testing.assert_array_equal(ours.mode, theirs.mode, err_msg=method)
        instants = apart([e["t"] for e in ours.events], [e["t"] for e in theirs.events])
        found = max(instants, *(apart(getattr(ours, x), getattr(theirs, x)) for x in ("t", "q", "v")))
        amplified = 1.0
        if found > AGREE:
            amplified = spread(go.simulate(problem, engine="interpreted", **moved(problem), **settings), theirs) / MOVED
        assert found <= AGREE * max(1.0, amplified), method
