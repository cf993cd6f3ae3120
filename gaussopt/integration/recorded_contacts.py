"""The values of contacts at a recorded instant, by a compiled loop."""

from __future__ import annotations

import math

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

STICKING = 1e-9
"""Slip, relative to the size of the velocities of a problem, up to which a contact that pushes counts as sticking."""

OPEN, SLIDING, STUCK = 0.0, 1.0, 2.0
"""Modes of a contact in `Trajectory.mode`."""


@kernel
def forces_into(
    u: Vector, r: Vector, mu: Vector, h: float, slow: float, there: Index, values: Matrix
) -> None:  # fmt: skip
    """Write lam_N, mode and lam_T of contacts into the columns 0 and 2 to 4 of `values`, (k, 7).

    Contact i is that with the number there[i] in a step of length h with velocities u and impulses r; it is new if the
    number is negative. A contact that pushes sticks if its slip in the step is at most `slow`, m/s.
    """
    for i in range(len(there)):
        values[i, 0], values[i, 2], values[i, 3], values[i, 4] = 0.0, OPEN, 0.0, 0.0
        j = 3 * there[i]
        if j >= 0:
            values[i, 0], values[i, 3], values[i, 4] = r[j] / h, r[j + 1] / h, r[j + 2] / h
            if r[j] > 0.0:
                stuck = mu[there[i]] > 0.0 and math.hypot(u[j + 1], u[j + 2]) <= slow
                values[i, 2] = STUCK if stuck else SLIDING
