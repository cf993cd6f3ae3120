"""Steps of an embedded Runge-Kutta method with error control: the methods of SciPy, with SciPy's step size control."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import copied, on_constraints
from gaussopt.core.arrays import Vector

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        E3,
        EXPONENT,
        M_H,
        ONCE,
        PAIR,
        PROJECTED,
        SIZE,
        STAGES,
        A,
        C,
        E,
        prepare,
        slope,
    )

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""SciPy's controller: safety factor, least and largest ratio of a step to the previous one."""

CLOSE = 2.3e-15
"""Shortest step, relative to the time: ten units in the last place, rounded up."""


def stage_state(stage: int, h: float, before: Vector, slopes: Vector, y: Vector) -> None:
    """Compute the state of a stage in a loop over a table of coefficients, because unrolled code would be long."""
    copied(before, y, SIZE)
    for j in range(stage):
        weight = h * A[(STAGES - 1) * stage + j]
        if weight != 0.0:
            for i in range(SIZE):
                y[i] += weight * slopes[SIZE * j + i]


def error_norm(h: float, rtol: float, atol: float, before: Vector, y: Vector, slopes: Vector) -> float:
    """Return the estimated error of a step in units of the tolerances, as SciPy does."""
    first = second = 0.0
    for i in range(SIZE):
        scale = atol + max(abs(before[i]), abs(y[i])) * rtol
        one = other = 0.0
        for j in range(STAGES):
            one += E[j] * slopes[SIZE * j + i]
            if PAIR:
                other += E3[j] * slopes[SIZE * j + i]
        first += (one / scale) ** 2
        second += (other / scale) ** 2
    if not PAIR:
        return abs(h) * math.sqrt(first / SIZE)
    if first > 0.0 or second > 0.0:
        return abs(h) * first / math.sqrt((first + 0.01 * second) * SIZE)
    return first  # here `first` is zero or NaN


def tried(
    t0: float, h: float, known: int, y: Vector, before: Vector, once: Vector, slopes: Vector, limit: float,
    worst: Vector,
) -> bool:  # fmt: skip
    """Take a trial step; `known` is 1 if its first slope is known, else 0. Residuals are checked at its last stage."""
    good = True
    for stage in range(known, STAGES):
        if stage > 0:
            stage_state(stage, h, before, slopes, y)
        last = stage == STAGES - 1
        good = slope(t0 + C[stage] * h, y, once, slopes[SIZE * stage :], last, limit, worst) & good
    return good


def change(norm: float, rejected: bool) -> float:
    """Return the ratio of the next step size to the present one."""
    if norm < 1.0:
        factor = MOST if norm == 0.0 else min(MOST, SAFETY * norm**EXPONENT)
        return min(1.0, factor) if rejected else factor
    return max(LEAST, SAFETY * norm**EXPONENT) if math.isfinite(norm) else LEAST


def noted(clock: Vector, t: float, h: float, known: float, computed: float, landed: int, stuck: float) -> None:
    """Write all entries of `clock`."""
    clock[0], clock[1], clock[2], clock[3], clock[4], clock[5] = t, h, known, computed, float(landed), stuck


def march(
    bounds: Vector, bound_count: int, count: int, own: int, rtol: float, atol: float, y: Vector, clock: Vector,
    p: Vector, limit: float, sharp: float, work: Vector, worst: Vector, trace: Vector,
) -> int:  # fmt: skip
    """Take at most `count` accepted steps; the instants `bounds` are ends of steps.

    `clock` holds time, step size, whether the slope at y is known, numbers of accelerations computed and of bounds
    reached, and whether a step failed (vanishing pivot, large residuals, projection); y is then the state before it.
    If `own` is true, every accepted step ends with a projection, if any, and its time and state go to `trace`;
    otherwise only steps that reach a bound do. `work`, (WORK,), holds what `prepare` writes, the state before the
    step, and the slopes. Returns the number n of accepted steps, or -1 - n where the step size vanished.
    """
    once, before = work, work[ONCE:]
    space, slopes = work[ONCE + SIZE :], work[ONCE + 2 * SIZE + M_H :]
    t0, h_abs, known, computed, landed = clock[0], clock[1], int(clock[2]), clock[3], int(clock[4])
    place, done = 0, 0
    prepare(p, once)
    while done < count and landed < bound_count:
        bound = bounds[landed]
        copied(y, before, SIZE)
        least = CLOSE * abs(t0) + 1e-300
        h_abs = max(h_abs, least)
        h, stop = h_abs, t0
        accepted = rejected = False
        while not accepted:
            if h_abs < least:
                copied(before, y, SIZE)
                noted(clock, t0, h_abs, 0.0, computed, landed, 0.0)
                return -1 - done
            stop = min(t0 + h_abs, bound)
            h = stop - t0
            h_abs = abs(h)
            good = tried(t0, h, known, y, before, once, slopes, limit, worst)
            computed += STAGES - known
            known = 1
            if not good:
                copied(before, y, SIZE)
                noted(clock, t0, h_abs, 0.0, computed, landed, 1.0)
                return done
            norm = error_norm(h, rtol, atol, before, y, slopes)
            accepted = norm < 1.0
            h_abs *= change(norm, rejected)
            rejected = not accepted
        copied(slopes[SIZE * (STAGES - 1) :], slopes, SIZE)
        done += 1
        begin, t0 = t0, stop
        if own or t0 >= bound:
            if PROJECTED:
                known = 0
                if not on_constraints(stop, y, once, sharp, space, space[M_H:]):
                    copied(before, y, SIZE)
                    noted(clock, begin, h, 0.0, computed, landed, 1.0)
                    return done - 1
            trace[place] = t0
            copied(y, trace[place + 1 :], SIZE)
            place += SIZE + 1
        if t0 >= bound:
            landed += 1
    noted(clock, t0, h_abs, float(known), computed, landed, 0.0)
    return done
