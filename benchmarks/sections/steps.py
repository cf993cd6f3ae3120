"""What a compiled step is made of: checks, certificates; and the same source in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import Competitor, Spread, interleave
from mechanisms import crank_slider
from page import Goal, Section, Table, spread

import gaussopt as go
from gaussopt.codegen.job import LoopJob, Orders
from gaussopt.codegen.step import Lines
from gaussopt.compiled import modules
from gaussopt.core import registry
from gaussopt.modelling.lagrangian import LagrangianSystem

COUNT, FEW, DT = 100_000, 300, 1e-4
STRIDE = 100


class Unchecked(LoopJob):
    """The same loop without the residuals of its steps."""

    @property
    def label(self) -> str:
        """Its own name: its functions differ from those of the checked loop."""
        return f"{super().label}_unchecked"

    def acceleration(self) -> tuple[Lines, Lines, Lines | None]:
        """Nothing to check."""
        step, _, correct = super().acceleration()
        return step, Lines((), (), {"residuals": (None, None)}, "True", frozenset()), correct


def measure(budget: float) -> Section:
    """RK4 of the crank-slider: with and without its checks, certified at a stride, in plain Python, by numpy."""
    problem = crank_slider().problem
    assert problem is not None
    go.simulate(problem, engine="compiled", dt=1e-6, t_end=0.03)  # certifies so many states that this is compiled, too
    competitors = [
        Competitor("compiled", _march(problem, LoopJob, COUNT), COUNT),
        Competitor("compiled, residuals not computed", _march(problem, Unchecked, COUNT), COUNT),
        Competitor(f"compiled, every {STRIDE}th state certified", _simulated(problem, STRIDE), COUNT),
        Competitor("compiled, the last state certified", _simulated(problem, COUNT), COUNT),
        Competitor("numpy: generated equations, KKT matrix, numpy.linalg.solve", _by_numpy(problem, FEW), FEW),
    ]
    times = interleave(competitors, budget)
    with_, without, strided, last, _ = (c.name for c in competitors)

    def share(more: str, less: str) -> Spread:
        """Percent of the longer time."""
        ratio = times.ratio(less, more)
        return Spread(*(100 * (1 - x) for x in (ratio.median, ratio.upper, ratio.lower)), ratio.count)

    rows = [(c.name, spread(times.of(c.name), 1e6)) for c in competitors]
    data = [{"what": c.name, "seconds_per_step": times.of(c.name).median} for c in competitors]
    return Section(
        "What a step is made of",
        (
            "RK4 steps of the crank-slider. The loop checks the residuals of every step; a recorded state carries the "
            "full certificate.",
        ),
        (Table(("step", "microseconds"), rows, data),),
        (
            Goal("residuals of every step, share of the step", 15, True, share(with_, without), unit="%"),
            Goal(f"certificate of every {STRIDE}th state, share of the step", 5, True, share(strided, last), unit="%"),
        ),
    )


def _march(problem: go.Problem, kind: type[LoopJob], count: int) -> Callable[[], object]:
    """A call of the bare loop."""
    system = problem.system
    assert isinstance(system, LagrangianSystem)
    loop = _loop(system, problem, kind)
    p = np.array(list(system.parameters.values()))

    def run() -> object:
        y = np.concatenate((problem.q0, problem.v0))
        done = loop.march(0.0, DT, 1e9, 0, count, count, y, p, 1e-14, 0.0, np.zeros(2), np.zeros(len(y)))
        if done != count:
            raise RuntimeError("a step was refused")
        return y

    return run


def _loop(system: LagrangianSystem, problem: go.Problem, kind: type[LoopJob]) -> modules.Compiled:
    """The loop of the system's RK4 steps."""
    orders = Orders.of(system.model, system.constant_entries, system.evaluate(0.0, problem.q0, problem.v0))
    job = kind(system.model, registry.load("stepper", "rk4"), orders, False)
    return modules.compiled(job)


def _simulated(problem: go.Problem, every: int) -> Callable[[], object]:
    return lambda: go.simulate(
        problem, engine="compiled", dt=DT, t_end=COUNT * DT, record_every=every, error_estimate=False
    )


def _by_numpy(problem: go.Problem, count: int) -> Callable[[], object]:
    """RK4 steps whose accelerations come from numpy's solution of the KKT system; nothing is checked."""
    system = problem.system
    system.prepare(math.inf)  # as for a motion of many steps
    n = len(problem.q0)
    method = registry.load("stepper", "rk4")

    class Motion:
        def velocity(self, t: float, q: Any, u: Any) -> Any:
            return u

        def rate(self, t: float, q: Any, u: Any) -> Any:
            step = system.evaluate(t, q, u)
            K = np.zeros((n + step.m, n + step.m))
            K[:n, :n], K[:n, n:], K[n:, :n] = step.M, step.J.T, step.J
            return np.linalg.solve(K, np.concatenate((step.Q - step.h, step.gamma)))[:n]

    motion = Motion()

    def run() -> object:
        q, v = problem.q0, problem.v0
        for i in range(count):
            q, v = method.step(motion, i * DT, q, v, DT)
        return q

    return run
