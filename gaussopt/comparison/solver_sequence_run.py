"""Run one solver on one sequence of steps, programs or contact problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.comparison.items import Item
from gaussopt.comparison.pairing import is_step_formulation
from gaussopt.comparison.records import STARTS
from gaussopt.comparison.solver_spec import parse_word, solver_class
from gaussopt.core.arrays import Vector
from gaussopt.core.solution import Solution, Timing
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.kinds import Residuals, page_of, residuals
from gaussopt.relaxations import is_contact_formulation
from gaussopt.solving.answer import Answer
from gaussopt.solving.contact_sequence import ContactSequence
from gaussopt.solving.solver_sequence import SolverSequence
from gaussopt.solving.step_solver import StepSolver
from gaussopt.solving.verification import verified

TAMPERED = "The solver changed the numbers of the step that it was given; its answer cannot be judged."


@dataclass(frozen=True, slots=True)
class Reply:
    """Verified answer to one item.

    Attributes
    ----------
    certified : relative certified error, see `records.Answers`; infinite without an answer
    error : relative distance to the reference answer, NaN without a reference
    violation : ||J a - gamma|| of a step, NaN for a program
    message : the status in a sentence
    lam_N : normal forces of a step, N
    """

    status: Status
    claim: Status
    certified: float
    error: float
    iterations: int
    timing: Timing
    violation: float = math.nan
    message: str = ""
    lam_N: Vector | float = math.nan


def starts_of(solver: str, follows: bool = True) -> tuple[str, ...]:
    """Return the kinds of start in STARTS that the solver supports; a simulation uses the last of them.

    If the problems do not follow one another (`follows` is False), the only start is "setup".
    """
    cls = solver_class(solver)
    if not follows:
        return STARTS[:1]
    possible = {"setup": True, "cold": cls.updates, "warm": cls.warm_starts}
    return tuple(s for s in STARTS if possible[s])


class SequenceRun:
    """A solver that solves the items of a sequence in turn, with a formulation if they are steps or contacts in space.

    For programs `formulation` is ""; `solver` may have options in parentheses; `start` is one of STARTS; `checked` is
    as in `SolverSequence`. Raises UnknownName, BadInput and MissingBackend.
    """

    def __init__(
        self, formulation: str, solver: str, start: str, tolerance: float = DEFAULT_TOLERANCE, checked: bool = True
    ) -> None:
        name, options = parse_word(solver)
        warm, reuse = start == "warm", start != "setup"
        self.tolerance = tolerance
        self._steps: StepSolver | None = None
        self.sequence: SolverSequence | ContactSequence
        self._contacts: ContactSequence | None = None
        if is_contact_formulation(formulation):
            self.sequence = self._contacts = ContactSequence(formulation, name, options, tolerance, warm, reuse)
        if is_step_formulation(formulation):
            self._steps = StepSolver(formulation, name, options, tolerance, warm, reuse=reuse)
            self.sequence = self._steps.sequence
        elif not formulation:
            self.sequence = SolverSequence(name, options, warm, reuse)
        self.sequence.checked = checked

    def solve(self, item: Item) -> Reply:
        """Solve and verify one item.

        Raises NotAccepted if the formulation does not fit the step or the solver does not take the program.
        """
        return self.ask(item)()

    def ask(self, item: Item) -> Callable[[], Reply]:
        """Solve one item; return a function that certifies the answer, so that several solves can be timed in a row."""
        before = _contents(item)
        return partial(self._untampered, item, before, self._asked(item))

    def _untampered(self, item: Item, before: list[bytes], verify: Callable[[], Reply]) -> Reply:
        reply = verify()
        if _contents(item) == before:
            return reply
        # The solver changed the item, so that another problem was certified; restore the numbers for the next solver.
        for array, content in zip(_arrays(item), before, strict=True):
            array.setflags(write=True)
            array[...] = np.frombuffer(content, dtype=array.dtype).reshape(array.shape)
            array.setflags(write=False)
        return replace(reply, status=Status.SOLVER_ERROR, certified=math.inf, error=math.inf, message=TAMPERED)

    def _asked(self, item: Item) -> Callable[[], Reply]:
        self.sequence.latest = None
        data: Any = item.data
        formulations = page_of(data).formulations
        if formulations == "step":
            assert self._steps is not None
            return partial(_of_step, item, self._steps.ask(data))
        if formulations == "contact":
            assert self._contacts is not None
            self.sequence = self._contacts
            return partial(_of_program, item, self._contacts.ask(data))
        assert isinstance(self.sequence, SolverSequence)
        return partial(_of_program, item, partial(verified, data, *self.sequence.solve(data), self.tolerance))

    @property
    def residuals(self) -> Residuals:
        """Residuals, at the point returned, of the program solved last; infinite without a point."""
        if self.sequence.latest is None:
            return Residuals()
        program, raw = self.sequence.latest
        return residuals(program, raw.x, raw.y)


def _of_step(item: Item, certify: Callable[[], Answer]) -> Reply:
    answer = certify()
    step: Any = item.data
    certified = answer.certificate.relative_error
    return Reply(
        answer.status, answer.claim, certified if math.isfinite(certified) else math.inf,
        _miss(answer.a, item.a, step.M), answer.iterations, answer.timing, answer.certificate.constraint_residual,
        answer.message, answer.lam_N,
    )  # fmt: skip


def _of_program(item: Item, verify: Callable[[], Solution]) -> Reply:
    solution = verify()
    found = solution.certificate
    bounds = (found.get(name) for name in ("relative_error", "relative_residual", "residual"))
    bound = next((x for x in bounds if x is not None), None)
    return Reply(
        solution.status, solution.claim, math.inf if bound is None else float(bound), _miss(solution.x, item.a),
        solution.iterations, solution.timing, message=solution.message,
    )  # fmt: skip


def _arrays(item: Item) -> list[NDArray[Any]]:
    """Return the arrays that make up an item."""
    parts = (getattr(item.data, f.name) for f in fields(item.data))
    return [part for part in parts if isinstance(part, np.ndarray)]


def _contents(item: Item) -> list[bytes]:
    return [array.tobytes() for array in _arrays(item)]


def _miss(x: Vector | None, reference: Vector | None, M: Any = None) -> float:
    """Return the distance of an answer to the reference, divided by 1 + the reference's norm; NaN without a reference.

    With a mass matrix M the norm is the mass norm.
    """
    if reference is None:
        return math.nan
    if x is None or x.shape != reference.shape:
        return math.inf
    ends = (x - reference, reference)
    miss, size = (np.linalg.norm(y) if M is None else math.sqrt(max(float(y @ (M @ y)), 0.0)) for y in ends)
    return float(miss / (1.0 + size))
