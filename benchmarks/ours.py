"""What we enter ourselves: the fastest of gaussopt for each kind of motion, in the form of a rival."""

from __future__ import annotations

from functools import partial

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray
from rivals.interface import AdaptiveRival, Rival, Run, per_mark

import gaussopt as go


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int, stabilise: str) -> Run:
    """RK4, Gauss's principle by the KKT system; every stage is certified."""
    each, column = per_mark(steps, marks), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), "gauss", "kkt", dt=dt, t_end=steps * dt, stabilise=stabilise, step_folder=None
        )
        return _solved(motion).q[each::each, column]

    return run


def prepare_adaptive(mechanism: Mechanism, tolerance: float) -> Run:
    """DOP853 with projection."""
    assert mechanism.marks is not None
    interval, column = float(mechanism.marks[0]), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), "gauss", "kkt", stepper="dop853", dt=interval, t_end=mechanism.t_end, rtol=tolerance,
            atol=tolerance, stabilise="projection", step_folder=None,
        )  # fmt: skip
        return _solved(motion).q[1:, column]

    return run


def batch(mechanism: Mechanism, dt: float, steps: int, torques: NDArray[np.float64]) -> Run:
    """Many motions, each with a torque of its own, (k,) N m; returns the last angles, (k,)."""
    column, name = _column(mechanism), {"crank-slider": "tau", "four-bar": "psi"}[mechanism.name]

    def run() -> NDArray[np.float64]:
        motions = (
            go.simulate(_problem(mechanism).at(**{name: x}), "gauss", "kkt", dt=dt, t_end=steps * dt, step_folder=None)
            for x in torques
        )
        return np.array([_solved(motion).q[-1, column] for motion in motions])

    return run


def _problem(mechanism: Mechanism) -> go.Problem:
    assert mechanism.problem is not None
    return mechanism.problem


def _column(mechanism: Mechanism) -> int:
    """Where the watched angle is among our coordinates."""
    return {"crank-slider": 2, "four-bar": 0}[mechanism.name]


def _solved(motion: go.Trajectory) -> go.Trajectory:
    if motion.status is not go.Status.SOLVED:
        raise RuntimeError(motion.message)
    return motion


RK4 = Rival("gaussopt, RK4", "", "Python", prepare=partial(prepare, stabilise="none"), sizes=(1e-3,))
PROJECTED = Rival(
    "gaussopt, RK4, projected", "", "Python", prepare=partial(prepare, stabilise="projection"), sizes=(1e-3,)
)
ADAPTIVE = AdaptiveRival(
    "gaussopt, DOP853, projected", "", "Python", prepare=prepare_adaptive, tolerances=(1e-8, 1e-10, 1e-12)
)
ALL: tuple[Rival | AdaptiveRival, ...] = (RK4, PROJECTED, ADAPTIVE)
