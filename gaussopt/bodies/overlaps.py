"""Find the pairs of boxes that overlap, and the depths of their overlaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.linalg.quaternions import spin_rows

PARALLEL = 1e-6
"""Sine of the angle below which two edges count as parallel, so that they give no separating axis."""

Blocks = NDArray[np.float64]


def deepest(at: Blocks, e: Blocks, half: Matrix) -> dict[tuple[int, int], float]:
    """Return the pairs of boxes (i, j), i < j, that overlap in any frame, with their largest depth over all frames, m.

    Parameters
    ----------
    at, e : positions, m, and quaternions of the boxes in F frames, (F, N, 3) and (F, N, 4)
    half : half edges, m, (N, 3)

    Notes
    -----
    A pair is tested in the frames in which bounding spheres may meet. The depth is the length of the shortest shift
    that separates the boxes, along one of the fifteen axes of the separating axis theorem.
    """
    reach = 2.0 * float(np.linalg.norm(half, axis=1).max(initial=0.0))
    from scipy.spatial import cKDTree  # imported here, because only piles need it

    near = [np.sort(cKDTree(x).query_pairs(reach, output_type="ndarray"), axis=1) for x in at]
    pairs = np.concatenate([np.zeros((0, 2), dtype=np.intp), *near])
    frame, (i, j) = np.repeat(np.arange(len(at)), [len(x) for x in near]), pairs.T
    e = e / np.linalg.norm(e, axis=2)[:, :, None]
    A, B = (spin_rows(x, 1.0) @ spin_rows(x).transpose(0, 2, 1) for x in (e[frame, i], e[frame, j]))
    d = np.einsum("pji,pj->pi", A, at[frame, j] - at[frame, i])
    found: dict[tuple[int, int], float] = {}
    for a, b, x in zip(i.tolist(), j.tolist(), _depths(half[i], half[j], A.transpose(0, 2, 1) @ B, d), strict=True):
        if x > 0.0:
            found[a, b] = max(float(x), found.get((a, b), 0.0))
    return found


def _depths(a: Matrix, b: Matrix, B: Blocks, d: Matrix) -> Vector:
    """Return depths, m, of pairs of boxes; in the frame of the first box, the second is at d with the axes B."""
    axes = B.transpose(0, 2, 1)
    across = np.cross(np.eye(3)[:, None], axes[:, None]).reshape(-1, 9, 3)
    length = np.linalg.norm(across, axis=2, keepdims=True)
    parallel = np.pad(length[:, :, 0] < PARALLEL, ((0, 0), (6, 0)))
    axes = np.concatenate((np.broadcast_to(np.eye(3), B.shape), axes, across / np.maximum(length, PARALLEL)), axis=1)
    reach = np.einsum("pxi,pi->px", np.abs(axes), a) + np.einsum("pxi,pi->px", np.abs(axes @ B), b)
    away = reach - np.abs(np.einsum("pxi,pi->px", axes, d))
    return np.asarray(np.where(parallel, np.inf, away).min(axis=1, initial=np.inf))
