"""A whole time step with few contacts as one compiled kernel: condense, solve, certify, finish and project.

The parts are the kernels that `gaussopt.interchange.mujoco_step` calls one by one where this one does not suffice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.certificates.cone import certified, choose_least
from gaussopt.cone.condensing import ROWS_MAY_DEPEND, condense_one, finish
from gaussopt.cone.dependent_rows import Dependence, into_range, rank_of
from gaussopt.cone.least_kernel import dense_pattern
from gaussopt.cone.newton_kernel import STEPS, settle
from gaussopt.cone.one_contact import one_velocity
from gaussopt.cone.proximal_kernel import BY_NEWTON, BY_PROXIMAL, QuickMethods, proximal_steps
from gaussopt.cone.pushes import all_apart
from gaussopt.cone.sparse_rows import SparseRows, copy_rows
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS
from gaussopt.interchange.contact_kernel import Nearby, bound_friction
from gaussopt.interchange.mujoco_ahead import Moving, longest_way
from gaussopt.jit.kernel import kernel

NUMBERS = 6
"""Numbers among the results: residual of Coulomb's law, m/s, Newton steps, and the method that found the
impulses, all negative if no impulse was needed; largest |E w'|; square of the norm of the correction of the
displacement; and how far geometries move, m."""

AT_LEAST = 1e-4
"""Depth, m, above which a contact that no correction separates is reported."""


class StepMemory(NamedTuple):
    """Memory of steps with the same contacts, and what they have in common: `mu` and the bounds of friction.

    `kept` are the numbers of these contacts among those nearby. `W` and `flat` are the same memory; without friction
    that needs bounds, so are the first entries of `local`.
    """

    kept: Index
    mu: Vector
    normals: Index
    parents: Index
    losses: Vector
    damping: Vector
    dofs: Index
    rows: Index
    at: Index
    R: SparseRows
    gaps: Vector
    S: Matrix
    local: Vector
    W: Matrix
    flat: Vector
    q: Vector
    push: Vector
    phi: Vector
    dependence: Dependence
    begin: Index
    column: Index
    opens: Index
    least: Vector

    @classmethod
    def of(
        cls, kept: Index, mu: Vector, bounds: tuple[Index, Index, Vector], opens: Index, damping: Vector, m: int
    ) -> StepMemory:  # fmt: skip
        """Return memory for steps with the contacts `kept`, (k,), their friction coefficients, and m equality rows."""
        n, size = len(damping), ROWS * len(mu)
        p = m + size
        local = np.zeros(size * (size + 1))
        flat, q = (local.copy() if len(bounds[0]) else local)[: size * size], local[size * size :]
        q = q.copy() if len(bounds[0]) else q
        return cls(
            kept, mu, *bounds, damping, np.arange(n), np.arange(p),
            np.array((0, 0, 0, 0, m, n, p, 2 * n + p, len(local))), SparseRows.of(np.ones((p, n))), np.zeros(len(mu)),
            np.zeros((2 * n + p, max(n, p + 1))), local, flat.reshape(size, size), flat, q,
            np.zeros(size), np.zeros(m), Dependence.of(m), *dense_pattern(len(mu)), opens, np.zeros(size),
        )  # fmt: skip


@kernel
def taking_part(near: Nearby, opens: Index, parents: Index, ahead: float, reach: float, wanted: Index) -> None:
    """Write 1 for contacts whose gaps are at most `reach` after a displacement ahead * w, for others 0, into wanted.

    Friction without a normal, for which `opens` is 0, takes part as its parent does; that of joints always.
    """
    m, R, gaps, w = len(near.phi), near.R, near.gaps, near.w
    for i in range(len(gaps)):
        gap, row = 0.0, m + 3 * i
        for e in range(R.begins[row], R.begins[row + 1]):
            gap += R.values[e] * w[R.columns[e]]
        wanted[i] = 1 if gaps[i] + ahead * gap <= reach else 0
    for i in range(len(gaps)):
        if opens[i] == 0:
            wanted[i] = 1 if parents[i] == i else wanted[parents[i]]


@kernel
def gap_after(R: SparseRows, gaps: Vector, i: int, way: Vector) -> float:
    """Return the gap of contact i after a displacement, as its normal row predicts it."""
    gap, row = 0.0 + gaps[i], len(R.begins) - 1 - 3 * (len(gaps) - i)
    for e in range(R.begins[row], R.begins[row + 1]):
        gap += R.values[e] * way[R.columns[e]]
    return float(gap)


@kernel
def left_open(of: StepMemory, R: SparseRows, gaps: Vector, way: Vector) -> bool:
    """Return whether the contacts nearby that are not kept stay open in a displacement."""
    at = 0
    for i in range(len(gaps)):
        if at < len(of.kept) and of.kept[at] == i:
            at += 1
        elif not gap_after(R, gaps, i, way) >= 0.0:
            return False
    return True


@kernel
def condensed(
    of: StepMemory, M: SparseRows, D: Matrix, force: Vector, w: Vector, m: int, dt: float
) -> int:  # fmt: skip
    """Condense with independent ones of the m equality rows; return their number, or -1 if it is in doubt."""
    n, p, rank = len(w), len(of.rows), m
    for a in range(p):
        of.rows[a] = a
    for _ in range(2):
        own = p - m + rank
        of.at[4], of.at[6], of.at[7] = rank, own, 2 * n + own
        rows = of.rows[0:own]
        found = condense_one(
            M, D, of.damping, of.R, force, w, of.gaps, m, rank, dt, of.dofs, of.dofs, rows, of.S, of.local
        )
        if found == 0:
            return rank
        if found != ROWS_MAY_DEPEND or rank < m:
            return -1
        rank = rank_of(of.dependence, of.S[n : 2 * n])
        if rank < 0 or rank == m:
            return -1
        for a in range(rank):
            of.rows[a] = of.dependence.order[a]
        for a in range(m, p):
            of.rows[rank + a - m] = a
    return -1


@kernel
def bound(of: StepMemory, dt: float) -> None:
    """Copy W and q, and change the rows of friction that needs bounds."""
    size = len(of.q)
    for j in range(size * size):
        of.flat[j] = of.local[j]
    for j in range(size):
        of.q[j] = of.local[size * size + j]
    bound_friction(of.W, of.q, of.normals, of.parents, of.losses, dt)


@kernel
def largest_rate(R: SparseRows, m: int, end: Vector) -> float:
    """Return the largest |E w'| of the m rows E."""
    missed = 0.0
    for a in range(m):
        u = 0.0
        for e in range(R.begins[a], R.begins[a + 1]):
            u += R.values[e] * end[R.columns[e]]
        missed = max(missed, abs(u))
    return missed


@kernel
def solved_at_once(
    of: StepMemory, start: Vector, r: Vector, by: QuickMethods, accepted: float, numbers: Vector
) -> bool:
    """Write certified impulses from a start, and the numbers about them; return False if the methods `by` find none.

    The least impulses are chosen if other contacts push than at the start, so that events do not depend on it, and if
    there are equality rows, whose impulses depend on the choice.
    """
    square, found, way = 0.0, False, by.first
    for j in range(len(r)):
        square += of.q[j] * of.q[j]
    size = math.sqrt(square) if square > 0.0 else 1.0
    for _ in range(2):
        if not found:
            for j in range(len(r)):
                r[j] = start[j]
            numbers[1], numbers[2] = 0.0, 1.0 * way
            if way == BY_NEWTON:
                count = settle(of.flat, of.q, of.mu, r, by.tolerance * size, by.enough * size, by.most, 0.0)
                found, numbers[1], way = count < STEPS, 1.0 * count, BY_PROXIMAL
            else:
                least = proximal_steps(
                    of.flat, of.q, of.mu, r, by.tolerance * size, by.enough * size, by.most, by.still * size,
                    by.goal * size,
                )  # fmt: skip
                found, way = least <= by.near * size, BY_NEWTON
    missed, changed = certified(of.flat, of.q, of.mu, r, size, accepted), len(of.phi) > 0
    for i in range(len(of.mu)):
        changed = changed or (r[3 * i] > 0.0) != (start[3 * i] > 0.0)
    if found and changed and missed < math.inf:
        missed, _ = choose_least(
            of.begin, of.column, of.flat, of.q, of.mu, of.opens, size, accepted, missed, r, of.least
        )
    numbers[0] = missed * size
    return found and missed < math.inf


@kernel
def corrected(
    of: StepMemory, R: SparseRows, gaps: Vector, r: Vector, end: Vector, dt: float, way: Vector, numbers: Vector,
    stays: Vector,
) -> bool:  # fmt: skip
    """Correct gaps and residuals by the displacement; return False where this needs other methods.

    `stays`, (k,), are zeros, over which the depths of contacts are written that the correction leaves deep.
    """
    m = len(of.phi)
    if len(of.rows) > 0:
        all_apart(m, dt, of.dofs, of.rows, of.at, 1, of.S, of.local, of.gaps, r, of.phi, of.push, way)
        for i in range(len(way)):
            numbers[4] += (way[i] - dt * end[i]) * (way[i] - dt * end[i])
        if len(of.kept) < len(gaps) and not left_open(of, R, gaps, way):
            return False
    for i in range(len(gaps)):
        if gaps[i] < -AT_LEAST and gap_after(R, gaps, i, way) < 0.5 * gaps[i]:
            stays[i] = -gaps[i]
    return True


@kernel
def mark_pushes(r: Vector, pushes: Vector) -> None:
    """Write 1 for contacts that push, and 0 for others."""
    for i in range(len(pushes)):
        pushes[i] = 1.0 if r[3 * i] > 0.0 else 0.0


@kernel
def step_at_once(
    of: StepMemory, near: Nearby, moving: Moving, D: Matrix, start: Vector, result: Vector, dt: float,
    by: QuickMethods, accepted: float, project: bool,
) -> bool:  # fmt: skip
    """Take a step of length dt; return False, with no valid results, where this needs other methods.

    Parameters
    ----------
    near : masses, forces and velocities, and rows, gaps and residuals of all contacts nearby
    moving : geometries that may move
    D : (n, n), damping in addition to the diagonal one, or no rows
    start : (3 k,), impulses from which Newton's method begins, or no entries if none are known
    result : written, one after the other: NUMBERS, impulses of contacts, (3 k,), velocities, displacement, (n,) each,
        impulses of equality rows, (m,), zeros, 1 for contacts that push, others 0, and with `project` the depths of
        contacts nearby that the correction leaves deep, (k,), or zeros
    by : methods that find the impulses
    accepted : tolerance of the certificate, `gaussopt.certificates.cone.certified`
    project : whether the displacement also corrects gaps and phi
    """
    n, m, size, R, gaps, w = len(near.w), len(near.phi), len(of.q), near.R, near.gaps, near.w
    copy_rows(R, m, of.kept, 3, of.R)
    for i in range(len(of.kept)):
        of.gaps[i] = gaps[of.kept[i]]
    rank = condensed(of, near.M, D, near.force, w, m, dt)
    if rank < 0:
        return False
    if len(of.normals) > 0:
        bound(of, dt)
    at = NUMBERS + size
    numbers, r, end, way = result[0:NUMBERS], result[NUMBERS:at], result[at : at + n], result[at + n : at + 2 * n]
    lam = result[at + 2 * n : at + 2 * n + m]
    for i in range(at + 2 * n, len(result)):
        result[i] = 0.0
    closes = False
    for i in range(len(of.mu)):
        closes = closes or not of.q[3 * i] >= 0.0
    if len(of.mu) == 1 and not closes:
        closes = not one_velocity(of.flat, of.mu[0])
    if closes and len(start) < size:
        return False
    for j in range(size):
        r[j] = 0.0
    numbers[0], numbers[1], numbers[2] = -1.0, -1.0, -1.0
    if closes and not solved_at_once(of, start, r, by, accepted, numbers):
        return False
    for i in range(m):
        of.phi[i] = near.phi[i]
    numbers[3] = finish(of.R, w, m, dt, of.dofs, of.rows, of.at, 1, of.S, r, lam, end, way)
    if rank < m:
        into_range(of.dependence, rank, lam)
        into_range(of.dependence, rank, of.phi)
        numbers[3] = largest_rate(of.R, m, end)
    if len(of.kept) < len(gaps) and not left_open(of, R, gaps, way):
        return False
    numbers[4] = 0.0
    at = len(result) - len(gaps)
    mark_pushes(r, result[at - len(of.mu) : at])
    taken = not project or corrected(of, R, gaps, r, end, dt, way, numbers, result[at : len(result)])
    numbers[5] = longest_way(moving, way)
    return taken
