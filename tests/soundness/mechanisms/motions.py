"""Motions of a mechanism against an integration of the judge's own equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import gaussopt as go

from .fixed import fixed, floats, unit
from .judge import Floats, Undecided, judge
from .parts import Mechanism, State

RIGHT_TO = 1e-5
"""Error of a coordinate, relative to its largest size and way, that a motion called solved may have."""
MOST = 300
"""Evaluations of the judge that a reference may take."""
OFF = 1e-4
"""What redundant rows may miss in states that an integration reaches."""


class TooLong(Exception):
    """A reference that would take too many evaluations."""


def reference(made: Mechanism, start: State, t_end: float) -> State:
    """The state at the end, by an integration of order eight; raises TooLong or Undecided."""
    k, calls = len(made.bodies), 0

    def state_of(t: float, y: Floats) -> State:
        r, e, v, w = np.split(y, [3 * k, 7 * k, 10 * k])
        turned = np.array([unit(x) for x in fixed(e.reshape(k, 4))], dtype=object)
        places, speeds, spins = (fixed(x.reshape(k, 3)) for x in (r, v, w))
        return State(places, turned, speeds, spins, start.t + fixed(float(t)), start.turns)

    def rate(t: float, y: Floats) -> Floats:
        nonlocal calls
        calls += 1
        if calls > MOST:
            raise TooLong
        now = state_of(t, y)
        a = judge(made, now, OFF).a
        e, w = y[3 * k : 7 * k].reshape(k, 4), y[10 * k :].reshape(k, 3)
        turning = 0.5 * np.array([
            np.concatenate(([-wi @ ei[1:]], ei[0] * wi + np.cross(wi, ei[1:]))) for ei, wi in zip(e, w, strict=True)
        ])  # fmt: skip
        return np.concatenate((y[7 * k : 10 * k], turning.ravel(), a[:, :3].ravel(), a[:, 3:].ravel()))

    y = np.concatenate([floats(x).ravel() for x in (start.r, start.e, start.v, start.w)])
    size = np.abs(y).max()
    try:
        found = solve_ivp(rate, (0.0, t_end), y, method="DOP853", rtol=1e-9, atol=1e-11 * size)
    except OverflowError:  # a step that is tried runs away beyond the numbers of a float
        raise Undecided("the reference overflows") from None
    if not found.success:
        raise Undecided("the reference stops")
    return state_of(t_end, found.y[:, -1])


def simulated(expressed: Any, start: State, t_end: float) -> go.Trajectory:
    """The motion by gaussopt from the same start."""
    t, q, v, _ = expressed.state(start)
    assert t == 0.0
    problem = go.Problem.of(expressed.system, q, v, t_end=t_end)
    return go.simulate(
        problem, stepper="dop853", stabilisation="projection", rtol=1e-9, atol=1e-11 * float(np.abs(q).max()),
        step_folder=None,
    )  # fmt: skip


def distance(expressed: Any, end: State, motion: go.Trajectory) -> float:
    """The largest error of a coordinate at the end, relative to its size and way; angles without full turns."""
    _, q, _, found = expressed.state(end)
    worst = 0.0
    for measure in found:
        told, true = motion.q[-1][measure.at], q[measure.at]
        names = [name for name, place in expressed.names.items() if place in measure.at]
        size = max(np.abs(motion.q[:, measure.at]).max(), 1e-300)
        gap = told - true
        if measure.E is not None:
            gap = np.minimum(np.abs(gap).max(), np.abs(told + true).max())
        elif names[0].startswith(("angle", "theta")):
            gap, size = (gap + np.pi) % (2 * np.pi) - np.pi, 1.0
        worst = max(worst, float(np.abs(gap).max()) / size)
    return worst
