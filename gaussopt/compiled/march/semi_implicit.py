"""One step of semi-implicit Euler, as a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import N, slope
    from gaussopt.core.arrays import Vector


@inlined
def advance(
    start: float, stop: float, h: float, y: Vector, before: Vector, once: Vector, k: Vector, limit: float, worst: Vector
) -> bool:
    """Take one step: update the velocity by the acceleration, then the positions by the new velocity."""
    good = slope(start, y, once, k, True, limit, worst)
    for i in range(N):
        y[N + i] = before[N + i] + h * k[N + i]
        y[i] = before[i] + h * y[N + i]
    return good
