"""Times of competitors beside each other: interleaved rounds, medians, quartiles, ratios within a round.

A machine that is busy for a second slows all competitors of a round alike, so ratios are taken round by round and the
median of them is what is told. The number of rounds follows from a budget of time; nothing is pinned.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from time import perf_counter

import numpy as np

from gaussopt.processes.environment import processor

Clock = Callable[[], float]

LEAST, MOST = 5, 200
"""Rounds whatever the budget, and rounds beyond which nothing is learnt."""

SLOW = 6.0
"""Seconds of a call beyond which a competitor is timed once and not in every round."""


@dataclass(frozen=True, slots=True)
class Competitor:
    """Something to be timed.

    Attributes
    ----------
    name : str
    run : () -> object
        One call; what it returns is dropped.
    units : float
        Steps (or whatever is counted) of a call; times are told for one of them.
    """

    name: str
    run: Callable[[], object]
    units: float = 1.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles of repeated measurements."""

    median: float
    lower: float
    upper: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one value."""
        lower, middle, upper = np.quantile(values, (0.25, 0.5, 0.75))
        return cls(float(middle), float(lower), float(upper), len(values))

    def scaled(self, factor: float) -> Spread:
        """In another unit."""
        return Spread(self.median * factor, self.lower * factor, self.upper * factor, self.count)


@dataclass(frozen=True)
class Times:
    """Seconds per unit, round by round: the k-th entries of all competitors belong to the same round.

    Slow ones have one entry.
    """

    seconds: Mapping[str, tuple[float, ...]]

    def __contains__(self, name: str) -> bool:
        return name in self.seconds

    def of(self, name: str) -> Spread:
        """Seconds per unit of one competitor."""
        return Spread.of(self.seconds[name])

    def ratio(self, name: str, base: str) -> Spread:
        """How many times as long as the base one competitor takes: round by round, of medians for slow ones."""
        mine, others = self.seconds[name], self.seconds[base]
        if len(mine) != len(others):
            return Spread.of([float(np.median(mine) / np.median(others))])
        return Spread.of([x / y for x, y in zip(mine, others, strict=True)])


def interleave(
    competitors: Sequence[Competitor], budget: float, least: int = LEAST, most: int = MOST, clock: Clock | None = None
) -> Times:
    """Time all competitors in turns.

    Parameters
    ----------
    competitors : each is called once before the rounds, for imports and caches
    budget : s
        For all rounds together; at least `least` rounds are run, at most `most`.
    clock : of the calls; that of the wall by default

    Raises
    ------
    ValueError
        If two competitors have the same name.
    """
    names = [c.name for c in competitors]
    if len(set(names)) < len(names):
        raise ValueError(f"Two competitors have the same name among {', '.join(names)}.")
    found: dict[str, list[float]] = {name: [] for name in names}
    quick = []
    for c in competitors:
        first = seconds(c.run, clock)
        if first > SLOW:
            found[c.name].append(first / c.units)
        else:
            quick.append(c)
    begin = perf_counter()
    for k in range(most if quick else 0):
        if k >= least and perf_counter() - begin > budget:
            break
        turn = k % len(quick)  # nobody is always first
        for c in quick[turn:] + quick[:turn]:
            found[c.name].append(seconds(c.run, clock) / c.units)
    return Times({name: tuple(values) for name, values in found.items()})


def seconds(run: Callable[[], object], clock: Clock | None = None) -> float:
    """Of one call."""
    clock = clock or perf_counter
    begin = clock()
    run()
    return clock() - begin


def repeated(run: Callable[[], object], calls: int) -> Callable[[], object]:
    """Several calls as one, for runs that are too short for the clock."""
    if calls == 1:
        return run

    def many() -> None:
        for _ in range(calls):
            run()

    return many


def machine() -> str:
    """Processor, system, cores and Python."""
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of the installed ones."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def compiler_version(compiler: str) -> str:
    """First line of what a compiler says of itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]
