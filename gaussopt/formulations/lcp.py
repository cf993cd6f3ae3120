"""The contact laws of sliding contacts as a linear complementarity problem.

    0 <= lam_N,   w = delassus lam_N + bias >= 0,   lam_N . w = 0,   a = a_J + M^-1 (J_N^T + J_T^T mu sigma) lam_N

with the joints eliminated. This is exact mechanics: the solution is unique if delassus is a P-matrix; otherwise there
may be no solution or several (Painleve).
"""

from __future__ import annotations

from gaussopt.core.programs import LCP
from gaussopt.formulations._sliding import SlidingFormulation


class SlidingLCP(SlidingFormulation):
    """Signorini's and Coulomb's laws for given slip signs."""

    name = "lcp"
    title = "Linear complementarity problem of sliding contacts"
    source = "Lotstedt 1981; Pfeiffer & Glocker 1996"

    def program(self, lcp: LCP) -> LCP:
        return lcp


formulation = SlidingLCP()
