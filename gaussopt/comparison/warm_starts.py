"""Gains of warm starts over cold starts, and of updates over a new set-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaussopt.comparison.records import Answers, SourceKey, Times
from gaussopt.comparison.step_table import NAN, TimedAnswers, join
from gaussopt.core.arrays import Vector

NOISE = 1.1
"""Ratios of times up to this factor count as no difference."""

FEWER = 0.99
"""Largest ratio of the iterations from a warm start to those from a cold start that counts as fewer iterations."""

QUARTERS = (0.25, 0.5, 0.75)


class WarmGain(NamedTuple):
    """Gains of a solver from starting at its last answer (warm start), and from keeping its set-up (update).

    Ratios below 1 are gains. The first step of a source, which has no answer before it, does not count.

    Attributes
    ----------
    iterations : sum over all warm steps divided by the sum over all cold steps; NaN for solvers that do not iterate
    work : quartiles over the steps of the ratio of work, warm to cold; NaN if not timed
    backend : quartiles over the sources of the ratio of the median times that the backend reports, warm to cold
    update : as `work`, for the ratio of cold start to new set-up; NaN for solvers that cannot be updated
    lost, won : numbers of steps that are right only from a cold start, and only from a warm start
    """

    formulation: str
    solver: str
    sources: int
    steps: int
    iterations: float
    work: tuple[float, ...]
    backend: tuple[float, ...]
    update: tuple[float, ...]
    lost: int
    won: int

    @property
    def verdict(self) -> str:
        """Verdict in words; three quarters of the steps must agree, and the median must exceed noise and spread.

        Less time counts as a gain of the warm start only if the algorithm itself did less: fewer iterations, or less
        time reported by the backend. Other parts of a call may be faster for other reasons, such as saving a copy.
        """
        found = verdict_of(self.work)
        less = self.iterations < FEWER or verdict_of(self.backend) == "gain"
        return found if less or found != "gain" else "no difference"


def verdict_of(ratios: Sequence[float]) -> str:
    """Return the verdict on a ratio by its quartiles; |median - 1| must exceed the distance between the quartiles."""
    low, middle, high = ratios
    if np.isnan(middle):
        return "not timed"
    if abs(middle - 1) <= high - low:
        return "no difference"
    if high < 1 and middle < 1 / NOISE:
        return "gain"
    return "loss" if low > 1 and middle > NOISE else "no difference"


def warm_gain(answers: Sequence[Answers], times: Sequence[Times]) -> list[WarmGain]:
    """Return the gains by formulation and solver, over the sources solved both from a warm and from a cold start."""
    groups: dict[tuple[str, str], dict[SourceKey, dict[str, TimedAnswers]]] = {}
    for c in join(answers, times):
        if not c.answers.refused:
            of = groups.setdefault(c.pair, {})
            of.setdefault(c.source.key, {})[c.answers.start] = c
    found = []
    for (formulation, solver), sources in groups.items():
        # A solver that cannot be updated has no cold start; use its answers with a new set-up instead.
        both = [
            {"cold": by.get("cold") or by["setup"], **by} for by in sources.values()
            if "warm" in by and ("cold" in by or "setup" in by) and by["warm"].steps > 1
        ]  # fmt: skip
        if not both:
            continue
        warm, cold = (_later(both, start, "iterations") for start in ("warm", "cold"))
        known = ~np.isnan(warm) & ~np.isnan(cold)
        spent = float(cold[known].sum())
        right, right_cold = (_later(both, start, "right").astype(bool) for start in ("warm", "cold"))
        updated = [by for by in sources.values() if {"setup", "cold"} <= by.keys()]
        reported = (np.array([by[start].median("backend") for by in both]) for start in ("warm", "cold"))
        found.append(WarmGain(
            formulation, solver, len(both), len(warm), float(warm[known].sum()) / spent if spent else NAN,
            _quarters(_later(both, "warm", "work"), _later(both, "cold", "work")), _quarters(*reported),
            _quarters(_later(updated, "cold", "work"), _later(updated, "setup", "work")),
            int((right_cold & ~right).sum()), int((right & ~right_cold).sum()),
        ))  # fmt: skip
    return found


def _later(sources: Sequence[dict[str, TimedAnswers]], start: str, column: str) -> Vector:
    """Return a column over the steps of all sources, where each source lacks its first step."""
    return np.concatenate([np.zeros(0), *(by[start][column][1:] for by in sources)])


def _quarters(above: Vector, below: Vector) -> tuple[float, ...]:
    known = np.isfinite(above) & np.isfinite(below) & (below > 0)
    if not known.any():
        return (NAN,) * 3
    return tuple(np.quantile(above[known] / below[known], QUARTERS).tolist())
