"""Linear algebra in exact rational arithmetic, for proofs on small problems."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Exact = NDArray[np.object_]
"""An array of fractions."""


def exact(values: ArrayLike | Sequence[Any]) -> Exact:
    """Return integers, floats or fractions as an array of fractions, each exactly equal to the given number."""
    given = np.array(values, dtype=object)
    flat: Exact = np.array([None, *map(Fraction, given.ravel().tolist())], dtype=object)[1:]
    return flat.reshape(given.shape)


def whole(values: ArrayLike | Sequence[Any]) -> tuple[Exact, int]:
    """Return the numerators of numbers over their least common denominator, and this denominator."""
    given = exact(values)
    by = int(np.lcm.reduce([x.denominator for x in given.ravel()] or [1], dtype=object))
    found: Exact = np.array([None, *(x.numerator * (by // x.denominator) for x in given.ravel())], dtype=object)[1:]
    return found.reshape(given.shape), by


def solve(A: Exact, B: Exact) -> Exact | None:
    """Return A^-1 B for A, (n, n), and B, (n,) or (n, r); None if A is singular.

    Elimination uses only integers (Bareiss 1968), whose numbers of digits grow less than those of fractions.
    """
    n = len(A)
    if not n:
        return B.copy()
    (left, by), (right, over) = whole(A), whole(B)
    table: Exact = np.column_stack((left, right))
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
    scaled = table[:, n:].copy()
    for i in reversed(range(n)):
        scaled[i] = (before * table[i, n:] - table[i, i + 1 : n] @ scaled[i + 1 :]) // table[i, i]
    return exact([Fraction(int(x) * by, int(before) * over) for x in scaled.ravel()]).reshape(B.shape)


def determinant(A: Exact) -> Fraction:
    """Return the determinant of A, (n, n)."""
    table, value = A.copy(), Fraction(1)
    for j in range(len(A)):
        pivots = j + np.flatnonzero(table[j:, j])
        if not len(pivots):
            return Fraction(0)
        if pivots[0] != j:
            table[[j, pivots[0]]], value = table[[pivots[0], j]], -value
        value *= table[j, j]
        table[j + 1 :] = table[j + 1 :] - np.outer(table[j + 1 :, j] / table[j, j], table[j])
    return value


def leading_minors(A: Exact) -> list[Fraction]:
    """Return the leading principal minors; a symmetric A is positive definite if and only if all are positive."""
    return [determinant(A[:i, :i]) for i in range(1, len(A) + 1)]


def principal_minors(A: Exact) -> list[Fraction]:
    """Return all principal minors; A is a P-matrix if and only if all are positive."""
    n = len(A)
    return [determinant(A[np.ix_(s, s)]) for size in range(1, n + 1) for s in combinations(range(n), size)]


def independent(A: Exact) -> list[int]:
    """Return the indices of the columns of A, (m, n), that are linearly independent of all columns before them."""
    table, chosen = A.copy(), list[int]()
    for j in range(A.shape[1]):
        rows = len(chosen) + np.flatnonzero(table[len(chosen) :, j])
        if len(rows):
            i = len(chosen)
            table[[i, rows[0]]] = table[[rows[0], i]]
            table[i + 1 :] = table[i + 1 :] - np.outer(table[i + 1 :, j] / table[i, j], table[i])
            chosen.append(j)
    return chosen


def kernel(A: Exact) -> Exact:
    """Return a basis of the kernel of A, (m, n), as columns, (n, n - rank)."""
    n, chosen = A.shape[1], independent(A)
    rest = [j for j in range(n) if j not in chosen]
    rows = independent(A.T)
    Z = exact(np.zeros((n, len(rest)), dtype=int))
    Z[rest, range(len(rest))] = Fraction(1)
    if chosen and rest:
        found = solve(A[np.ix_(rows, chosen)], -A[np.ix_(rows, rest)])
        assert found is not None
        Z[chosen] = found
    return Z
