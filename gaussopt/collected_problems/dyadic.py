"""Numbers with few bits, so that the same problem arises on every machine, and exact solutions of linear systems.

Two machines compute the steps of a mechanism with differences of some 1e-16, because their libraries of linear algebra
add in another order. Rounded to a coarse grid the numbers agree, products and sums of them are exact in any order, and
as fractions they are short.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.sparse_arrays import to_triplets

BITS = 16
"""Bits of the largest entry of a rounded array."""


def short(x: Any, bits: int = BITS) -> Any:
    """Return an array, or a sparse matrix, rounded to multiples of 2^-bits of the power of two above its entries."""
    if hasattr(x, "tocsr"):
        found = x.tocsr().copy()
        found.data = short(found.data, bits)
        found.eliminate_zeros()
        return found
    values = np.asarray(x, dtype=np.float64)
    grid = np.exp2(np.frexp(np.abs(values).max(initial=0.0))[1] - bits)
    return np.round(values / grid) * grid + 0.0  # no negative zeros


def significant(x: Any, bits: int = BITS) -> Any:
    """Return an array with every entry rounded to `bits` bits of its own."""
    fraction, power = np.frexp(np.asarray(x, dtype=np.float64))
    return np.ldexp(np.round(np.ldexp(fraction, bits)), power - bits)


def whole(A: Any) -> tuple[Any, int]:
    """Return an array of fractions or floats as whole numbers, and the number that all are divided by."""
    given = np.asarray(A, dtype=object)
    entries = [Fraction(x) for x in given.ravel()]
    by = int(np.lcm.reduce([x.denominator for x in entries] or [1], dtype=object))
    found = np.empty(len(entries), dtype=object)
    found[:] = [x.numerator * (by // x.denominator) for x in entries]
    return found.reshape(given.shape), by


def solve_exactly(A: Any, b: Any) -> list[Fraction] | None:
    """Return A^-1 b as fractions by elimination without division (Bareiss); None if A is singular."""
    n = len(b)
    if not n:
        return []
    (left, by), (right, over) = whole(A), whole(b)
    table: Any = np.column_stack((left, right))
    before = 1
    for j in range(n):
        pivots = j + np.flatnonzero(table[j:, j])
        if not len(pivots):
            return None
        table[[j, pivots[0]]] = table[[pivots[0], j]]
        rest = table[j + 1 :]
        rest[:, j + 1 :] = (table[j, j] * rest[:, j + 1 :] - np.outer(rest[:, j], table[j, j + 1 :])) // before
        rest[:, j] = 0
        before = table[j, j]
    # The last pivot is the determinant, by which all unknowns are divided.
    scaled = np.zeros(n, dtype=object)
    for i in reversed(range(n)):
        scaled[i] = (before * table[i, n] - table[i, i + 1 : n] @ scaled[i + 1 :]) // table[i, i]
    return [Fraction(x * by, before * over) for x in scaled]


def refined(A: Any, b: Vector, size: int = 120) -> list[Fraction]:
    """Return the solution of a sparse system with at least `size` bits more than needed, for numbers with few bits."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    triplets = to_triplets(A)
    rows, columns = np.array(triplets["row"]), np.array(triplets["column"])
    (entries, by), (right, over) = whole(triplets["value"]), whole(b)
    factors, unit = splu(csc_array(A)), 2 ** (2 * size)
    x: Any = np.zeros(len(b), dtype=object)
    for _ in range(60):
        product: Any = np.zeros(len(b), dtype=object)
        np.add.at(product, rows, entries * x[columns])
        residual = [r * unit * by - over * p for r, p in zip(right, product, strict=True)]  # times unit by over
        scale = max(max(map(abs, residual)), 1)
        step = factors.solve(np.array([float(Fraction(r, scale)) for r in residual]))
        factor = Fraction(scale, by * over)
        x = x + np.array([round(Fraction(float(s)) * factor) for s in step], dtype=object)
        if max(abs(float(s)) for s in step) * float(Fraction(scale, by * over * 2**size)) < 1.0:
            break
    return [Fraction(int(v), unit) for v in x]


def cholesky(S: Matrix, bits: int = 30) -> list[list[float]] | None:
    """Return a short lower factor L of S - c I, so that S - L L' is diagonally dominant; None if there is none."""
    lowest = float(np.linalg.eigvalsh(S)[0])
    try:
        L = np.linalg.cholesky(S - 0.5 * np.ldexp(1.0, int(np.frexp(lowest)[1]) - 1) * np.eye(len(S)))
    except np.linalg.LinAlgError:
        return None
    return [row[: i + 1].tolist() for i, row in enumerate(short(L, bits))]
