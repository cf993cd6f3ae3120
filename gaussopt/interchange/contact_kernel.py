"""Rows of contacts near a state of a MuJoCo model, and bounds of their friction, by compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.cone.sparse_rows import SparseRows
from gaussopt.core.arrays import Index, Matrix, ShortIndex, Vector
from gaussopt.core.row_rounding import EPS
from gaussopt.interchange.mujoco_ahead import Moving, longest_way
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


class Present(NamedTuple):
    """MuJoCo's arrays of the present state, and what the magnitudes of the terms of its rows depend on.

    Rows of contacts depend on the places of the bodies with the numbers `every`. `places` and `centres`, (bodies, 3),
    m, are those of bodies and of their centres of mass; `turns`, (nv,), is 1 for angular velocities, else 0.
    """

    of_equalities: RowTerms
    every: Index
    places: Matrix
    centres: Matrix
    turns: Vector
    masses: Vector
    force: Vector
    w: Vector
    moving: Moving


class Nearby(NamedTuple):
    """What a step takes from MuJoCo: rows R, (p, nv), of equalities and of contacts, gaps, (k,), and residuals, (m,).

    M, the lower part of the masses, force, (nv,), and w, (nv,), are copied, as MuJoCo's arrays change in the meantime.
    """

    R: SparseRows
    gaps: Vector
    phi: Vector
    M: SparseRows
    force: Vector
    w: Vector

    @classmethod
    def of(cls, k: int, m: int, masses: SparseRows, nv: int, room: int) -> Nearby:
        """Return memory for k contacts and m equality rows with `room` entries."""
        R = SparseRows(np.zeros(m + 3 * k + 1, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room))
        M = masses._replace(values=np.empty(len(masses.values)))
        return cls(R, np.zeros(k), np.zeros(m), M, np.empty(nv), np.empty(nv))


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
def clear_rounding(rows: SparseRows, of: RowTerms, present: Present) -> None:
    """Write zero over the entries of equality rows that are rounding errors of their terms, as `without_rounding`."""
    known, reach, m = -1, 0.0, len(of.numbers)
    share = 8.0 * max(len(present.turns), m) * EPS
    for i in range(m):
        if of.numbers[i] != known:
            known = of.numbers[i]
            reach = farthest(of.bodies[of.trees[known] : of.trees[known + 1]], present.places, present.centres)
        for e in range(rows.begins[i], rows.begins[i + 1]):
            j = rows.columns[e]
            if abs(rows.values[e]) <= share * (of.near[i, j] + of.far[i, j] * reach):
                rows.values[e] = 0.0


@kernel
def collect(
    starts: ShortIndex, counts: ShortIndex, columns: ShortIndex, values: Vector, distances: Vector, margins: Vector,
    of: RowPlaces, present: Present, near: Nearby, first: bool, touching: bool,
) -> tuple[float, float]:  # fmt: skip
    """Write `near` from MuJoCo's rows and its present state; return the least gap, at most 1, and a bound of speeds.

    Row i of MuJoCo has `counts[i]` entries from `starts[i]` on. Gaps up to CLOSED become zero, and entries that are
    only rounding errors of their terms, if a row is small.

    Parameters
    ----------
    first : whether MuJoCo's first m rows are those of equalities, which are copied too; otherwise `near` has them
    touching : whether there are contacts, not only limits
    """
    least, lowest, m, R = 1.0, 1.0, len(near.phi), near.R
    for i in range(len(near.w)):
        near.force[i], near.w[i] = present.force[i], present.w[i]
    for e in range(len(present.masses)):
        near.M.values[e] = present.masses[e]
    for i in range(m if first else 0):
        square, to, near.phi[i] = 0.0, R.begins[i] - starts[i], distances[i]
        R.begins[i + 1] = R.begins[i] + counts[i]
        for e in range(starts[i], starts[i] + counts[i]):
            R.columns[to + e], R.values[to + e] = columns[e], values[e]
            square += values[e] * values[e]
        least = min(least, square)
    if least < SMALL * SMALL:
        clear_rounding(R, present.of_equalities, present)
    least = 1.0
    for a in range(m, len(R.begins) - 1):
        R.begins[a + 1] = 0
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
        near.gaps[of.opening[i]] = gap
        least, lowest = min(least, square), min(lowest, gap)
    if touching and least < SMALL * SMALL:
        share, angular = 8.0 * max(len(present.turns), 3 * len(near.gaps)) * EPS, 0.0
        angular = 8.0 * farthest(present.every, present.places, present.centres)
        for e in range(R.begins[m], R.begins[len(R.begins) - 1]):
            if abs(R.values[e]) <= share * (angular if present.turns[R.columns[e]] > 0.0 else 2.0):
                R.values[e] = 0.0
    return lowest, longest_way(present.moving, present.w)


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
