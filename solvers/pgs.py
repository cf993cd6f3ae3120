"""Projected Gauss-Seidel with over-relaxation for linear complementarity problems.

A sweep sets z_i <- max(0, z_i - omega (M z + q)_i / M_ii) for one row after the other, with the newest values. It
converges to a solution if M is symmetric positive definite and 0 < omega < 2 (if M is symmetric positive semidefinite
and some z has w > 0, every limit point is a solution). It also converges if M is an H-matrix with positive diagonal,
such as a strictly diagonally dominant matrix, and 0 < omega <= 1. On other P-matrices the method may cycle or diverge,
and reports this. Steps do not depend on units. A converged point is polished by one solve for its positive entries.
References: C. W. Cryer, "The solution of a quadratic programming problem using systematic overrelaxation", SIAM J.
Control 9, 1971; O. L. Mangasarian, "Solution of symmetric linear complementarity problems by iterative methods",
J. Optim. Theory Appl. 22, 1977; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", SIAM
2009, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import POSITIVE, RELAXATION, Limits, Options
from gaussopt.core.status import Status
from gaussopt.lcp import polish
from gaussopt.solvers._kept import Kept

DIVERGED = 1e15
"""Sweeps count as divergent if z, relative to the data, exceeds this."""


@dataclass(frozen=True)
class PGSOptions(Options):
    """`omega`: relaxation factor; `max_iter`: maximum number of sweeps; `tolerance`: largest scaled min(z, w)."""

    omega: float = 1.0
    max_iter: int = 10_000
    tolerance: float = 1e-12
    limits: ClassVar[Limits] = {"omega": RELAXATION, "tolerance": POSITIVE}


class PGS(Kept[PGSOptions]):
    """Projected Gauss-Seidel and successive over-relaxation (SOR)."""

    name = "pgs"
    title = "Projected Gauss-Seidel (SOR)"
    source = "Cryer 1971; Mangasarian 1977"
    accepts = (LCP,)
    exact = False
    warm_starts = True
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12))
    options_type = PGSOptions

    def refuses(self, program: LCP) -> str | None:
        reason = super().refuses(program)
        if reason is None and (bad := program.M.diagonal() <= 0).any():
            i = int(np.argmax(bad))
            return f"it divides by the diagonal of M, and entry {i} is {program.M[i, i]:.6g}, not positive"
        return reason

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        lcp = self.program
        z0 = np.zeros((1, lcp.n)) if start is None else np.maximum(start[0], 0.0)[None]
        z, iterations, claims, notes = self.solve_batch(lcp.M[None], lcp.q[None], z0)
        return RawSolution(z[0], None, claims[0], int(iterations[0]), note=notes[0])

    def solve_batch(
        self, M: Matrix, q: Vector, start: Matrix | None = None
    ) -> tuple[Matrix, np.ndarray, list[Status], list[str]]:
        """Solve problems of equal size by sweeping over all of them together; see `gaussopt.solving.lcp_batch`."""
        z, iterations, claims, notes = self._sweep(M, q, np.zeros(q.shape) if start is None else start)
        for i, claim in enumerate(claims):
            if claim is Status.SOLVED:
                z[i] = polish(LCP(M[i], q[i]), z[i])
        return z, iterations, claims, notes

    def _sweep(self, M: Matrix, q: Vector, z: Matrix) -> tuple[Matrix, np.ndarray, list[Status], list[str]]:
        """Sweep over B problems, M of shape (B, n, n), until each has converged, diverged or reached `max_iter`."""
        count, n = q.shape
        d = 1.0 / np.sqrt(np.diagonal(M, axis1=1, axis2=2))
        A, b = d[:, :, None] * M * d[:, None, :], d * q
        size = np.abs(b).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        y, b = z / d / size[:, None], b / size[:, None]
        iterations, status = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        left = np.arange(count)
        for sweep in range(self.options.max_iter + 1):
            w = (A[left] @ y[left, :, None])[..., 0] + b[left]
            residual = np.abs(np.minimum(y[left], w)).max(axis=1, initial=0.0)
            largest = np.abs(y[left]).max(axis=1, initial=0.0)
            iterations[left] = sweep
            status[left[residual <= self.options.tolerance * np.maximum(1.0, largest)]] = 1
            status[left[~(largest < DIVERGED)]] = 2
            left = left[status[left] == 0]
            if not len(left) or sweep == self.options.max_iter:
                break
            rows, now, c = A[left], y[left], b[left]
            for i in range(n):
                slope = np.einsum("bj,bj->b", rows[:, i], now) + c[:, i]
                now[:, i] = np.maximum(0.0, now[:, i] - self.options.omega * slope)
            y[left] = now
        claims = [(Status.ITERATION_LIMIT, Status.SOLVED, Status.SOLVER_ERROR)[s] for s in status]
        notes = [("the sweeps did not converge", "", "the sweeps diverge on this matrix")[s] for s in status]
        return y * d * size[:, None], iterations, claims, notes


solver = PGS
