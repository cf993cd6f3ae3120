"""Code from outside the package: what it is given, what is taken from it, and what becomes of its exceptions.

A solver, a formulation or a function of a system may write into what it is given, return the same memory every time, or
return something of the wrong kind. It is given copies, what it returns is read once and copied, and what it raises is
put into a sentence. None of it can change the numbers that a certificate reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from gaussopt.core.arrays import Vector, is_sparse
from gaussopt.core.errors import BadInput, GaussoptError, one_line
from gaussopt.core.machine import pass_on
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData

T = TypeVar("T")
Data = TypeVar("Data", bound=Program | StepData)

WINGS = ("gaussopt.solvers.", "gaussopt.formulations.", "gaussopt.problems.")
"""Modules that belong to the package, whose solvers and formulations are tested not to write into their arguments."""

LONGEST_NOTE = 500
"""Maximum number of characters kept of a solver's note."""

MOST_ITERATIONS = 2**63
"""Number of iterations that no solver can have made."""

WRITES = "writes into the q or v that it is given; let it work on copies, such as q.copy()"


class Malformed(GaussoptError):
    """A value returned by foreign code is of the wrong kind; the sentence has no subject."""


def is_foreign(entry: object) -> bool:
    """Tell whether the class of a solver, formulation or the like is defined outside the package."""
    return not type(entry).__module__.startswith(WINGS)


def raised(error: BaseException) -> str:
    """Return the type and text of an exception on one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {one_line(text[0])}" if text else f"{type(error).__name__}: no message"


def call(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """Return the value of a user's function; its exceptions become BadInput, which names the function by `what`.

    Errors raised by gaussopt itself pass unchanged.
    """
    try:
        return function(*arguments)
    except GaussoptError:
        raise
    except BaseException as error:
        pass_on(f"{what} was stopped", error)
        raise BadInput(f"{what} raised {raised(error).rstrip('.')}.") from error


class Changed(Exception):
    """A function has written into the state that it was given."""


def call_with_copies(function: Callable[..., Any], t: float, q: Vector, v: Vector | None) -> Any:
    """Call a function of (t, q) or (t, q, v) with copies of a state; raises Changed if it has changed them.

    A change that is undone, as for a difference quotient, passes.
    """
    mine = q.copy()
    if v is None:
        value = function(t, mine)
        if mine.tobytes() != q.tobytes():
            raise Changed
        return value
    mine_v = v.copy()
    value = function(t, mine, mine_v)
    if mine.tobytes() != q.tobytes() or mine_v.tobytes() != v.tobytes():
        raise Changed
    return value


def private(data: Data) -> Data:
    """Return a copy of a program or of step data that shares no memory with it.

    Fields that are the same array, such as the bounds of a program of equalities, stay the same array.
    """
    copies: dict[int, Any] = {}
    values = {}
    for x in fields(data):
        value = getattr(data, x.name)
        if isinstance(value, np.ndarray) or is_sparse(value):
            value = copies.setdefault(id(value), value.copy())
        elif x.name == "arithmetic":
            value = None  # it has its own copy of the numbers, for the certificate of the original
        values[x.name] = value
    return type(data)(**values)


def well_formed(raw: Any, program: Program) -> RawSolution:
    """Return a copy of the answer of a solver; if it is malformed, a solver error with a note."""
    try:
        return _read(raw, program)
    except Malformed as error:
        note = str(error)
    except BaseException as error:  # attributes of the answer may raise anything
        pass_on("The answer of a solver was not read", error)
        note = f"its answer cannot be read ({raised(error)})"
    return RawSolution(None, None, Status.SOLVER_ERROR, note=note)


def _read(raw: Any, program: Program) -> RawSolution:
    """Read every entry once, so that the values used are those checked."""
    if not isinstance(raw, RawSolution):
        raise Malformed(f"it returned a {type(raw).__name__} and no RawSolution")
    x, y, claim, iterations, backend = raw.x, raw.y, raw.claim, raw.iterations, raw.backend
    note, solutions, history = raw.note, raw.solutions, raw.history
    if x is not None:
        x = vector("an answer", x, program.n)
    if y is not None:
        y = vector("duals", y, program.duals)
    if not isinstance(claim, Status):
        raise Malformed(f"its claim is {_shown(claim)}, expected a member of gaussopt.Status")
    if type(iterations) is not int:
        if not isinstance(iterations, np.integer | int) or isinstance(iterations, bool):
            raise Malformed(f"its number of iterations is {_shown(iterations)}, expected an integer")
        iterations = int(iterations)
    if not 0 <= iterations < MOST_ITERATIONS:
        raise Malformed(f"its number of iterations is {iterations:.6g}, which is no number of iterations")
    if type(backend) is not float:
        backend = _number("its time", backend)
    if note != "":
        if not isinstance(note, str):
            raise Malformed(f"its note is of type {type(note).__name__}, expected text")
        note = one_line(note)[:LONGEST_NOTE]
    if solutions != ():
        solutions = tuple(vector("one of several solutions", z, program.n) for z in _several("solutions", solutions))
    if history != ():
        history = tuple(_number("an entry of its history", value) for value in _several("history", history))
    return RawSolution(x, y, claim, iterations, backend, note, solutions, history)


def vector(what: str, value: Any, size: int | None) -> Vector:
    """Return a copy of a vector of floats, (size,), in this machine's byte order; raises Malformed."""
    found = _numbers(what, value, "f")
    if found.ndim != 1 or (size is not None and len(found) != size):
        expected = "one axis" if size is None else f"({size},)"
        raise Malformed(f"it returned {what} of shape {found.shape}, expected {expected}")
    return np.array(found, dtype=np.float64)


def array(what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a copy of an array of floats or integers of a given shape; raises Malformed."""
    found = _numbers(what, value, "fiu")
    if found.shape != shape:
        raise Malformed(f"it returned {what} of shape {found.shape}, expected {shape}")
    return np.array(found, dtype=np.float64)


def _numbers(what: str, value: Any, kinds: str) -> np.ndarray[Any, Any]:
    if not (isinstance(value, np.ndarray) and value.dtype.kind in kinds):
        kind = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise Malformed(f"it returned {what} of type {kind}, expected an array of floats")
    return value


def _several(what: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise Malformed(f"its {what} are of type {type(value).__name__}, expected a tuple")
    return tuple(value)


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise Malformed(f"{what} is {_shown(value)}, expected a number")
    return float(value)


def _shown(value: Any) -> str:
    """Return a value for a sentence, shortened if it is long."""
    text = one_line(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
