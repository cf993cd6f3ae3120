"""Balls and boxes that overlap: how deep two bodies are inside each other, for pairs without a contact in a pile."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.linalg.quaternions import spin_rows

PARALLEL = 1e-6
"""Sine of the angle below which two edges are parallel; the axes of the faces decide then."""

Blocks = NDArray[np.float64]


def deepest(
    at: Blocks, e: Blocks, half: Matrix, radius: Vector, without: Collection[tuple[int, int]] = ()
) -> dict[tuple[int, int], float]:
    """Return pairs of bodies (i, j), i < j, that overlap in a frame, with their largest depth, m.

    Parameters
    ----------
    at, e : positions, m, and quaternions of the bodies in F frames, (F, N, 3) and (F, N, 4)
    half : half edges of boxes, m, (N, 3); zero for balls
    radius : of balls, m, (N,); zero for boxes
    without : pairs that are left out

    Notes
    -----
    A pair is looked at where its bounding spheres meet. The depth is the shortest way that takes two bodies apart: for
    two boxes along one of the fifteen axes of the separating axis theorem.
    """
    bound, N = radius + np.linalg.norm(half, axis=1), len(radius)
    tested = np.zeros((N, N), dtype=bool)
    for i, j in without:
        tested[i, j] = tested[j, i] = True
    near = [cKDTree(x).query_pairs(2.0 * float(bound.max()), output_type="ndarray") for x in at]
    frame = np.repeat(np.arange(len(at)), [len(x) for x in near])
    i, j = np.concatenate([np.zeros((0, 2), dtype=np.intp), *near]).T
    close = ~tested[i, j] & (np.linalg.norm(at[frame, j] - at[frame, i], axis=1) < bound[i] + bound[j])
    frame, i, j = frame[close], i[close], j[close]
    a, b = np.where(radius[i] > 0, j, i), np.where(radius[i] > 0, i, j)  # a ball and a box: the ball is b
    A, B = _turned(e[frame, a]), _turned(e[frame, b])
    d = np.einsum("pji,pj->pi", A, at[frame, b] - at[frame, a])
    out = np.abs(d) - half[a]  # inside a box its nearest face decides, which a ball does not have
    apart = np.linalg.norm(np.maximum(out, 0.0), axis=1) + np.minimum(out.max(axis=1), 0.0)
    depth = radius[a] + radius[b] - np.where(radius[a] > 0, np.linalg.norm(d, axis=1), apart)
    boxes = (radius[a] == 0) & (radius[b] == 0)
    depth[boxes] = _of_boxes(half[a][boxes], half[b][boxes], np.einsum("pji,pjk->pik", A, B)[boxes], d[boxes])
    found: dict[tuple[int, int], float] = {}
    for pair, x in zip(np.sort(np.column_stack((i, j)), axis=1).tolist(), depth.tolist(), strict=True):
        if x > 0.0:
            found[pair[0], pair[1]] = max(x, found.get((pair[0], pair[1]), 0.0))
    return found


def _turned(e: Matrix) -> Blocks:
    """Return the rotations of quaternions, (P, 3, 3)."""
    return np.asarray(spin_rows(e, 1.0) @ spin_rows(e).transpose(0, 2, 1) / (e**2).sum(axis=1)[:, None, None])


def _of_boxes(a: Matrix, b: Matrix, B: Blocks, d: Matrix) -> Vector:
    """Return depths, m, of pairs of boxes in the frame of the first, where the other is at d with the axes B."""
    axes = B.transpose(0, 2, 1)
    across = np.cross(np.eye(3)[:, None], axes[:, None]).reshape(-1, 9, 3)
    length = np.linalg.norm(across, axis=2, keepdims=True)
    parallel = np.pad(length[:, :, 0] < PARALLEL, ((0, 0), (6, 0)))
    axes = np.concatenate((np.broadcast_to(np.eye(3), B.shape), axes, across / np.maximum(length, PARALLEL)), axis=1)
    reach = np.einsum("pxi,pi->px", np.abs(axes), a) + np.einsum("pxi,pi->px", np.abs(axes @ B), b)
    away = reach - np.abs(np.einsum("pxi,pi->px", axes, d))
    return np.asarray(np.where(parallel, np.inf, away).min(axis=1, initial=np.inf))
