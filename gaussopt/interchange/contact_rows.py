"""Convert contact rows read from files: planar contacts to equivalent spatial ones, any row order to N, T1, T2."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity, GlobalContacts
from gaussopt.core.errors import BadInput

PLANAR = 2
"""Number of rows of a planar contact: N, T."""

ORDERS = {"normal-first": (0, 1, 2), "tangents-first": (2, 0, 1)}
"""Indices of N, T1 and T2 among the rows of a contact."""


def check_dimension(dimension: float, in_space: bool) -> int:
    """Return a contact's number of rows; raises BadInput unless it is 3, or 2 with `in_space` not set."""
    if in_space and dimension == PLANAR:
        raise BadInput("its contacts lie in the plane, with rows N and T; an order of rows is given in space only")
    if dimension not in (PLANAR, ROWS):
        raise BadInput(f"its contacts have {dimension:g} rows; expected 3 (N, T1, T2), or 2 in the plane")
    return int(dimension)


def places(k: int) -> tuple[Index, Index]:
    """Return the indices of the rows of k planar contacts among 3 k spatial rows, and of the second tangents."""
    rows = np.arange(ROWS * k).reshape(k, ROWS)
    return rows[:, :PLANAR].ravel(), rows[:, PLANAR]


def local_in_space(W: Matrix, q: Vector, mu: Vector) -> ConeComplementarity:
    """Return the spatial form of a planar problem: each contact gets an uncoupled second tangent with zero impulse."""
    k = len(mu)
    kept, added = places(k)
    V, p = np.zeros((ROWS * k, ROWS * k)), np.zeros(ROWS * k)
    V[np.ix_(kept, kept)], p[kept] = W, q
    V[added, added] = np.maximum(W.diagonal()[::PLANAR], 1e-300)
    return ConeComplementarity(V, p, mu)


def global_in_space(given: GlobalContacts) -> GlobalContacts:
    """Return the spatial form of a planar global problem; each second tangent adds a coordinate with the mean mass."""
    k, n = given.k, len(given.f)
    kept, added = places(k)
    mass = float(np.trace(given.M)) / n if n else 1.0
    M, H, w = np.zeros((n + k, n + k)), np.zeros((n + k, ROWS * k)), np.zeros(ROWS * k)
    M[:n, :n], M[n:, n:] = given.M, mass * np.eye(k)
    H[:n, kept], H[n + np.arange(k), added], w[kept] = given.H, 1.0, given.w
    G = np.vstack((given.G, np.zeros((k, given.G.shape[1]))))
    return GlobalContacts(M, H, np.append(given.f, np.zeros(k)), w, given.mu, G, given.b)


def check_order(rows: str) -> None:
    """Raise BadInput unless `rows` names an order of rows."""
    if rows not in ORDERS:
        raise BadInput(f"The order of rows {rows!r} is not known; give normal-first (N, T1, T2) or tangents-first.")


def reordered(
    problem: ConeComplementarity | GlobalContacts, rows: str, read_as: str
) -> ConeComplementarity | GlobalContacts:
    """Permute the rows of a problem that was read in the order `read_as` although its file has the order `rows`."""
    if rows == read_as:
        return problem
    first = np.argsort(ORDERS[read_as])  # undoes the permutation by the reader
    place = first[list(ORDERS[rows])]
    order = (ROWS * np.arange(problem.k)[:, None] + place).ravel()
    return problem.in_order(order)
