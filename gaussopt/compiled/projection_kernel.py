"""Kernel that projects a state onto the constraints of a phase: joints, closed gaps and sticking contacts.

Where M is positive definite and the rows do not contradict each other, it makes the same corrections as
`gaussopt.integration.stabilisation.Projection` on a `ContactSurface`; otherwise the step is left to the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gaussopt.contact.saddle_kernel import factorise, respond
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.endings import settled
from gaussopt.integration.events.modes import TOLERANCES

MOST_ITERATIONS, CORRECTION, MISSED = 20, TOLERANCES.correction, 1e-9
"""Largest number of Newton iterations; largest correction, and largest residual of velocities that rows left out may
keep, relative to 1 + the largest entry of the state."""

Equations = Callable[[float, Vector, Vector, Vector, Vector], None]


class RowsWorkspace(NamedTuple):
    """Work space of `correction` for n coordinates and r rows.

    Attributes
    ----------
    K, L : (n + r, n + r), saddle-point matrix and its factors
    force, motion : (1, n + r), right-hand side and solution; first, rest and norm are work arrays of the solver
    """

    K: Matrix
    L: Matrix
    first: Index
    rest: Vector
    force: Matrix
    motion: Matrix
    norm: Vector


class SurfaceWorkspace(NamedTuple):
    """Work space of `project`.

    Attributes
    ----------
    sharp, sticking : the tolerance, (1,), 0 without projection; numbers of the sticking contacts, (s,)
    about : results of the function `about`: two energies and power (3,), phi (m_h,), velocity residuals (m,)
    positions, velocities : work spaces for the rows at position level, and for those at velocity level
    """

    sharp: Vector
    sticking: Index
    about: Vector
    positions: RowsWorkspace
    velocities: RowsWorkspace


def _rows(size: int) -> RowsWorkspace:
    square, line = (size, size), (1, size)
    return RowsWorkspace(
        np.zeros(square), np.zeros(square), np.zeros(size, np.int64), np.zeros(size), np.zeros(line), np.zeros(line),
        np.zeros(1),
    )  # fmt: skip


def surface(n: int, m: int, m_h: int, closed: int, sticking: int, sharp: float) -> SurfaceWorkspace:
    """Return a work space for n coordinates, m rows of joints, m_h of them holonomic, and the contacts of a phase."""
    places, rates = _rows(n + m_h + closed), _rows(n + m + closed + sticking)
    return SurfaceWorkspace(np.array([sharp]), np.zeros(sticking, np.int64), np.zeros(3 + m_h + m), places, rates)


def largest(x: Vector) -> float:
    """Return the largest |x|, zero if there are no entries."""
    found = 0.0
    for i in range(len(x)):
        found = max(found, abs(x[i]))
    return found


def correction(
    flat: Vector, n: int, m: int, k: int, velocity: bool, closed: Index, on: SurfaceWorkspace, of: RowsWorkspace
) -> bool:
    """Write to `of.motion` the smallest correction of positions, or of velocities if `velocity`, in the mass metric.

    Returns False if M is not positive definite. Redundant rows are left out; the caller checks by `missed` whether the
    correction satisfies them, too.
    """
    gaps, c = n * n + 2 * n + m * n + m, len(closed)
    at_J, normals, tangents = n * n + 2 * n, gaps + 2 * k, gaps + 2 * k + k * n + k
    m_h = len(on.about) - 3 - m
    joints, rows, K = m if velocity else m_h, len(of.K) - n, of.K
    for i in range(n):
        of.force[0, i] = 0.0
        for j in range(n):
            K[i, j] = flat[i * n + j]
    for r in range(rows):
        if r < joints:
            row, value = at_J + r * n, on.about[3 + m_h + r] if velocity else on.about[3 + r]
        elif r < joints + c:
            i = closed[r - joints]
            row, value = normals + i * n, flat[gaps + k + i] if velocity else flat[gaps + i]
        else:
            i = on.sticking[r - joints - c]
            row, value = tangents + i * n, flat[len(flat) - k + i]
        of.force[0, n + r] = value
        for j in range(n):
            K[n + r, j] = flat[row + j]
        for j in range(rows):
            K[n + r, n + j] = 0.0
    done = factorise(K, of.L, of.first, n)
    while n <= done < n + rows:  # a row that depends on earlier rows gets a zero multiplier
        for j in range(done):
            K[done, j] = 0.0
        K[done, done], of.force[0, done] = -1.0, 0.0
        done = factorise(K, of.L, of.first, n)
    if done < n:
        return False
    respond(K, of.L, of.first, n, of.force, of.motion, of.norm, of.rest, 0)
    return True


def apart(flat: Vector, n: int, m: int, closed: Index, about: Vector) -> float:
    """Return the largest residual at position level."""
    size = largest(about[3 : len(about) - m])
    for i in range(len(closed)):
        size = max(size, abs(flat[n * n + 2 * n + m * n + m + closed[i]]))
    return size


def missed(flat: Vector, n: int, m: int, k: int, closed: Index, on: SurfaceWorkspace) -> float:
    """Return the largest residual at velocity level."""
    size = 0.0
    for r in range(m):
        size = max(size, abs(on.about[len(on.about) - m + r]))
    for i in range(len(closed)):
        size = max(size, abs(flat[n * n + 2 * n + m * n + m + k + closed[i]]))
    for i in range(len(on.sticking)):
        size = max(size, abs(flat[len(flat) - k + on.sticking[i]]))
    return size


def project(
    step: Equations, about: Equations, t: float, y: Vector, p: Vector, k: int, closed: Index, flat: Vector,
    on: SurfaceWorkspace, rates: bool,
) -> bool:  # fmt: skip
    """Project positions, then, if `rates`, velocities of the state y, (2 n,), onto the constraints, in the mass metric.

    Returns False, with y changed, where the iteration does not settle, rows contradict each other or a correction is
    too large; returns True, with y unchanged, if the tolerance is zero.
    """
    if on.sharp[0] == 0.0:
        return True
    n, c, best = len(y) // 2, len(closed), 1e300
    m_h = len(on.positions.K) - n - c
    m = len(on.about) - 3 - m_h
    reach, pace = largest(y[:n]), largest(y[n:])
    moved, turned = 0.0, 0.0
    for _ in range(MOST_ITERATIONS):
        step(t, y[:n], y[n:], p, flat)
        about(t, y[:n], y[n:], p, on.about)
        size = apart(flat, n, m, closed, on.about)
        if settled(size, on.sharp[0] * (1.0 + reach), best):
            if not rates:
                return True
            if not correction(flat, n, m, k, True, closed, on, on.velocities):
                return False
            for i in range(n):
                y[n + i] -= on.velocities.motion[0, i]
                turned = max(turned, abs(on.velocities.motion[0, i]))
            step(t, y[:n], y[n:], p, flat)
            about(t, y[:n], y[n:], p, on.about)
            return turned <= CORRECTION * (1.0 + pace) and missed(flat, n, m, k, closed, on) <= MISSED * (1.0 + pace)
        best = min(best, size)
        if not correction(flat, n, m, k, False, closed, on, on.positions):
            return False
        for i in range(n):
            y[i] -= on.positions.motion[0, i]
            moved = max(moved, abs(on.positions.motion[0, i]))
        if moved > CORRECTION * (1.0 + reach):
            return False
    return False
