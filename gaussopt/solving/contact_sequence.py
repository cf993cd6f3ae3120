"""A sequence of contact problems with friction cones, solved by one formulation and one solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.relaxations import find
from gaussopt.relaxations.formulations import CoulombSOCCP
from gaussopt.solving.defaults import default_solver
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.verification import verified


class ContactSequence:
    """Solve contact problems by one or several programs each; answers are judged by Coulomb's law without relaxation.

    Parameters
    ----------
    formulation : name, such as "coulomb-soccp" or "coulomb-pyramid:16"
    solver, solver_options : a solver of the programs; if not given, the default solver of each program is used
    warm_start, reuse : see `SolverSequence`

    Attributes
    ----------
    programs : number of programs that were solved for the latest problem
    latest : (Program, RawSolution) or None, the program solved last and the solver's answer to it
    checked : see `SolverSequence`
    """

    def __init__(
        self,
        formulation: str,
        solver: str | None = None,
        solver_options: Mapping[str, Any] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        warm_start: bool = False,
        reuse: bool = False,
    ) -> None:
        self._entry = find(formulation)
        self._solver, self._options, self._tolerance = solver, solver_options, tolerance
        self._ways = warm_start, reuse
        self._sequences: dict[str, SolverSequence] = {}
        self.programs = 0
        self.checked = True
        self.latest: tuple[Program, RawSolution] | None = None

    @property
    def solvers(self) -> str:
        """The names of the solvers used so far."""
        return ", ".join(self._sequences)

    def solve(self, problem: ConeComplementarity) -> Solution:
        """Solve and verify; the answer's x is r. Raises UnknownName, BadInput, MissingBackend or NotAccepted."""
        return self.ask(problem)()

    def ask(self, problem: ConeComplementarity) -> Callable[[], Solution]:
        """Solve, and return a function that verifies the answer, so that solves can be timed without verification."""
        self.programs, self.latest = 0, None
        spent: list[Timing] = []
        words: list[RawSolution] = []

        def ask(program: Program) -> Vector | None:
            name = self._solver or default_solver(program)
            if name not in self._sequences:
                self._sequences[name] = SolverSequence(name, self._options, *self._ways)
                self._sequences[name].checked = self.checked
            raw, timing = self._sequences[name].solve(program)
            self.programs += 1
            self.latest = program, raw
            spent.append(timing)
            words.append(raw)
            return raw.x

        begin = perf_counter()
        r = self._entry.impulses(problem, ask)
        whole = perf_counter() - begin
        timing = Timing(*(sum(parts) for parts in zip(*spent, strict=True)))
        last = words[-1]
        raw = replace(last, x=r, y=None, iterations=sum(word.iterations for word in words), history=())
        if self.programs > 1 or not isinstance(self._entry, CoulombSOCCP):
            raw = replace(raw, solutions=())
        if self.programs == self._entry.most_programs > 1:  # the iteration ended at its limit, without convergence
            raw = replace(raw, claim=Status.ITERATION_LIMIT)
        timing = timing._replace(build=max(0.0, whole - timing.total))
        return partial(verified, problem, raw, timing, self._tolerance)
