"""Choice of the elimination order for the unrolled equations of a step, by their numerical values at a sample state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix

ACCEPTED = 1e-3, 1e-5
"""Pivots below this part of the sum of their terms are postponed when the order is chosen; the second value applies if
no order exists with the first."""

REDUNDANT = 1e-10
"""Entries below this part of the sum of their terms are rounding errors: the remaining rows depend on the others."""

DIVISION = 10
"""Multiplications that take as long as a division, the result of which the next lines wait for."""

FILL = 10
"""Multiplications that a new entry costs later on, where the pivots with the least work and fill come first."""

DEARER = 1.25
"""Ratio of work up to which an order is preferred that is safe at every state."""

MASSLESS = 1e-10
"""Singular value of the equilibrated M below which a direction counts as massless."""


class Elimination(NamedTuple):
    """The elimination of [M, J^T; J, 0].

    Attributes
    ----------
    order : indices of coordinates and, from n on, of rows; redundant rows come last
    added : rows r with weights s: s r^T r is added to M and s r^T gamma_r to the forces, which gives pivots to massless
        directions that only a row constrains; the solution stays the same because r a = gamma_r
    spare : number of redundant rows; as many rows that depend on the rows before them are left out
    """

    order: tuple[int, ...]
    added: tuple[tuple[int, float], ...] = ()
    spare: int = 0


def elimination(M: Matrix, J: Matrix, constant: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Elimination | None:
    """Return an elimination for M and J at a sample state; None if no safe elimination is found.

    `constant` marks the entries of M and J that are the same at every state. Rows are added to M only if there is no
    order otherwise, and only redundant rows are left out.
    """
    found = _with_rows(M, J, constant, ())
    if found is not None:  # the usual case, which needs no singular value decompositions
        return found
    rows = _rows_on_massless_directions(M, J)
    return _with_rows(M, J, constant, rows) if rows else None


def _with_rows(
    M: Matrix, J: Matrix, constant: tuple[NDArray[np.bool_], NDArray[np.bool_]], added: tuple[tuple[int, float], ...]
) -> Elimination | None:
    """Return an elimination with these rows added to M; None if no safe order is found."""
    heavy, same = M.copy(), constant[0].copy()
    for r, weight in added:
        heavy += weight * np.outer(J[r], J[r])
        there = J[r] != 0
        fixed = constant[1][r] | ~there
        same &= ~np.outer(there, there) | np.outer(fixed, fixed)
    for accepted in ACCEPTED:
        order = elimination_order(_saddle(heavy, J, 0.0), _saddle(same, constant[1], True), len(M), accepted)
        if order is not None:
            left = sorted({*range(len(M) + len(J))} - {*order})
            return Elimination((*order, *left), added, len(left))
    return None


def _rows_on_massless_directions(M: Matrix, J: Matrix) -> tuple[tuple[int, float], ...]:
    """Return rows and weights; their weighted outer products, added to M, make its rank as high as possible.

    Rows with few entries are preferred. Weights, of the size of M, are powers of two: they add no rounding errors.
    """
    found, whole = [], M.copy()
    for r in sorted(range(len(J)), key=lambda r: (np.count_nonzero(J[r]), r)):
        rank = _rank(whole)
        if rank == len(M):
            break
        largest = float(np.abs(J[r]).max(initial=0.0))
        if largest == 0.0:
            continue
        size = float(np.diag(M)[J[r] != 0].max()) or float(np.diag(M).max()) or 1.0
        weight = 2.0 ** round(np.log2(size / largest**2))
        more = whole + weight * np.outer(J[r], J[r])
        if _rank(more) > rank:
            whole = more
            found.append((r, weight))
    return tuple(found)


def _rank(M: Matrix) -> int:
    """Return the rank of a positive semidefinite matrix after scaling its diagonal to one."""
    d = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    return int((np.linalg.svd(M / np.outer(d, d), compute_uv=False) > MASSLESS).sum())


def _saddle(M: NDArray[Any], J: NDArray[Any], corner: float | bool) -> NDArray[Any]:
    """Return [[M, J^T], [J, corner]]."""
    n, N = len(M), len(M) + len(J)
    K = np.full((N, N), corner)
    K[:n, :n], K[:n, n:], K[n:, :n] = M, J.T, J
    return K


def elimination_order(
    K: NDArray[Any], constant: NDArray[Any], n: int, accepted: float = ACCEPTED[0]
) -> tuple[int, ...] | None:
    """Return an order of pivots for the symmetric matrix K with little work and no cancellation; None if none exists.

    K (N, N) is the matrix at a sample state, equilibrated or not: only ratios of the terms of a pivot matter.
    `constant` (N, N) marks the entries that are the same at every state: their elimination is computed once. Redundant
    rows, whose indices are n or larger, are left out.

    Several orders are tried, and the one with the least work is taken. Constant pivots come first, which need no
    division, or the pivots with the fewest neighbours (Markowitz), or those with the least work and fill, so that a
    body to which many others are joined comes last. Rows come at any time, or not before all coordinates in them: then
    no pivot vanishes at any state if M is regular and the rows are independent, and this is preferred unless it takes
    `DEARER` times as much work.
    """
    found = [
        (way[0] * (1.0 if rows_last else DEARER), way[1])
        for first in ("constant", "few", "filling")
        for rows_last in (True, False)
        if (way := _order(K, constant, n, accepted, (first, rows_last))) is not None
    ]
    return min(found, key=lambda way: way[0])[1] if found else None


def _order(
    K: NDArray[Any], constant: NDArray[Any], n: int, accepted: float, rule: tuple[str, bool]
) -> tuple[int, tuple[int, ...]] | None:
    """Return the number of operations with varying entries of an order, and the order; None if none exists."""
    A, size, constant, filled = K.copy(), np.abs(K), constant.copy(), (K != 0) | ~constant
    first, rows_last = rule
    left: list[int] = list(range(len(K)))
    fill = np.full(len(K), -1)  # the number of new entries, twice for each pair; negative if not known
    order: list[int] = []
    operations = 0
    while left:
        safe = np.array([i for i in left if abs(A[i, i]) > accepted * size[i, i] > 0], dtype=np.intp)
        if not len(safe):
            rest = np.ix_(left, left)
            redundant = min(left) >= n and (np.abs(A[rest]) <= REDUNDANT * size[rest]).all()
            return (operations, tuple(order)) if redundant else None
        there, varies = filled[safe][:, left], ~constant[safe, safe]
        if rows_last:
            sure = (safe < n) | ~varies | ~there[:, np.array(left) < n].any(axis=1)
            if sure.any():
                safe, there, varies = safe[sure], there[sure], varies[sure]
        met = there.sum(axis=1)
        varying = (there & ~constant[safe][:, left]).sum(axis=1)
        if first == "filling":
            for i in safe[fill[safe] < 0]:
                near = np.array(left, dtype=np.intp)[filled[i, left]]
                fill[i] = len(near) ** 2 - np.count_nonzero(filled[np.ix_(near, near)])
            work = _operations(met - 1, np.where(varies, 0, met - 1 - varying), varies) + FILL * fill[safe] // 2
            best = np.lexsort((safe, work))[0]
        else:
            best = np.lexsort((safe, met, varying, varies) if first == "constant" else (safe, varies, met))[0]
        i = int(safe[best])
        left.remove(i)
        order.append(i)
        near = np.array(left, dtype=np.intp)[filled[i, left]]
        block, fixed = np.ix_(near, near), constant[i, near] & constant[i, i]
        changes = np.outer(A[i, near] / A[i, i], A[i, near])
        A[block] -= changes
        size[block] += np.abs(changes)
        operations += int(_operations(len(near), fixed.sum(), ~constant[i, i]))
        filled[block] = True
        constant[block] &= np.outer(fixed, fixed)
        fill[filled[near].any(axis=0)] = -1
    return operations, tuple(order)


def _operations(near: Any, same: Any, varies: Any) -> Any:
    """Return the operations with varying entries of a pivot with `near` neighbours, `same` of them by constants."""
    return (near * (near + 5) - same * (same + 5)) // 2 + np.where(varies, DIVISION, 0)
