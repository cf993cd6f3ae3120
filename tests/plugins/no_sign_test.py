"""An LCP solver that never lets an active pair go, and clips what comes out negative: right without friction only."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.programs import LCP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class NoSignTest(Solver[Options]):
    name = "no-sign-test"
    title = "Least index without the sign test"
    source = "none"
    accepts = (LCP,)

    def setup(self, program: Program) -> None:
        assert isinstance(program, LCP)
        self._lcp = program

    def solve(self, start: Any) -> RawSolution:
        M, q = self._lcp.M, self._lcp.q
        active = np.zeros(len(q), dtype=bool)
        for _ in range(len(q) + 1):
            z = np.zeros(len(q))
            z[active] = np.linalg.lstsq(M[np.ix_(active, active)], -q[active], rcond=None)[0]
            bad = ~active & (M @ z + q < -1e-12)
            if not bad.any():
                break
            active |= bad
        return RawSolution(np.maximum(z, 0.0), None, Status.SOLVED)


solver = NoSignTest
