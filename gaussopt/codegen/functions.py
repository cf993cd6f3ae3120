"""Straight-line functions from the lines of a model, for the loops of `gaussopt.compiled.march`.

What a function is told and what it writes stands in `gaussopt/compiled/march/given.pyi`. Functions read and write flat
arrays only and hold no loop: the loops are ordinary modules, and LLVM puts the functions into them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaussopt.codegen.ldl import Entry
from gaussopt.codegen.step import Lines
from gaussopt.symbolic.model import SymbolicModel

_NUMBER = re.compile(r"-?\d+\.?\d*(e[+-]?\d+)?")


@dataclass(frozen=True)
class Written:
    """Source of generated functions, functions of other modules that they call, and numbers and tables by name."""

    functions: Sequence[str]
    imports: frozenset[str]
    constants: Mapping[str, Any] = field(default_factory=dict)


def names_in(lines: Iterable[str]) -> set[str]:
    """Names that lines read or write."""
    return set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))


def value(entry: Entry) -> str:
    """An entry as source."""
    return entry or "0.0"


def stores(array: str, entries: Iterable[Entry], begin: int = 0) -> list[str]:
    """Assignments of entries to an array, from `begin` on."""
    return [f"{array}[{begin + i}] = {value(x)}" for i, x in enumerate(entries)]


def table(rows: Iterable[Sequence[float]], width: int) -> tuple[float, ...]:
    """Rows one behind the other, each filled up with zeros."""
    return tuple(float(x) for row in rows for x in (*row, *[0.0] * (width - len(row))))


def indented(lines: Sequence[str]) -> list[str]:
    """Lines moved to the right by four blanks."""
    return [f"    {line}" for line in lines]


class StraightFunctions:
    """Writes functions of one model, of lines whose `once` one function computes for all others.

    Attributes
    ----------
    n, m, m_h : coordinates, constraints, holonomic constraints
    places : where a function reads a name from: the state y, or `once`; numbers stand in the lines, where they fold
    once : entries of `once`: the parameters, and what depends on them alone
    """

    def __init__(self, model: SymbolicModel, parts: Sequence[Lines]) -> None:
        self.model, self.parts = model, parts
        self.n, self.m, self.m_h = len(model.q), len(model.equations.J), len(model.holonomic)
        values = dict(line.split(" = ", 1) for x in parts for line in x.once)
        literals = {name: text for name, text in values.items() if _NUMBER.fullmatch(text)}
        read = names_in(line for x in parts for line in (*x.body, x.regular, *self._results(x)))
        self.kept = [str(s) for s in model.p] + [name for name in values if name in read and name not in literals]
        self.once = len(self.kept)
        self.places = literals | self.read_from(lambda i: f"y[{i}]", lambda i: f"once[{i}]")

    @staticmethod
    def _results(lines: Lines) -> list[str]:
        return [x for entries in lines.results.values() for x in entries if x]

    def read_from(self, state: Any, once: Any) -> dict[str, str]:
        """The source of what names are read from, by functions of the place in the state and in `once`."""
        symbols = [str(s) for s in (*self.model.q, *self.model.v)]
        found = {name: state(i) for i, name in enumerate(symbols)}
        return found | {name: once(i) for i, name in enumerate(self.kept)}

    @property
    def called(self) -> frozenset[str]:
        """Functions that the lines call."""
        return frozenset[str]().union(*(x.imports for x in self.parts))

    def computed_once(self) -> list[str]:
        """Lines that compute what depends on parameters alone."""
        return [line for x in self.parts for line in x.once]

    def prepare(self) -> str:
        """The function `prepare`."""
        reads = [f"{s} = p[{i}]" for i, s in enumerate(self.model.p)]
        lines = [*reads, *self.computed_once(), *stores("once", self.kept)]
        return "\n".join(["def prepare(p, once):", *indented(lines or ["pass"])])

    def function(self, head: str, lines: Sequence[str], places: Mapping[str, str] | None = None) -> str:
        """A function of these lines, which read names from `places` and, after them, from those of all functions."""
        used = names_in(lines)
        reads = [f"{name} = {place}" for name, place in {**self.places, **(places or {})}.items() if name in used]
        return "\n".join([f"def {head}:", *indented([*reads, *lines])])

    def slope(self, step: Lines, check: Lines) -> str:
        """The function `slope`."""
        slopes = [*map(str, self.model.v), *step.results["a"]]
        looked = looks(check) or ["pass"]
        lines = [
            *step.body, *stores("k", slopes), f"good = {step.regular}", "if looked:", *indented(looked), "return good",
        ]  # fmt: skip
        return self.function("slope(t, y, once, k, looked, limit, worst)", lines)

    def correction(self, lines: Lines | None) -> str:
        """The function `correction`, of a projection if there is one."""
        if lines is None:
            return "def correction(t, y, once, phi, d):\n    return True"
        moves = stores("d", [*lines.results["dq"], *lines.results["dv"]])
        text = [*lines.body, *stores("phi", lines.results["phi"]), *moves, f"return {lines.regular}"]
        return self.function("correction(t, y, once, phi, d)", text)

    def written(self, functions: Sequence[str], space: int, correct: Lines | None, **constants: Any) -> Written:
        """All functions, those of a projection among them, with the sizes that the loops read.

        `space` is what a step of the method works in. WORK says how many numbers a loop works in.
        """
        size = 2 * self.n
        work = self.once + 2 * size + self.m_h + space
        sizes = {
            "SIZE": size, "N": self.n, "M": self.m, "M_H": self.m_h, "ONCE": self.once, "WORK": work,
            "PROJECTED": int(correct is not None),
        }  # fmt: skip
        return Written([self.prepare(), *functions, self.correction(correct)], self.called, sizes | constants)


def looks(check: Lines) -> list[str]:
    """Residuals of an acceleration: they raise `worst`, and spoil `good` beyond the limit."""
    found = [(f"worst[{i}]", r) for i, r in enumerate(check.results["residuals"]) if r]
    return [
        *check.body, *(f"{place} = max({place}, {r})" for place, r in found),
        *(f"good = good & ({r} <= limit)" for _, r in found),
    ]  # fmt: skip
