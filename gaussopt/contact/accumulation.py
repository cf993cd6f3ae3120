"""Impacts that accumulate: infinitely many in a finite time, as of a ball that comes to rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHORT = 1e-6
"""Time between two impacts, s relative to 1 + t, below which a geometric sequence is not followed further."""

STEADY = 0.05
"""Relative change of the ratio of successive intervals that still makes a geometric sequence."""


@dataclass(frozen=True, slots=True)
class ImpactAccumulation:
    """The contact whose impacts accumulate, the estimated instant, s, and the ratio of successive intervals."""

    contact: int
    time: float
    ratio: float


def accumulates(contact: int, instants: Sequence[float]) -> ImpactAccumulation | None:
    """Whether the impacts at these instants accumulate, judged by the last four.

    With intervals D, r D, r^2 D, ... the remaining time after an interval D is D r / (1 - r).
    """
    if len(instants) < 4:
        return None
    a, b, c = (instants[i + 1] - instants[i] for i in range(len(instants) - 4, len(instants) - 1))
    if min(a, b, c) <= 0:
        return None
    before, ratio = b / a, c / b
    if ratio >= 1 or abs(ratio - before) > STEADY * before or c > SHORT * (1 + abs(instants[-1])):
        return None
    return ImpactAccumulation(contact, instants[-1] + c * ratio / (1 - ratio), ratio)
