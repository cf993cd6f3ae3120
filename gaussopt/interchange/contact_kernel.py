"""Rows of contacts near a state of a MuJoCo model, and bounds of their friction, by compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Matrix, ShortIndex, Vector
from gaussopt.core.row_rounding import EPS
from gaussopt.jit.kernel import kernel

CLOSED = 1e-9
"""Gap, m or rad, up to which a contact counts as closed. Otherwise the errors in the gaps of a body at rest would let
only one of its redundant contacts carry it, and another contact in the next step."""

SMALL = 1e-6
"""Norm of a row, dimensionless or in m, below which the row may consist of rounding errors."""


class RowPlaces(NamedTuple):
    """Row rows[i] of MuJoCo's Jacobian becomes contact row places[i].

    Contact opening[i] has the normal row normals[i] of the Jacobian, and is looked for up to a gap of ahead[i].
    """

    rows: Index
    places: Index
    opening: Index
    normals: Index
    ahead: Vector


class RowTerms(NamedTuple):
    """Magnitudes of the terms of m equality rows, and the bodies whose places they depend on.

    Row i has terms up to near[i] + d far[i], where d is the largest distance from the origin among the bodies with the
    numbers bodies[trees[e]] to bodies[trees[e + 1]] of its equality e = numbers[i].
    """

    bodies: Index
    trees: Index
    numbers: Index
    near: Matrix
    far: Matrix


class TermSizes(NamedTuple):
    """Magnitudes of the terms of all rows: of equalities, and of contacts from the places of the bodies of `every` row.

    `places` and `centres`, (bodies, 3), m, are those of the bodies and of their centres of mass; `turns`, (nv,), is 1
    for angular velocities, else 0.
    """

    of_equalities: RowTerms
    every: Index
    places: Matrix
    centres: Matrix
    turns: Vector


@kernel
def farthest(bodies: Index, places: Matrix, centres: Matrix) -> float:
    """Return the largest distance of one of the bodies, or of its centre of mass, from the origin, m."""
    reach = 0.0
    for at in range(len(bodies)):
        one, other, body = 0.0, 0.0, bodies[at]
        for j in range(3):
            one += places[body, j] * places[body, j]
            other += centres[body, j] * centres[body, j]
        reach = max(reach, one, other)
    return math.sqrt(reach)


@kernel
def clear_rounding(rows: SparseRows, of: RowTerms, terms: TermSizes) -> None:
    """Write zero over the entries of equality rows that are rounding errors of their terms, as `without_rounding`."""
    known, reach, m = -1, 0.0, len(of.numbers)
    share = 8.0 * max(len(terms.turns), m) * EPS
    for i in range(m):
        if of.numbers[i] != known:
            known = of.numbers[i]
            reach = farthest(of.bodies[of.trees[known] : of.trees[known + 1]], terms.places, terms.centres)
        for e in range(rows.begins[i], rows.begins[i + 1]):
            j = rows.columns[e]
            if abs(rows.values[e]) <= share * (of.near[i, j] + of.far[i, j] * reach):
                rows.values[e] = 0.0


@kernel
def collect(
    starts: ShortIndex, counts: ShortIndex, columns: ShortIndex, values: Vector, distances: Vector, margins: Vector,
    of: RowPlaces, terms: TermSizes, m: int, first: bool, touching: bool, R: SparseRows, gaps: Vector,
) -> float:  # fmt: skip
    """Copy MuJoCo's rows of contacts to R, after its first m rows, write gaps, and return the least gap, at most 1.

    Row i of MuJoCo has `counts[i]` entries from `starts[i]` on. Gaps up to CLOSED become zero, and entries that are
    only rounding errors of their terms, if a row is small.

    Parameters
    ----------
    first : whether MuJoCo's first m rows are those of R, which are copied too; otherwise R has its first m rows
    touching : whether there are contacts, not only limits
    R : R.begins is zero after its first m + 1 entries, or if `first` after the first
    """
    least, lowest = 1.0, 1.0
    for i in range(m if first else 0):
        square, to = 0.0, R.begins[i] - starts[i]
        R.begins[i + 1] = R.begins[i] + counts[i]
        for e in range(starts[i], starts[i] + counts[i]):
            R.columns[to + e], R.values[to + e] = columns[e], values[e]
            square += values[e] * values[e]
        least = min(least, square)
    if least < SMALL * SMALL:
        clear_rounding(R, terms.of_equalities, terms)
    least = 1.0
    for i in range(len(of.rows)):
        R.begins[m + of.places[i] + 1] = counts[of.rows[i]]
    for a in range(m, len(R.begins) - 1):
        R.begins[a + 1] += R.begins[a]
    for i in range(len(of.rows)):
        row = of.rows[i]
        to = R.begins[m + of.places[i]] - starts[row]
        for e in range(starts[row], starts[row] + counts[row]):
            R.columns[to + e], R.values[to + e] = columns[e], values[e]
    for i in range(len(of.opening)):
        square, row = 0.0, of.normals[i]
        for e in range(starts[row], starts[row] + counts[row]):
            square += values[e] * values[e]
        gap = distances[row] - margins[row] + of.ahead[i]
        if gap > 0.0 and gap <= CLOSED:
            gap = 0.0
        gaps[of.opening[i]] = gap
        least, lowest = min(least, square), min(lowest, gap)
    if touching and least < SMALL * SMALL:
        share, angular = 8.0 * max(len(terms.turns), 3 * len(gaps)) * EPS, 0.0
        angular = 8.0 * farthest(terms.every, terms.places, terms.centres)
        for e in range(R.begins[m], R.begins[len(R.begins) - 1]):
            if abs(R.values[e]) <= share * (angular if terms.turns[R.columns[e]] > 0.0 else 2.0):
                R.values[e] = 0.0
    return lowest


@kernel
def lower_limits(starts: ShortIndex, counts: ShortIndex, values: Vector, first: int, lower: Index) -> None:
    """Write 1 for MuJoCo's rows from `first` on whose largest entry is positive, as lower limits have; else 0."""
    for i in range(len(lower)):
        lead = 0.0
        for e in range(starts[first + i], starts[first + i] + counts[first + i]):
            if abs(values[e]) > abs(lead):
                lead = values[e]
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
