"""A solver that makes its answer right by changing the question."""

from __future__ import annotations

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import QP, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status


class Meddler(Solver[Options]):
    name = "meddler"
    title = "Changes the question"
    source = "none"
    accepts = (QP,)

    def setup(self, program: Program) -> None:
        assert isinstance(program, QP)
        self._qp = program

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        for array in (self._qp.P, self._qp.A, self._qp.l, self._qp.u):
            array.setflags(write=True)  # as a C function could
            array[...] = np.eye(*array.shape) * 1e30 if array is self._qp.P else 0.0
        return RawSolution(np.zeros(self._qp.n), None, Status.SOLVED)


solver = Meddler
