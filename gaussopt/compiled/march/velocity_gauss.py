"""One step of the stepper `velocity-gauss`, as a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import N, impulse
    from gaussopt.core.arrays import Vector


@inlined
def advance(
    start: float, stop: float, h: float, y: Vector, before: Vector, once: Vector, a: Vector, limit: float, worst: Vector
) -> bool:
    """Take one step: update the velocity by the impulses, then the positions by the new velocity."""
    good = impulse(start, stop, h, y, once, a, limit, worst)
    for i in range(N):
        y[N + i] = before[N + i] + h * a[i]
        y[i] = before[i] + h * y[N + i]
    return good
