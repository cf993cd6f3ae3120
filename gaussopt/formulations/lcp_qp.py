"""The LCP as a quadratic program.

    min lam_N^T (delassus lam_N + bias)   subject to   lam_N >= 0,   delassus lam_N + bias >= 0

Its minimum is 0 if and only if the LCP has a solution. It is convex if and only if sym(delassus) is positive
semidefinite; otherwise the step is refused, because a convex solver could stop at any point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import LCP, QP
from gaussopt.formulations._sliding import SlidingFormulation
from gaussopt.lcp import classify_matrix


class ComplementarityQP(SlidingFormulation):
    """Minimise the complementarity gap."""

    name = "lcp-qp"
    title = "The LCP as a convex QP"
    source = "Cottle, Pang & Stone 1992, section 3.1"

    def program(self, lcp: LCP) -> QP:
        if not classify_matrix(lcp.M).positive_semidefinite:
            raise NotAccepted(
                f"The formulation {self.name!r} does not fit: delassus + delassus^T is not positive semidefinite, so "
                "that the program is not convex; use lcp with lemke or enumerate."
            )
        n = lcp.n
        rows = np.vstack((np.eye(n), lcp.M))
        lower = np.concatenate((np.zeros(n), -lcp.q))
        return QP(lcp.M + lcp.M.T, lcp.q, rows, lower, np.full(2 * n, np.inf))

    def remarks(self, lcp: LCP, z: Vector | None) -> dict[str, Any]:
        return {} if z is None else {"gap": float(z @ (lcp.M @ z + lcp.q))}


formulation = ComplementarityQP()
