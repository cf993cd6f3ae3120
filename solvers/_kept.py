"""Solvers that keep their program as it is and do all of their work when they are asked to solve it."""

from __future__ import annotations

from typing import Any

from gaussopt.core.programs import Program
from gaussopt.core.solver import O, Solver


class Kept(Solver[O]):
    """A solver without a set-up of its own; `program` is the one to solve."""

    program: Any

    def setup(self, program: Program) -> None:
        self.program = program
