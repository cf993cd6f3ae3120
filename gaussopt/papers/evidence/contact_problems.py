"""Contact problems w = A z + b: random problems, and parametrisations of all problems with two or three contacts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.papers.evidence import active_sets as sets

Mask = NDArray[np.bool_]

SIZES, SKEWS = (2, 3, 4, 5), (0.1, 0.3, 1.0, 3.0)
"""Numbers of contacts, and norms of the skew part, of random problems."""

DEFINITE = 1e-3
"""Smallest eigenvalue of sym A, scaled to unit diagonal, at which a sample counts as positive definite."""


def definite(A: Matrix, least: float = DEFINITE) -> Mask:
    """Return the mask, (B,), of samples whose sym A, scaled to unit diagonal, has no eigenvalue below `least`."""
    diagonal = A.diagonal(axis1=1, axis2=2)
    positive = (diagonal > 0).all(axis=1)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    lowest = np.linalg.eigvalsh(sets.symmetric(unit[:, :, None] * A * unit[:, None, :]))[:, 0]
    return np.asarray(positive & (lowest >= least))


def random_definite(count: int, n: int, skew: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Draw A = S + K, S positive definite of norm 1, K skew of norm `skew`, (B, n, n); b standard normal, (B, n)."""
    X, Y = rng.standard_normal((2, count, n, n))
    return definite_from(X, Y, skew), rng.standard_normal((count, n))


def definite_from(X: Matrix, Y: Matrix, skew: float | Matrix) -> Matrix:
    """Make the matrices S + K of `random_definite` from arbitrary X and Y, (B, n, n); `skew` may be (B, 1, 1)."""
    n = X.shape[-1]
    S = X @ X.swapaxes(1, 2) + 0.1 * np.eye(n)
    S /= np.linalg.norm(S, 2, axis=(1, 2))[:, None, None]
    K = Y - Y.swapaxes(1, 2)
    if n > 1:
        K *= skew / np.maximum(np.linalg.norm(K, 2, axis=(1, 2)), 1e-300)[:, None, None]
    return np.asarray(S + K)


def random_stacks(
    count: int, seed: Sequence[int], skews: Sequence[float] = (0.0,), sizes: Sequence[int] = SIZES
) -> list[tuple[Matrix, Matrix]]:
    """Draw a stack of `count` problems for every size and skew, each stack with a different seed."""
    return [
        random_definite(count, n, skew, np.random.default_rng([*seed, n, i]))
        for n in sizes for i, skew in enumerate(skews)
    ]  # fmt: skip


def random_symmetrisable(count: int, n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix, Matrix]:
    """Draw P-matrices A = D^-1 S with S positive definite, D = diag d, 1/10 <= d <= 10; draw b; return A, b, d."""
    S, b = random_definite(count, n, 0.0, rng)
    d = 10.0 ** rng.uniform(-1.0, 1.0, (count, n))
    return S / d[:, :, None], b, d


def three_contacts(points: Matrix) -> tuple[Matrix, Matrix]:
    """Return symmetric S with unit diagonal, and unit vectors b, from rows of three entries and two angles."""
    S = np.tile(np.eye(3), (len(points), 1, 1))
    for c, (i, j) in enumerate(combinations(range(3), 2)):
        S[:, i, j] = S[:, j, i] = points[:, c]
    u, v = points[:, -2], points[:, -1]
    return S, np.stack((np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)), axis=1)


ENTRIES, DIRECTION = [(-0.99, 0.99)] * 3, [(0.0, 2 * np.pi), (-np.pi / 2, np.pi / 2)]
"""Bounds of the three off-diagonal entries of S for three contacts, and of the two angles of b."""


def two_contacts(shared: Vector, skew: Vector, load: Vector) -> tuple[Matrix, Matrix]:
    """Make A = [[1, s + k], [s - k, 1]] and b at angle `load`; every definite problem has this form up to units."""
    one = np.ones_like(shared)
    A = np.stack((one, shared + skew, shared - skew, one), axis=-1).reshape(-1, 2, 2)
    return A, np.stack((np.cos(load), np.sin(load)), axis=-1).reshape(-1, 2)
