"""Straight lines from a kernel: the operations that it performs on sample values, in their order, without its loops.

A kernel runs in Python on values that record what is computed with them. Its loops and branches are followed, its
comparisons are kept as conditions, and operations with constants 0 and 1 are left out. For all values that satisfy the
conditions, the lines compute the same numbers as the kernel, bit by bit except for the signs of zeros.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from gaussopt.core.errors import NotCompiled

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Trace:
    """The lines and conditions recorded so far; more than `most` lines raise NotCompiled."""

    def __init__(self, most: int) -> None:
        self.lines: list[str] = []
        self.conditions: dict[str, None] = {}
        self._most = most
        self._names: dict[str, str] = {}

    def value(self, text: str, number: float) -> Traced:
        """Return the value of an expression, which is `number` in the sample, under the name of its line."""
        if text not in self._names:
            if len(self.lines) == self._most:
                raise NotCompiled(f"it has more than {self._most} lines")
            self._names[text] = f"w{len(self.lines)}"
            self.lines.append(f"{self._names[text]} = {text}")
        return Traced(self, self._names[text], number)


def _method(symbol: str, reverse: bool = False) -> Callable[[Any, Any], Any]:
    """Return the method of `Traced` for an operation or a comparison."""
    compute, neutral, compares = _OPERATIONS[symbol], 0 if symbol in "+-" else 1, symbol[0] in "<>"

    def method(self: Traced, other: Any) -> Any:
        x, y = (other, self) if reverse else (self, other)
        if (symbol in ("*", "/") and _is(x, 0)) or (symbol == "*" and _is(y, 0)):
            return 0.0
        if (symbol in ("+", "*") and _is(x, neutral)) or (symbol in "+-*/" and _is(y, neutral)):
            return y if _is(x, neutral) else x
        number, text = compute(_sample(x), _sample(y)), f"{written(x)} {symbol} {written(y)}"
        if not compares:
            return self.trace.value(text, number)
        self.trace.conditions[f"({text})" if number else f"(not ({text}))"] = None
        return number

    return method


class Traced:
    """A float of the sample that records what is computed with it."""

    __slots__ = ("name", "number", "trace")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, name: str, number: float) -> None:
        self.trace, self.name, self.number = trace, name, number

    __add__, __radd__, __sub__, __rsub__ = _method("+"), _method("+", True), _method("-"), _method("-", True)
    __mul__, __rmul__, __truediv__, __rtruediv__ = _method("*"), _method("*", True), _method("/"), _method("/", True)
    __lt__, __le__, __gt__, __ge__ = _method("<"), _method("<="), _method(">"), _method(">=")

    def __pow__(self, n: int) -> Traced:
        return self.trace.value(f"{self.name}**{n}", self.number**n)

    def __neg__(self) -> Traced:
        return self.trace.value(f"-{self.name}", -self.number)

    def __eq__(self, other: object) -> bool:
        return False  # kernels ask for equality only where zeros may be skipped: no value counts as zero for ever


def written(x: Traced | float) -> str:
    """Return the source of a number."""
    return x.name if isinstance(x, Traced) else repr(float(x))


def _sample(x: Traced | float) -> float:
    return x.number if isinstance(x, Traced) else x


def _is(x: Traced | float, constant: float) -> bool:
    return not isinstance(x, Traced) and x == constant


def _function(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numbers that records a call of the function `name` if one of them is traced."""

    def function(*numbers: Any) -> Any:
        found = next((x for x in numbers if isinstance(x, Traced)), None)
        if found is None:
            return compute(*numbers)
        return found.trace.value(f"{name}({', '.join(map(written, numbers))})", compute(*map(_sample, numbers)))

    return function


_WORDS = {name: _function(name, getattr(builtins, name)) for name in ("abs", "min", "max")} | {
    "math": SimpleNamespace(sqrt=_function("sqrt", math.sqrt), inf=math.inf, nan=math.nan)
}
"""Names in kernels, with their meanings for traced values."""


def traceable(kernel: Callable[..., Any], known: dict[Any, FunctionType] | None = None) -> FunctionType:
    """Return a copy of a kernel, and of all functions that it calls, which runs on traced values."""
    known, function = {} if known is None else known, inspect.unwrap(kernel)
    if function not in known:
        scope = function.__globals__ | _WORDS
        known[function] = FunctionType(function.__code__, scope)
        for name in function.__code__.co_names:
            if callable(x := scope.get(name)) and isinstance(inspect.unwrap(x), FunctionType) and name not in _WORDS:
                scope[name] = traceable(x, known)
    return known[function]
