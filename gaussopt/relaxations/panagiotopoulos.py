"""Solve for normal impulses with given friction, then for friction with given normal impulses, until both converge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.cone_complementarity import ROWS, ConeComplementarity
from gaussopt.core.cone_program import ConeProgram
from gaussopt.linalg.cones import dense
from gaussopt.relaxations.base import Ask, ContactFormulation, settled


class Panagiotopoulos(ContactFormulation):
    """Two alternating cone programs, for normal and for friction impulses; each keeps the other impulses constant."""

    name = "panagiotopoulos"
    title = "Normal and friction impulses in turn"
    source = "Panagiotopoulos 1975"
    most_programs = 200

    def impulses(self, problem: ConeComplementarity, ask: Ask) -> Vector | None:
        problem = dense(problem)
        W, normal = problem.symmetric_part, np.arange(problem.n) % ROWS == 0
        r, nothing = np.zeros(problem.n), np.zeros(problem.k)
        for _ in range(self.most_programs // 2):
            old, pushed = r, np.where(normal, 0.0, r)
            q = np.where(normal, problem.q + problem.W @ pushed, 0.0)
            x = ask(ConeProgram(_block(W, normal), q, problem.mu, nothing))
            if x is None:
                return None
            r = np.where(normal, x, 0.0)
            # Each normal impulse only occurs in the square (r_N - given value)^2, so it keeps its given value.
            q = np.where(normal, -r, problem.q + problem.W @ r)
            x = ask(ConeProgram(_block(W, ~normal), q, problem.mu, problem.mu * np.maximum(r[::ROWS], 0.0)))
            if x is None:
                return None
            r = np.where(normal, r, x)
            if settled(r, old):
                break
        return r


def _block(W: Matrix, free: NDArray[np.bool_]) -> Matrix:
    """Return W with the rows and columns of the fixed impulses replaced by rows and columns of the identity."""
    return np.asarray(np.where(np.logical_and.outer(free, free), W, np.diag(np.where(free, 0.0, 1.0))))
