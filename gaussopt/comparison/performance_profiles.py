"""Speed: performance profiles, shifted geometric means with a charge for failures, and error against time.

Every step by which solvers are ranked is one test problem: the re-solves of a sequence, so that the share of set-up
does not depend on its length, or all problems of a source without re-solves. The cost of a step is infinite if the
answer is neither confirmed nor recognises an ill-posed step, if it is refuted while timed, or if it is not timed.
Steps with several solutions, and answers that are not proved, are left out. A refused step counts as unanswered in a
profile and is left out of the competitor's mean, even if others answer it. References:
Dolan and More, Mathematical Programming 91 (2002) 201-213 (performance profiles); Gould and Scott, ACM Transactions on
Mathematical Software 43 (2016) 15 (why profiles rank no more than two solvers at a time); Mittelmann's benchmarks and
Hutter et al., Journal of Artificial Intelligence Research 36 (2009) 267-306 (shifted geometric means; failures charged
ten times over, PAR10).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.records import STARTS, Answers, Times
from gaussopt.comparison.step_table import base_of, competing
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import gathered

SHIFT = 10e-6
"""Shift of the geometric mean, s, about one call through Python; far smaller differences hardly count."""

PENALTY = 10.0
"""A failure is charged the time of the slowest confirmed answer to the same step times this factor."""


TARGETS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Accuracies at which solvers are compared."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The seconds that each competitor is charged for each step.

    Attributes
    ----------
    names : solvers of one formulation, or "formulation by solver"
    values : (steps, names), infinite where an answer is missing or wrong, NaN where the step does not count
    estimated : by name, number of right steps that were not timed; their cost is the median of the timed steps
    rescaled : by name, number of failures whose answers were confirmed, but not in the timed runs
    apart : number of steps that have no row in `values`, because they count for no competitor
    refused : (steps, names), mask of the steps that a competitor refuses; their values are infinite
    """

    names: tuple[str, ...]
    values: Matrix
    estimated: tuple[int, ...]
    rescaled: tuple[int, ...]
    apart: int
    refused: NDArray[np.bool_]

    @property
    def failures(self) -> NDArray[np.int_]:
        """Number of steps that each competitor accepts and does not answer correctly, (names,)."""
        return np.asarray((np.isinf(self.values) & ~self.refused).sum(axis=0))


def costs(
    answers: Sequence[Answers], times: Sequence[Times], *, formulation: str | None = None, most: str = STARTS[-1]
) -> Costs:
    """Return the cost of every step that ranks solvers for every competitor: its time, or a charge for a failure.

    A competitor uses the last kind of start that it has, in the order of STARTS and not after `most`; if `most` is
    "setup", all steps count. Solvers of a given formulation compete by their work. If no formulation is given, all
    pairs compete by the sum of formulation, work and recovery. A competitor that refuses every source does not compete.
    """
    pairs = formulation is None
    cases = competing(answers, times, formulation, most)
    labels = [c.label if pairs else c.answers.solver for c in cases]
    names = list(dict.fromkeys(labels))
    ranked = {c.source.key: c["ranked"] | (most == STARTS[0]) for c in cases}
    steps = [int(mask.sum()) for mask in ranked.values()]
    begins = dict(zip(ranked, itertools.accumulate(steps, initial=0), strict=False))
    values = np.full((sum(steps), len(names)), np.inf)
    several, refused = np.zeros(len(values), dtype=bool), np.zeros(values.shape, dtype=bool)
    refusals = {(a.source.key, a.formulation, a.solver) for a in answers if a.refused}
    pair = {label: c.pair for label, c in zip(labels, cases, strict=True)}
    for key, begin in begins.items():
        own = [not refusals.isdisjoint({(key, *pair[name]), (key, pair[name][0], "")}) for name in names]
        refused[begin : begin + int(ranked[key].sum())] = own
    estimated, rescaled = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for label, c in zip(labels, cases, strict=True):
        begin, mask = begins[c.source.key], ranked[c.source.key]
        charges = c.costs(whole=pairs)[mask]
        values[begin : begin + len(charges), names.index(label)] = charges
        refused[begin : begin + len(charges), names.index(label)] = False
        several[begin : begin + len(charges)] = c["several"][mask]
        estimated[label] += int((np.isnan(c["work"][mask]) & np.isfinite(charges)).sum())
        rescaled[label] += int((c["differs"][mask] & np.isinf(charges)).sum())
    apart = several | np.isnan(values).all(axis=1)
    of_names = tuple(estimated.values()), tuple(rescaled.values())
    return Costs(tuple(names), values[~apart], *of_names, int(apart.sum()), refused[~apart])


@dataclass(frozen=True, slots=True)
class Profile:
    """A performance profile.

    Attributes
    ----------
    taus : (k,), factors of at least 1
    rho : (k, names), share of the test problems that a competitor solves within tau times the least time for it
    solved : (names,), share of the test problems that a competitor solves at all, which is the limit of rho
    """

    names: tuple[str, ...]
    taus: Vector
    rho: Matrix
    solved: Vector
    problems: int

    def order(self) -> list[int]:
        """Return the indices of names by falling area under rho over log tau; this order for display is no ranking."""
        weights = np.diff(np.log(self.taus), prepend=0.0) if len(self.taus) > 1 else np.ones(len(self.taus))
        area = weights @ self.rho
        return [int(i) for i in np.lexsort((-self.solved, -area))]


def profile_of(table: Costs, taus: Vector | None = None) -> Profile:
    """Compute Dolan and More's profile of a table of costs.

    All competitors with the least time of a problem have the ratio 1. A problem that none solves is kept and counts
    against all; a cost of NaN counts neither for nor against that competitor. rho is evaluated at `taus`, by default at
    every ratio that occurs or, if there are more than 200, at 200 factors in geometric progression.

    With more than two competitors rho shows how often each is close to the best, not how two of them compare: without
    the best, the order of the others may change (Gould and Scott 2016).
    """
    values = table.values
    best = np.fmin.reduce(values, axis=1, keepdims=True, initial=np.inf)
    # A time of zero is below the clock's resolution, so all competitors with zero time get the ratio 1.
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(np.isfinite(values), np.where(values == best, 1.0, values / best), values)
    finite = np.unique(ratios[np.isfinite(ratios)])
    if taus is None:
        taus = finite if len(finite) <= 200 else np.geomspace(1.0, finite[-1], 200)
        if not len(taus) or taus[0] > 1.0:
            taus = np.concatenate(([1.0], taus))
        taus[-1] = max(taus[-1], finite[-1]) if len(finite) else taus[-1]
    problems = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    ranked = np.sort(ratios, axis=0)
    rho = np.array([np.searchsorted(column, taus, side="right") for column in ranked.T]).T / problems
    rho = rho.reshape(len(taus), len(table.names))
    return Profile(table.names, taus, rho, np.isfinite(values).sum(axis=0) / problems, len(values))


def charged(values: Matrix) -> Matrix:
    """Charge every failure of a table of costs.

    A failure costs PENALTY times the slowest confirmed answer to that step; where all fail, all are charged
    PENALTY times the slowest confirmed answer to any step. Without any confirmed answer the charge is infinite.
    """
    finite = ~np.isinf(values)
    slowest = np.where(np.isfinite(values), values, -np.inf).max(axis=1, initial=-np.inf)
    overall = slowest.max(initial=-np.inf)
    slowest = np.where(np.isneginf(slowest), overall if np.isfinite(overall) else np.inf, slowest)
    return np.where(finite, values, PENALTY * slowest[:, None])


def shifted_geometric_mean(values: Vector, shift: float = SHIFT) -> float:
    """Compute exp(mean(log(values + shift))) - shift, in the unit of the values.

    The shift keeps steps of a microsecond, where only the overhead of a call is measured, from deciding the mean; the
    logarithm keeps the slowest steps from deciding it. The times include the charges for failures, which depend on the
    slowest rival, so means of different comparisons cannot be compared.
    """
    if not len(values):
        return float("nan")
    return float(np.expm1(np.log1p(np.asarray(values, dtype=float) / shift).mean()) * shift)


class Mean(NamedTuple):
    """The shifted geometric mean of one competitor over the `steps` that count for it, with a charge for failures.

    `factor` is the ratio to the mean of the first competitor, both over the `common` steps, which count for both. See
    `Costs` for `failures`, `rescaled`, `estimated`. Steps that are `refused`, or answered `unproved`, do not count.
    """

    name: str
    seconds: float
    factor: float
    failures: int
    rescaled: int
    refused: int
    unproved: int
    estimated: int
    steps: int
    common: int


def geometric_means(table: Costs) -> list[Mean]:
    """Rank competitors by shifted geometric mean; those that refuse steps come later, and those never right come last.

    Means over different steps cannot be compared. So competitors are ordered by the ratio of their mean to the mean of
    the competitor with most steps, both means taken over the steps that count for both.
    """
    if not table.values.size:
        return []
    values = np.where(table.refused, np.nan, charged(table.values))
    counted = ~np.isnan(values)
    refused, failures, steps = table.refused.sum(axis=0), table.failures, counted.sum(axis=0)
    seconds = [shifted_geometric_mean(column[kept]) for column, kept in zip(values.T, counted.T, strict=True)]
    places = list(zip(failures == steps, refused > 0, strict=True))

    def ratio(j: int, other: int) -> float:
        both = counted[:, j] & counted[:, other]
        own, least = (shifted_geometric_mean(values[both, k]) for k in (j, other))
        return own / least if least > 0 and np.isfinite(least) else float("nan")

    every = range(len(table.names))
    most = min(every, key=lambda j: (places[j], -steps[j], seconds[j]))
    order = sorted(
        every, key=lambda j: (places[j], np.nan_to_num(ratio(j, most), nan=np.inf), failures[j], table.names[j])
    )
    return [
        Mean(table.names[j], seconds[j], ratio(j, order[0]), int(failures[j]), table.rescaled[j], int(refused[j]),
             len(values) - int(refused[j] + steps[j]), table.estimated[j], int(steps[j]),
             int((counted[:, j] & counted[:, order[0]]).sum()))
        for j in order
    ]  # fmt: skip


# -- accuracy against time --------------------------------------------------------------------------


class PrecisionPoint(NamedTuple):
    """Accuracy and work of one solver with one set of options.

    Attributes
    ----------
    base, solver : the solver's name without and with its options
    error : largest certified error over the steps; infinite where answers are missing
    typical : median certified error
    work : median seconds of a step, whether its answer is confirmed or not
    front : whether no other point is at least as good in both accuracy and work, and better in one of them
    """

    base: str
    solver: str
    formulation: str
    error: float
    typical: float
    work: float
    steps: int
    front: bool = False


def work_precision(
    answers: Sequence[Answers], times: Sequence[Times], *, formulation: str | None = None
) -> list[PrecisionPoint]:
    """Return the points (achieved error, work), sorted by base name and falling error; `formulation` is as in `costs`.

    Solvers are matched by the achieved accuracy, not by the requested tolerance. Ill-posed steps that are recognised
    have no error and do not count, nor do steps with several solutions; an answer that is confirmed untimed but not
    while timed has an infinite error. `work` is the median over those steps that rank solvers and
    were timed; pairs that were never timed have no point.
    """
    points = []
    for (f, s), of in gathered(competing(answers, times, formulation), lambda c: c.pair).items():
        achieved = np.concatenate([
            np.where(c["differs"], np.inf, c["certified"])[~(c["recognised"] | c["several"])] for c in of
        ])  # fmt: skip
        seconds = np.concatenate([c["work"][c["ranked"]] + c.around(formulation is None) for c in of])
        seconds = seconds[~np.isnan(seconds)]
        if not len(seconds) or not len(achieved):
            continue
        # The quantile must not interpolate, which is impossible between a number and infinity.
        typical = float(np.quantile(achieved, 0.5, method="higher"))
        points.append(
            PrecisionPoint(base_of(s), s, f, float(achieved.max()), typical, float(np.median(seconds)), len(achieved))
        )
    points.sort(key=lambda p: (p.base, p.formulation, -p.error, p.work))
    best = {(p.formulation, p.solver) for p in pareto_front(points)}
    return [p._replace(front=(p.formulation, p.solver) in best) for p in points]


def pareto_front(points: Sequence[PrecisionPoint]) -> list[PrecisionPoint]:
    """Return the points on the Pareto front, the fastest first; a point with an infinite error is never among them."""
    front: list[PrecisionPoint] = []
    for p in sorted(points, key=lambda p: (p.work, p.error)):
        if np.isfinite(p.error) and (not front or p.error < front[-1].error):
            front.append(p)
    return front


def fastest_at(
    points: Sequence[PrecisionPoint], targets: Sequence[float] = TARGETS
) -> dict[float, list[PrecisionPoint]]:
    """Return, for each target accuracy, the fastest point of each solver that reaches it, the fastest first."""
    found = {}
    for target in targets:
        best: dict[str, PrecisionPoint] = {}
        for p in sorted(points, key=lambda p: (p.work, p.error)):
            if p.error <= target:
                best.setdefault(p.base, p)
        found[target] = list(best.values())
    return found
