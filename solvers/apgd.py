"""Accelerated projected gradients for cone programs of contacts, with restarts.

Nesterov's extrapolation is used with the step size 1 / L, where L is the norm of the scaled matrix; it is restarted if
a step reverses its direction. Projections onto the friction cones, or discs, are exact.
References: Yu. Nesterov, Soviet Math. Dokl. 27, 1983; H. Mazhar, T. Heyn, D. Negrut, A. Tasora, "Using Nesterov's
method to accelerate multibody dynamics with friction and contact", ACM Trans. Graph. 34, 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.delassus import is_blocks, scaled_operator
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.linalg.cones import feasible, steps_of


@dataclass(frozen=True)
class APGDOptions(Options):
    """`max_iter`: maximum number of steps; `tolerance`: step, relative to the gradient step from 0, that ends them."""

    max_iter: int = 20_000
    tolerance: float = 1e-12


def norm_of(P: Any) -> float:
    """Return the largest eigenvalue of a symmetric matrix; for sparse blocks, an approximation enlarged by 5 %."""
    if not is_blocks(P):
        return float(np.linalg.norm(P, 2))
    return 1.05 * float(eigsh(P, 1, v0=np.ones(P.shape[0]), tol=1e-2, return_eigenvectors=False)[0])


class APGD(Solver[APGDOptions]):
    """Nesterov's accelerated gradient method over friction cones."""

    name = "apgd"
    title = "Accelerated projected gradients (cone programs)"
    source = "Nesterov 1983; Mazhar et al. 2015"
    accepts = (ConeProgram,)
    exact = False
    sparse = True
    warm_starts = True
    precision = tuple({"tolerance": e} for e in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10))
    options_type = APGDOptions

    def setup(self, program: ConeProgram) -> None:
        self._s = np.repeat(np.sqrt(steps_of(program.P)), 3)
        s, radius = self._s, program.radius
        inner = None if radius is None else radius / s[::3]
        self._own = replace(program, P=scaled_operator(program.P, s), q=s * program.q, radius=inner)

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        own, options = self._own, self.options
        x = np.zeros(own.n) if start is None else feasible(own, start[0] / self._s)
        if not own.n:
            return RawSolution(x, None, Status.SOLVED)
        L = max(norm_of(own.P), 1e-300)
        size = float(np.linalg.norm(own.q)) or 1.0
        y, t, moved, count = x, 1.0, np.inf, 0
        while count < options.max_iter and moved * L > options.tolerance * size:
            gradient = own.P @ y + own.q
            new = feasible(own, y - gradient / L)
            if float((y - new) @ (new - x)) > 0.0:
                t, new = 1.0, feasible(own, x - (own.P @ x + own.q) / L)
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            moved = float(np.linalg.norm(new - y)) if t > 1.0 else float(np.linalg.norm(new - x))
            y, x, t, count = new + (t - 1.0) / following * (new - x), new, following, count + 1
        claim = Status.SOLVED if moved * L <= options.tolerance * size else Status.ITERATION_LIMIT
        return RawSolution(self._s * x, None, claim, count)


solver = APGD
