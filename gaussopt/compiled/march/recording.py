"""Computation of the recorded values at states: accelerations, multipliers, certificates, energies and drifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy import zeros

from gaussopt.compiled.march.common import copied, largest
from gaussopt.core.arrays import Vector

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        CERTIFIED,
        FLAT,
        M_H,
        PARAMETERS,
        M,
        N,
        answer,
        certificate,
        energy,
        position,
        step,
        velocity,
    )

ROW = 15
"""Number of entries that precede acceleration, multipliers and reciprocal squared distances in a recorded row."""


def rows(count: int, t: Vector, y: Vector, p: Vector, table: Vector) -> None:
    """Write one row of `table` for each of `count` states (q, v) in y.

    A row holds: 1 if the step and its certificate are regular, else 0; the certificate's numbers (9); energies and
    power (3); drifts (2); a (N); lam (M); for each row of J, 1 / distance^2 from the span of the rows before it (M).
    """
    s, c, a, lam = zeros(FLAT), zeros(CERTIFIED), zeros(N), zeros(M)
    e, phi, rate = zeros(3), zeros(M_H), zeros(M)
    for r in range(count):
        q, v = y[2 * N * r : 2 * N * r + N], y[2 * N * r + N : 2 * N * r + 2 * N]
        row = table[(ROW + N + 2 * M) * r :]
        step(t[r], q, v, p, s)
        good = answer(t[r], q, v, p, a, lam)
        row[0] = 1.0 if certificate(s, a, lam, c) and good else 0.0
        energy(t[r], q, v, p, e)
        position(t[r], q, p, phi)
        velocity(t[r], q, v, p, rate)
        copied(c, row[1:], 9)
        copied(e, row[10:], 3)
        row[13], row[14] = largest(phi, M_H), largest(rate, M)
        copied(a, row[ROW:], N)
        copied(lam, row[ROW + N :], M)
        copied(c[9 + M :], row[ROW + N + M :], M)


def drifts(first: int, last: int, t: float, y: Vector, p: Vector, table: Vector) -> None:
    """Write the largest constraint residuals at position and velocity level for one state of each motion of a range."""
    phi, rate = zeros(M_H), zeros(M)
    for i in range(first, last):
        q, v, own = y[2 * N * i : 2 * N * i + N], y[2 * N * i + N : 2 * N * (i + 1)], p[PARAMETERS * i :]
        position(t, q, own, phi)
        velocity(t, q, v, own, rate)
        table[2 * i], table[2 * i + 1] = largest(phi, M_H), largest(rate, M)


def all_rows(first: int, last: int, count: int, t: Vector, y: Vector, p: Vector, table: Vector) -> None:
    """Write the rows of the motions first, ..., last - 1; arrays hold the data of one motion after the other."""
    for i in range(first, last):
        rows(count, t, y[2 * N * count * i :], p[PARAMETERS * i :], table[(ROW + N + 2 * M) * count * i :])
