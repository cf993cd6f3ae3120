"""Nonlinear block Gauss-Seidel for contacts with friction cones: each contact in turn is solved exactly.

Converges in practice where masses are alike and contacts are not redundant; slowly, or not at all, for large mass
ratios and hyperstatic bodies that are pulled. Nothing is proved of its convergence with friction. The work of a sweep
is proportional to the blocks of W that are not zero.
References: M. Jean, "The non-smooth contact dynamics method", Comput. Methods Appl. Mech. Engrg. 177, 1999; the exact
solution of one contact as in O. Bonnefon, G. Daviet, "Quartic formulation of Coulomb 3D frictional contact", INRIA
RT-0400, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.cone.sweep_kernel import projected_sweep, sweep
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.linalg.cones import residual, steps_of, velocity_size

BATCH = 50
"""Sweeps between two looks at the natural map."""


@dataclass(frozen=True)
class NSGSOptions(Options):
    """`max_iter`: sweeps; `tolerance`: on the natural map, relative to |q|."""

    max_iter: int = 10_000
    tolerance: float = 1e-12


class NSGS(Solver[NSGSOptions]):
    """Sweeps until the natural map is small."""

    name = "nsgs"
    title = "Nonlinear Gauss-Seidel over contacts, each solved exactly"
    source = "Jean 1999"
    accepts = (ConeComplementarity,)
    exact = False
    warm_starts = True
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12))
    options_type = NSGSOptions

    def __init__(self, variant: str | None, options: NSGSOptions) -> None:
        super().__init__(variant, options)
        if not options.tolerance > 0.0:
            raise BadInput(f"The option 'tolerance' of 'nsgs' is {options.tolerance:g}; it must be positive.")

    def setup(self, program: Program) -> None:
        assert isinstance(program, ConeComplementarity)
        self._sweeps = Sweeps(program)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        options, sweeps = self.options, self._sweeps
        if start is not None:
            sweeps.r[:] = start[0]
        history: list[float] = []
        done, size = 0, velocity_size(sweeps.problem)
        while done < options.max_iter:
            count = min(BATCH, options.max_iter - done)
            change = sweeps.run(count, 0.1 * options.tolerance * size)
            done += count
            history.append(residual(sweeps.problem, sweeps.r))
            if history[-1] <= options.tolerance:
                return RawSolution(sweeps.r.copy(), None, Status.SOLVED, done, history=tuple(history))
            if change == 0.0 or not np.isfinite(history[-1]):
                break
        note = "the sweeps did not converge"
        return RawSolution(sweeps.r.copy(), None, Status.ITERATION_LIMIT, done, note=note, history=tuple(history))


class Sweeps:
    """The blocks of a problem, in the order of the kernel; `r` is the impulse that it works on, (3 k,)."""

    def __init__(self, problem: ConeComplementarity) -> None:
        k = problem.k
        blocks = problem.W.reshape(k, ROWS, k, ROWS).transpose(0, 2, 1, 3)
        beside = blocks.any(axis=(2, 3)) & ~np.eye(k, dtype=bool)
        row, column = np.nonzero(beside)
        begin = np.concatenate(([0], np.cumsum(beside.sum(axis=1)))).astype(np.int64)
        diagonal = np.ascontiguousarray(blocks[np.arange(k), np.arange(k)]).ravel()
        self.problem, self.r = problem, np.zeros(problem.n)
        self._rows, self._columns = begin, column.astype(np.int64)
        self._beside, self._own = blocks[row, column].ravel(), diagonal
        self._q, self._rho = np.ascontiguousarray(problem.q), steps_of(problem.W)
        self._alpha = np.zeros(k)

    def run(self, count: int, tolerance: float = 0.0) -> float:
        """At most `count` sweeps, until one changes r by at most the tolerance in m/s; returns the last change."""
        with np.errstate(over="ignore", invalid="ignore"):
            change = sweep(
                self._rows, self._columns, self._beside, self._own, self._q, self.problem.mu, self._rho, count,
                tolerance, self.r, self._alpha,
            )  # fmt: skip
        return float(change)

    def run_projected(self, count: int, omega: float) -> None:
        """Sweeps of one projected step a contact, of omega over the largest eigenvalue of its block."""
        blocks = self._own.reshape(-1, ROWS, ROWS)
        largest = np.linalg.norm(blocks, 2, axis=(1, 2))
        step = omega / np.where(largest > 0, largest, 1.0 / self._rho)
        with np.errstate(over="ignore", invalid="ignore"):
            projected_sweep(
                self._rows, self._columns, self._beside, self._own, self._q, self.problem.mu, step, count, self.r
            )


solver = NSGS
