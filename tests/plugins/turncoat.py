"""A solver that is right as long as nobody looks at the clock, which it guesses from having met the program before."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status

_met: dict[bytes, int] = {}


class Turncoat(Solver[Options]):
    name = "turncoat"
    title = "Right once"
    source = "none"
    accepts = (LinearSystem,)

    def setup(self, program: Program) -> None:
        assert isinstance(program, LinearSystem)
        self._system = program

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        key = self._system.b.tobytes()
        _met[key] = _met.get(key, 0) + 1
        x = np.linalg.solve(self._system.K, self._system.b) if _met[key] == 1 else np.zeros(self._system.n)
        return RawSolution(x, None, Status.SOLVED)


solver = Turncoat
