"""Find the balls and boxes that overlap in a motion, and the depths of their overlaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import counted
from gaussopt.linalg.quaternions import spin_rows

PARALLEL = 1e-6
"""Sine of the angle below which two edges count as parallel, so that they give no separating axis."""

UNSEEN = 1e-6
"""Depth, m, above which two bodies without a contact count as overlapping."""

Blocks = NDArray[np.float64]


@dataclass(frozen=True)
class Shapes:
    """The N balls and boxes of a motion, to be searched for pairs that overlap although no contact keeps them apart.

    Attributes
    ----------
    of : for each ball or box, the index of its body, (N,)
    names : names of the bodies
    places : indices of x, y, z, e0, e1, e2, e3 of each body among the coordinates, (B, 7)
    at, turn : centres, m, (N, 3), and quaternions, (N, 4), in the frames of the bodies
    half, radius : half edges of boxes, m, (N, 3), and radii of balls, m, (N,); zero for the others
    without : pairs of bodies that are not tested, (i, j) with i < j
    """

    of: NDArray[np.intp]
    names: Sequence[str]
    places: NDArray[np.intp]
    at: Matrix
    turn: Matrix
    half: Matrix
    radius: Vector
    without: Collection[tuple[int, int]]

    def inside(self, q: Matrix) -> Mapping[tuple[int, int], float]:
        """Return the bodies that overlap in a motion, (F, n), but not at its start, as {(i, j): depth in m}."""
        q = q[np.isfinite(q).all(axis=1)]
        x = q[:, self.places][:, self.of]
        E, G = (spin_rows(x[:, :, 3:].reshape(-1, 4), sign).reshape(*x.shape[:2], 3, 4) for sign in (1.0, -1.0))
        at = x[:, :, :3] + np.einsum("fbij,fbkj,bk->fbi", E, G, self.at)
        e = self.turn[:, :1] * x[:, :, 3:] + np.einsum("fbij,bi->fbj", G, self.turn[:, 1:])
        known = {(i, j) for i, j in self.without}
        found: dict[tuple[int, int], float] = {}
        for frames, into in ((slice(1), known), (slice(None), None)):
            for (i, j), depth in deepest(at[frames], e[frames], self.half, self.radius).items():
                a, b = sorted((int(self.of[i]), int(self.of[j])))
                if depth > UNSEEN and a != b and (a, b) not in known:
                    if into is None:
                        found[a, b] = max(depth, found.get((a, b), 0.0))
                    else:
                        into.add((a, b))
        return found

    def sentence(self, q: Matrix) -> str | None:
        """Return a warning on the pair with the deepest overlap; None if there is none."""
        found = self.inside(q)
        if not found:
            return None
        (i, j), depth = max(found.items(), key=lambda pair: pair[1])
        more = f" (and {counted(len(found) - 1, 'further pair')})" if len(found) > 1 else ""
        return (
            f"The bodies {self.names[i]!r} and {self.names[j]!r} are {depth:.2g} m inside each other{more}: no element "
            "of the model lies between them. Add a contact, or take `Pile`, whose balls and boxes touch each other."
        )


def deepest(at: Blocks, e: Blocks, half: Matrix, radius: Vector | None = None) -> dict[tuple[int, int], float]:
    """Return the pairs of balls and boxes (i, j), i < j, that overlap in any frame, with their largest depth, m.

    Parameters
    ----------
    at, e : positions, m, and quaternions in F frames, (F, N, 3) and (F, N, 4)
    half : half edges of boxes, m, (N, 3); zero for balls
    radius : of balls, m, (N,); zero for boxes; None if all are boxes

    Notes
    -----
    Only pairs whose bounding spheres may meet are tested. The depth is the shortest displacement that separates two
    bodies; for two boxes it is along one of the fifteen axes of the separating axis theorem.
    """
    radius = np.zeros(len(half)) if radius is None else radius
    reach = 2.0 * float((radius + np.linalg.norm(half, axis=1)).max(initial=0.0))
    from scipy.spatial import cKDTree  # imported here, because only motions with shapes need it

    near = [np.sort(cKDTree(x).query_pairs(reach, output_type="ndarray"), axis=1) for x in at]
    pairs = np.concatenate([np.zeros((0, 2), dtype=np.intp), *near])
    frame, (i, j) = np.repeat(np.arange(len(at)), [len(x) for x in near]), pairs.T
    a, b = np.where(radius[i] > 0, j, i), np.where(radius[i] > 0, i, j)  # in a pair of ball and box, the ball is b
    e = e / np.linalg.norm(e, axis=2)[:, :, None]
    A, B = (spin_rows(x, 1.0) @ spin_rows(x).transpose(0, 2, 1) for x in (e[frame, a], e[frame, b]))
    d = np.einsum("pji,pj->pi", A, at[frame, b] - at[frame, a])
    out = np.abs(d) - half[a]  # distances from the faces of box a; not used if a is a ball
    apart = np.linalg.norm(np.maximum(out, 0.0), axis=1) + np.minimum(out.max(axis=1, initial=-np.inf), 0.0)
    depth = radius[a] + radius[b] - np.where(radius[a] > 0, np.linalg.norm(d, axis=1), apart)
    boxes = (radius[a] == 0) & (radius[b] == 0)
    depth[boxes] = _depths(half[a][boxes], half[b][boxes], (A.transpose(0, 2, 1) @ B)[boxes], d[boxes])
    found: dict[tuple[int, int], float] = {}
    for pair, x in zip(pairs.tolist(), depth.tolist(), strict=True):
        if x > 0.0:
            found[pair[0], pair[1]] = max(x, found.get((pair[0], pair[1]), 0.0))
    return found


def _depths(a: Matrix, b: Matrix, B: Blocks, d: Matrix) -> Vector:
    """Return the overlap of pairs of boxes, m; in the first box's frame, the second has centre d and axes B."""
    axes = B.transpose(0, 2, 1)
    across = np.cross(np.eye(3)[:, None], axes[:, None]).reshape(-1, 9, 3)
    length = np.linalg.norm(across, axis=2, keepdims=True)
    parallel = np.pad(length[:, :, 0] < PARALLEL, ((0, 0), (6, 0)))
    axes = np.concatenate((np.broadcast_to(np.eye(3), B.shape), axes, across / np.maximum(length, PARALLEL)), axis=1)
    reach = np.einsum("pxi,pi->px", np.abs(axes), a) + np.einsum("pxi,pi->px", np.abs(axes @ B), b)
    away = reach - np.abs(np.einsum("pxi,pi->px", axes, d))
    return np.asarray(np.where(parallel, np.inf, away).min(axis=1, initial=np.inf))
