"""Base classes of iterations for contacts with friction cones: options, start, and the claim by the natural map."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import POSITIVE, Limits, Options, Solver
from gaussopt.core.status import Status
from gaussopt.linalg.cones import in_cones
from gaussopt.solvers._kept import Kept


@dataclass(frozen=True)
class ConeOptions(Options):
    """`max_iter`: maximum number of iterations; `tolerance`: largest natural map, relative to |q|, at a solution."""

    max_iter: int = 200
    tolerance: float = 1e-13
    limits: ClassVar[Limits] = {"tolerance": POSITIVE}


C = TypeVar("C", bound=ConeOptions)


class ConeSolver(Solver[C]):
    """A solver that ends when the natural map is small; it accepts W in every form: dense, blocks or factors."""

    accepts = (ConeComplementarity,)
    sparse = True
    warm_starts = True


class ConeIteration(ConeSolver[C], Kept[C]):
    """An iteration that begins at the given start, or at r = 0, and ends when the natural map is small."""

    @abstractmethod
    def iterate(self, problem: ConeComplementarity, r: Vector) -> tuple[Vector, int]:
        """Iterate from r, (3 k,); return the best point found and the number of iterations."""

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        first = np.zeros(self.program.n) if start is None else start[0]
        with np.errstate(over="ignore", invalid="ignore"):
            r, count = self.iterate(self.program, first)
        r, error = in_cones(self.program, r)
        solved = error <= self.options.tolerance
        note = "" if solved else "the natural map does not fall to the tolerance"
        return RawSolution(r, None, Status.SOLVED if solved else Status.ITERATION_LIMIT, count, note=note)
