"""The loop of a motion over steps of constant length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy import zeros

from gaussopt.compiled.march.common import copied, on_constraints
from gaussopt.core.arrays import Vector
from gaussopt.core.endings import last_step
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import M_H, ONCE, OWN, PROJECTED, SIZE, prepare
    from gaussopt.compiled.march.runge_kutta import advance


def march(
    begin: float, dt: float, end: float, first: int, count: int, every: int, y: Vector, p: Vector, limit: float,
    sharp: float, worst: Vector, trace: Vector,
) -> int:  # fmt: skip
    """Take steps as `steps` does.

    The work space lies on the stack of this function, so that LLVM keeps its entries in registers: in an array of the
    caller they would have to be read again after every store to the state.
    """
    return steps(
        begin, dt, end, first, count, every, y, p, limit, sharp, worst, trace, zeros(ONCE), zeros(SIZE),
        zeros(M_H), zeros(SIZE), zeros(OWN),
    )  # fmt: skip


@inlined
def steps(
    begin: float, dt: float, end: float, first: int, count: int, every: int, y: Vector, p: Vector, limit: float,
    sharp: float, worst: Vector, trace: Vector, once: Vector, before: Vector, phi: Vector,
    change: Vector, own: Vector,
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
    worst : (2,), the largest squares of relative residuals of constraints and forces so far
    trace : receives the state after every step i for which i + 1 is a multiple of `every`, one after the other
    once, before : (ONCE,), (SIZE,), receive what `prepare` writes, and the state before the step
    phi, change : (M_H,), (SIZE,), work space of the projection
    own : (OWN,), work space of `advance`
    """
    place = 0
    prepare(p, once)
    for step in range(first, first + count):
        start = begin + step * dt
        stop = last_step(begin + (step + 1) * dt, end, dt)
        copied(y, before, SIZE)
        good = advance(start, stop, stop - start, y, before, once, own, limit, worst)
        if PROJECTED:
            good = good & on_constraints(stop, y, once, sharp, phi, change)
        if not good:
            copied(before, y, SIZE)
            return step - first
        if (step + 1) % every == 0:
            copied(y, trace[place:], SIZE)
            place += SIZE
    return count
