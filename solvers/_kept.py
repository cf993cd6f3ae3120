"""Base of solvers that keep their program as it is and do all of their work when they solve it."""

from __future__ import annotations

from typing import Any

from gaussopt.core.programs import Program
from gaussopt.core.solver import O, Solver


class Kept(Solver[O]):
    """A solver without a set-up; `program` is the program to solve."""

    program: Any

    def setup(self, program: Program) -> None:
        self.program = program
