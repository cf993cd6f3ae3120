"""Functions that the kernels share: copies, sizes, and the projection onto the constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.core.endings import settled
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import M_H, SIZE, N, correction
    from gaussopt.core.arrays import Vector

MOST_CORRECTIONS = 20
"""Largest number of Newton iterations of a projection."""


@inlined
def copied(x: Vector, target: Vector, count: int) -> None:
    """Copy the first `count` entries of x to `target`."""
    for i in range(count):
        target[i] = x[i]


@inlined
def largest(x: Vector, count: int) -> float:
    """Return the largest |x|, zero if there are no entries."""
    found = 0.0
    for i in range(count):
        found = max(found, abs(x[i]))
    return found


@inlined
def on_constraints(t: float, y: Vector, once: Vector, sharp: float, phi: Vector, d: Vector) -> bool:
    """Solve phi(q) = 0 by Newton's method, then correct v linearly; return whether the iteration converged.

    The criterion is that of `integration.stabilisation.Projection`, of tolerance `sharp`; `phi` (M_H,) and `d` (SIZE,)
    are work space.
    """
    best = 1e300
    for _ in range(MOST_CORRECTIONS):
        good = correction(t, y, once, phi, d)
        size = largest(phi, M_H)
        near = settled(size, sharp * (1.0 + largest(y, N)), best)
        best = min(best, size)
        if near or not good:
            for i in range(N, SIZE):
                y[i] -= d[i]
            return near & good
        for i in range(N):
            y[i] -= d[i]
    return False
