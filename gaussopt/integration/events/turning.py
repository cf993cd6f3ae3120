"""Number of pieces into which a step is divided to search it for zeros of gaps.

A gap depends on the coordinates through nonlinear functions: cos(theta) of a rotating bar, sin(w t) of a moving floor.
An integrator resolves the coordinates but not these functions, so that a gap may rise and fall many times within one
step. How often it does so follows from the arguments of the functions, here called angles: the step is divided into
pieces in which no angle changes by more than `TURN`.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.system import AbstractSystem
from gaussopt.modelling.lagrangian import LagrangianSystem
from gaussopt.modelling.modified import ModifiedSystem
from gaussopt.symbolic.gap_angles import gap_angles

TURN = 0.5
"""Largest change of an angle within a piece of a step, rad."""

FEW = 4
"""Least number of pieces of a step for a system of plain functions, whose nonlinear functions are unknown."""

MOST = 4096
"""Largest number of pieces of one step; a step that needs more is refused as too long."""

SHIFTS = (0.1, 0.7, 1.9)
"""Shifts of a coordinate, relative to 1 + its size, that show whether a gap depends on it nonlinearly."""

CAPPED = 32.0
"""Largest change, rad, that is counted for the argument of a function that is not periodic, such as tanh."""

Angles = tuple[list[float], list[float]]


class Turning(Protocol):
    """Computes the angles of a system: the arguments of the nonlinear functions in its gaps.

    Attributes
    ----------
    least : smallest number of pieces of a step
    periodic : number of arguments of periodic functions, which come first; changes of others count up to `CAPPED`
    """

    least: int
    periodic: int

    def angles(self, t: ArrayLike, q: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
        """Return angles and their rates, (A, N) each, at N states: t (N,), q and v (N, n)."""

    def at(self, t: float, q: Vector, v: Vector) -> Angles:
        """Return angles and their rates at one state."""


class _OfEnergies:
    """The angles of a system that is given by energies; they occur in the expressions of its gaps and slips."""

    least = 1

    def __init__(self, system: LagrangianSystem) -> None:
        self._p = list(system.parameters.values())
        self._function, self.periodic = gap_angles(system.model)

    def angles(self, t: ArrayLike, q: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
        found = self._function(t, q.T, v.T, self._p)
        rows = np.empty((len(found), len(q)))
        for row, x in zip(rows, found, strict=True):
            row[:] = x
        return rows[: len(rows) // 2], rows[len(rows) // 2 :]

    def at(self, t: float, q: Vector, v: Vector) -> Angles:
        found = self._function(t, q.tolist(), v.tolist(), self._p)
        half = len(found) // 2
        return found[:half], found[half:]


class _OfCoordinates:
    """The angles of a system of plain functions: all coordinates on which J_N depends, whatever their units."""

    least = FEW
    periodic = 0

    def __init__(self, system: AbstractSystem, t: float, q: Vector) -> None:
        known = system.bending()
        self._bend = [j for j in range(len(q)) if _bends(system, t, q, j)] if known is None else list(known)

    def angles(self, t: ArrayLike, q: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
        return q.T[self._bend], v.T[self._bend]

    def at(self, t: float, q: Vector, v: Vector) -> Angles:
        return q[self._bend].tolist(), v[self._bend].tolist()


def turning_of(system: AbstractSystem, t: float, q: Vector) -> Turning:
    """Return the `Turning` of a system; a system of plain functions is evaluated near (t, q) to find the angles."""
    while isinstance(system, ModifiedSystem):
        system = system.regular
    return _OfEnergies(system) if isinstance(system, LagrangianSystem) else _OfCoordinates(system, t, q)


def turns(turning: Turning, t: Vector, q: Matrix, v: Matrix) -> Vector:
    """Return a bound on the total variation of the angles in each of the N - 1 steps between N states.

    Parameters
    ----------
    turning : Turning
    t : (N,)
    q, v : (N, n)

    Returns
    -------
    turns : (N - 1,)
        The bound for the angle that varies most: an angle is interpolated by a cubic from values and rates at the ends,
        and the length of the cubic's control polygon is a bound on its total variation.
    """
    with np.errstate(all="ignore"):
        psi, rate = turning.angles(t, q, v)
        if not len(psi):
            return np.zeros(len(t) - 1)
        third = (t[1:] - t[:-1]) / 3.0
        first, last = third * rate[:, :-1], third * rate[:, 1:]
        length = np.abs(first) + np.abs(psi[:, 1:] - psi[:, :-1] - first - last) + np.abs(last)
    length = np.where(np.isfinite(length), length, math.inf)
    length[turning.periodic :] = np.minimum(length[turning.periodic :], CAPPED)
    return np.asarray(length.max(axis=0))


def turn(turning: Turning, h: float, begin: Angles, end: Angles) -> float:
    """Return the bound that `turns` computes, for a single step of length h between two states."""
    most = 0.0
    for i, (psi_0, psi_1, rate_0, rate_1) in enumerate(zip(begin[0], end[0], begin[1], end[1], strict=True)):
        first, last = h / 3.0 * rate_0, h / 3.0 * rate_1
        length = abs(first) + abs(psi_1 - psi_0 - first - last) + abs(last)
        if not math.isfinite(length):
            length = math.inf
        most = max(most, length if i < turning.periodic else min(length, CAPPED))
    return most


def _bends(system: AbstractSystem, t: float, q: Vector, j: int) -> bool:
    """Return whether J_N of a system of plain functions depends on q_j; also True if an evaluation of it fails."""
    still = np.zeros(len(q))
    rows = system.evaluate(t, q, still).J_N
    for shift in SHIFTS:
        moved = q.copy()
        moved[j] += shift * (1.0 + abs(q[j]))
        try:
            other = system.evaluate(t, moved, still).J_N
        except BadInput:
            return True
        if np.abs(other - rows).max(initial=0.0) > 1e-9 * (1.0 + np.abs(rows).max(initial=0.0)):
            return True
    return False
