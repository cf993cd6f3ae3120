"""Lets pairs that should push do so, and forgets to ask whether those that push still should; from its neighbour."""

from __future__ import annotations

import numpy as np
from least_index import LeastIndex

from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status


class SignForgetter(LeastIndex):
    """Right where no force has to vanish again."""

    name = "sign-forgetter"
    title = "Without the sign test"

    def solve(self, start):
        pushing = np.zeros(self.lcp.n, dtype=bool)
        for _ in range(self.lcp.n + 1):
            z, w = self.basic(pushing)
            wrong = ~pushing & (w < -1e-10)
            if not wrong.any():
                break
            pushing |= wrong
        return RawSolution(np.maximum(z, 0.0), None, Status.SOLVED, self.lcp.n)


solver = SignForgetter
