"""Search for the instant within a step at which a function first falls below zero, even if it does so many times.

Value and rate of the function can be evaluated at any instant of the step. On a piece of the step the function equals
its cubic interpolant up to a defect, which is estimated by one evaluation in the middle. Each half of the piece is
bisected unless its cubic stays above zero by more than the defect, or falls monotonically through zero. The defect of a
smooth function is sixteen times smaller in a half than in the piece, whose estimate is therefore safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix
from gaussopt.core.errors import MotionStopped

SHALLOW = 1e-9
"""Depth below zero, relative to 1 + the largest coordinate, up to which a dip of a function may be missed."""

LOOKS = 4000
"""Largest number of evaluations of one function within a step."""

FINEST = 1e-12
"""Length of a piece, relative to the length of the step, at which it is no longer bisected."""

CURVED = 4.0
"""Largest assumed ratio of the curvature inside a piece, where it is not evaluated, to the curvature at the ends."""

Function = Callable[[float], tuple[float, float]]
"""A function that returns value and rate at a time after the beginning of the step."""


@dataclass(frozen=True, slots=True)
class HermitePoint:
    """Value and rate of a function at a time s after the beginning of the step."""

    s: float
    value: float
    rate: float


class CrossingSearch:
    """Search for the first instant at which a function falls below zero within a step of length `span`.

    Dips below zero by less than `depth` may be missed; a value below zero by less than `noise` is a rounding error.
    """

    def __init__(self, function: Function, span: float, depth: float, noise: float, name: str) -> None:
        self._function, self._depth, self._noise, self._name = function, depth, noise, name
        self._finest, self._left = FINEST * span, LOOKS

    def first(self, begin: HermitePoint, end: HermitePoint, number: int) -> tuple[float, float] | None:
        """Return the first interval between `begin` and `end` in which the function falls through zero, or None.

        The search takes `number` equal pieces in order; raises MotionStopped if the function is too rough for it.
        """
        left = begin
        for i in range(1, number + 1):
            right = end if i == number else self._look(begin.s + i / number * (end.s - begin.s))
            found = self._in_piece(left, right)
            if found is not None:
                return found
            left = right
        return None

    def _look(self, s: float) -> HermitePoint:
        self._left -= 1
        if self._left < 0:
            raise MotionStopped(
                f"{self._name} is too rough to tell where it falls below zero: {LOOKS} looks within one step do not "
                "settle it; use smaller steps, or a smoother function."
            )
        return HermitePoint(s, *self._function(s))

    def _in_piece(self, a: HermitePoint, b: HermitePoint) -> tuple[float, float] | None:
        """Return the first interval in one piece in which the function falls through zero, or None."""
        if b.s - a.s <= self._finest:
            return (a.s, b.s) if b.value < -self._noise else None
        middle = self._look(0.5 * (a.s + b.s))
        defect = _defect(a, middle, b)
        for left, right in ((a, middle), (middle, b)):
            if right.value < -self._noise:
                return (left.s, right.s) if _falls(left, right, defect) else self._in_piece(left, right)
            if _lowest(left, right) - defect >= -self._depth:
                continue
            found = self._in_piece(left, right)
            if found is not None:
                return found
        return None


def above(a: HermitePoint, b: HermitePoint, curvature: float, noise: float) -> bool:
    """Return whether a function stays above zero between a and b; `curvature` is the larger |f''| of the two ends.

    It does so, too, if it leaves a value at a, which may be zero up to `noise`, faster than the curvature can bend it.
    """
    h = b.s - a.s
    bend = CURVED * max(curvature, abs(b.rate - a.rate) / h) * h
    return _lowest(a, b) > bend * h / 8.0 or (a.value >= -noise and b.value > noise and a.rate > 0.5 * bend)


def unmoved(values: Matrix) -> int:
    """Return the number of steps before the first one in which a function passes through zero or comes close to zero.

    Parameters
    ----------
    values : (functions, N + 1)
        Values at the ends of N steps. The curvature is estimated from second differences; in a single step, the change
        of each function must be smaller than its values.
    """
    first, last = values[:, :-1], values[:, 1:]
    steps = last - first
    if steps.shape[1] > 1:
        bend = np.abs(steps[:, 1:] - steps[:, :-1])
        around = np.concatenate((bend[:, :1], bend, bend[:, -1:]), axis=1)
        reach = CURVED / 8.0 * np.maximum(around[:, :-1], around[:, 1:])
    else:
        reach = np.abs(steps)
    sure = (first * last > 0) & (np.minimum(np.abs(first), np.abs(last)) > reach)
    sure = sure.all(axis=0)
    return len(sure) if sure.all() else int(sure.argmin())


def _lowest(a: HermitePoint, b: HermitePoint) -> float:
    """Return a lower bound on the cubic of a piece: the smallest of its Bernstein coefficients."""
    third = (b.s - a.s) / 3.0
    return min(a.value, b.value, a.value + third * a.rate, b.value - third * b.rate)


def _falls(a: HermitePoint, b: HermitePoint, defect: float) -> bool:
    """Return whether the cubic through two points falls monotonically, so that it has at most one zero."""
    third = (b.s - a.s) / 3.0
    x, y = third * a.rate, third * b.rate
    return max(x, y, b.value - a.value - x - y) < -2.0 * defect


def _defect(a: HermitePoint, middle: HermitePoint, b: HermitePoint) -> float:
    """Estimate a bound on the difference between a function and the cubic of a piece.

    The leading term of the error, s^2 (h - s)^2, is largest in the middle. The next term, s^2 (h - s)^2 (s - h/2), is
    zero in the middle and at most 0.144 h times the error of the rate in the middle. The bound is twice their sum.
    """
    h = b.s - a.s
    value = 0.5 * (a.value + b.value) + h / 8.0 * (a.rate - b.rate)
    rate = 1.5 * (b.value - a.value) / h - 0.25 * (a.rate + b.rate)
    found = 2.0 * abs(middle.value - value) + 0.29 * h * abs(middle.rate - rate)
    return found if math.isfinite(found) else math.inf
