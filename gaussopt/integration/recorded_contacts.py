"""The values of contacts at a recorded instant, and whether the motion determines their forces, by compiled loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.dense import lapack

STICKING = 1e-9
"""Slip, relative to the size of the velocities of a problem, up to which a contact that pushes counts as sticking."""

INDEPENDENT = 1e-10
"""Smallest eigenvalue of W, relative to the sum of all eigenvalues, above which forces count as determined."""

OPEN, SLIDING, STUCK = 0.0, 1.0, 2.0
"""Modes of a contact in `Trajectory.mode`."""

FEW_ROWS = 90
"""Number of rows up to which a compiled loop takes less time than LAPACK, with the calls that prepare it."""


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


@kernel
def few_determined(W: Matrix, opens: Vector, r: Vector) -> bool:
    """Return the same as `determined`."""
    n, count, trace = len(r), 0, 0.0
    rows, A = np.zeros(n, np.int64), np.zeros(n * n)
    for j in range(n):
        if r[j - j % 3] > 0.0 and W[j, j] > 0.0 and (j % 3 > 0 or opens[j // 3] > 0.0):
            rows[count] = j
            count += 1
            trace += W[j, j]
    for b in range(count):
        for a in range(b, count):
            x = W[rows[a], rows[b]]
            for c in range(b):
                x -= A[a * n + c] * A[b * n + c]
            if a > b:
                A[a * n + b] = x / A[b * n + b]
            elif x > INDEPENDENT * trace:
                A[a * n + b] = math.sqrt(x - INDEPENDENT * trace)
            else:
                return False
    return True


def determined(W: Any, opens: NDArray[np.bool_], r: Vector) -> bool:
    """Return whether W of the contacts that push, with impulses r, is regular, so that the motion determines them.

    Normal impulses of contacts that cannot open are given.
    """
    if len(r) <= FEW_ROWS and W.flags.c_contiguous:
        return few_determined(W, opens.astype(np.float64), r)
    rows = np.repeat(r[::ROWS] > 0, ROWS) & (W.diagonal() > 0)
    rows[::ROWS] &= opens
    W = W[rows][:, rows]
    W.flat[:: len(W) + 1] -= INDEPENDENT * W.trace()
    return not lapack().dpotrf(W, lower=1)[1]  # the factorisation succeeds if all eigenvalues of W exceed the shift
