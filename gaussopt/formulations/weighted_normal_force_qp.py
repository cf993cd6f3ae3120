"""The normal-force quadratic program with weights that make it equivalent to the LCP.

    min 1/2 lam_N^T D delassus lam_N   subject to   delassus lam_N + bias >= 0

with a positive diagonal D such that D delassus is symmetric. If delassus is a P-matrix, D delassus is positive definite
and the multipliers of the rows are D lam_N: the optimality conditions are the contact laws themselves. For two contacts
D = diag(|A_21|, |A_12|) if A_12 A_21 > 0; for more contacts D exists under Kolmogorov's cycle condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.contact.qp_equivalence import weights
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import IllPosed, NotAccepted
from gaussopt.core.programs import LCP, QP
from gaussopt.formulations._convexity import require_strictly_convex
from gaussopt.formulations._sliding import SlidingFormulation


class WeightedNormalForceQP(SlidingFormulation):
    """Equation (29) of Yao, Liu & Yang 2020, corrected by weights; refused if no such weights exist."""

    name = "weighted-normal-force-qp"
    title = "Normal-force QP with symmetrising weights"
    source = "eq. (29) of Yao, Liu & Yang 2020, with weights"

    def program(self, lcp: LCP) -> QP:
        d = weights(lcp.M)
        if d is None:
            raise NotAccepted(
                f"The formulation {self.name!r} does not fit: no positive diagonal D makes D delassus symmetric "
                "(opposite entries differ in sign, only one of them vanishes, or the products around a cycle differ); "
                "use lcp, lcp-qp or frozen-friction."
            )
        d = d / np.exp(np.log(d).mean()) if len(d) else d
        P = d[:, None] * lcp.M
        P = 0.5 * (P + P.T)
        try:
            require_strictly_convex(self.name, lcp, P)
        except IllPosed:
            # Whether the contact laws have solutions or not, this program is not equivalent to them.
            raise NotAccepted(
                f"The formulation {self.name!r} does not fit: D delassus is not positive definite, because delassus is "
                "no P-matrix (a Painleve state); use lcp with lemke or enumerate."
            ) from None
        return QP(P, np.zeros(lcp.n), lcp.M, -lcp.q, np.full(lcp.n, np.inf))

    def remarks(self, lcp: LCP, z: Vector | None) -> dict[str, Any]:
        d = weights(lcp.M)
        return {} if d is None else {"weights": d.tolist()}


formulation = WeightedNormalForceQP()
