"""Existence of solutions of contact problems with friction cones.

A solution exists if some velocity u in range(W) + q lies in the interior of the dual cones, that is if the margin

    t* = max t <= 1 with W y + q / |q| - t n in K*     (y free, n the normals)

is positive. t* = 0 indicates self-stress inside the cones; t* < 0 proves nothing. If there is a Farkas ray, normal
impulses y >= 0 with W^T y = 0 and q . y < 0, every velocity violates a contact, and there is no solution.
Reference: V. Acary, F. Cadoux, C. Lemarechal, J. Malick, "A formulation of the linear discrete Coulomb friction problem
via convex optimization", ZAMM 91, 2011.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import DEFINITE_TOLERANCE, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.linalg.cones import DENSE_ROWS, dense, scaled

RAY = 1e-9
"""For a Farkas ray y, W^T y is zero up to this, relative to its terms |W|^T y; -q . y / |q| must exceed sqrt(RAY)."""

SECONDS = 10.0
"""Time limit, s, of the conic program for t* and of the linear program for a ray."""


def existence_margin(problem: ConeComplementarity) -> float | None:
    """Return t*, dimensionless; None if sym W is indefinite, because t* then proves nothing, or if the solver fails.

    For sparse W with more than DENSE_ROWS rows neither t* nor a ray is computed.
    """
    import clarabel
    from scipy import sparse

    if not problem.k:
        return 1.0
    if problem.sparse and problem.n > DENSE_ROWS:
        return None
    own, s = scaled(dense(problem))
    if np.linalg.eigvalsh(0.5 * (own.W + own.W.T))[0] < -DEFINITE_TOLERANCE * problem.n:
        return None
    n, k = problem.n, problem.k
    size = float(np.linalg.norm(problem.q)) or 1.0
    # The unknowns are y, in scaled variables, and t. The factor mu of u_T turns K* into the standard cone.
    factor = np.column_stack((np.ones(k), problem.mu, problem.mu)).ravel()
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = -factor[:, None] * own.W / s[:, None]
    A[np.arange(0, n, ROWS), n] = 1.0
    A[n, n] = 1.0
    b = np.append(factor * problem.q / size, 1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.time_limit = SECONDS
    cones = [clarabel.SecondOrderConeT(ROWS)] * k + [clarabel.NonnegativeConeT(1)]
    objective = np.append(np.zeros(n), -1.0)
    P = sparse.csc_matrix((n + 1, n + 1))
    found = clarabel.DefaultSolver(P, objective, sparse.csc_matrix(A), b, cones, settings).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        return None
    return float(found.x[-1])


def farkas_ray(problem: ConeComplementarity) -> Vector | None:
    """Return a Farkas ray: normal impulses y >= 0, (k,), whose scaled sum is at most 1; None if none is found."""
    from scipy.optimize import linprog

    if not problem.k or (problem.sparse and problem.n > DENSE_ROWS):
        return None
    own, s = scaled(dense(problem))
    size = float(np.linalg.norm(own.q)) or 1.0
    N = own.W[::ROWS].T
    found = linprog(
        own.q[::ROWS] / size, A_eq=N, b_eq=np.zeros(own.n), A_ub=np.ones((1, own.k)), b_ub=[1.0], bounds=(0, None),
        options={"time_limit": SECONDS},
    )  # fmt: skip
    if found.status != 0 or found.x is None:
        return None
    y = np.maximum(found.x, 0.0)
    terms = np.abs(N) @ y
    if found.fun < -np.sqrt(RAY) and (np.abs(N @ y) <= RAY * np.maximum(terms, terms.max(initial=0.0))).all():
        return np.asarray(s[::ROWS] * y)
    return None
