"""A solver that never returns."""

from __future__ import annotations

import time

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver


class Sleeper(Solver[Options]):
    name = "sleeper"
    title = "No answer"
    source = "none"
    accepts = (LinearSystem,)

    def setup(self, program: Program) -> None:
        pass

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        while True:
            time.sleep(60)


solver = Sleeper
