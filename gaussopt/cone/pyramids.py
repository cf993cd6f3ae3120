"""Friction cones approximated by inscribed pyramids: contact problems as linear complementarity problems.

    r_T = D beta,    0 <= (r_N, beta, lam)   complementary to   (u_N, D^T u_T + lam, mu r_N - sum beta) >= 0

The columns of D are unit vectors towards the edges of the pyramid. A contact without friction has its normal row only.
References: D. E. Stewart, J. C. Trinkle, "An implicit time-stepping scheme for rigid body dynamics with inelastic
collisions and Coulomb friction", Int. J. Numer. Methods Engrg. 39, 1996; M. Anitescu, F. A. Potra, "Formulating dynamic
multi-rigid-body contact problems with friction as solvable linear complementarity problems", Nonlinear Dyn. 14, 1997.
"""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.programs import LCP


def pyramids(problem: ConeComplementarity, facets: int, turned: Vector | None = None) -> tuple[LCP, Matrix]:
    """Return the LCP of a dense problem, and the matrix, (3 k, size), by which its first unknowns give r.

    One edge of every pyramid lies along T1, turned by the angle `turned`, (k,), which is zero by default.
    """
    k, rubbing = problem.k, np.flatnonzero(problem.mu)
    count = len(rubbing)
    angle = 2.0 * np.pi * np.arange(facets) / facets + (0.0 if turned is None else turned[rubbing, None])
    n = k + facets * count
    D = np.zeros((ROWS * k, n))
    D[ROWS * np.arange(k), np.arange(k)] = 1.0
    owner, columns = np.repeat(rubbing, facets), np.arange(k, n)
    D[ROWS * owner + 1, columns] = np.broadcast_to(np.cos(angle), (count, facets)).ravel()
    D[ROWS * owner + 2, columns] = np.broadcast_to(np.sin(angle), (count, facets)).ravel()
    edges = np.repeat(np.eye(count), facets, axis=0)
    M = np.zeros((n + count, n + count))
    M[:n, :n] = D.T @ problem.W @ D
    M[k:n, n:], M[n:, k:n] = edges, -edges.T
    M[np.arange(n, n + count), rubbing] = problem.mu[rubbing]
    return LCP(M, np.append(D.T @ problem.q, np.zeros(count))), D
