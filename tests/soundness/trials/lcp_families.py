"""Linear complementarity problems of the matrix classes, borders included."""

from __future__ import annotations

import numpy as np

from .families import Data, Maker, changed, definite, dyadic, spans, unit


def size(rng: np.random.Generator) -> int:
    return int(rng.choice([1, 2, 3, 4, 5], p=[0.1, 0.25, 0.3, 0.25, 0.1]))


def with_q(rng: np.random.Generator, M: np.ndarray, exact: bool) -> Data:
    n = len(M)
    return {"M": M, "q": dyadic(rng, n) if exact else rng.standard_normal(n)}


def positive_definite(rng: np.random.Generator) -> Data:
    M = definite(rng, n := size(rng))
    if rng.random() < 0.5:
        S = rng.standard_normal((n, n))
        M = M + (S - S.T)
    return with_q(rng, M, False)


def p_matrix(rng: np.random.Generator) -> Data:
    """Upper triangular with positive diagonal, or dominant diagonal with any signs."""
    n = size(rng)
    if rng.random() < 0.5:
        M = np.triu(rng.integers(-8, 9, (n, n)).astype(float), 1) + np.diag(rng.integers(1, 4, n).astype(float))
        order = rng.permutation(n)
        M = M[np.ix_(order, order)]
        return with_q(rng, M, True)
    M = rng.uniform(-1, 1, (n, n))
    M[np.diag_indices(n)] = np.abs(M).sum(axis=1) + 0.1
    return with_q(rng, M, False)


def p_zero(rng: np.random.Generator) -> Data:
    """P0, with zeros on the diagonal."""
    n = size(rng)
    M = np.triu(dyadic(rng, n, n, top=2), 1) + np.diag(rng.integers(0, 2, n).astype(float))
    order = rng.permutation(n)
    return with_q(rng, M[np.ix_(order, order)], True)


def monotone(rng: np.random.Generator) -> Data:
    """Positive semidefinite and singular, symmetric or not."""
    n = size(rng)
    L = rng.integers(-2, 3, (n, int(rng.integers(0, n)) if n > 1 else 1)).astype(float)
    M = L @ L.T
    if rng.random() < 0.5:
        S = rng.integers(-2, 3, (n, n)).astype(float)
        M = M + S - S.T
    return with_q(rng, M, True)


def copositive(rng: np.random.Generator) -> Data:
    """Nonnegative entries, or a semidefinite matrix and such."""
    n = size(rng)
    M = rng.integers(0, 4, (n, n)).astype(float)
    if rng.random() < 0.4:
        L = rng.integers(-1, 2, (n, 1)).astype(float)
        M = M + L @ L.T
    return with_q(rng, M, True)


def any_numbers(rng: np.random.Generator) -> Data:
    """Any matrix: no solution, several, or a continuum."""
    n = size(rng)
    exact = rng.random() < 0.7
    return with_q(rng, dyadic(rng, n, n, top=2, bits=0) if exact else rng.standard_normal((n, n)), exact)


def not_q(rng: np.random.Generator) -> Data:
    """Matrices for which some q has no solution: skew, a negative row, a zero row."""
    n = size(rng)
    M = dyadic(rng, n, n, top=2)
    kind = int(rng.integers(3))
    if kind == 0:
        M = M - M.T
    else:
        M[int(rng.integers(n))] = 0.0 if kind == 1 else -np.abs(dyadic(rng, n, top=2))
    return with_q(rng, M, True)


def ties(rng: np.random.Generator) -> Data:
    """A solution chosen first, with pairs both of which vanish."""
    n = size(rng)
    make = [p_matrix, p_zero, monotone, copositive, any_numbers][int(rng.integers(5))]
    M = make(rng)["M"]
    n = len(M)
    if not np.array_equal(M, np.round(M * 4) / 4):
        M = np.round(M * 4) / 4
    z = np.maximum(dyadic(rng, n, top=2), 0.0)
    w = np.where((z > 0) | (rng.random(n) < 0.6), 0.0, 1.0)
    return {"M": M, "q": w - M @ z}


def rank_one(rng: np.random.Generator) -> Data:
    n = size(rng)
    a, b = dyadic(rng, n, top=2), dyadic(rng, n, top=2)
    return with_q(rng, np.outer(a, b), True)


@changed
def in_units(rng: np.random.Generator, data: Data) -> Data:
    """Rows and columns in units up to 2^+-40."""
    n, span = len(data["q"]), spans(rng)
    d = 2.0 ** rng.integers(-span, span + 1, n)
    e = d if rng.random() < 0.6 else 2.0 ** rng.integers(-span, span + 1, n)
    return {"M": data["M"] * np.outer(d, e), "q": data["q"] * d * unit(rng, span)}


@changed
def in_magnitude(rng: np.random.Generator, data: Data) -> Data:
    e, key = 2.0 ** int(rng.choice([-500, -300, -100, 100, 300, 480])), "M" if rng.random() < 0.5 else "q"
    return {**data, key: data[key] * e}


LCPS: dict[str, tuple[float, Maker]] = {
    "positive definite": (2.0, positive_definite),
    "P": (2.0, p_matrix),
    "P0": (1.5, p_zero),
    "semidefinite": (1.5, monotone),
    "copositive": (1.0, copositive),
    "any": (2.0, any_numbers),
    "not Q": (1.0, not_q),
    "ties": (2.0, ties),
    "rank one": (0.5, rank_one),
    "units of positive definite": (1.0, in_units(positive_definite)),
    "units of P": (1.0, in_units(p_matrix)),
    "units of P0": (0.7, in_units(p_zero)),
    "units of any": (1.0, in_units(any_numbers)),
    "units of ties": (1.0, in_units(ties)),
    "huge and tiny": (0.7, in_magnitude(any_numbers)),
}
