"""Proximal steps for contacts whose impulses are not unique, as a compiled kernel.

A step solves, by Newton's method, W + D instead of W and q - D r instead of q, with a small diagonal D that makes the
impulses of redundant contacts unique. From given impulses, `proximal_steps` makes D smaller with each step, so that
impulses come to rest quickly, and larger where Newton's method diverges. From zero, `shared_forces` keeps D constant,
so that the impulses depend on the problem alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gaussopt.cone.measure import distances
from gaussopt.cone.newton_kernel import STEPS, settle
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.jit.kernel import kernel
from gaussopt.linalg.cones import velocity_size

SHARP, ENOUGH = 1e-14, 1e-12
"""Natural map, relative to the largest entry of q, at which `shared_forces` ends, and up to which it may stagnate."""

COMPLIANT, PROXIMAL = 1e-4, 6
"""Addition to the diagonal, whose entries are of order one, that gives redundant contacts unique forces; and the number
of proximal steps, which reduce the effect of this addition to rounding errors."""

REDUNDANT = 1e-8
"""Smallest eigenvalue of a scaled problem below which its contacts count as redundant."""

ENLARGED, LESS, MORE, PROXIMAL_STEPS, DIVERGED = 1e-3, 0.3, 10.0, 25, 4
"""Fraction by which proximal steps enlarge the diagonal at first, its factors after a step and after one that diverges,
and the largest numbers of steps and of steps that diverge."""


BY_NEWTON, BY_PROXIMAL = 1, 2
"""The methods that start from known impulses: `gaussopt.cone.newton_kernel.continued`, and `shared`."""


class QuickMethods(NamedTuple):
    """The limits of the methods that start from known impulses, relative to |q|; `first` is the one to try first.

    `near` is the largest natural map of proximal steps that is accepted.
    """

    first: int
    tolerance: float
    enough: float
    most: int
    still: float
    goal: float
    near: float


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


def proximal_impulses(
    problem: ConeComplementarity, start: Vector, tolerance: float, enough: float, most: int, still: float, goal: float
) -> tuple[Vector, float]:  # fmt: skip
    """Return the impulses of the steps from `start`, and their natural map; all tolerances are relative to |q|."""
    r, size, W = start.copy(), velocity_size(problem), np.ascontiguousarray(problem.W)
    limits = tolerance * size, enough * size, most, still * size, goal * size
    return r, float(proximal_steps(W.ravel(), np.ascontiguousarray(problem.q), problem.mu, r, *limits)) / size


@kernel
def shared_forces(w: Vector, q: Vector, mu: Vector, r: Vector, redundant: bool) -> int:
    """Write forces that depend on the problem alone to r, which holds zeros; return the steps as `settle` does.

    Where redundant contacts leave forces undetermined, proximal steps from zero choose them: each solves the problem
    with w + D and q - D r, with the small diagonal D. Rounding errors of the data change these forces by 1 / D times
    their size only.
    """
    n, size = len(q), 0.0
    for i in range(n):
        size = max(size, abs(q[i]))
    sharp = SHARP * size
    if redundant:
        for _ in range(PROXIMAL):
            settle(w, q, mu, r, 0.1 * sharp, sharp, n, COMPLIANT)
        sharp *= 10.0  # a step without compliance would change undetermined forces
    return settle(w, q, mu, r, sharp, ENOUGH * size, n, 0.0)


def shared_impulses(problem: ConeComplementarity) -> Vector | None:
    """Return the impulses of `shared_forces`, computed in the unit of the mass norm; None without convergence."""
    own = problem.W.diagonal().reshape(-1, 3)
    size = np.sqrt(np.column_stack((own[:, 0], *[own[:, 1:].max(axis=1)] * 2)))
    if not (size > 0).all():
        return None
    mu, scale, r = problem.mu * size[:, 1] / size[:, 0], size.ravel(), np.zeros(problem.n)
    W = problem.W / np.outer(scale, scale)
    redundant = bool(np.linalg.eigvalsh(0.5 * (W + W.T))[0] < REDUNDANT)
    count = shared_forces(W.ravel(), problem.q / scale, mu, r, redundant)
    return None if count >= STEPS else np.asarray(r / scale)
