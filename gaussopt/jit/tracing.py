"""Straight lines from a kernel: the operations that it performs on sample values, in their order, without its loops.

A kernel runs in Python on values that record what is computed with them. Its loops and branches are followed, its
comparisons are kept as conditions, and operations with constants 0 and 1 are left out. For all values that satisfy the
conditions, the lines compute the same numbers as the kernel, bit by bit except for the signs of zeros.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, TypeAlias

from gaussopt.core.errors import NotCompiled
from gaussopt.jit.llvm import plain


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

    def holds(self, text: str, outcome: bool) -> bool:
        """Return the outcome of a comparison in the sample, and record it as a condition."""
        self.conditions[text if outcome else f"(not {text})"] = None
        return outcome


class Traced:
    """A float of the sample that records what is computed with it."""

    __slots__ = ("_trace", "name", "number")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, name: str, number: float) -> None:
        self._trace, self.name, self.number = trace, name, number

    def of(self, text: str, number: float) -> Traced:
        """Return the value of an expression in which this value occurs."""
        return self._trace.value(text, number)

    def __add__(self, x: Number) -> Traced:
        return self if _is(x, 0) else self.of(f"{self.name} + {written(x)}", self.number + sample(x))

    __radd__ = __add__

    def __sub__(self, x: Number) -> Traced:
        return self if _is(x, 0) else self.of(f"{self.name} - {written(x)}", self.number - sample(x))

    def __rsub__(self, x: float) -> Traced:
        return -self if x == 0 else self.of(f"{written(x)} - {self.name}", x - self.number)

    def __mul__(self, x: Number) -> Number:
        if _is(x, 0):
            return 0.0
        return self if _is(x, 1) else self.of(f"{self.name} * {written(x)}", self.number * sample(x))

    __rmul__ = __mul__

    def __truediv__(self, x: Number) -> Traced:
        return self if _is(x, 1) else self.of(f"{self.name} / {written(x)}", _quotient(self.number, sample(x)))

    def __rtruediv__(self, x: float) -> Number:
        return 0.0 if x == 0 else self.of(f"{written(x)} / {self.name}", _quotient(x, self.number))

    def __neg__(self) -> Traced:
        return self.of(f"-{self.name}", -self.number)

    def __abs__(self) -> Traced:
        return self.of(f"abs({self.name})", abs(self.number))

    def __pow__(self, n: int) -> Traced:
        return self.of(f"{self.name}**{n}", self.number**n)

    def __lt__(self, x: Number) -> bool:
        return self._trace.holds(f"({self.name} < {written(x)})", self.number < sample(x))

    def __le__(self, x: Number) -> bool:
        return self._trace.holds(f"({self.name} <= {written(x)})", self.number <= sample(x))

    def __gt__(self, x: Number) -> bool:
        return self._trace.holds(f"({self.name} > {written(x)})", self.number > sample(x))

    def __ge__(self, x: Number) -> bool:
        return self._trace.holds(f"({self.name} >= {written(x)})", self.number >= sample(x))

    def __eq__(self, x: object) -> bool:
        return False  # kernels ask for equality only where zeros may be skipped: no value counts as zero for ever


Number: TypeAlias = Traced | float


def written(x: Number) -> str:
    """Return the source of a number."""
    return x.name if isinstance(x, Traced) else repr(float(x))


def sample(x: Number) -> float:
    """Return the number of the sample."""
    return x.number if isinstance(x, Traced) else x


def _is(x: Number, constant: float) -> bool:
    return not isinstance(x, Traced) and x == constant


def _quotient(x: float, y: float) -> float:
    return x / y if y else math.nan


def _root(x: Number) -> Number:
    return x.of(f"sqrt({x.name})", math.sqrt(x.number)) if isinstance(x, Traced) else math.sqrt(x)


def _extreme(name: str) -> Callable[..., Any]:
    choose = getattr(builtins, name)

    def extreme(*numbers: Any) -> Any:
        found = next((x for x in numbers if isinstance(x, Traced)), None)
        if found is None:
            return choose(*numbers)
        return found.of(f"{name}({', '.join(map(written, numbers))})", choose(map(sample, numbers)))

    return extreme


_WORDS = {
    "min": _extreme("min"), "max": _extreme("max"),
    "math": SimpleNamespace(sqrt=_root, inf=math.inf, nan=math.nan),
}  # fmt: skip
"""Names in kernels, with their meanings for traced values."""


def traceable(kernel: Callable[..., Any], known: dict[Any, FunctionType] | None = None) -> FunctionType:
    """Return a copy of a kernel, and of all functions that it calls, which runs on traced values."""
    known, function = {} if known is None else known, plain(kernel)
    if function not in known:
        scope = function.__globals__ | _WORDS
        known[function] = FunctionType(function.__code__, scope)
        for name in function.__code__.co_names:
            if isinstance(plain(scope.get(name)), FunctionType) and name not in _WORDS:
                scope[name] = traceable(scope[name], known)
    return known[function]
