"""How near a point is to a set of solutions, proved by a point of the set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import nnls
from soundness.judge.polyhedron import Polyhedron


def away(part: Polyhedron, z: Sequence[Fraction], d: Sequence[float]) -> float:
    """A distance within which the set has a point, in units d; next to the smallest one.

    Least squares in floating-point numbers propose shares of the vertices and rays. With these, made exact, the point
    is computed in fractions: it lies in the set whatever was proposed, so the distance is never too small.
    """
    n = len(z)
    vertices, rays = [v.floats() for v in part.vertices], [[float(t) for t in ray] for ray in part.rays]
    units = np.array(d)
    columns = np.array([*vertices, *rays]).reshape(-1, n) / units
    goal = np.array([float(v) for v in z]) / units
    size = max(float(np.abs(columns[: len(vertices)]).max(initial=0.0)), float(np.abs(goal).max())) or 1.0
    lengths = [size] * len(vertices) + [float(np.abs(c).max()) or 1.0 for c in columns[len(vertices) :]]
    scaled = columns / np.array(lengths)[:, None]
    ones = np.array([1.0] * len(vertices) + [0.0] * len(rays))
    shares, _ = nnls(np.vstack((scaled.T, 1e3 * ones)), np.append(goal / size, 1e3))
    hull = [Fraction(s) for s in shares[: len(vertices)].tolist()]
    total = sum(hull)
    if not total:
        return math.inf
    reached = [Fraction(0)] * n
    for share, vertex in zip(hull, part.vertices, strict=True):
        reached = [a + share / total * vertex.fraction(i) for i, a in enumerate(reached)]
    for share, length, ray in zip(shares[len(vertices) :].tolist(), lengths[len(vertices) :], part.rays, strict=True):
        factor = Fraction(share) * Fraction(size) / Fraction(length)
        reached = [a + factor * t for a, t in zip(reached, ray, strict=True)]
    return math.hypot(*(float(v - r) / s for v, r, s in zip(z, reached, d, strict=True)))
