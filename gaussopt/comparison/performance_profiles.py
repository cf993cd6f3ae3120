"""Speed: performance profiles and shifted geometric means, with failures charged.

Every step of every source is one test problem. The cost of an answer that is neither confirmed nor recognises an
ill-posed step is infinite, and so is that of one that is not confirmed on the clock. References:
Dolan and More, Mathematical Programming 91 (2002) 201-213 (performance profiles); Gould and Scott, ACM Transactions on
Mathematical Software 43 (2016) 15 (why they rank no more than two solvers at a time); Mittelmann's benchmarks and
Hutter et al., Journal of Artificial Intelligence Research 36 (2009) 267-306 (shifted geometric means; failures charged
ten times over, PAR10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.records import Answers, SourceKey, Times
from gaussopt.comparison.step_table import competing
from gaussopt.core.step_data import Matrix, Vector

SHIFT = 10e-6
"""Seconds; differences well below it count little: ten microseconds are about one call through Python."""

PENALTY = 10.0
"""A failure costs so many times the slowest confirmed answer to the same step."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds by step and competitor.

    Attributes
    ----------
    names : solvers of one formulation, or "formulation by solver"
    values : (steps, names), infinite where an answer is missing or a failure
    estimated : by name, at how many right steps, which were not timed, the cost is the median of the timed ones
    """

    names: tuple[str, ...]
    values: Matrix
    estimated: tuple[int, ...]

    @property
    def failures(self) -> NDArray[np.int_]:
        """By name, how many steps have no right answer."""
        return np.asarray(np.isinf(self.values).sum(axis=0))


def costs(
    answers: Sequence[Answers], times: Sequence[Times], *, start: str = "warm", formulation: str | None = None
) -> Costs:
    """Charge every step of the sources, which are the test problems, to every competitor.

    Parameters
    ----------
    start : one of STARTS, see `gaussopt.comparison.step_table.as_used`
    formulation : str, optional
        If given, its solvers compete by their work. If not, all pairs of formulation and solver compete, by their work
        and the median time of formulating and recovering: some formulations do there what others leave to the solver.

    Notes
    -----
    A competitor that refuses a source fails on all its steps; one that refuses every source does not compete.
    """
    pairs = formulation is None
    cases = competing(answers, times, start, formulation)
    labels = [c.label if pairs else c.answers.solver for c in cases]
    names = list(dict.fromkeys(labels))
    offsets: dict[SourceKey, int] = {}
    total = 0
    for c in cases:
        if c.source.key not in offsets:
            offsets[c.source.key] = total
            total += c.steps
    values = np.full((total, len(names)), np.inf)
    estimated = dict.fromkeys(names, 0)
    for label, c in zip(labels, cases, strict=True):
        begin, charges = offsets[c.source.key], c.costs(whole=pairs)
        values[begin : begin + c.steps, names.index(label)] = charges
        estimated[label] += int((np.isnan(c["work"]) & np.isfinite(charges)).sum())
    return Costs(tuple(names), values, tuple(estimated.values()))


@dataclass(frozen=True, slots=True)
class Profile:
    """A performance profile.

    Attributes
    ----------
    taus : (k,), factors of at least 1
    rho : (k, names), share of the test problems that each solves within tau times the time of the fastest on it
    solved : (names,), share of the test problems solved at all, the limit of rho
    """

    names: tuple[str, ...]
    taus: Vector
    rho: Matrix
    solved: Vector
    problems: int

    def order(self) -> list[int]:
        """Indices of the names by the area under rho over log tau, the largest first; for drawing, not for ranking."""
        weights = np.diff(np.log(self.taus), prepend=0.0) if len(self.taus) > 1 else np.ones(len(self.taus))
        area = weights @ self.rho
        return [int(i) for i in np.lexsort((-self.solved, -area))]


def profile_of(table: Costs, taus: Vector | None = None) -> Profile:
    """Compute Dolan and More's profile of a table of costs.

    Ties are won by all that share the least time. A problem that nobody solves is kept and counts against all.

    Parameters
    ----------
    taus : (k,), optional
        Where rho is evaluated; by default every ratio that occurs, or 200 of them spaced by ratio if there are more.

    Notes
    -----
    With more than two competitors rho says how often one is close to the best, not how it stands against a given
    rival: take the best away and the order of the others may change (Gould and Scott 2016).
    """
    values = table.values
    best = values.min(axis=1, keepdims=True, initial=np.inf)
    # A time of zero is a clock too coarse: all that show it tie.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(np.isinf(values), np.inf, np.where(values == best, 1.0, values / best))
    finite = np.unique(ratios[np.isfinite(ratios)])
    if taus is None:
        taus = finite if len(finite) <= 200 else np.geomspace(1.0, finite[-1], 200)
        if not len(taus) or taus[0] > 1.0:
            taus = np.concatenate(([1.0], taus))
        taus[-1] = max(taus[-1], finite[-1]) if len(finite) else taus[-1]
    problems = max(len(values), 1)
    ranked = np.sort(ratios, axis=0)
    rho = np.array([np.searchsorted(column, taus, side="right") for column in ranked.T]).T / problems
    rho = rho.reshape(len(taus), len(table.names))
    return Profile(table.names, taus, rho, np.isfinite(values).sum(axis=0) / problems, len(values))


def charged(values: Matrix) -> Matrix:
    """Costs with every failure charged.

    A failure costs PENALTY times the slowest confirmed answer to that step by anyone; where all fail, all are charged
    PENALTY times the slowest confirmed answer to any step. Without any confirmed answer the charge is infinite.
    """
    finite = np.isfinite(values)
    slowest = np.where(finite, values, -np.inf).max(axis=1, initial=-np.inf)
    overall = slowest.max(initial=-np.inf)
    slowest = np.where(np.isneginf(slowest), overall if np.isfinite(overall) else np.inf, slowest)
    return np.where(finite, values, PENALTY * slowest[:, None])


def shifted_geometric_mean(values: Vector, shift: float = SHIFT) -> float:
    """exp(mean(log(values + shift))) - shift, in the unit of the values.

    The shift keeps steps of a microsecond, where only the overhead of a call is measured, from deciding the mean; the
    logarithm keeps the slowest steps from deciding it. It is a mean of charged times, not of times: the charge depends
    on the slowest rival, so means of different comparisons do not compare.
    """
    if not len(values):
        return float("nan")
    return float(np.expm1(np.log1p(np.asarray(values, dtype=float) / shift).mean()) * shift)


class Mean(NamedTuple):
    """The shifted geometric mean of one competitor; `factor` is relative to the least of all."""

    name: str
    seconds: float
    factor: float
    failures: int
    estimated: int
    steps: int


def geometric_means(table: Costs, shift: float = SHIFT) -> list[Mean]:
    """Shifted geometric means with failures charged, the least first."""
    if not table.values.size:
        return []
    full = charged(table.values)
    seconds = [shifted_geometric_mean(full[:, j], shift) for j in range(len(table.names))]
    least = min(seconds)
    found = [
        Mean(name, s, s / least if least > 0 and np.isfinite(least) else float("nan"), int(f), e, len(full))
        for name, s, f, e in zip(table.names, seconds, table.failures, table.estimated, strict=True)
    ]
    return sorted(found, key=lambda m: (m.seconds, m.failures, m.name))
