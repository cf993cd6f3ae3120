"""A solver of complementarity problems that is right and takes its time; it counts how often it was asked."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from gaussopt.core.programs import LCP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver, make_solver


class Dawdler(Solver[Options]):
    name = "dawdler"
    title = "Lemke's algorithm after a pause"
    source = "none"
    accepts = (LCP,)
    updates = True
    warm_starts = True
    pause = 0.03
    asked: ClassVar[list[float]] = []

    def setup(self, program: Program) -> None:
        self._inner = make_solver("lemke")
        self._inner.setup(program)

    def update(self, program: Program) -> None:
        self.setup(program)

    def solve(self, start: Any) -> RawSolution:
        self.asked.append(self.pause)
        time.sleep(self.pause)
        return self._inner.solve(None)


solver = Dawdler
