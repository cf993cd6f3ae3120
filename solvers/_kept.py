"""Base of solvers whose set-up only stores the program; all work is done by `solve`."""

from __future__ import annotations

from typing import Any

from gaussopt.core.programs import Program
from gaussopt.core.solver import O, Solver


class Kept(Solver[O]):
    """A solver whose set-up only stores the program to solve, as `program`."""

    program: Any

    def setup(self, program: Program) -> None:
        self.program = program
