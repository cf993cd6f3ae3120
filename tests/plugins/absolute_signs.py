"""Murty's principal pivoting, which takes for zero what is small beside the largest entry of q, whatever its unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.programs import LCP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class AbsoluteSigns(Solver[Options]):
    name = "absolute-signs"
    title = "Least index, one measure of zero for all rows"
    source = "Murty 1974"
    accepts = (LCP,)

    def setup(self, program: Program) -> None:
        assert isinstance(program, LCP)
        self._lcp = program

    def solve(self, start: Any) -> RawSolution:
        M, q = self._lcp.M, self._lcp.q
        active, zero = np.zeros(len(q), dtype=bool), 1e-12 * max(1.0, float(np.abs(q).max()))
        for pivots in range(2000):
            z = np.zeros(len(q))
            if active.any():
                try:
                    z[active] = np.linalg.solve(M[np.ix_(active, active)], -q[active])
                except np.linalg.LinAlgError:
                    return RawSolution(z, None, Status.SOLVER_ERROR, pivots)
            wrong = np.where(active, z < -zero, M @ z + q < -zero)
            if not wrong.any():
                return RawSolution(np.maximum(z, 0.0), None, Status.SOLVED, pivots)
            active[np.argmax(wrong)] ^= True
        return RawSolution(z, None, Status.ITERATION_LIMIT, pivots)


solver = AbsoluteSigns
