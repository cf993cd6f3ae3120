"""Evaluate the generated functions of a model at a state, in CPython or as machine code.

The choice depends only on the length of a motion, never on earlier runs; results agree up to rounding errors. CPython
runs functions that cannot be compiled, and reports states at which the equations are undefined.
"""

from __future__ import annotations

import math
import sys
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import FunctionType, ModuleType

import numpy as np

from gaussopt.core.arrays import Vector, all_finite
from gaussopt.core.errors import NotCompiled
from gaussopt.jit.entry import Workspace
from gaussopt.jit.kernel import COMPILED, checked_functions

ENOUGH = 2_000
"""Number of evaluations in a motion above which compiling its equations, a fraction of a second, saves time."""

LONGEST = 50_000
"""Size of CPython bytecode, bytes (some 2500 source lines), above which compiling would take more than a second."""

_NUMBERS = 9
"""Count of the numbers that precede the multipliers in a certificate; see `gaussopt.codegen.certificate`."""


class Undefined(ArithmeticError):
    """Raised if a function is undefined at a state; the message says why, or is empty if a result is not finite."""


class ParameterValues:
    """The values of a model's parameters, as a list for CPython and as an array for machine code."""

    def __init__(self, values: Sequence[float]) -> None:
        self.list = list(values)
        self.array = np.array(self.list, dtype=np.float64)


class _Arguments(Workspace):
    """The workspace with the arguments of a generated function of time, state and parameters."""

    __slots__ = ("out", "parameters", "state", "time", "values")

    def __init__(self, entrance: int, state: Sequence[Vector], p: ParameterValues, size: int) -> None:
        super().__init__(entrance, (None, *map(len, state), len(p.list), size))
        self.time, *self.state, self.values, self.out = self.arguments
        self.parameters: ParameterValues | None = None


class _Workspaces(threading.local):
    """The workspaces of each thread, by function name."""

    def __init__(self) -> None:
        self.of: dict[str, _Arguments] = {}
        self.certificate: Workspace | None = None


class GeneratedFunctions:
    """The functions of a generated module, called with arrays; `of` returns the same object for the same module.

    `code` holds the addresses of the functions that run as machine code, by name.
    """

    def __init__(self, module: ModuleType, compiled: bool) -> None:
        self.module = module
        self.code: Mapping[str, int] = _compiled(module) if compiled else {}
        self._wanted = compiled
        self._workspaces = _Workspaces()

    @staticmethod
    @cache
    def of(module: ModuleType, compiled: bool) -> GeneratedFunctions:
        """Return the functions of a module, as machine code if `compiled` is set and compiling is possible."""
        return GeneratedFunctions(module, compiled)

    def __reduce__(self) -> tuple[Callable[[str, bool], GeneratedFunctions], tuple[str, bool]]:
        return _of_module, (self.module.__name__, self._wanted)

    def __call__(self, name: str, size: int, t: float, state: Sequence[Vector], p: ParameterValues) -> Vector:
        """Return the `size` values of a function at t, state and parameters; raise Undefined if there are none."""
        if name in self.code:
            known = self._workspaces.of.get(name)
            if known is None:
                known = self._workspaces.of[name] = _Arguments(self.code[name], state, p, size)
            known.time[0] = t
            for part, given in zip(known.state, state):  # noqa: B905
                part[:] = given
            if known.parameters is not p:
                known.values[:], known.parameters = p.array, p
            if known.call():
                return known.out.copy()
        return self._by_cpython(name, size, t, state, p)

    def _by_cpython(self, name: str, size: int, t: float, state: Sequence[Vector], p: ParameterValues) -> Vector:
        out = array("d", bytes(8 * size))
        try:
            # Lists, not arrays: CPython computes with floats several times faster than with NumPy scalars.
            getattr(self.module, name)(t, *[x.tolist() for x in state], p.list, out)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:  # TypeError: a value is complex
            raise Undefined(str(error)) from None
        flat = np.frombuffer(out) if out else np.zeros(0)
        if not all_finite(flat):
            raise Undefined
        return flat

    def certificate(
        self, step: Vector, a: Vector, lam: Vector | None, m: int
    ) -> tuple[Sequence[float], Vector, Vector] | None:
        """Evaluate the generated certificate of a step and a candidate; see `gaussopt.codegen.certificate`.

        `step` is the output of the function `step`; the candidate is a (n,) and lam (m,), or a alone. Returns nine
        numbers, multipliers (m,), and for each row the reciprocal squared distance from the span of the preceding
        rows (m,); None if a pivot is too small or a number is not finite.
        """
        if "certificate" in self.code:
            space = self._workspaces.certificate
            if space is None:
                space = Workspace(self.code["certificate"], (len(step), len(a), m, _NUMBERS + 2 * m))
                self._workspaces.certificate = space
            flat, candidate, forces, found = space.arguments
            flat[:], candidate[:], forces[:] = step, a, 0.0 if lam is None else lam
            if space.call():
                if lam is None:
                    found[3] = 0.0
                behind = found[_NUMBERS:].copy()
                return found[:_NUMBERS].tolist(), behind[:m], behind[m:]
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


def _compiled(module: ModuleType) -> Mapping[str, int]:
    """Return addresses of the machine code of a module's functions, by name; empty if they cannot be compiled."""
    functions = {name: x for name, x in vars(module).items() if isinstance(x, FunctionType)}
    if not COMPILED or sum(len(x.__code__.co_code) for x in functions.values()) > LONGEST:
        return {}
    with suppress(NotCompiled, RuntimeError):  # RuntimeError: LLVM does not support this processor
        return checked_functions(module, list(functions))
    return {}


def _of_module(name: str, compiled: bool) -> GeneratedFunctions:
    """Return the functions of a generated module, which must be loaded in this process."""
    return GeneratedFunctions.of(sys.modules[name], compiled)
