"""Kernels as machine code where llvmlite is installed, the same functions in plain Python where it is not.

`GAUSSOPT_COMPILE=0` runs the plain functions although llvmlite is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property, partial, update_wrapper
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from gaussopt.core.errors import NotCompiled

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = os.environ.get("GAUSSOPT_COMPILE", "1") != "0" and find_spec("llvmlite") is not None
"""Whether LLVM is there, and wanted."""

if COMPILED:
    from gaussopt.jit.llvm import checked_functions as checked_functions
    from gaussopt.jit.llvm import functions as functions
else:

    def functions(*arguments: Any, **settings: Any) -> Any:  # type: ignore[misc]
        """Nothing can be compiled."""
        raise NotCompiled("llvmlite is not installed, or switched off")

    checked_functions = functions  # type: ignore[assignment]


class Kernel:
    """A function that is translated and compiled at its first call, with all that it calls, and kept on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        update_wrapper(self, function)

    @cached_property
    def code(self) -> Any:
        """The machine code, without contraction of products and sums."""
        name = self._function.__name__
        return functions(sys.modules[self._function.__module__], [name], contract=False, vectors=False)[name]

    @property
    def address(self) -> int:
        """Where other machine code finds it."""
        return int(self.code.address)

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function for these arguments."""
        return self.code.call(*arguments)


def kernel(function: F) -> F:
    """Give a function in the forms of `gaussopt.jit.translation`, called from Python: as machine code if it can be."""
    return cast("F", Kernel(function)) if COMPILED else function


def bound(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Return a function without arguments that calls a kernel with these; it sees what is written into the arrays."""
    return function.code.bound(*arguments) if isinstance(function, Kernel) else partial(function, *arguments)


def prepare(*functions: Callable[..., Any]) -> None:
    """Compile kernels before their first call."""
    for function in functions:
        if isinstance(function, Kernel):
            _ = function.code


unrolled = range
"""What a loop runs over that machine code holds written out, number by number; its bound is a constant."""


def inlined(function: F) -> F:
    """Return a function that machine code holds wherever it calls it."""
    return function
