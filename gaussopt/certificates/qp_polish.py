"""A bound on the distance to the minimiser, linear in rounding errors, for P definite on the feasible directions.

The active rows are guessed from a point and its duals, and corrected until the minimiser on them satisfies all other
rows and all forces have the right signs. This point z is proved to be near the minimiser, however it was found: if the
active rows hold exactly and no other row has a force, the gap comes from the residual r alone, and
||z - x*||_P <= ||r||_{P^-1}. Because the rows hold only up to rounding errors, the length of a correction is added.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from gaussopt.certificates.qp_verdict import rounding
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import QP
from gaussopt.linalg.dense import EPS, gram_factor, invert_lower

ROUNDS = 30
"""The active set changes at most 2 ROUNDS times, by all wrong rows or, after a cycle, by the worst row alone."""


def definite_root(qp: QP, L: Matrix | None) -> Matrix | None:
    """Return U, (n, n), with U U^T = P^-1, or U U^T = (P + E^T E)^-1 with the equalities E if P is not definite.

    P and P + E^T E have the same effect on the feasible directions. Return None if neither is definite.
    """
    if L is None:
        E = qp.A[qp.equality]
        L = gram_factor(qp.P + E.T @ E) if len(E) and np.isfinite(E).all() else None
        if L is None or float(np.abs(L.diagonal()).min()) <= 1e-6 * float(np.abs(L.diagonal()).max()):
            return None
    return np.asarray(invert_lower(L).T)


def polished_bound(qp: QP, root: Matrix, x: Vector, held: Any, upper: Any) -> float:
    """Return a bound on ||x - x*||_P; infinite if the active rows were not found.

    Parameters
    ----------
    root : the matrix U of `definite_root`
    held, upper : (m,), masks of the rows guessed to be active, and of those at their upper bounds
    """
    found = _minimiser(qp, root, held, upper) or _minimiser(qp, root, *_least_distance(qp, root))
    if found is None:
        return math.inf
    z, y, held, bound = found
    residual = qp.P @ z + qp.q - qp.A.T @ y
    size = np.abs(qp.A)
    noise = (qp.n + 3) * EPS * (np.abs(qp.P) @ np.abs(z) + np.abs(qp.q) + size.T @ np.abs(y))
    r = float(np.linalg.norm(root.T @ residual)) + float(noise @ np.linalg.norm(root, axis=1))
    missed = 0.0
    if held.any():
        miss = np.abs(qp.A[held] @ z - bound[held]) + (qp.n + 2) * EPS * (size[held] @ np.abs(z))
        missed = float(np.linalg.norm(_inverse(qp.A[held] @ root, qp.n), axis=0) @ miss)
    moved = x - z
    return math.sqrt(max(float(moved @ qp.P @ moved), 0.0)) + r + missed


def _inverse(B: Matrix, n: int) -> Matrix:
    return np.asarray(np.linalg.pinv(B, rcond=rounding(n)))


def _minimiser(qp: QP, root: Matrix, held: Any, upper: Any) -> tuple[Vector, Vector, Any, Vector] | None:
    """Return a point and duals that are optimal to rounding, the mask of active rows, and the active bounds."""
    held, upper = held | qp.equality, upper & ~qp.equality
    level, size = rounding(qp.n), np.abs(qp.A)
    unit = np.linalg.norm(qp.A @ root, axis=1)
    pull = float(np.linalg.norm(root.T @ qp.q))
    seen: set[bytes] = set()
    for _ in range(2 * ROUNDS):
        bound = np.where(upper, qp.u, qp.l)
        z, y = _on_rows(qp, root, held, bound)
        if not (np.isfinite(z).all() and np.isfinite(y).all()):
            return None
        force = np.where(qp.equality, 0.0, np.where(upper, y, -y))  # positive if the sign is wrong
        pulls = held & (force * unit > level * (float(np.abs(y) @ unit) + pull))
        s = qp.A @ z
        beyond = np.maximum(qp.l - s, s - qp.u)
        # The point z has a rounding error in the norm of P, which causes an error in every row.
        whole = max(pull, math.sqrt(float(np.abs(z) @ (np.abs(qp.P) @ np.abs(z)))))
        blur = level * (size @ np.abs(z) + unit * whole)
        broken = ~held & (beyond > blur + level * np.abs(np.where(s < qp.l, qp.l, qp.u)))
        if not pulls.any() and not broken.any():
            if (held & (np.abs(s - bound) > blur + level * np.abs(bound))).any():
                return None  # the active rows cannot all hold at the same time
            y = np.where((force > 0) & held, 0.0, y)
            return z, y, held, bound
        key = held.tobytes() + upper.tobytes()
        if key in seen:  # a cycle: from now on change the worst row only
            wrong = np.where(broken, beyond / np.where(unit > 0, unit, 1.0), np.where(pulls, force * unit, 0.0))
            worst = np.arange(qp.m) == int(np.argmax(wrong))
            pulls, broken = pulls & worst, broken & worst
        seen.add(key)
        held = (held & ~pulls) | broken
        upper = np.where(broken, s > qp.u, upper)
    return None


def _least_distance(qp: QP, root: Matrix) -> tuple[Any, Any]:
    """Return masks of active rows, and of those at their upper bounds, by non-negative least squares.

    In the norm of P the minimiser is the feasible point nearest to the unconstrained one (Lawson, Hanson 1974, ch. 23).
    """
    from scipy.optimize import nnls

    start, _ = _on_rows(qp, root, np.zeros(qp.m, dtype=bool), qp.l)
    z = qp.A @ start
    lower, upper = np.flatnonzero(np.isfinite(qp.l)), np.flatnonzero(np.isfinite(qp.u))
    B = qp.A @ root
    G, h = np.vstack((B[lower], -B[upper])), np.concatenate(((qp.l - z)[lower], (z - qp.u)[upper]))
    size = np.linalg.norm(G, axis=1)
    G, h = G[size > 0] / size[size > 0, None], h[size > 0] / size[size > 0]
    held, sides = np.zeros(len(size)), np.concatenate((lower, upper))
    furthest = float(np.abs(h).max(initial=0.0))
    if furthest > 0 and math.isfinite(furthest):
        with contextlib.suppress(RuntimeError):  # nnls raises this if it cycles
            held[size > 0] = nnls(np.vstack((G.T, h / furthest)), np.append(np.zeros(qp.n), 1.0))[0]
    pushes, above = np.zeros(qp.m, dtype=bool), np.zeros(qp.m, dtype=bool)
    pushes[sides[held > 0]] = True
    above[upper[held[len(lower) :] > 0]] = True
    return pushes, above


def _on_rows(qp: QP, root: Matrix, held: Any, bound: Vector) -> tuple[Vector, Vector]:
    """Return the minimiser, (n,), with the rows `held` at their bounds, and its duals, (m,), after two refinements."""
    y, z = np.zeros(qp.m), np.zeros(qp.n)
    B = qp.A[held] @ root
    inverse = _inverse(B, qp.n) if len(B) else np.zeros((qp.n, 0))
    for _ in range(3):
        # Row residuals are removed first, so that the term E^T E in `root` has no effect.
        z = z + root @ (inverse @ (bound[held] - qp.A[held] @ z))
        step = root.T @ (qp.P @ z + qp.q - qp.A.T @ y)
        change = inverse.T @ step
        y[held] += change
        z = z - root @ (step - B.T @ change)
    return z, y
