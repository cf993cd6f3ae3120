"""What we enter ourselves: the fastest of gaussopt for each kind of motion, in the form of a rival."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from mechanisms import Mechanism
from numpy.typing import NDArray
from rivals.interface import AdaptiveRival, Rival, Run, per_mark

import gaussopt as go
from gaussopt.codegen.job import LoopJob, Orders
from gaussopt.compiled import modules
from gaussopt.core import registry
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.linkage import Linkage

MOST_STEPS = 100
"""Steps of a chain after which it starts anew: later, steps of first order are too long for its whipping end."""


def prepare(
    mechanism: Mechanism, dt: float, steps: int, marks: int, stabilisation: str, engine: str = "compiled"
) -> Run:
    """RK4 of the Gauss step; the states at the marks are certified, interpreted ones at every stage."""
    each, column = per_mark(steps, marks), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), dt=dt, t_end=steps * dt, stabilisation=stabilisation, engine=engine, record_every=each,
            step_folder=None, error_estimate=False,
        )  # fmt: skip
        return _solved(motion).q[1:, column]

    return run


def prepare_loop(mechanism: Mechanism, dt: float, steps: int, marks: int) -> Run:
    """The generated loop of RK4 by itself, as the hand-written one: every step checked, only states recorded."""
    problem, each, column = _problem(mechanism), per_mark(steps, marks), _column(mechanism)
    system = problem.system
    assert isinstance(system, LagrangianSystem)
    orders = Orders.of(system.model, system.constant_entries, system.evaluate(0.0, problem.q0, problem.v0))
    code = modules.compiled(LoopJob(system.model, registry.load("stepper", "rk4"), orders, False))
    begin, p = np.concatenate((problem.q0, problem.v0)), np.array(list(system.parameters.values()))
    worst, trace = np.zeros(2), np.zeros((marks, len(begin)))

    def run() -> NDArray[np.float64]:
        done = code.march(
            0.0, dt, steps * dt, 0, steps, each, begin.copy(), p, DEFAULT_TOLERANCE**2, 0.0, worst, trace.ravel()
        )
        if done < steps:
            raise RuntimeError(f"A step of {mechanism.name} was not sound.")
        return trace[:, column].copy()

    return run


def prepare_adaptive(mechanism: Mechanism, tolerance: float) -> Run:
    """DOP853 with projection."""
    assert mechanism.marks is not None
    interval, column = float(mechanism.marks[0]), _column(mechanism)

    def run() -> NDArray[np.float64]:
        motion = go.simulate(
            _problem(mechanism), stepper="dop853", dt=interval, t_end=mechanism.t_end, rtol=tolerance, atol=tolerance,
            stabilisation="projection", engine="compiled", step_folder=None, error_estimate=False,
        )  # fmt: skip
        return _solved(motion).q[1:, column]

    return run


def batch(mechanism: Mechanism, dt: float, steps: int, torques: NDArray[np.float64]) -> Run:
    """Many motions side by side, each with a torque of its own, (k,) N m; returns the last angles, (k,)."""
    column, name = _column(mechanism), {"crank-slider": "tau", "four-bar": "psi"}[mechanism.name]

    def run() -> NDArray[np.float64]:
        data = go.simulate_batch(
            _problem(mechanism), parameters={name: torques}, dt=dt, t_end=steps * dt, record_every=steps
        )
        if not (data.status == "solved").all():
            raise RuntimeError(str(data.message.values))
        return np.asarray(data.q.values[:, -1, column])

    return run


def linkage(mechanism: Mechanism) -> tuple[Linkage, NDArray[np.float64], NDArray[np.float64]]:
    """The mechanism in absolute coordinates, with its state at the start."""
    bodies, pins = mechanism.bodies, mechanism.pins
    tables = Linkage(
        np.array([b.mass for b in bodies]), np.array([b.inertia for b in bodies]), np.array([p.first for p in pins]),
        np.array([p.second for p in pins]), np.array([p.at_first for p in pins]), np.array([p.at_second for p in pins]),
        mechanism.gravity, mechanism.name,
    )  # fmt: skip
    q = np.array([(*b.place, b.angle) for b in bodies]).ravel()
    return tables, q, np.zeros_like(q)


def linkage_steps(mechanism: Mechanism, dt: float, stepper: str) -> Callable[[int], None]:
    """What takes so many steps from the start, by compiled kernels; the residuals of every step are checked."""
    from gaussopt.compiled.advances.linkage_steps import LinkageKernels

    tables, q, v = linkage(mechanism)
    march = LinkageKernels(tables, stepper)
    start, trace, worst = march.row.placed(q, v), np.zeros((0, 6 * (len(tables.mass) + 1))), np.zeros(2)

    def steps(count: int) -> None:
        for begin in range(0, count, MOST_STEPS):
            some = min(MOST_STEPS, count - begin)
            clock = 0.0, dt, np.inf
            if march.steps(clock, (0, some, some + 1), start.copy(), trace, worst, DEFAULT_TOLERANCE**2) < some:
                raise RuntimeError(f"A step of {mechanism.name} was not sound.")

    return steps


def interpreted_steps(mechanism: Mechanism, dt: float, stepper: str) -> Callable[[int], None]:
    """The same by numpy; every acceleration is certified."""
    tables, q, v = linkage(mechanism)

    def steps(count: int) -> None:
        _solved(go.simulate(
            tables.system, q0=q, v0=v, dt=dt, t_end=count * dt, stepper=stepper, engine="interpreted",
            record_every=count, step_folder=None, error_estimate=False,
        ))  # fmt: skip

    return steps


def memory(mechanism: Mechanism) -> tuple[int, int]:
    """Bytes of the step data of a linkage, and of what a compiled step works in."""
    from gaussopt.compiled.advances.linkage_steps import LinkageKernels
    from gaussopt.core import step_data

    tables, q, v = linkage(mechanism)
    return step_data.memory(tables.system.evaluate(0.0, q, v)), LinkageKernels(tables, "rk4").memory


def certificates(mechanism: Mechanism) -> Callable[[int], None]:
    """What a recorded state of a linkage costs: step data, acceleration and certificate."""
    from gaussopt.certificates import certify
    from gaussopt.compiled.advances.linkage_steps import LinkageKernels

    tables, q, v = linkage(mechanism)
    march = LinkageKernels(tables, "rk4")

    def states(count: int) -> None:
        for _ in range(count):
            if not certify(tables.system.evaluate(0.0, q, v), *march.answer(q, v)).passed():
                raise RuntimeError(f"The start of {mechanism.name} is not certified.")

    return states


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
RK4 = Rival("gaussopt, RK4", "", "LLVM", prepare=partial(prepare, stabilisation="none"), sizes=SIZES)
LOOP = Rival("gaussopt, RK4, the loop alone", "", "LLVM", prepare=prepare_loop, sizes=SIZES[:1])
PROJECTED = Rival(
    "gaussopt, RK4, projected", "", "LLVM", prepare=partial(prepare, stabilisation="projection"), sizes=SIZES
)
INTERPRETED = Rival(
    "gaussopt, RK4, interpreted", "", "Python", prepare=partial(prepare, stabilisation="none", engine="interpreted"),
    sizes=(1e-3,),
)  # fmt: skip
ADAPTIVE = AdaptiveRival(
    "gaussopt, DOP853, projected", "", "LLVM", prepare=prepare_adaptive, tolerances=(1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
)
ALL: tuple[Rival | AdaptiveRival, ...] = (LOOP, RK4, PROJECTED, INTERPRETED, ADAPTIVE)
