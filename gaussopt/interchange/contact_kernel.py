"""Rows of contacts near a state of a MuJoCo model, and bounds of their friction, by compiled loops."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel


@kernel
def collect(
    J: Matrix, rows: Index, places: Index, normals: Index, closed: float, m: int, R: Matrix, gaps: Vector
) -> float:
    """Copy rows of J to `places` of R, which begin after its first m rows, and set gaps up to `closed` to zero.

    Return the least square of the norm of a row among `normals`, at most 1.
    """
    n, least = J.shape[1], 1.0
    for i in range(len(rows)):
        for j in range(n):
            R[m + places[i], j] = J[rows[i], j]
    for i in range(len(normals)):
        square = 0.0
        for j in range(n):
            square += R[m + normals[i], j] * R[m + normals[i], j]
        least = min(least, square)
    for i in range(len(gaps)):
        if gaps[i] > 0.0 and gaps[i] <= closed:
            gaps[i] = 0.0
    return least


@kernel
def bound_friction(W: Matrix, q: Vector, normals: Index, parents: Index, losses: Vector, dt: float) -> None:
    """Write rows of W and q, in the rows `normals`, for impulses bounded by those of `parents` or by dt `losses`.

    A missing tangent, whose row of W is zero, gets a positive diagonal entry, so that its impulse is zero.
    """
    n, trace, own = len(q), 0.0, np.zeros(len(normals))
    for i in range(n):
        trace += W[i, i]
    for i in range(len(normals)):
        row = normals[i]
        for tangent in range(row + 1, row + 3):
            if W[tangent, tangent] == 0.0:
                W[tangent, tangent] = trace / n
        own[i] = W[row + 1, row + 1]
        if parents[i] != row:
            own[i] = W[parents[i], parents[i]]
    for i in range(len(normals)):
        row = normals[i]
        W[row, row], q[row] = own[i], -own[i] * dt * losses[i]
        if parents[i] != row:
            W[row, parents[i]] = -own[i]
