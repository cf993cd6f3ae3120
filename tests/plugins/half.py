"""A solver that has learned one answer by heart."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class Half(Solver[Options]):
    name = "half"
    title = "an answer by heart"
    source = "a test"
    accepts = (LCP,)

    def setup(self, program: Program) -> None:
        pass

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        return RawSolution(np.array([0.5]), None, Status.SOLVED)


solver = Half
