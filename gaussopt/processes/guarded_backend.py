"""Solvers whose backend may crash its process: they run in a helper process, which is kept between steps.

A failed assertion or an invalid memory access in the C++ code of a backend ends the whole process, and no Python code
can prevent that. A solver that declares `aborts` is therefore set up and called in a guarded process
(`gaussopt.processes.guarded_process`). If that process dies, the answer has the status `crashed` and says why, and the
next program gets a new process. Where the current process is guarded already, as in comparisons and batches, the
solver runs directly, so that its measured times include no messages.
"""

from __future__ import annotations

import itertools
import os
from collections import OrderedDict
from typing import Any

from gaussopt.core import registry
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import GaussoptError
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Solver, make_solver
from gaussopt.core.status import Status
from gaussopt.processes.child_process import is_guarded
from gaussopt.processes.guarded_process import own_guard
from gaussopt.processes.job import Job

KEPT = 16
"""Number of solvers that a helper process keeps set up; the least recently used solver is dropped first."""

Start = tuple[Vector, Vector | None] | None
Identity = tuple[str, dict[str, Any]] | Solver[Any]
"""A registered solver's name with its options, or the solver object itself."""

_tokens = itertools.count()
_kept: OrderedDict[tuple[int, int], Solver[Any]] = OrderedDict()
"""Solvers that are set up in the helper process, by their tokens."""


def answering(solver: Solver[Any]) -> Solver[Any] | Remote:
    """Return the solver, or, if it may crash its process, a proxy that calls it in a helper process."""
    return Remote(solver) if solver.may_abort() and not is_guarded() else solver


class Remote:
    """A proxy of a solver that runs in the helper process of this thread.

    Messages are sent only when an answer is needed: each program costs one message to the process and one back, which
    take a few tenths of a millisecond and count as solve time.
    """

    def __init__(self, solver: Solver[Any]) -> None:
        self.name = solver.name
        self._identity = _identity(solver)
        self._token = os.getpid(), next(_tokens)
        self._program: Program | None = None
        self._afresh = True

    def setup(self, program: Program) -> None:
        """Store a program with a new sparsity pattern for the next solve."""
        self._program, self._afresh = program, True

    def update(self, program: Program) -> None:
        """Store a program with the same sparsity pattern and new numbers for the next solve."""
        self._program = program

    def solve(self, start: Start) -> RawSolution:
        """Return the answer of the helper process; if it crashes, but not at its first program, try a new process once.

        Raises the GaussoptError that the solver raised, if any.
        """
        arguments = {
            "token": self._token, "identity": self._identity, "program": self._program, "afresh": self._afresh,
            "start": start,
        }  # fmt: skip
        job = Job(f"solver {self.name}", _answer, arguments)
        helper = own_guard()
        outcome = helper.run(job)
        if outcome.kind == "crashed" and helper.proven:
            # An earlier program may have damaged the memory and so caused the crash; therefore try a new process.
            outcome = helper.run(job)
        helper.proven = outcome.kind not in ("crashed", "lost")
        self._afresh = bool(outcome.failure)
        why = outcome.failure
        if outcome.kind == "crashed":
            why = why.removeprefix("crashed: ").replace("the process", "the helper process that it ran in")
        if why:
            return RawSolution(None, None, Status.CRASHED, note=why)
        if isinstance(outcome.value, GaussoptError):
            raise outcome.value
        found: RawSolution = outcome.value
        return found


def _identity(solver: Solver[Any]) -> Identity:
    """Return the name and options from which the helper process makes the same solver, or the solver itself."""
    name = f"{solver.name}:{solver.variant}" if solver.variant else solver.name
    registered = solver.name in registry.names("solver") and registry.load("solver", solver.name) is type(solver)
    return (name, dict(vars(solver.options))) if registered else solver


def _answer(
    token: tuple[int, int], identity: Identity, program: Program, afresh: bool, start: Start
) -> RawSolution | GaussoptError:
    """Set up or update a solver in the helper process, and return its answer or the error that it raised."""
    solver = _kept.pop(token, None)
    try:
        if solver is None:
            solver = identity if isinstance(identity, Solver) else make_solver(*identity)
            afresh = True
        (solver.setup if afresh else solver.update)(program)
        found = solver.solve(start)
    except GaussoptError as error:  # the solver refuses: the caller raises this error again
        return error
    _kept[token] = solver
    if len(_kept) > KEPT:
        _kept.popitem(last=False)
    return found
