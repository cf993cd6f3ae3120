"""Bodies in space as triangles: four unit meshes, and the solids of a picture as scaled copies of these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.modelling.solids import Ball, Box, Capsule, Plane, Solid

THIN = 0.008
"""Radius of links, relative to the size of the picture; balls without a radius are twice as large."""

SHADE = 0.62
"""Brightness of the darker patches (alternate octants of balls, quarters of cylinders), which make rotation visible."""

SLICES, RINGS = 24, 12


@dataclass(frozen=True)
class Placed:
    """A unit mesh fixed to a body: its position (3,), its quaternion (4,) and its scale (3,) along its own axes."""

    mesh: str
    at: Vector
    turn: Vector
    scale: Vector

    @property
    def reach(self) -> float:
        """Upper bound on the distance of the mesh's corners from the centre of the body, m."""
        half = self.scale * {"ball": (1, 0, 0), "cylinder": (0, 1, 0.5)}.get(self.mesh, (0.5, 0.5, 0.5))
        return float(np.linalg.norm(self.at) + np.linalg.norm(half))


@cache
def unit(mesh: str) -> tuple[Matrix, Matrix, Vector]:
    """Return corners (3 T, 3) of the triangles of a mesh, their normals (3 T, 3) and brightness (3 T,).

    A box has edges of length 1; a ball and a cylinder have radius 1, the cylinder from z = -1/2 to 1/2; a plane is a
    unit square in z = 0.
    """
    if mesh in ("box", "plane"):
        face = np.array([(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, -1, 1), (1, 1, 1), (-1, 1, 1)]) / 2.0
        if mesh == "plane":
            return face * (1, 1, 0), np.tile((0.0, 0.0, 1.0), (6, 1)), np.ones(6)
        sides = [np.roll(face, axis, axis=1) for axis in range(3)]
        corners = np.concatenate([*sides, *(-side[[0, 2, 1, 3, 5, 4]] for side in sides)])
        normals = np.concatenate([sign * np.roll(np.eye(3), 1, axis=0) for sign in (1, -1)])
        return corners, np.repeat(normals, 6, axis=0), np.ones(36)
    angles = np.linspace(0, 2 * np.pi, SLICES + 1)
    round_ = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    if mesh == "ball":
        heights = np.linspace(0, np.pi, RINGS + 1)
        grid = np.stack([np.column_stack((np.sin(h) * round_, np.full(SLICES + 1, np.cos(h)))) for h in heights])
        corners = _quads(grid)
        return corners, corners, _octants(corners)
    low, high = (np.column_stack((round_, np.full(SLICES + 1, z))) for z in (-0.5, 0.5))
    side = _quads(np.stack((high, low)))
    ends = [_quads(np.stack((np.broadcast_to([0, 0, rim[0, 2]], rim.shape), rim))) for rim in (high, low[::-1])]
    normals = np.concatenate((side * (1, 1, 0), *(np.sign(e) * (0, 0, 1) for e in ends)))
    corners = np.concatenate((side, *ends))
    return corners, normals, _octants(corners * (1, 1, 0))


def _quads(grid: Any) -> Matrix:
    """Return the triangles of a grid (rows, columns, 3); seen from its front, rows go down and columns to the right."""
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    return np.stack((a, d, c, a, c, b), axis=2).reshape(-1, 3).astype(float)


def _octants(corners: Matrix) -> Vector:
    """Return the brightness of each triangle's corners; it alternates between the octants that hold the centroids."""
    middle = corners.reshape(-1, 3, 3).mean(axis=1)
    return np.repeat(np.where(np.prod(np.where(middle == 0, 1.0, middle), axis=1) > 0, 1.0, SHADE), 3)


def placed(solid: Solid, centre: Vector, size: float) -> list[Placed]:
    """Return a solid as unit meshes; dimensions that it lacks follow from `centre` and `size` of the picture, m."""
    straight = np.array([1.0, 0.0, 0.0, 0.0])
    if isinstance(solid, Box):
        return [Placed("box", np.array(solid.at, float), np.array(solid.turn, float), np.array(solid.edges, float))]
    if isinstance(solid, Ball):
        return [Placed("ball", np.array(solid.at, float), straight, np.full(3, float(solid.radius) or 2 * THIN * size))]
    if isinstance(solid, Plane):
        n = np.array(solid.normal, float)
        n /= np.linalg.norm(n)
        foot = centre - n * (n @ (centre - np.array(solid.at, float)))
        return [Placed("plane", foot, turned_to(n), np.full(3, 1.3 * size))]
    start, end = np.array(solid.start, float), np.array(solid.end, float)
    radius, length = float(solid.radius) or THIN * size, float(np.linalg.norm(end - start))
    turn = turned_to(end - start) if length else straight
    tube = Placed("cylinder", (start + end) / 2, turn, np.array([radius, radius, length]))
    ends = [Placed("ball", x, turn, np.full(3, radius)) for x in (start, end)]
    return [tube, *ends] if isinstance(solid, Capsule) else [tube]


def turned_to(direction: ArrayLike) -> Vector:
    """Return the quaternion of the smallest rotation of the z axis to a direction, (4,)."""
    u = np.asarray(direction, dtype=float)
    u = u / np.linalg.norm(u)
    w = np.array([1.0 + u[2], -u[1], u[0], 0.0]) if u[2] > -1 + 1e-12 else np.array([0.0, 1.0, 0.0, 0.0])
    return np.asarray(w / np.linalg.norm(w))
