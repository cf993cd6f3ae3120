"""Cone programs of contacts by Clarabel: min 1/2 r^T W r + p^T r over r in K."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.step_data import Vector
from gaussopt.linalg.cones import rows_of, scaled


def fixed_point(problem: ConeComplementarity, programs: int, tolerance: float = 1e-12) -> Vector | None:
    """Impulses after some cone programs with s = mu |u_T| frozen, s = 0 in the first; None if one has no answer.

    Reference: V. Acary, F. Cadoux, C. Lemarechal, J. Malick, ZAMM 91, 2011.
    """
    own, scale = scaled(problem)
    found, s = None, np.zeros(own.k)
    for _ in range(programs):
        p = own.q.copy()
        p[::ROWS] += s
        x = cone_program(own, p, tolerance)
        if x is None:
            return found
        found = scale * x
        u = rows_of(own.u(x))
        s = own.mu * np.hypot(u[:, 1], u[:, 2])
    return found


def cone_program(problem: ConeComplementarity, p: Vector, tolerance: float) -> Vector | None:
    """The minimiser for the symmetric part of W; None where Clarabel finds none."""
    n, k = problem.n, problem.k
    P = sparse.csc_matrix(np.triu(0.5 * (problem.W + problem.W.T)))
    factor = np.ones(n)
    factor[::ROWS] = problem.mu
    A: list[Any] = [-sparse.diags(factor)]
    cones = [clarabel.SecondOrderConeT(ROWS)] * k
    if not problem.mu.all():  # the cone of a contact without friction does not say that its normal impulse pushes
        A.append(-sparse.eye(n, format="csr")[::ROWS])
        cones.append(clarabel.NonnegativeConeT(k))
    rows = sparse.vstack(A, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    found = clarabel.DefaultSolver(P, p, rows, np.zeros(rows.shape[0]), cones, settings).solve()
    x = np.array(found.x)
    return x if np.isfinite(x).all() and "Infeasible" not in str(found.status) else None
