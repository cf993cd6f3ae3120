"""Principal pivoting for linear complementarity problems: an active-set method with warm starts.

The pairs with w_i = 0 determine a linear system. Pairs with a wrong sign in its solution change between active and
inactive: all at once while their number falls, otherwise one by one (Murty's rule). For P-matrices the method ends
after finitely many sets. If it fails for another matrix, Lemke's lexicographic method follows (`lemke`, with several
covering vectors), so that all problems that Lemke's method can process are solved here, too.
Dependent rows (redundant contacts) are recognised, and their forces set to zero. A point is only returned as solved if
it satisfies every row to 1e-11 relative to its own terms.
The first active set holds the pairs with positive entries in the start. In a sequence this set solves most problems, by
one elimination. The kernels are machine code, or plain Python if compilation is switched off; large problems are then
solved by `lemke`. `iterations` is the number of sets plus the number of pivots.
References: K. G. Murty, "Note on a Bard-type scheme for solving the complementarity problem", Opsearch 11, 1974;
J. J. Judice, F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems", Computers & OR 21, 1994.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options
from gaussopt.core.status import Status
from gaussopt.jit.kernel import COMPILED
from gaussopt.lcp.pivoting import SOLVED, solve_lcp
from gaussopt.solvers._kept import Kept
from gaussopt.solvers.lemke import LemkeOptions, lemke

PLAIN = 12
"""Largest number of pairs for which sets are tried in plain Python, if compilation is switched off."""

PATH = 64
"""Largest number of pairs for Lemke's method with a full tableau; larger problems are solved by `lemke`."""


@dataclass(frozen=True)
class PrincipalPivotingOptions(Options):
    """`max_iter`: maximum number of pivots of Lemke's method, if it is needed."""

    max_iter: int = 10_000


class PrincipalPivoting(Kept[PrincipalPivotingOptions]):
    """Block principal pivoting with Murty's rule, followed by Lemke's method."""

    name = "principal-pivoting"
    title = "Principal pivoting (warm-started active set, Lemke behind it)"
    source = "Murty 1974; Judice & Pires 1994"
    accepts = (LCP,)
    warm_starts = True
    options_type = PrincipalPivotingOptions

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        lcp, most = self.program, self.options.max_iter
        n, pivots = lcp.n, 0
        if not (lcp.q < 0).any():
            return RawSolution(np.zeros(n), None, Status.SOLVED, 0)
        if COMPILED or n <= PLAIN:
            # The kernels are compiled for writable arrays in row-major order.
            M, q = np.array(lcp.M, dtype=np.float64, order="C"), np.array(lcp.q, dtype=np.float64)
            active = np.zeros(n, np.int64) if start is None else (start[0] > 0).astype(np.int64)
            z, w, error = np.empty(n), np.empty(n), np.empty(n)
            code, pivots = solve_lcp(M, q, active, z, w, error, most, n <= PATH)
            if code == SOLVED:
                return RawSolution(z, None, Status.SOLVED, int(pivots))
        found = lemke(lcp, LemkeOptions(max_iter=most))
        return RawSolution(found.x, None, found.claim, int(pivots) + found.iterations, note=found.note)


solver = PrincipalPivoting
