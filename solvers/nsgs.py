"""Nonlinear block Gauss-Seidel method for contacts with friction cones: each contact in turn is solved exactly.

In practice it converges if masses are similar and contacts are not redundant; it converges slowly, or not at all, for
large mass ratios and for hyperstatic bodies under tangential load. Convergence with friction is not guaranteed. The
work of a sweep is proportional to the number of non-zero blocks of W.
References: M. Jean, "The non-smooth contact dynamics method", Comput. Methods Appl. Mech. Engrg. 177, 1999; the exact
solution of one contact as in O. Bonnefon, G. Daviet, "Quartic formulation of Coulomb 3D frictional contact", INRIA
RT-0400, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.cone.sweeps import Sweeps
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.errors import BadInput
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.jit.threads import cores
from gaussopt.linalg.cones import residual, velocity_size
from gaussopt.solvers._cone import ConeOptions, ConeSolver

BATCH = 50
"""Number of sweeps between two checks of the natural map."""


@dataclass(frozen=True)
class NSGSOptions(ConeOptions):
    """An iteration is one sweep over all contacts.

    `threads`: 0 to solve contacts in the order of the problem; otherwise the number of threads that solve contacts
    without common bodies in parallel. The answer does not depend on this number.
    """

    max_iter: int = 10_000
    tolerance: float = 1e-12
    threads: int = 0


class NSGS(ConeSolver[NSGSOptions]):
    """Nonlinear Gauss-Seidel sweeps until the natural map is small."""

    name = "nsgs"
    title = "Nonlinear Gauss-Seidel over contacts, each solved exactly"
    source = "Jean 1999"
    exact = False
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12))
    options_type = NSGSOptions

    def __init__(self, variant: str | None, options: NSGSOptions) -> None:
        super().__init__(variant, options)
        if not 0 <= options.threads <= cores():
            raise BadInput(f"The option 'threads' of 'nsgs' is {options.threads}; there are {cores()} cores here.")

    def setup(self, program: ConeComplementarity) -> None:
        self._sweeps = Sweeps(program, self.options.threads)

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


solver = NSGS
