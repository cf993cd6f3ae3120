"""All solutions of a small linear complementarity problem, by visiting every complementary basis.

The work grows as 2^n for every matrix; in return no solution is missed, and a continuum of solutions is found, too. In
the answer, `iterations` is the number of bases, 2^n.
Reference: R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", SIAM 2009, section 1.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.lcp import MAX_ENUMERATED, enumerate_lcp
from gaussopt.lcp.enumeration import regular_bases
from gaussopt.lcp.matrix_classes import equilibrate, subsets
from gaussopt.lcp.polyhedra import FEASIBLE
from gaussopt.solvers._kept import Kept

CHUNK = 2**18
"""Maximum number of entries of the stacked bases that are kept in memory at a time when a batch is solved."""


@dataclass(frozen=True)
class EnumerateOptions(Options):
    """`limit`: largest number n of pairs for which the 2^n bases are enumerated."""

    limit: int = MAX_ENUMERATED


class Enumerate(Kept[EnumerateOptions]):
    """Enumeration of all complementary bases."""

    name = "enumerate"
    title = "Enumeration of complementary bases (all solutions)"
    source = "Cottle, Pang, Stone 2009"
    accepts = (LCP,)
    options_type = EnumerateOptions

    def refuses(self, program: LCP) -> str | None:
        reason = super().refuses(program)
        if reason is None and program.n > self.options.limit:
            return f"it has {program.n} pairs, 2^{program.n} bases; the option 'limit' is {self.options.limit}"
        return reason

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        return self._visit(self.program)

    def solve_batch(self, M: Matrix, q: Vector) -> tuple[Matrix, np.ndarray, list[Status], list[str]]:
        """Solve each problem by its first feasible regular basis or, if it has none, by full enumeration."""
        count, n = q.shape
        z, claims = np.zeros((count, n)), [Status.SOLVED] * count
        size = max(1, CHUNK // (2**n * max(n, 1) ** 2))
        for first in range(0, count, size):
            part = slice(first, first + size)
            R, C = equilibrate(M[part])
            x, f, regular = regular_bases(R[..., :, None] * M[part] * C[..., None, :], R * q[part])
            feasible = regular & (x >= -FEASIBLE * f).all(axis=-1)
            chosen = feasible.argmax(axis=1)
            rows = np.arange(len(chosen))
            z[part] = np.where(subsets(n)[chosen], np.maximum(x[rows, chosen], 0.0), 0.0) * C
            for i in np.flatnonzero(~feasible.any(axis=1)):
                raw = self._visit(LCP(M[first + i], q[first + i]))
                claims[first + i] = raw.claim
                z[first + i] = np.nan if raw.x is None else raw.x
        return z, np.full(count, 2**n), claims, [""] * count

    def _visit(self, lcp: LCP) -> RawSolution:
        """Solve one problem by visiting every basis."""
        found = enumerate_lcp(lcp, limit=self.options.limit)
        x = found.solutions[0] if found.solutions else None
        return RawSolution(x, None, found.status, 2**lcp.n, solutions=found.solutions)


solver = Enumerate
