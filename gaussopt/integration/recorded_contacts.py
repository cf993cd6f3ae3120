"""The values of contacts at a recorded instant, by compiled loops."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.cone import choose_least, dense_parts, least_solved
from gaussopt.cone.measure import FEW
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import velocity_size

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


@kernel
def least_forces_into(
    begin: Index, column: Index, W: Vector, q: Vector, mu: Vector, opens: Index, tolerance: float, h: float,
    there: Index, r: Vector, u: Vector, values: Matrix,
) -> bool:  # fmt: skip
    """Choose the least impulses r by `choose_least`, and apply `forces_into`; return whether r is determined."""
    square, n = 0.0, len(q)
    for a in range(n):
        square += q[a] * q[a]
    size = math.sqrt(square) if square > 0.0 else 1.0
    _, choice = choose_least(begin, column, W, q, mu, opens, size, tolerance, -1.0, r, u)
    for a in range(n):
        u[a] = q[a]
        for b in range(n):
            u[a] += W[a * n + b] * r[b]
    forces_into(u, r, mu, h, STICKING * size, there, values)
    return choice == 0.0


def record_forces(
    problem: ConeComplementarity, opens: NDArray[np.bool_], r: Vector, tolerance: float, h: float, there: Index,
    values: Matrix,
) -> bool:  # fmt: skip
    """Write forces and modes of the least impulses as `forces_into` does; return whether the problem determines r."""
    if not problem.sparse and problem.k <= FEW:
        given = dense_parts(problem, opens)
        return bool(least_forces_into(*given, tolerance, h, there, r.copy(), np.empty(len(r)), values))
    r, _, unique = least_solved(problem, opens, r, tolerance)
    forces_into(problem.u(r), r, problem.mu, h, STICKING * velocity_size(problem), there, values)
    return unique
