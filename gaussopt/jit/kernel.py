"""Kernels: functions compiled to machine code, unless the environment variable `GAUSSOPT_COMPILE` is 0."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from gaussopt.core.errors import NotCompiled

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = os.environ.get("GAUSSOPT_COMPILE", "1") != "0"
"""Whether functions are compiled to machine code."""

SWITCHED_OFF = "compilation is switched off (GAUSSOPT_COMPILE=0)"

if COMPILED:
    from gaussopt.jit.llvm import checked_functions as checked_functions
    from gaussopt.jit.llvm import functions as functions
else:

    def functions(*arguments: Any, **settings: Any) -> Any:  # type: ignore[misc]
        """Raise NotCompiled, because compilation is switched off."""
        raise NotCompiled(SWITCHED_OFF)

    checked_functions = functions  # type: ignore[assignment]


class Kernel:
    """A function that is compiled at its first call, with all functions that it calls, and cached on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.name = function, function.__name__
        update_wrapper(self, function)

    @cached_property
    def code(self) -> Any:
        """The machine code; products and sums are not contracted to fused operations."""
        module = sys.modules[self._function.__module__]
        return functions(module, [self.name], contract=False, vectors=False)[self.name]

    @property
    def address(self) -> int:
        """The address at which other machine code calls the kernel."""
        return int(self.code.address)

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function for these arguments."""
        return self.code.call(*arguments)


def kernel(function: F) -> F:
    """Mark a function in the Python subset of `gaussopt.jit.translation` as a kernel, unless compilation is off."""
    return cast("F", Kernel(function)) if COMPILED else function


def prepare(*kernels: Callable[..., Any]) -> None:
    """Compile kernels before their first call; what kernels in the names of one module have in common is compiled once.

    A kernel belongs to its own module, or to a later one in `kernels` that imports it.
    """
    waiting: dict[str, dict[str, Kernel]] = {}
    for function in kernels:
        if isinstance(function, Kernel) and "code" not in vars(function):
            module = sys.modules[function.__module__]
            for other in kernels:
                user = sys.modules[other.__module__]
                module = user if getattr(user, function.name, None) is function else module
            waiting.setdefault(module.__name__, {})[function.name] = function
    for name_of, found in waiting.items():
        code = functions(sys.modules[name_of], list(found), contract=False, vectors=False)
        for name, one in found.items():
            one.code = code[name]


unrolled = range
"""A `range` whose loop is unrolled in machine code; its bound is a constant."""


def inlined(function: F) -> F:
    """Mark a function to be inlined into its callers in machine code."""
    return function
