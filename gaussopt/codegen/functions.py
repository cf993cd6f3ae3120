"""Straight-line functions made of the lines of a model, for the loops of `gaussopt.compiled.march`.

The arguments and results of each function are described in `gaussopt/compiled/march/given.pyi`. Functions use flat
arrays only and contain no loop: the loops are ordinary modules, into which LLVM inlines the functions.
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
    """The source of generated functions, the names of functions that they import, and constants and tables by name."""

    functions: Sequence[str]
    imports: frozenset[str]
    constants: Mapping[str, Any] = field(default_factory=dict)


def names_in(lines: Iterable[str]) -> set[str]:
    """Return all names that occur in lines of source."""
    return set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))


def value(entry: Entry) -> str:
    """Return the source text of an entry; it is "0.0" for None, which stands for zero."""
    return entry or "0.0"


def stores(array: str, entries: Iterable[Entry], begin: int = 0) -> list[str]:
    """Return statements that assign the entries to consecutive places of an array, from index `begin` on."""
    return [f"{array}[{begin + i}] = {value(x)}" for i, x in enumerate(entries)]


def table(rows: Iterable[Sequence[float]], width: int) -> tuple[float, ...]:
    """Return the rows as one flat tuple, each row padded with zeros to `width`."""
    return tuple(float(x) for row in rows for x in (*row, *[0.0] * (width - len(row))))


def indented(lines: Sequence[str]) -> list[str]:
    """Return lines indented by four blanks."""
    return [f"    {line}" for line in lines]


class StraightFunctions:
    """Writes the functions of one model, which share values that depend on parameters alone and are computed once.

    Attributes
    ----------
    n, m, m_h : numbers of coordinates, constraints, holonomic constraints
    places : for each name the source of its value: an entry of the array y or `once`, or a literal number
    once : number of entries of the array `once`: the parameters, and values that depend on them alone
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
        """Return a dict from each name to its source, such as y[0]; `state(i)` and `once(i)` write entry i."""
        symbols = [str(s) for s in (*self.model.q, *self.model.v)]
        found = {name: state(i) for i, name in enumerate(symbols)}
        return found | {name: once(i) for i, name in enumerate(self.kept)}

    @property
    def called(self) -> frozenset[str]:
        """Names of the imported functions that the lines call."""
        return frozenset[str]().union(*(x.imports for x in self.parts))

    def computed_once(self) -> list[str]:
        """Return the lines that compute values depending on parameters alone."""
        return [line for x in self.parts for line in x.once]

    def prepare(self) -> str:
        """Return the source of the function `prepare`, which fills `once` from the parameters."""
        reads = [f"{s} = p[{i}]" for i, s in enumerate(self.model.p)]
        lines = [*reads, *self.computed_once(), *stores("once", self.kept)]
        return "\n".join(["def prepare(p, once):", *indented(lines or ["pass"])])

    def function(self, head: str, lines: Sequence[str], places: Mapping[str, str] | None = None) -> str:
        """Return the source of a function with the body `lines`, preceded by assignments of the names that they use."""
        used = names_in(lines)
        reads = [f"{name} = {place}" for name, place in {**self.places, **(places or {})}.items() if name in used]
        return "\n".join([f"def {head}:", *indented([*reads, *lines])])

    def slope(self, step: Lines, check: Lines) -> str:
        """Return the source of the function `slope`, which solves a step and stores q' and v' in its argument k."""
        slopes = [*map(str, self.model.v), *step.results["a"]]
        looked = looks(check) or ["pass"]
        lines = [
            *step.body, *stores("k", slopes), f"good = {step.regular}", "if looked:", *indented(looked), "return good",
        ]  # fmt: skip
        return self.function("slope(t, y, once, k, looked, limit, worst)", lines)

    def correction(self, lines: Lines | None) -> str:
        """Return the source of the function `correction`; if `lines` is None, that function changes nothing."""
        if lines is None:
            return "def correction(t, y, once, phi, d):\n    return True"
        moves = stores("d", [*lines.results["dq"], *lines.results["dv"]])
        text = [*lines.body, *stores("phi", lines.results["phi"]), *moves, f"return {lines.regular}"]
        return self.function("correction(t, y, once, phi, d)", text)

    def written(self, functions: Sequence[str], space: int, correct: Lines | None, **constants: Any) -> Written:
        """Return all functions, `prepare` and `correction` included, and the array sizes that the loops need.

        `space` is the number of work-space entries for one step of the method; WORK is the number for a whole loop.
        """
        size = 2 * self.n
        work = self.once + 2 * size + self.m_h + space
        sizes = {
            "SIZE": size, "N": self.n, "M": self.m, "M_H": self.m_h, "ONCE": self.once, "WORK": work, "OWN": space,
            "PROJECTED": int(correct is not None),
        }  # fmt: skip
        return Written([self.prepare(), *functions, self.correction(correct)], self.called, sizes | constants)


def looks(check: Lines) -> list[str]:
    """Return lines that update the largest residuals `worst`, and set `good` to False if a residual exceeds `limit`."""
    found = [(f"worst[{i}]", r) for i, r in enumerate(check.results["residuals"]) if r]
    return [
        *check.body, *(f"{place} = max({place}, {r})" for place, r in found),
        *(f"good = good & ({r} <= limit)" for _, r in found),
    ]  # fmt: skip
