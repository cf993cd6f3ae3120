"""Proximal steps for contacts whose impulses are not unique, as a compiled kernel.

A step solves, by Newton's method, W + D instead of W and q - D r instead of q, with a small diagonal D that makes the
impulses of redundant contacts unique. D becomes smaller with each step, so that impulses come to rest quickly, and
larger where Newton's method diverges.
"""

from __future__ import annotations

import numpy as np

from gaussopt.cone.measure import distances
from gaussopt.cone.newton_kernel import STEPS, settle
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import velocity_size

ENLARGED, LESS, MORE, PROXIMAL_STEPS, DIVERGED = 1e-3, 0.3, 10.0, 25, 4
"""Fraction by which proximal steps enlarge the diagonal at first, its factors after a step and after one that diverges,
and the largest numbers of steps and of steps that diverge."""


@kernel
def proximal_steps(
    W: Vector, q: Vector, mu: Vector, r: Vector, tolerance: float, enough: float, most: int, still: float, goal: float
) -> float:  # fmt: skip
    """Overwrite r by the best impulses of the steps from r; return their natural map, m/s.

    No step is taken if the natural map of r is at most `still`; steps end at `goal`. The other numbers are those of
    `gaussopt.cone.newton_kernel.settle`.
    """
    found, there, violated = np.zeros(len(r)), np.zeros(len(r)), np.zeros(3)
    missed, _ = distances(W, q, mu, r, violated)
    least, share, diverged, steps = missed, ENLARGED, 0, 0 if missed <= still else PROXIMAL_STEPS
    for j in range(len(r)):
        found[j] = there[j] = r[j]
    for _ in range(steps):
        count = settle(W, q, mu, there, tolerance, enough, most, share)
        if count >= STEPS:
            diverged, share = diverged + 1, MORE * share
            if diverged == DIVERGED:
                break
            for j in range(len(r)):
                there[j] = r[j]
        else:
            share *= LESS
            for j in range(len(r)):
                r[j] = there[j]
            missed, _ = distances(W, q, mu, r, violated)
            if missed < least:
                least = missed
                for j in range(len(r)):
                    found[j] = r[j]
            if least <= goal or count == 0:  # without a Newton step the impulses no longer change
                break
    for j in range(len(r)):
        r[j] = found[j]
    return least


def shared(
    problem: ConeComplementarity, start: Vector, tolerance: float, enough: float, most: int, still: float, goal: float
) -> tuple[Vector, float]:  # fmt: skip
    """Return the impulses of the steps from `start`, and their natural map; all tolerances are relative to |q|."""
    r, size, W = start.copy(), velocity_size(problem), np.ascontiguousarray(problem.W)
    limits = tolerance * size, enough * size, most, still * size, goal * size
    return r, float(proximal_steps(W.ravel(), np.ascontiguousarray(problem.q), problem.mu, r, *limits)) / size
