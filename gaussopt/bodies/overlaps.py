"""Balls and boxes that overlap: how deep two bodies are inside each other, for pairs without a contact in a pile."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.spatial import cKDTree

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.linalg.quaternions import spin_rows


def deepest(
    at: Matrix, e: Matrix, half: Matrix, radius: Vector, without: Collection[tuple[int, int]] = ()
) -> dict[tuple[int, int], float]:
    """Return pairs of bodies (i, j), i < j, that overlap, with the depth, m, less the pairs in `without`.

    Parameters
    ----------
    at, e : positions, m, and quaternions of the bodies, (N, 3) and (N, 4)
    half : half edges of boxes, m, (N, 3); zero for balls
    radius : of balls, m, (N,); zero for boxes

    Notes
    -----
    A pair is looked at where its bounding spheres meet. The depth is the shortest way that takes two bodies apart: for
    two boxes along one of the fifteen axes of the separating axis theorem.
    """
    bound, found = radius + np.linalg.norm(half, axis=1), {}
    pairs = cKDTree(at).query_pairs(2.0 * float(bound.max()), output_type="ndarray")
    close = np.linalg.norm(at[pairs[:, 1]] - at[pairs[:, 0]], axis=1) < bound[pairs].sum(axis=1)
    R = np.einsum("bij,bkj->bik", spin_rows(e, 1.0), spin_rows(e)) / (e**2).sum(axis=1)[:, None, None]
    for i, j in pairs[close].tolist():
        if (i, j) in without:
            continue
        first, other = (j, i) if radius[i] else (i, j)
        d = R[first].T @ (at[other] - at[first])
        if radius[first]:
            depth = radius[first] + radius[other] - float(np.linalg.norm(d))
        elif radius[other]:
            out = np.abs(d) - half[first]  # inside the box the nearest face decides
            depth = radius[other] - (float(np.linalg.norm(np.maximum(out, 0.0))) + min(float(out.max()), 0.0))
        else:
            depth = _of_boxes(half[first], half[other], R[first].T @ R[other], d)
        if depth > 0.0:
            found[i, j] = depth
    return found


def _of_boxes(a: Vector, b: Vector, B: Matrix, d: Vector) -> float:
    """Return the depth, m, of two boxes in the frame of the first; columns of B are the axes of the other at d."""
    across = np.cross(np.eye(3)[:, None], B.T[None]).reshape(9, 3)
    length = np.linalg.norm(across, axis=1)
    axes = np.vstack((np.eye(3), B.T, across[length > 1e-6] / length[length > 1e-6, None]))
    reach = np.abs(axes) @ a + np.abs(axes @ B) @ b
    return float((reach - np.abs(axes @ d)).min())
