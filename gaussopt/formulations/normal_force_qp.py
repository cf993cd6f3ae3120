"""The normal-force quadratic program as printed by Yao, Liu & Yang 2020, eq. (29).

    min 1/2 lam_N^T delassus lam_N   subject to   delassus lam_N + bias >= 0

Its optimality conditions are sym(delassus) lam_N = delassus^T eta, 0 <= eta, w >= 0, eta . w = 0. They are the contact
laws only if eta plays the role of lam_N. With A = delassus, the program returns the LCP's solution lam_N if and only if
eta = 1/2 (I + A^-T A) lam_N >= 0 and eta_i = 0 wherever w_i > 0. This holds for symmetric A and for one contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.contact.qp_equivalence import multipliers
from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP, QP
from gaussopt.formulations._convexity import require_strictly_convex
from gaussopt.formulations._sliding import SlidingFormulation


class NormalForceQP(SlidingFormulation):
    """Equation (29) of Yao, Liu & Yang 2020 as printed; reproduced for comparison, not a law of mechanics."""

    name = "normal-force-qp"
    title = "Normal-force QP as printed (eq. 29 of 001)"
    source = "Yao, Liu & Yang 2020, eq. (29)"
    exact = False

    def program(self, lcp: LCP) -> QP:
        require_strictly_convex(self.name, lcp, lcp.M)
        return QP(0.5 * (lcp.M + lcp.M.T), np.zeros(lcp.n), lcp.M, -lcp.q, np.full(lcp.n, np.inf))

    def remarks(self, lcp: LCP, z: Vector | None) -> dict[str, Any]:
        return {} if z is None else {"eta": multipliers(lcp.M, z).tolist()}


formulation = NormalForceQP()
