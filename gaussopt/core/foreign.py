"""Calls of code from outside the package, with protection from its side effects, malformed values and exceptions.

A foreign solver, formulation or function may write into its arguments, return the same memory every time, or return a
value of the wrong type. So such code is given copies, its return value is read once and copied, and its exceptions
become messages. It can never change the numbers that a certificate reads.
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
"""Prefixes of the package's own modules; tests ensure that functions in these do not write into their arguments."""

LONGEST_NOTE = 500
"""Maximum length of a solver's note; the rest is cut off."""

MOST_ITERATIONS = 2**63
"""A solver's report of this number of iterations or more is refused as malformed."""

WRITES = "writes into the q or v that it is given; let it work on copies, such as q.copy()"


class Malformed(GaussoptError):
    """Foreign code returned a malformed value; the message is the predicate of a sentence about the value."""


def is_foreign(entry: object) -> bool:
    """Return whether the class of a solver, formulation or other entry is defined outside the package."""
    return not type(entry).__module__.startswith(WINGS)


def raised(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {one_line(text[0])}" if text else f"{type(error).__name__}: no message"


def call(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """Call a user's function and return its value; exceptions become BadInput, which names the function by `what`.

    Errors of gaussopt itself are not converted.
    """
    try:
        return function(*arguments)
    except GaussoptError:
        raise
    except BaseException as error:
        pass_on(f"{what} was stopped", error)
        raise BadInput(f"{what} raised {raised(error).rstrip('.')}.") from error


class Changed(Exception):
    """A function has written into the state that was passed to it."""


def call_with_copies(function: Callable[..., Any], t: float, q: Vector, v: Vector | None) -> Any:
    """Call a function of (t, q) or (t, q, v) with copies of a state; raises Changed if the copies have changed.

    The function may change the copies, as for a difference quotient, if it restores them before it returns.
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
    """Return a copy of a program or of step data that shares no memory with the original.

    Fields that share one array, such as the bounds of a program with equalities only, share one array in the copy.
    """
    copies: dict[int, Any] = {}
    values = {}
    for x in fields(data):
        value = getattr(data, x.name)
        if isinstance(value, np.ndarray) or is_sparse(value):
            value = copies.setdefault(id(value), value.copy())
        elif x.name == "arithmetic":
            value = None  # only the certificate needs this field, and it reads the original step
        values[x.name] = value
    return type(data)(**values)


def well_formed(raw: Any, program: Program) -> RawSolution:
    """Return a checked copy of a solver's answer; if it is malformed, return an answer that claims `solver_error`."""
    try:
        return _read(raw, program)
    except Malformed as error:
        note = str(error)
    except BaseException as error:  # attributes of the answer may raise anything
        pass_on("The answer of a solver was not read", error)
        note = f"its answer cannot be read ({raised(error)})"
    return RawSolution(None, None, Status.SOLVER_ERROR, note=note)


def _read(raw: Any, program: Program) -> RawSolution:
    """Return a checked copy of an answer; each entry is read once, so that the value checked is the value used."""
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
    """Return the text of a value for a message, shortened if it is long."""
    text = one_line(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
