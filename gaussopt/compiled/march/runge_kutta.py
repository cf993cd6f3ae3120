"""One step of an explicit Runge-Kutta method, as a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.jit.kernel import inlined, unrolled

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import SIZE, STAGES, A, C, slope
    from gaussopt.core.arrays import Vector


@inlined
def combined(stage: int, h: float, before: Vector, slopes: Vector, y: Vector) -> None:
    """Compute the state of the next stage, or after the last stage of the step, from the slopes so far.

    The loops are unrolled for every stage, so that the compiler knows the coefficients and omits zero terms.
    """
    for s in unrolled(STAGES):
        if s == stage:
            for i in range(SIZE):
                total = 0.0
                for j in unrolled(STAGES):
                    if A[STAGES * (s + 1) + j] != 0.0:
                        total += A[STAGES * (s + 1) + j] * slopes[SIZE * j + i]
                y[i] = before[i] + h * total


@inlined
def advance(
    start: float, stop: float, h: float, y: Vector, before: Vector, once: Vector, slopes: Vector, limit: float,
    worst: Vector,
) -> bool:  # fmt: skip
    """Take one step; residuals are checked only at its first stage, which is the state before the step."""
    good = True
    for stage in range(STAGES):
        good = slope(start + C[stage] * h, y, once, slopes[SIZE * stage :], stage == 0, limit, worst) & good
        combined(stage, h, before, slopes, y)
    return good
