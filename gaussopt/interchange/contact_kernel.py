"""Rows of contacts near a state of a MuJoCo model, and bounds of their friction, by compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel


class RowPlaces(NamedTuple):
    """Row rows[i] of MuJoCo's Jacobian becomes contact row places[i].

    Contact opening[i] has the normal row normals[i] of the Jacobian, and is looked for up to a gap of ahead[i].
    """

    rows: Index
    places: Index
    opening: Index
    normals: Index
    ahead: Vector


@kernel
def collect(
    J: Matrix, distances: Vector, margins: Vector, of: RowPlaces, closed: float, m: int, R: Matrix, gaps: Vector
) -> tuple[float, float]:  # fmt: skip
    """Copy rows of J to R, after its first m rows, and write gaps, of which those up to `closed` become zero.

    Return the least square of the norm of a normal row, at most 1, and the least gap, at most 1.
    """
    n, least, lowest = J.shape[1], 1.0, 1.0
    for i in range(len(of.rows)):
        for j in range(n):
            R[m + of.places[i], j] = J[of.rows[i], j]
    for i in range(len(of.opening)):
        square, row = 0.0, of.normals[i]
        for j in range(n):
            square += J[row, j] * J[row, j]
        gap = distances[row] - margins[row] + of.ahead[i]
        if gap > 0.0 and gap <= closed:
            gap = 0.0
        gaps[of.opening[i]] = gap
        least, lowest = min(least, square), min(lowest, gap)
    return least, lowest


@kernel
def lower_limits(J: Matrix, first: int, lower: Index) -> None:
    """Write 1 for rows of limits, from J[first], whose largest entry is positive, as lower limits have; else 0."""
    for i in range(len(lower)):
        lead = 0.0
        for j in range(J.shape[1]):
            if abs(J[first + i, j]) > abs(lead):
                lead = J[first + i, j]
        lower[i] = 1 if lead > 0.0 else 0


@kernel
def clear_rounding(R: Matrix, m: int, turns: Vector, places: Matrix, centres: Matrix, share: float) -> None:
    """Set entries of R after its first m rows to zero that are at most `share` of the sizes of their terms.

    These are `gaussopt.interchange.mujoco_equalities.sizes_of_places` for the places and centres of mass of all bodies.
    """
    reach = 0.0
    for i in range(len(places)):
        one, other = 0.0, 0.0
        for j in range(3):
            one += places[i, j] * places[i, j]
            other += centres[i, j] * centres[i, j]
        reach = max(reach, one, other)
    reach = math.sqrt(reach)
    for i in range(m, len(R)):
        for j in range(len(turns)):
            if abs(R[i, j]) <= share * (2.0 * (1.0 - turns[j] + 4.0 * (reach * turns[j]))):
                R[i, j] = 0.0


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
