"""Small steps without contacts and what is true of them, in exact rational arithmetic.

Nothing here comes from gaussopt: numbers of a step are taken as they are, as fractions, and eliminated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

EPS = float(np.finfo(np.float64).eps)

Row = list[Fraction]


@dataclass(frozen=True)
class Truth:
    """What is true of a step.

    Attributes
    ----------
    status : str
        solved, infeasible, unbounded or acceleration_not_unique.
    a : exact acceleration where it is unique
    share : float
        Of an infeasible or unbounded step what contradicts, relative to the terms it is left of; else 0.
    """

    status: str
    a: list[Fraction] = field(default_factory=list)
    share: float = 0.0


@dataclass(frozen=True)
class Trial:
    """A step, and whether it is well-conditioned in units that suit it.

    Attributes
    ----------
    data : arrays of a step
    spread : units are powers of two with exponents up to this
    well : bool
    unit : (n,) what coordinates are measured in
    """

    data: dict[str, Any]
    spread: int
    well: bool
    unit: np.ndarray


def fractions(x: np.ndarray) -> list[Any]:
    """The same numbers, exactly."""
    return [fractions(row) for row in x] if x.ndim > 1 else [Fraction(float(value)) for value in x]


def echelon(rows: list[Row], width: int) -> tuple[list[Row], list[int]]:
    """Reduced row echelon form of rows, pivots sought in the first `width` columns; and the pivots' columns."""
    rows, pivots = [list(row) for row in rows], []
    for column in range(width):
        at = len(pivots)
        pivot = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        scale = rows[at][column]
        rows[at] = [x / scale for x in rows[at]]
        for i in range(len(rows)):
            if i != at and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[at], strict=True)]
        pivots.append(column)
    return rows, pivots


def _with_unit(A: list[Row]) -> list[Row]:
    """Rows with a unit matrix beside them, to see of which rows a combination is made."""
    return [[*row, *(Fraction(int(i == j)) for j in range(len(A)))] for i, row in enumerate(A)]


def _left_over(A: list[Row], b: Row, width: int, x: Row | None = None) -> tuple[Row, float]:
    """A solution x of the rows of A x = b that decide it, and the largest contradiction relative to its terms.

    Another x may be given, of which the terms are taken.
    """
    joined = [[*row, right] for row, right in zip(A, b, strict=True)]
    reduced, pivots = echelon(joined, width)
    if x is None:
        x = [Fraction(0)] * width
        for row, column in zip(reduced, pivots, strict=False):
            x[column] = row[-1]
    share = 0.0
    combined, found = echelon(_with_unit(A), width)
    for row in combined[len(found) :]:
        weights = row[width:]
        left = sum(w * right for w, right in zip(weights, b, strict=True))
        if left:
            terms = [
                abs(right) + sum(abs(c) * abs(y) for c, y in zip(given, x, strict=True))
                for given, right in zip(A, b, strict=True)
            ]
            size = sum(abs(w) * term for w, term in zip(weights, terms, strict=True))
            share = max(share, float(abs(left) / size))
    return x, share


def truth(data: dict[str, Any]) -> Truth:
    """What is true of a step without contacts."""
    M, J, gamma, Q = (fractions(np.asarray(data[name], dtype=float)) for name in ("M", "J", "gamma", "Q"))
    n, m = len(M), len(J)
    # M a - J^T lam = Q and J a = gamma
    K = [[*M[i], *(-J[k][i] for k in range(m))] for i in range(n)] + [[*J[k], *([Fraction(0)] * m)] for k in range(m)]
    x, whole = _left_over(K, [*Q, *gamma], n + m)
    _, share = _left_over(J, gamma, n, x[:n])
    if share:
        return Truth("infeasible", share=share)
    if whole:
        return Truth("unbounded", share=whole)
    _, pivots = echelon([*M, *J], n)
    if len(pivots) < n:
        return Truth("acceleration_not_unique")
    return Truth("solved", x[:n])


def _condition(M: np.ndarray, J: np.ndarray) -> float:
    """Largest over smallest singular value, zeros left out, with masses one and rows of unit length."""
    n, m = len(M), len(J)
    size = np.sqrt(np.where(M.diagonal() > 0, M.diagonal(), 1.0))
    A = J / size
    length = np.linalg.norm(A, axis=1)
    A = A / np.where(length > 0, length, 1.0)[:, None]
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = M / np.outer(size, size), A.T, A
    s = np.linalg.svd(K, compute_uv=False)
    s = s[s > 1e-12 * s[0]] if len(s) and s[0] > 0 else np.ones(1)
    return float(s[0] / s[-1])


def trial(seed: int, spread: int | None = None) -> Trial:
    """A random step: small dyadic numbers, in units of coordinates, rows, mass and time that are powers of two."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    m = int(rng.integers(0, n + 1))
    spread = int(rng.choice([0, 4, 12, 20, 40])) if spread is None else spread
    rank = n if rng.random() < 0.6 else int(rng.integers(0, n + 1))
    root = rng.integers(-2, 3, (n, rank)) / 2.0
    if rank == n:
        root += np.diag(rng.choice([1.0, 2.0, 3.0], n))
    M = root @ root.T
    J = rng.integers(-3, 4, (m, n)) * (rng.random((m, n)) < 0.8)
    J = J.astype(float)
    dependent = [i for i in range(1, m) if rng.random() < 0.25]
    for i in dependent:
        J[i] = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], i) @ J[:i]
    a = rng.integers(-8, 9, n) / 4.0
    gamma = J @ a
    free = rng.random() < 0.5
    Q = M @ a - J.T @ (rng.integers(-8, 9, m) / 2.0) if free else rng.integers(-8, 9, n) / 2.0
    little = [2.0**-k for k in (2, 10, 20, 30, 36, 40, 44, 47, 49, 51, 53)]
    if m and rng.random() < 0.3:
        i = int(rng.integers(0, m))
        gamma[i] += rng.choice(little) * max(abs(gamma[i]), 1.0)
    if free and rng.random() < 0.3:
        j = int(rng.integers(0, n))
        Q[j] += rng.choice(little) * max(abs(Q[j]), 1.0)
    if rng.random() < 0.1:
        gamma[:] = 0.0
    if rng.random() < 0.1:
        Q[:] = 0.0
    well = _condition(M, J) < 1e5
    D, R = 2.0 ** rng.integers(-spread, spread + 1, n), 2.0 ** rng.integers(-spread, spread + 1, m)
    data = in_units({"M": M, "Q": Q, "J": J, "gamma": gamma}, D, R)
    return Trial(data, spread, well, D)


def in_units(
    data: dict[str, Any], D: np.ndarray, R: np.ndarray, mass: float = 1.0, time: float = 1.0
) -> dict[str, Any]:
    """The same step in other units: a = D a' time, rows multiplied by R, masses by `mass`."""
    return {
        "M": data["M"] * np.outer(D, D) * mass, "Q": data["Q"] * D * mass / time,
        "J": data["J"] * D * R[:, None], "gamma": data["gamma"] * R / time,
    }  # fmt: skip
