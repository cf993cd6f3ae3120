"""Error against time, matched by the accuracy that was achieved and not by the tolerance that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaussopt.comparison.records import Answers, Times
from gaussopt.comparison.step_table import TimedAnswers, base_of, competing

TARGETS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


class PrecisionPoint(NamedTuple):
    """Accuracy and work of one solver with one set of options.

    Attributes
    ----------
    base, solver : the solver's name without and with its options
    error : largest certified error over the steps, or the quantile asked for; infinite where answers are missing
    typical : median certified error
    work : median seconds of a step, whether its answer is confirmed or not
    front : whether no other point of the same set is at least as good in both and better in one
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
    answers: Sequence[Answers],
    times: Sequence[Times],
    *,
    start: str = "warm",
    formulation: str | None = None,
    quantile: float = 1.0,
) -> list[PrecisionPoint]:
    """Points (achieved error, work), by base name and then by falling error.

    Parameters
    ----------
    start, formulation : as of `gaussopt.comparison.performance_profiles.costs`
    quantile : of the certified errors over the steps; 1 is the largest

    Notes
    -----
    Ill-posed steps that are recognised have no error and do not count for it; an answer that is confirmed on record and
    not on the clock has an infinite one. Steps that are not timed do not count for `work`. Pairs that were never timed
    have no point.
    """
    groups: dict[tuple[str, str], list[TimedAnswers]] = {}
    for c in competing(answers, times, start, formulation):
        groups.setdefault((c.answers.formulation, c.answers.solver), []).append(c)
    points = []
    for (f, s), of in groups.items():
        achieved = np.concatenate([np.where(c.differs, np.inf, c.certified)[~c["recognised"]] for c in of])
        seconds = np.concatenate([c["work"] + (c.around if formulation is None else 0.0) for c in of])
        seconds = seconds[~np.isnan(seconds)]
        if not len(seconds) or not len(achieved):
            continue
        # Entries of the data: between a number and infinity there is nothing to interpolate.
        error, typical = (float(np.quantile(achieved, q, method="higher")) for q in (quantile, 0.5))
        points.append(PrecisionPoint(base_of(s), s, f, error, typical, float(np.median(seconds)), len(achieved)))
    points.sort(key=lambda p: (p.base, p.formulation, -p.error, p.work))
    best = {(p.formulation, p.solver) for p in pareto_front(points)}
    return [p._replace(front=(p.formulation, p.solver) in best) for p in points]


def pareto_front(points: Sequence[PrecisionPoint]) -> list[PrecisionPoint]:
    """Points that no other beats, the fastest first; a point with an infinite error is never among them."""
    front: list[PrecisionPoint] = []
    for p in sorted(points, key=lambda p: (p.work, p.error)):
        if np.isfinite(p.error) and (not front or p.error < front[-1].error):
            front.append(p)
    return front


def fastest_at(
    points: Sequence[PrecisionPoint], targets: Sequence[float] = TARGETS
) -> dict[float, list[PrecisionPoint]]:
    """By accuracy target, the fastest point of each base solver that achieves it, the fastest first."""
    found = {}
    for target in targets:
        best: dict[str, PrecisionPoint] = {}
        for p in sorted(points, key=lambda p: (p.work, p.error)):
            if p.error <= target:
                best.setdefault(p.base, p)
        found[target] = list(best.values())
    return found
