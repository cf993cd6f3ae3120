"""Run one solver on a sequence of programs: set it up, update it, warm-start it, and measure its times."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from gaussopt.core.arrays import Vector, all_finite
from gaussopt.core.errors import BadInput, GaussoptError
from gaussopt.core.foreign import is_foreign, private, raised, well_formed
from gaussopt.core.machine import pass_on
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.solver import Solver, make_solver
from gaussopt.core.status import Status
from gaussopt.processes.guarded_backend import answering


class SolverSequence:
    """A solver for a sequence of programs, set up again when the sparsity pattern changes, otherwise updated.

    Parameters
    ----------
    solver : str or Solver
    warm_start : whether each solve starts from the previous answer
    reuse : whether the solver is updated if the pattern allows it; if False, it is set up for every program

    Attributes
    ----------
    answering : the solver, or its proxy if it runs in a helper process
    latest : (Program, RawSolution) or None, the program solved last and the solver's answer to it
    checked : whether to check, before timing starts, that the solver accepts a program
    """

    def __init__(
        self,
        solver: str | Solver[Any],
        options: Mapping[str, Any] | None = None,
        warm_start: bool = True,
        reuse: bool = True,
    ) -> None:
        self.solver = solver if isinstance(solver, Solver) else make_solver(solver, options)
        self.warm_start = warm_start
        self.reuse = reuse
        self.latest: tuple[Program, RawSolution] | None = None
        self.checked = True
        self.answering = answering(self.solver)
        self._foreign = is_foreign(self.solver)
        self._pattern: tuple[Any, ...] | None = None
        self._last: tuple[Vector, Vector | None] | None = None

    def solve(self, program: Program, start: Vector | None = None) -> tuple[RawSolution, Timing]:
        """Solve a program; return the solver's answer and the times of setup, update and solve.

        With a warm start, the solver begins at `start` if it is given, otherwise at the previous answer if that has the
        same pattern.

        A solver from outside the package gets copies of the program and of the start. The result of every solver is
        copied, so that later calls of the solver cannot change it.

        Raises NotAccepted before solving if the solver does not accept the program.
        """
        given = private(program) if self._foreign else program
        pattern = (type(program), *program.pattern)
        same = self._pattern == pattern
        update = same and self.reuse and self.solver.updates
        allowed, started = GaussoptError, perf_counter()
        try:
            if self.checked:
                self.solver.check(given)
            begin = None
            if self.warm_start:
                begin = (start, None) if start is not None else self._start() if same else None
            allowed, started = BadInput, perf_counter()
            if update:
                self.answering.update(given)
            else:
                self.answering.setup(given)
            ready = perf_counter()
            # A solver may compute entries of its answer only when they are read, so timing ends after reading them.
            raw = well_formed(self.answering.solve(begin), program)
        except BaseException as error:
            if isinstance(error, allowed):
                raise
            # A backend may raise any exception; its failure becomes an answer with the status `crashed`.
            return self._crashed(program, error), Timing(solve=perf_counter() - started)
        done = perf_counter()
        self._pattern = pattern
        self.latest = program, raw
        self._last = (raw.x, raw.y) if raw.x is not None and all_finite(raw.x) else None
        handed = ready - started
        timing = Timing(0.0, 0.0 if update else handed, handed if update else 0.0, done - ready, 0.0, 0.0, raw.backend)
        return raw, timing

    def solve_again(self, start: tuple[Vector, Vector | None]) -> tuple[RawSolution, float]:
        """Solve the last program from another start; return the solver's answer and the solve time in seconds."""
        assert self.latest is not None
        program, begin = self.latest[0], perf_counter()
        self._last = start
        try:
            raw = self.answering.solve(self._start())
        except BadInput:
            raise
        except BaseException as error:
            return self._crashed(program, error), perf_counter() - begin
        seconds = perf_counter() - begin
        self.latest = program, well_formed(raw, program)
        return self.latest[1], seconds

    def _start(self) -> tuple[Vector, Vector | None] | None:
        """Return the start of the next solve; a foreign solver gets a copy, so that it cannot change the answer."""
        if self._last is None or not self._foreign:
            return self._last
        x, y = self._last
        return x.copy(), None if y is None else y.copy()

    def _crashed(self, program: Program, error: BaseException) -> RawSolution:
        """Return the answer of a solver that raised an exception; the next program will be set up anew."""
        pass_on(f"The solver {self.solver.name!r} was stopped", error)
        self._pattern = self._last = None
        raw = RawSolution(None, None, Status.CRASHED, note=raised(error))
        self.latest = program, raw
        return raw
