"""The generated functions of a model at one state after another: by CPython, and by machine code once that pays.

Machine code stands for CPython to the last digit (`gaussopt.jit.llvm.exact`), so that no number depends on when
it takes over: it may be in the middle of a motion. What it cannot do, and every state at which the equations are
undefined, is left to CPython.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import FunctionType, ModuleType

import numpy as np

from gaussopt.core.arrays import all_finite
from gaussopt.core.step_data import Vector
from gaussopt.jit.kernel import COMPILED

ENOUGH = 10_000
"""Calls by CPython of a model's functions, in one process, after which they are compiled: it takes about as long."""

LONGEST = 50_000
"""Bytes of CPython's code of a model's functions, some 2500 lines, beyond which compiling takes more than a second."""

_NUMBERS = 9
"""Numbers of a certificate before the multipliers, see `gaussopt.codegen.ldl`."""


class Undefined(ArithmeticError):
    """A function has no value at a state: why, or nothing where a number is not finite."""


class Parameters:
    """Values of a model's parameters, in the forms that CPython and machine code read fastest."""

    def __init__(self, values: Sequence[float]) -> None:
        self.list = list(values)
        self.array = np.array(self.list, dtype=np.float64)


class Evaluation:
    """The functions of a generated module, called with arrays; made by `of`, one for a module.

    Attributes
    ----------
    module : the generated module
    code : the functions that have become machine code, by name
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.code: Mapping[str, Callable[..., bool]] = {}
        self._left: float = ENOUGH if COMPILED else math.inf

    @staticmethod
    @cache
    def of(module: ModuleType) -> Evaluation:
        """The one of this module, for all systems that share it."""
        return Evaluation(module)

    def __reduce__(self) -> tuple[Callable[[str], Evaluation], tuple[str]]:
        return _of_module, (self.module.__name__,)

    def __call__(self, name: str, size: int, t: float, state: Sequence[Vector], p: Parameters) -> Vector:
        """What a function of t, parts of the state and the parameters writes, in memory of its own.

        Parameters
        ----------
        name : name of the function
        size : how many numbers it writes
        t : float
        state : contiguous arrays
        p : Parameters

        Raises
        ------
        Undefined
        """
        code = self.code.get(name)
        if code is not None:
            out = np.zeros(size)
            if code(t, *state, p.array, out):
                return out
        return self._by_cpython(name, size, t, state, p)

    def _by_cpython(self, name: str, size: int, t: float, state: Sequence[Vector], p: Parameters) -> Vector:
        self._count()
        out = array("d", bytes(8 * size))
        try:
            # Lists, not arrays: CPython's float arithmetic is several times faster than numpy's scalars.
            getattr(self.module, name)(t, *[x.tolist() for x in state], p.list, out)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:  # TypeError: complex, or no case
            raise Undefined(str(error)) from None
        flat = np.frombuffer(out) if out else np.zeros(0)
        if not all_finite(flat):
            raise Undefined
        return flat

    def certificate(
        self, step: Vector, a: Vector, lam: Vector | None, m: int
    ) -> tuple[Sequence[float], Vector, Vector] | None:
        """What the generated certificate finds of a step and a candidate, see `gaussopt.codegen.ldl`.

        Parameters
        ----------
        step : what the function `step` wrote
        a, lam : (n,), (m,)
            The candidate; its multipliers may be missing.
        m : number of rows

        Returns
        -------
        numbers, multipliers, inverse : (9,), (m,), (m,)
            The last ones are reciprocal squares of the distances of rows from those before them.
            None where a pivot is too small or a number is not finite.
        """
        code = self.code.get("certificate")
        if code is not None:
            found = np.empty(_NUMBERS + 2 * m)
            if code(step, a, np.zeros(m) if lam is None else lam, found):
                if lam is None:
                    found[3] = 0.0
                return found[:_NUMBERS].tolist(), found[_NUMBERS : _NUMBERS + m], found[_NUMBERS + m :]
        out = [0.0] * (_NUMBERS + 2 * m)
        try:
            if not self.module.certificate(step.tolist(), a.tolist(), None if lam is None else lam.tolist(), out):
                return None
        except (OverflowError, ZeroDivisionError):
            return None
        if not math.isfinite(sum(out)):
            return None
        behind = np.array(out[_NUMBERS:])
        return out[:_NUMBERS], behind[:m], behind[m:]

    def _count(self) -> None:
        """One call more by CPython; compile once there were enough."""
        self._left -= 1
        if self._left == 0:
            from gaussopt.core.errors import NotCompiled

            # Nothing is lost where it fails: on a Python whose objects machine code cannot read (ImportError), or on a
            # processor that LLVM does not know (RuntimeError).
            with suppress(NotCompiled, ImportError, RuntimeError):
                self.code = _compiled(self.module)


def _compiled(module: ModuleType) -> Mapping[str, Callable[..., bool]]:
    """The functions of a generated module as machine code.

    Raises
    ------
    NotCompiled
    """
    from gaussopt.core.errors import NotCompiled
    from gaussopt.jit.llvm import exact

    functions = {name: x for name, x in vars(module).items() if isinstance(x, FunctionType)}
    if sum(len(x.__code__.co_code) for x in functions.values()) > LONGEST:
        raise NotCompiled("its equations are too long")
    return exact(module, list(functions))


def _of_module(name: str) -> Evaluation:
    """The evaluation of a generated module that this process has loaded."""
    return Evaluation.of(sys.modules[name])
