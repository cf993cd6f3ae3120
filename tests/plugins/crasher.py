"""A solver that takes its process with it."""

from __future__ import annotations

import os
import signal

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver


class Crasher(Solver[Options]):
    name = "crasher"
    title = "Segmentation fault"
    source = "none"
    accepts = (LinearSystem,)

    def setup(self, program: Program) -> None:
        pass

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


solver = Crasher
