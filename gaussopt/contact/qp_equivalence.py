"""Conditions under which the papers' normal-force programs return the true forces, and weights that correct them.

For positive definite A the program min 1/2 z^T A z - 1/2 ell^T z subject to w = A z + b >= 0 has the optimality
conditions sym(A) z - 1/2 ell = A^T eta, 0 <= eta, w >= 0, eta . w = 0. The solution z of the LCP satisfies them if and
only if eta = z + A^-T (K z - 1/2 ell), K = (A - A^T)/2, has eta >= 0 and eta . w = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP

DECIDED = 1e-9
"""Entries of eta and w up to this size, relative to the largest, count as zero."""

CYCLE = 1e-10
"""The two products around a cycle count as equal if their relative difference is at most this."""


def multipliers(A: Matrix, z: Vector, ell: Vector | None = None) -> Vector:
    """Return eta = z + A^-T (K z - ell / 2), (k,)."""
    rhs = 0.5 * (A - A.T) @ z - (0.0 if ell is None else 0.5 * ell)
    return np.asarray(z + np.linalg.solve(A.T, rhs))


@dataclass(frozen=True, slots=True)
class Criterion:
    """The multipliers eta, (k,), and whether they predict that the paper's program returns the LCP's solution z."""

    eta: Vector
    predicts: bool


def criterion(lcp: LCP, z: Vector, ell: Vector | None = None) -> Criterion:
    """Evaluate the criterion at the LCP's solution z, for positive definite lcp.M.

    Parameters
    ----------
    lcp : LCP
    z : (k,), the solution of `lcp`
    ell : (k,), optional
        sigma mu J_T (a_J - a0) for the program over all ideal forces (eq. 24); absent for eq. (29).
    """
    eta = multipliers(lcp.M, z, ell)
    # Scale each contact such that its force and its gap acceleration have the same unit.
    unit = np.sqrt(lcp.M.diagonal())
    w, force, e = (lcp.M @ z + lcp.q) / unit, z * unit, eta * unit
    size = max(float(np.abs(force).max(initial=0.0)), float(np.abs(e).max(initial=0.0)), 1e-300)
    open_ = w > force  # open contacts: at a solution w or the force is zero; the larger of the two decides
    predicts = bool((e[~open_] >= -DECIDED * size).all() and (np.abs(e[open_]) <= DECIDED * size).all())
    return Criterion(eta, predicts)


def weights(A: Matrix) -> Vector | None:
    """Return positive d with diag(d) A symmetric, or None if there are none.

    They exist if and only if A_ij and A_ji have the same sign or both vanish, and the products of A around every cycle
    agree in both directions (Kolmogorov's condition). They are found along a spanning tree and checked on all pairs.
    """
    k = len(A)
    size = np.sqrt(np.abs(np.outer(A.diagonal(), A.diagonal())))
    linked = np.abs(A) > 1e-14 * np.where(size > 0, size, 1.0)
    if (linked != linked.T).any() or (np.sign(A) * np.sign(A.T) < 0)[linked].any():
        return None
    d = np.zeros(k)
    for root in range(k):
        if d[root]:
            continue
        d[root] = 1.0
        queue = [root]
        while queue:
            i = queue.pop(0)
            for j in np.flatnonzero(linked[i]):
                if not d[j]:
                    d[j] = d[i] * A[i, j] / A[j, i]
                    queue.append(int(j))
    S = d[:, None] * A
    tolerance = CYCLE * np.maximum(np.abs(S), np.abs(S.T))
    return d if (np.abs(S - S.T) <= tolerance + 1e-300).all() else None
