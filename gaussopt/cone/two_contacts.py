"""The solutions of two contacts with friction cones: all pairs of modes, with a scan over directions if both slide.

If contact b is open, sticks or slides in a given direction, its impulse is linear in the impulse of contact a,
r_b = B r_a + c, and a is a single contact with W_aa + W_ab B and q_a + W_ab c, whose modes are all known
(`one_contact`). If both slide, the scan looks for a slip direction of b that agrees with the resulting slip.
For wedged contacts, whose impulses no mode determines, large normal impulses are tried. A solution may be
missed if two solutions are within a step of the scan, and only some solutions of a continuum are found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gaussopt.cone.one_contact import candidates_of
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import steps_of, velocity_size

STEPS = 360
"""Number of directions of the scan."""


def candidates(problem: ConeComplementarity) -> Iterator[Vector]:
    """Yield impulses, (6,), at or near solutions; some of them violate inequalities."""
    first, second = slice(0, ROWS), slice(ROWS, 2 * ROWS)
    for a, b in ((first, second), (second, first)):
        mu = problem.mu[a.start // ROWS]
        for B, c in _held(problem, a, b):
            yield from _others(problem, a, b, B, c, mu)
    yield from _both_slide(problem, first, second)
    normals = np.repeat(steps_of(problem.W), ROWS) * np.tile([1.0, 0.0, 0.0], 2) * velocity_size(problem)
    yield from (normals, 10.0 * normals, 100.0 * normals)


def _held(problem: ConeComplementarity, a: slice, b: slice) -> Iterator[tuple[Matrix, Vector]]:
    """Yield B and c such that r_b = B r_a + c if contact b is open, sticks, or is closed without friction."""
    yield np.zeros((ROWS, ROWS)), np.zeros(ROWS)
    W = problem.W[b, b]
    if np.linalg.cond(W) < 1e12:
        yield np.asarray(-np.linalg.solve(W, problem.W[b, a])), np.asarray(-np.linalg.solve(W, problem.q[b]))
    if problem.mu[b.start // ROWS] == 0.0 and W[0, 0] > 0:
        yield _along(problem, a, b, np.array([1.0, 0.0, 0.0]))


def _along(problem: ConeComplementarity, a: slice, b: slice, direction: Vector) -> tuple[Matrix, Vector]:
    """Return B and c such that the impulse r_b = B r_a + c is along `direction` and makes u_N of contact b zero."""
    own = float(problem.W[b, b][0] @ direction)
    return np.outer(direction, -problem.W[b, a][0] / own), direction * (-problem.q[b][0] / own)


def _others(problem: ConeComplementarity, a: slice, b: slice, B: Matrix, c: Vector, mu: float) -> Iterator[Vector]:
    """Yield the impulses of both contacts, with r_b = B r_a + c, for each mode of contact a."""
    W = problem.W[a, a] + problem.W[a, b] @ B
    for x in candidates_of(W, problem.q[a] + problem.W[a, b] @ c, mu):
        r = np.zeros(problem.n)
        r[a], r[b] = x, B @ x + c
        if np.isfinite(r).all():
            yield r


def _both_slide(problem: ConeComplementarity, a: slice, b: slice) -> Iterator[Vector]:
    """Yield impulses for those scanned directions that agree best, locally, with the resulting slip of contact b."""
    mu_a, mu_b = problem.mu
    if mu_a == 0.0 or mu_b == 0.0:
        return
    found: list[tuple[float, Vector | None]] = []
    for angle in np.linspace(0.0, 2.0 * np.pi, STEPS, endpoint=False):
        slip = np.array([np.cos(angle), np.sin(angle)])
        direction = np.array([1.0, *(-mu_b * slip)])
        best: tuple[float, Vector | None] = np.inf, None
        if abs(float(problem.W[b, b][0] @ direction)) > 1e-12 * float(np.abs(problem.W[b, b]).max()):
            for r in _others(problem, a, b, *_along(problem, a, b, direction), mu_a):
                u = problem.u(r)[b][1:]
                size = float(np.hypot(*u))
                off = abs(float(slip[0] * u[1] - slip[1] * u[0])) / (size or 1.0)
                if r[b][0] >= 0 and r[a][0] > 0 and float(slip @ u) >= 0 and off < best[0]:
                    best = off, r
        found.append(best)
    for i, (off, near) in enumerate(found):
        if near is not None and off <= min(found[i - 1][0], found[(i + 1) % STEPS][0]) and off < 0.2:
            yield near
