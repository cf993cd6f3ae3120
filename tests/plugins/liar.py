"""A solver that returns a plausible wrong answer and calls it solved."""

from __future__ import annotations

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.solvers.kkt import KKT
from gaussopt.solvers.lemke import lemke


class Liar(Solver[Options]):
    name = "liar"
    title = "Off by a thousandth"
    source = "none"
    accepts = (QP, LeastSquares, LinearSystem, LCP)

    def refuses(self, program: Program) -> str | None:
        return None if isinstance(program, LCP) else KKT(None, Options()).refuses(program)

    def setup(self, program: Program) -> None:
        self._program = program

    def solve(self, start: tuple[Vector, Vector | None] | None) -> RawSolution:
        if isinstance(self._program, LCP):
            right = lemke(self._program)
        else:
            honest = KKT(None, Options())
            honest.setup(self._program)
            right = honest.solve(None)
        assert right.x is not None
        return RawSolution(1.001 * right.x + 1e-3, None, Status.SOLVED, 1)


solver = Liar
