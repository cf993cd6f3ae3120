"""Where within a step a watched function falls through zero, by its cubic."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from gaussopt.integration.events.functions import Sample


def bracket(
    before: Sample, after: Sample, j: int, h: float, at: Callable[[float], Sample]
) -> tuple[float, float] | None:
    """An interval of the step in which the watched function falls through zero, or None.

    Where its rates are known the function is looked at through its cubic, so that a dip between the ends is seen and
    the first of several crossings is found.
    """
    y0, y1, r0, r1 = before.values[j], after.values[j], before.rates[j], after.rates[j]
    noise = max(before.noise[j], after.noise[j])
    if not math.isfinite(r0 + r1):
        return (0.0, h) if y1 < -noise else None
    start = max(y0, 0.0)
    low = 0.0
    if start <= noise and r0 > 0:
        # It starts at zero and rises: a bound below the first crossing is where it culminates.
        low = culmination(before, j, h)
    if y1 >= -noise and not (r0 < 0 < r1):
        return None
    high = h
    crossing = _first_fall(start, h * r0, y1, h * r1, low / h)
    if crossing is not None and at(h * crossing).values[j] < 0:
        high = h * crossing
    elif y1 >= -noise:
        return None
    while low > 1e-12 * h and (low >= high or at(low).values[j] <= 0):
        low *= 0.5
    return (low if low > 1e-12 * h else 0.0), high


def culmination(before: Sample, j: int, h: float) -> float:
    """Time after `before` at which a function that starts at zero and rises is highest, by its acceleration there."""
    rate, acceleration = before.rates[j], before.accelerations[j]
    if math.isfinite(acceleration) and acceleration < 0:
        return float(min(-rate / acceleration, 0.5 * h))
    return 0.5 * h


def _first_fall(y0: float, r0: float, y1: float, r1: float, beyond: float) -> float | None:
    """Middle of the first interval in (beyond, 1] in which the cubic with these ends and slopes is negative."""
    cubic = np.polynomial.Polynomial((y0, r0, 3 * (y1 - y0) - 2 * r0 - r1, 2 * (y0 - y1) + r0 + r1))
    roots = cubic.roots()
    real = np.sort(roots.real[np.abs(roots.imag) < 1e-9])
    ends = [*(float(x) for x in real if beyond < x < 1.0), 1.0]
    for left, right in pairwise(ends):
        middle = 0.5 * (left + right)
        if cubic(middle) < 0:
            return float(middle)
    return None
