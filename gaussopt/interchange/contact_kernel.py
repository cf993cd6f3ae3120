"""Rows of contacts near a state of a MuJoCo model, and bounds of their friction, by compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
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
    J: SparseRows, distances: Vector, margins: Vector, of: RowPlaces, closed: float, m: int, R: SparseRows, gaps: Vector
) -> tuple[float, float]:
    """Copy rows of J to R, after its first m rows, and write gaps, of which those up to `closed` become zero.

    Return the least square of the norm of a normal row, at most 1, and the least gap, at most 1. R.begins is zero
    after its first m + 1 entries.
    """
    least, lowest = 1.0, 1.0
    for i in range(len(of.rows)):
        R.begins[m + of.places[i] + 1] = J.begins[of.rows[i] + 1] - J.begins[of.rows[i]]
    for a in range(m, len(R.begins) - 1):
        R.begins[a + 1] += R.begins[a]
    for i in range(len(of.rows)):
        to = R.begins[m + of.places[i]] - J.begins[of.rows[i]]
        for e in range(J.begins[of.rows[i]], J.begins[of.rows[i] + 1]):
            R.columns[to + e], R.values[to + e] = J.columns[e], J.values[e]
    for i in range(len(of.opening)):
        square, row = 0.0, of.normals[i]
        for e in range(J.begins[row], J.begins[row + 1]):
            square += J.values[e] * J.values[e]
        gap = distances[row] - margins[row] + of.ahead[i]
        if gap > 0.0 and gap <= closed:
            gap = 0.0
        gaps[of.opening[i]] = gap
        least, lowest = min(least, square), min(lowest, gap)
    return least, lowest


@kernel
def lower_limits(J: SparseRows, first: int, lower: Index) -> None:
    """Write 1 for rows of limits, from J[first], whose largest entry is positive, as lower limits have; else 0."""
    for i in range(len(lower)):
        lead = 0.0
        for e in range(J.begins[first + i], J.begins[first + i + 1]):
            if abs(J.values[e]) > abs(lead):
                lead = J.values[e]
        lower[i] = 1 if lead > 0.0 else 0


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


@kernel
def block_place(begins: Index, columns: Index, row: int, column: int) -> int:
    """Return the place of a stored block in compressed rows."""
    place = int(begins[row])
    while columns[place] != column:
        place += 1
    return place


@kernel
def bound_blocks(
    begins: Index, columns: Index, data: Vector, q: Vector, normals: Index, parents: Index, losses: Vector, dt: float
) -> None:
    """Write the rows of `bound_friction` into W stored by its blocks, (3, 3), in compressed rows of contacts."""
    trace, own = 0.0, np.zeros(len(normals))
    for contact in range(len(begins) - 1 if len(normals) > 0 else 0):
        at = 9 * block_place(begins, columns, contact, contact)
        trace = trace + data[at] + data[at + 4] + data[at + 8]
    for i in range(len(normals)):
        at = 9 * block_place(begins, columns, normals[i] // 3, normals[i] // 3)
        for tangent in range(at + 4, at + 9, 4):
            if data[tangent] == 0.0:
                data[tangent] = trace / len(q)
        own[i] = data[at + 4]
        if parents[i] != normals[i]:
            own[i] = data[9 * block_place(begins, columns, parents[i] // 3, parents[i] // 3)]
    for i in range(len(normals)):
        contact, parent = normals[i] // 3, parents[i] // 3
        data[9 * block_place(begins, columns, contact, contact)] = own[i]
        q[normals[i]] = -own[i] * dt * losses[i]
        if parent != contact:
            data[9 * block_place(begins, columns, contact, parent)] = -own[i]
