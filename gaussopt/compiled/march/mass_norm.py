"""The mass norm of a step: M = L L^T, orthonormal rows of joints, and rows of contacts orthogonal to them."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from gaussopt.core.arrays import Vector
from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import (
        ACTIVE,
        BASIS,
        FACTOR,
        FRICTION,
        JOINTS,
        LENGTHS,
        NORMALS,
        PARTS,
        TANGENTS,
        K,
        M,
        N,
    )

APART = 1e-6
"""Length of a row in the mass norm, relative to that without joints, from which its own force surely moves it."""

DEFINITE = 1e-13
"""Smallest pivot, relative to the diagonal entry, with which M counts as positive definite."""


@inlined
def factorised(s: Vector, L: Vector) -> bool:
    """Write the Cholesky factor L of the mass matrix `s`; return whether the matrix is positive definite."""
    for i in range(N):
        for j in range(i + 1):
            value = s[i * N + j]
            for k in range(j):
                value -= L[i * N + k] * L[j * N + k]
            if j < i:
                L[i * N + j] = value / L[j * N + j]
            elif value > DEFINITE * s[i * N + i]:
                L[i * N + i] = sqrt(value)
            else:
                return False
    return True


@inlined
def scaled(L: Vector, b: Vector, x: Vector) -> None:
    """Write L^-1 b to x."""
    for i in range(N):
        value = b[i]
        for k in range(i):
            value -= L[i * N + k] * x[k]
        x[i] = value / L[i * N + i]


@inlined
def moving(L: Vector, x: Vector, dv: Vector) -> None:
    """Write L^-T x to dv."""
    for e in range(N):
        i = N - 1 - e
        value = x[i]
        for k in range(i + 1, N):
            value -= L[k * N + i] * dv[k]
        dv[i] = value / L[i * N + i]


@inlined
def product(x: Vector, y: Vector) -> float:
    """Return x . y of N entries."""
    value = 0.0
    for i in range(N):
        value += x[i] * y[i]
    return value


@inlined
def projected(Y: Vector, rows: int, y: Vector, parts: Vector) -> float:
    """Take the parts along the first `rows` rows of Y, which are orthonormal, out of y; return the rest's length.

    The parts are written to `parts`; the second pass removes the rounding errors of the first.
    """
    for r in range(rows):
        parts[r] = 0.0
    for _ in range(2):
        for r in range(rows):
            part = product(Y[r * N :], y)
            parts[r] += part
            for i in range(N):
                y[i] -= part * Y[r * N + i]
    return sqrt(product(y, y))


@inlined
def rows_of(own: Vector, law: Vector) -> bool:
    """Write the rows of joints, then normal and tangent of each contact that may close, times L^-T.

    Joints become orthonormal rows, with the triangular matrix `JOINTS` for which it times them are the rows themselves;
    rows of contacts are orthogonal to them and have the length 1, with their true lengths in `LENGTHS`, their `PARTS`
    along the joints, and the friction coefficients in this unit. Return False if joints depend on each other or a force
    hardly moves its own row.
    """
    L, C, lengths = own[FACTOR:], own[JOINTS:], own[LENGTHS:]
    for r in range(M):
        y = own[BASIS + r * N :]
        scaled(L, own[N * N + 2 * N + r * N :], y)
        bare = sqrt(product(y, y))
        length = projected(own[BASIS:], r, y, C[r * M :])
        if not length > APART * bare:
            return False
        C[r * M + r] = length
        for i in range(N):
            y[i] /= length
    for c in range(K):
        lengths[2 * c], lengths[2 * c + 1] = 1.0, 1.0
        if own[ACTIVE + c] > 0.0:
            for e in range(2):
                y = own[BASIS + (M + 2 * c + e) * N :]
                scaled(L, own[(NORMALS if e == 0 else TANGENTS) + c * N :], y)
                bare = sqrt(product(y, y))
                length = projected(own[BASIS:], M, y, own[PARTS + (2 * c + e) * M :])
                if length > APART * bare:
                    lengths[2 * c + e] = length
                elif e == 0 or law[c] > 0.0:
                    return False
                for i in range(N):
                    y[i] /= lengths[2 * c + e]
        own[FRICTION + c] = law[c] * lengths[2 * c + 1] / lengths[2 * c]
    return True
