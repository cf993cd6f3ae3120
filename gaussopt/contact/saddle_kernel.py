"""Compiled kernels for the saddle-point matrix of a step: factors, solutions, and mass norms.

    K = [M, J^T; J, 0] = L D L^T,   K (a, -lam) = (force, gamma)

without exchanges, because M is positive definite and the rows of J are independent: the pivots are n positive numbers,
then m negative numbers. The factors keep the envelope of K, so that a diagonal or block-diagonal M costs no more than
its blocks. Without joints K is M.

Kernels on this path allocate nothing and work on memory of the calling code.
"""

from __future__ import annotations

import math

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.linalg.dense import EPS

REGULAR = 1e-8
"""If a pivot of J M^-1 J^T, relative to its diagonal, is below this, another method must determine the rank of J."""


def factorise(K: Matrix, L: Matrix, first: Index, n: int) -> int:
    """Factorise K = L D L^T within the envelope of K.

    Parameters
    ----------
    K : (n + m, n + m), its lower triangle is read
    L : at least the size of K, written: L below the diagonal, from `first` on in every row; 1 / D on the diagonal
    first : (n + m,), column of the first entry of every row

    Returns
    -------
    done
        Number of leading pivots above rounding level with the right sign (n positive, m negative); n + m if regular.
    """
    for i in range(len(K)):
        start = 0
        while start < i and K[i, start] == 0.0:
            start += 1
        first[i] = start
        own = pivot = K[i, i]
        for j in range(start, i):
            value = K[i, j]
            for c in range(max(start, first[j]), j):
                value -= L[i, c] * L[j, c]
            L[i, j] = value
        for j in range(start, i):
            value = L[i, j]
            entry = value * L[j, j]
            L[i, j] = entry
            pivot -= value * entry
            if j < n <= i:
                own = pivot
        sign, least = (1.0, 64.0 * n * EPS) if i < n else (-1.0, REGULAR)
        if not sign * pivot > least * sign * own:
            return i
        L[i, i] = 1.0 / pivot
    return len(K)


def solve(L: Matrix, first: Index, x: Vector) -> None:
    """Replace x by K^-1 x from the factors."""
    for i in range(len(x)):
        value = x[i]
        for j in range(first[i], i):
            value -= L[i, j] * x[j]
        x[i] = value
    for i in range(len(x)):
        x[i] *= L[i, i]
    for i in range(len(x) - 1, -1, -1):
        value = x[i]
        for j in range(first[i], i):
            x[j] -= L[i, j] * value


def mass_norm(K: Matrix, first: Index, n: int, x: Vector) -> float:
    """Return sqrt(x^T M x) for the first n entries of x."""
    total = 0.0
    for i in range(n):
        at, value = x[i], 0.0
        for j in range(first[i], i):
            value += K[i, j] * x[j]
        total += (2.0 * value + K[i, i] * at) * at
    return math.sqrt(abs(total))


def respond(
    K: Matrix, L: Matrix, first: Index, n: int, b: Matrix, x: Matrix, norm: Vector, rest: Vector, p: int
) -> None:
    """Write row p of x: K^-1 times row p of b, from the factors, refined so that the joint rows hold.

    Parameters
    ----------
    b, x : (rows, n + m), right-hand sides (forces, gamma) and solutions (acceleration, -lam)
    norm : (rows,), written at p: mass norm of the acceleration
    rest : (n + m,), working memory
    """
    size = len(K)
    for i in range(size):
        x[p, i], rest[i] = 0.0, b[p, i]
    for _ in range(3 if size > n else 1):
        solve(L, first, rest)
        for i in range(size):
            x[p, i] += rest[i]
            value = b[p, i] if i >= n else 0.0
            for j in range(n if i >= n else 0):
                value -= K[i, j] * x[p, j]
            rest[i] = value
    norm[p] = mass_norm(K, first, n, x[p])
