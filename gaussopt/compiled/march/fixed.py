"""The loop of a motion over steps of constant length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.compiled.march.common import copied, on_constraints
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import last_step

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import M_H, ONCE, PROJECTED, SIZE, prepare
    from gaussopt.compiled.march.runge_kutta import advance


def march(
    begin: float, dt: float, end: float, first: int, count: int, every: int, y: Vector, p: Vector, limit: float,
    sharp: float, work: Vector, worst: Vector, trace: Vector,
) -> int:  # fmt: skip
    """Take the steps first, ..., first + count - 1, each by `advance`; return the number taken.

    Step i goes from begin + i dt to begin + (i + 1) dt, but not beyond the end. Where a pivot vanishes, a residual
    exceeds `limit` or an iteration does not settle, the loop ends and y is the state before that step.

    Parameters
    ----------
    y : (SIZE,), the state (q, v)
    p : parameters
    limit : largest accepted square of a relative residual
    sharp : tolerance of the projection after each step, if any
    work : work space: `once`, the state before the step, then work space of the projection and of `advance`
    worst : (2,), the largest squares of relative residuals of constraints and forces so far
    trace : receives the state after every step i for which i + 1 is a multiple of `every`, one after the other
    """
    once, before = work, work[ONCE:]
    space, own = work[ONCE + SIZE :], work[ONCE + 2 * SIZE + M_H :]
    place = 0
    prepare(p, once)
    for step in range(first, first + count):
        start = begin + step * dt
        stop = last_step(begin + (step + 1) * dt, end, dt)
        copied(y, before, SIZE)
        good = advance(start, stop, stop - start, y, before, once, own, limit, worst)
        if PROJECTED:
            good = good & on_constraints(stop, y, once, sharp, space)
        if not good:
            copied(before, y, SIZE)
            return step - first
        if (step + 1) % every == 0:
            copied(y, trace[place:], SIZE)
            place += SIZE
    return count
