"""Vertices and extreme rays of the solution set of a singular complementary basis.

The set {x + N t >= 0}, where N is the null space of the basis, is a polyhedron without lines, so that its vertices and
extreme rays describe it. They are found by setting every possible choice of components to zero.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.lcp.matrix_classes import SINGULAR
from gaussopt.linalg.dense import EPS

Mask = NDArray[np.bool_]

FEASIBLE = 1e-13
"""Entries of the solution of a regular basis count as zero up to this size, relative to f of `regular_bases`."""
FLAT = 1e-11
"""Like FEASIBLE, but for solutions of singular bases."""
CONSISTENT = 1e-11
"""The equations of a singular basis contradict each other if their relative residual exceeds this."""
OBSERVED = 1e-9
"""Two points count as equal if their difference, relative to their terms, is at most this."""
UNEVEN = 1e-6
"""If a basis, scaled to largest entries 1, has an entry below this, tests of its rank and consistency may fail."""
BALANCING = 30
"""Number of passes of the scaling by geometric means."""


class SolutionPart(NamedTuple):
    """The solutions z of one basis: their vertices and rays; `f` is the scale of the rounding errors of vertices."""

    support: Mask
    vertices: Matrix
    rays: Matrix
    f: Matrix


def polyhedron(M: Matrix, q: Vector, q_size: Vector, support: Mask, C: Vector) -> SolutionPart | None:
    """Return the vertices and rays of the solutions of a singular basis, or None if there are no solutions."""
    B = np.where(support, M, -np.eye(len(q)))
    found = _described(B, q, q_size, support, C)
    if np.abs(B[B != 0]).min(initial=1.0) < UNEVEN and (found is None or not _lasting(found, M, C, q, q_size)):
        # If the largest entries of rows and columns are 1 but others are tiny, tests of rank and consistency may fail.
        # Then try again with all entries scaled as near to 1 as possible.
        r, c = _geometric(B)
        again = _described(r[:, None] * B * c, r * q, r * q_size, support, c * C)
        found = again if found is None or (again is not None and _lasting(again, M, C, q, q_size)) else found
    return found


def _lasting(part: SolutionPart, M: Matrix, C: Vector, q: Vector, size: Vector) -> bool:
    """Return whether vertices and rays, divided by C, satisfy every row of M relative to the terms of the row."""
    for z, q_own, q_size in ((part.rays / C, 0.0, 0.0), (part.vertices / C, q, size)):
        w, noise = z @ M.T + q_own, OBSERVED * (z @ np.abs(M).T + q_size)
        if not (w >= -noise).all() or not (np.abs(w) <= noise)[:, part.support].all():
            return False
    return True


def _geometric(B: Matrix) -> tuple[Vector, Vector]:
    """Return powers of two that scale the geometric means of rows and columns to 1 (A. R. Curtis, J. K. Reid, 1972)."""
    there = B != 0
    logs = np.log2(np.where(there, np.abs(B), 1.0))
    r, c = np.zeros(len(B)), np.zeros(len(B))
    rows, columns = np.maximum(there.sum(axis=1), 1), np.maximum(there.sum(axis=0), 1)
    for _ in range(BALANCING):
        r = -np.where(there, logs + c, 0.0).sum(axis=1) / rows
        c = -np.where(there, logs + r[:, None], 0.0).sum(axis=0) / columns
    return 2.0 ** np.round(r), 2.0 ** np.round(c)


def _described(B: Matrix, q: Vector, q_size: Vector, support: Mask, C: Vector) -> SolutionPart | None:
    """Return the solutions as `polyhedron` does, from the scaled matrix B of a basis; z is multiplied by C."""
    n = len(q)
    U, s, Vt = np.linalg.svd(B)
    rank = min(int((s > n * SINGULAR * s[0]).sum()), n - 1)
    pinv = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
    x = -(pinv @ q)
    x -= pinv @ (B @ x + q)
    size = np.abs(B) @ np.abs(x) + q_size
    if (np.abs(B @ x + q) > CONSISTENT * size + FEASIBLE * size.max()).any():
        return None
    # The computed null space is accurate relative to its largest entries. It is refined until every row holds.
    # F bounds the rounding errors that remain in entries that should vanish.
    N = Vt[rank:].T
    first = pinv @ (B @ N)
    second = pinv @ (B @ (N - first))
    noise = n * EPS * np.abs(first).max(axis=0) + np.abs(second).max(axis=0)
    F = np.abs(N) + np.abs(pinv) @ (np.abs(B) @ np.abs(N)) + noise / FLAT
    N = N - first - second
    f = np.abs(x) + np.abs(pinv) @ size
    vertices, floors = _vertices(x, N, f, F)
    if not len(vertices):
        return None
    keep = distinct(vertices, OBSERVED * np.abs(vertices) + FLAT * floors)
    vertices, floors = vertices[keep], floors[keep]
    rays = _rays(N, F)
    scale = np.where(support, C, 0.0)
    return SolutionPart(support, vertices * scale, rays * scale, floors * scale)


def _vertices(x: Vector, N: Matrix, f: Vector, F: Matrix) -> tuple[Matrix, Matrix]:
    """Return the vertices of {x + N t >= 0}, (k, n), and scales of their errors, (k, n), from scales f of x, F of N."""
    k = N.shape[1]
    chosen = _choices(len(x), k)
    A = N[chosen]
    regular = np.linalg.det(A) != 0.0
    inverse = np.linalg.inv(np.where(regular[:, None, None], A, np.eye(k)))
    regular &= (np.abs(inverse) * F.max(axis=1)[chosen][:, None, :]).max(axis=(-2, -1)) < 1.0 / SINGULAR
    chosen, A, inverse = chosen[regular], A[regular], inverse[regular]
    t = -(inverse @ x[chosen][..., None])[..., 0]
    points = x + t @ N.T
    inner = f[chosen] + (F[chosen] @ np.abs(t)[..., None])[..., 0]
    floors = f + (np.abs(t) + (np.abs(inverse) @ inner[..., None])[..., 0]) @ F.T
    np.put_along_axis(points, chosen, 0.0, axis=1)
    feasible = (points >= -FLAT * floors).all(axis=1)
    points, floors = points[feasible], floors[feasible]
    return np.where(points > FLAT * floors, points, 0.0), floors


def _rays(N: Matrix, F: Matrix) -> Matrix:
    """Return the extreme rays of {N t >= 0}, (r, n), with largest entry 1; the errors of N are at most FLAT * F."""
    n, k = N.shape
    if k == 1:
        t = np.ones((1, 1))
    else:
        scaled = N / np.where(F > 0, F, 1.0).max(axis=1, keepdims=True)
        _, s, Vt = np.linalg.svd(scaled[_choices(n, k - 1)])
        t = Vt[s[:, -1] > SINGULAR][:, -1]
    rays, floors = np.vstack((t, -t)) @ N.T, FLAT * np.vstack((np.abs(t), np.abs(t))) @ F.T
    floors = floors + 4 * EPS * np.abs(N).sum(axis=1)  # the unit vectors t have rounding errors, too
    size = np.abs(rays).max(axis=1, keepdims=True)
    size = np.where(size > 0, size, 1.0)
    rays, floors = rays / size, floors / size
    kept = (rays >= -floors).all(axis=1)
    rays, floors = rays[kept], floors[kept]
    rays = np.where(rays > floors, rays, 0.0)
    return np.asarray(rays[distinct(rays, OBSERVED * rays + floors)])


@lru_cache(maxsize=64)
def _choices(n: int, k: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(n), k)), dtype=np.intp).reshape(-1, k)


def distinct(rows: Matrix, tolerance: Matrix) -> list[int]:
    """Return the indices of rows that differ from all earlier rows by more than the tolerance in some entry."""
    kept: list[int] = []
    for i, row in enumerate(rows):
        near = np.abs(rows[kept] - row) <= np.maximum(tolerance[kept], tolerance[i])
        if not near.all(axis=1).any():
            kept.append(i)
    return kept
