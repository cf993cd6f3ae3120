"""What we enter ourselves: the fastest of gaussopt for each kind of motion, in the form of a rival."""

from __future__ import annotations

from functools import partial

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray
from rivals.interface import AdaptiveRival, Rival, Run, per_mark

import gaussopt as go


def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int, stabilise: str, engine: str = "compiled") -> Run:
    """RK4 of the Gauss step; the states at the marks are certified, interpreted ones at every stage."""
    each, column = per_mark(steps, marks), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), dt=dt, t_end=steps * dt, stabilise=stabilise, engine=engine, record_every=each,
            step_folder=None,
        )  # fmt: skip
        return _solved(motion).q[1:, column]

    return run


def prepare_adaptive(mechanism: Mechanism, tolerance: float) -> Run:
    """DOP853 with projection."""
    assert mechanism.marks is not None
    interval, column = float(mechanism.marks[0]), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), stepper="dop853", dt=interval, t_end=mechanism.t_end, rtol=tolerance, atol=tolerance,
            stabilise="projection", engine="compiled", step_folder=None,
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


SIZES = (1e-3, 5e-4, 2.5e-4, 1e-4)
RK4 = Rival("gaussopt, RK4", "", "numba", prepare=partial(prepare, stabilise="none"), sizes=SIZES)
PROJECTED = Rival(
    "gaussopt, RK4, projected", "", "numba", prepare=partial(prepare, stabilise="projection"), sizes=SIZES
)
INTERPRETED = Rival(
    "gaussopt, RK4, interpreted", "", "Python", prepare=partial(prepare, stabilise="none", engine="interpreted"),
    sizes=(1e-3,),
)  # fmt: skip
ADAPTIVE = AdaptiveRival(
    "gaussopt, DOP853, projected", "", "numba", prepare=prepare_adaptive, tolerances=(1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
)
ALL: tuple[Rival | AdaptiveRival, ...] = (RK4, PROJECTED, INTERPRETED, ADAPTIVE)
