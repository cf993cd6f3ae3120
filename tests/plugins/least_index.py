"""Murty's principal pivoting by the least index, for P-matrices."""

from __future__ import annotations

import numpy as np

from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class LeastIndex(Solver[Options]):
    """Exchanges the first pair of wrong sign until there is none."""

    name = "least-index"
    title = "Least index"
    source = "a test"
    accepts = (LCP,)

    def setup(self, program):
        self.lcp = program

    def basic(self, pushing):
        """The point of a basis, and w there."""
        z = np.zeros(self.lcp.n)
        if pushing.any():
            z[pushing] = np.linalg.lstsq(self.lcp.M[np.ix_(pushing, pushing)], -self.lcp.q[pushing], rcond=None)[0]
        return z, self.lcp.w(z)

    def solve(self, start):
        pushing = np.zeros(self.lcp.n, dtype=bool)
        for k in range(1000):
            z, w = self.basic(pushing)
            wrong = np.where(pushing, z, w) < -1e-10
            if not wrong.any():
                return RawSolution(np.maximum(z, 0.0), None, Status.SOLVED, k)
            first = int(np.argmax(wrong))
            pushing[first] = not pushing[first]
        return RawSolution(z, None, Status.ITERATION_LIMIT, k)


solver = LeastIndex
