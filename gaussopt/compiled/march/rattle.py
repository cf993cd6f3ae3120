"""A step of the stepper rattle: two halves, each with an iteration; see `gaussopt.integration.steppers.rattle`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import largest
from gaussopt.core.endings import settled
from gaussopt.core.stepper import MOST_ITERATIONS, SHARP
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import AT_ONCE, M_H, M, N, half_check, half_ends, half_solve, half_start
    from gaussopt.core.arrays import Vector


@inlined
def advance(
    start: float, stop: float, h: float, y: Vector, before: Vector, once: Vector, space: Vector, limit: float,
    worst: Vector,
) -> bool:  # fmt: skip
    """Take one step. Each half step is evaluated at the state in y; at the end y holds the result.

    `space` holds the velocity between the halves, the latest iterate, the acceleration, the multipliers, the correction
    of the right-hand side gamma, the constraint residuals at the end, and the values that an iteration does not change.
    """
    half, new, a, lam = space, space[N:], space[2 * N :], space[3 * N :]
    missed, phi, kept = space[3 * N + M :], space[3 * N + M + M_H :], space[3 * N + M + 2 * M_H :]
    good = True
    for part in range(2):
        t = start if part == 0 else stop
        for r in range(M_H):
            missed[r] = 0.0
        good = half_start(t, y, once, kept) & good
        best = 1e300
        near = False
        for _ in range(MOST_ITERATIONS):
            good = half_solve(part, t, h, y, once, kept, half, missed, a, lam) & good
            size = 0.0
            if part == 0:
                # Newton's method for the constraints at the end of the step, with the matrix at its start.
                for i in range(N):
                    new[i] = y[i] + h * (y[N + i] + 0.5 * h * a[i])
                good = half_ends(stop, new, once, phi) & good
                size = largest(phi, M_H)
                for r in range(M_H):
                    missed[r] += 2.0 * phi[r] / (h * h)
            else:
                # Fixed-point iteration for the velocity, on which the equations may depend.
                for i in range(N):
                    new[i] = half[i] + 0.5 * h * a[i]
                    size = max(size, abs(new[i] - y[N + i]))
                    y[N + i] = new[i]
            near = settled(size, SHARP * (1.0 + largest(new, N)), best) | (AT_ONCE * part > 0)
            best = min(best, size)
            if near or not good:
                break
        good = good & near & half_check(part, t, h, y, once, a, lam, limit, worst)
        if part == 0:
            for i in range(N):
                half[i] = before[N + i] + 0.5 * h * a[i]
                y[i] = before[i] + h * half[i]
                y[N + i] = before[N + i] + h * a[i]
    return good
