"""Million steps per second of batches: crank-slider and four-bar by rk4, plain and projected, on one core and on two.

python benchmarks/batch.py [--members 4096] [--rounds 20]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np

import gaussopt as go
from gaussopt.core import registry
from gaussopt.integration.stabilisation import make
from gaussopt.integration.time_grid import TimeGrid
from gaussopt.simulation.batch_members import BatchMembers
from gaussopt.simulation.batch_simd import SimdBatch

CASES = {"crank-slider": "tau", "four-bar": "psi"}
"""Problems, and the parameter that is different for each member."""

STABILISE = ("none", "projection")
STEPS = 200
DT = 1e-3


@dataclass(frozen=True)
class Rate:
    """What was measured.

    Attributes
    ----------
    problem, stabilisation, threads, members : what ran
    rate : million steps a second, all members together; the median
    step : nanoseconds a step
    """

    problem: str
    stabilisation: str
    threads: int
    members: int
    rate: float

    @property
    def step(self) -> float:
        """Nanoseconds a step of one member."""
        return 1e3 / self.rate


class March:
    """A batch that is marched again and again from where it is; the same work every time.

    Parameters
    ----------
    problem, stabilisation, threads, members : what to run

    Attributes
    ----------
    steps : int
        Of all members together in a march.
    """

    def __init__(self, problem: str, stabilisation: str, threads: int, members: int) -> None:
        entry = go.problem(problem)
        name = CASES[problem]
        default = entry.parameter_values[name]
        values = np.linspace(0.8 * default, 1.2 * default, members)
        batch = BatchMembers.of(entry, {name: values}, None)
        # Nothing is recorded but start and end.
        self._instants = TimeGrid(0.0, STEPS * DT, DT, STEPS)
        self._run = SimdBatch(
            batch, registry.load("stepper", "rk4"), make(stabilisation), self._instants, 1e-7, threads
        )
        self._about = problem, stabilisation, threads, members
        self.steps = STEPS * members

    def seconds(self) -> float:
        """Of STEPS steps of every member, with all residuals checked."""
        self._run.steps = 0
        begin = perf_counter()
        self._run.march(lambda done: None)
        spent = perf_counter() - begin
        assert not self._run.failed.any()
        return spent

    def rate(self, seconds: float) -> Rate:
        """The rate that belongs to a time."""
        return Rate(*self._about, self._about[3] * STEPS / seconds / 1e6)


def measure(members: int = 4096, rounds: int = 20) -> list[Rate]:
    """All cases, interleaved; medians.

    Parameters
    ----------
    members, rounds : int
    """
    marches = [March(p, s, k, members) for p in CASES for s in STABILISE for k in (1, 2)]
    times: list[list[float]] = [[] for _ in marches]
    for _ in range(rounds):
        for march, spent in zip(marches, times, strict=True):
            spent.append(march.seconds())
    return [march.rate(median(spent)) for march, spent in zip(marches, times, strict=True)]


def table(rates: list[Rate]) -> str:
    """As Markdown."""
    lines = ["| problem | stabilisation | threads | million steps/s | ns/step |", "|---|---|---|---|---|"]
    lines += [f"| {r.problem} | {r.stabilisation} | {r.threads} | {r.rate:.1f} | {r.step:.1f} |" for r in rates]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    print(table(measure(arguments.members, arguments.rounds)))


if __name__ == "__main__":
    main()
