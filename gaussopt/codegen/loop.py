"""Around the lines of a step: what the loops of all integration methods share, and the recording of states.

A loop reads and writes flat arrays only; LLVM makes machine code of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaussopt.codegen.ldl import Entry
from gaussopt.codegen.step import Lines
from gaussopt.symbolic.model import SymbolicModel

MARCH = (
    "begin: float, dt: float, end: float, first: int, count: int, every: int, y: list, p: list, limit: float, "
    "sharp: float, work: list, worst: list, trace: list"
)
"""Arguments of a loop of constant steps."""

ROW = 15
"""Numbers of a recorded row before acceleration, multipliers, and reciprocal squares of the distances of rows."""

MOST_CORRECTIONS = 20
"""Newton iterations of a projection."""


@dataclass(frozen=True)
class Written:
    """Source of generated functions, of which the last is called; functions that they import; constants by name."""

    functions: Sequence[str]
    imports: frozenset[str]
    constants: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Parts:
    """The lines that a loop is made of.

    Attributes
    ----------
    step : accelerations and multipliers
    check : residuals of an acceleration and multipliers; its lines stand behind those of the step and read its names
    correct : corrections towards the constraints, None without projection
    more : whatever else a method writes
    """

    step: Lines
    check: Lines
    correct: Lines | None = None
    more: tuple[Lines, ...] = ()

    def __iter__(self) -> Iterator[Lines]:
        """All of them."""
        return iter([x for x in (self.step, self.check, self.correct, *self.more) if x])

    @property
    def imports(self) -> frozenset[str]:
        """Functions that the lines call."""
        return frozenset().union(*(x.imports for x in self))


def names_in(lines: Sequence[str]) -> set[str]:
    """Names that lines read or write."""
    return set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))


def value(entry: Entry) -> str:
    """An entry as source."""
    return entry or "0.0"


class LoopWriter:
    """Pieces that the loops of all methods share; a method puts them in order.

    Work space: the state before the step, and the slopes of the stages. `good` says whether a step went well so far.

    Attributes
    ----------
    n, m : coordinates and constraints
    size : entries of the state (q, v)
    work : entries of the work space
    """

    def __init__(self, model: SymbolicModel, parts: Parts, stages: int) -> None:
        self.model, self.parts = model, parts
        self.n, self.m = len(model.q), len(model.equations.J)
        self.size = 2 * self.n
        self.work = self.size * (stages + 1)

    def written(self, function: str, *imports: str, **tables: Sequence[float]) -> Written:
        """A loop with what it needs: `WORK`, entries of its work space, and tables of numbers by name."""
        constants = {"WORK": self.work} | {name: tuple(values) for name, values in tables.items()}
        return Written((function,), self.parts.imports | set(imports), constants)

    def before(self) -> list[str]:
        """What depends on parameters alone, computed before the loop over time."""
        return [f"{s} = p[{i}]" for i, s in enumerate(self.model.p)] + [line for x in self.parts for line in x.once]

    def placed(self, lines: Sequence[str]) -> list[str]:
        """Lines behind what they read of the state."""
        used = names_in(lines)
        symbols = [*self.model.q, *self.model.v]
        return [f"{s} = y[{i}]" for i, s in enumerate(symbols) if str(s) in used] + list(lines)

    def slope(self) -> list[str]:
        """(v, a) at state y and time t into the work space behind `slope`."""
        lines = self.parts.step
        return self.placed([*lines.body, *self.stores(lines), f"good = good & ({lines.regular})"])

    def stores(self, lines: Lines) -> list[str]:
        """What a solve leaves in the work space: (v, a) behind `slope`."""
        slope = [*map(str, self.model.v), *map(value, lines.results["a"])]
        return [f"work[slope + {i}] = {x}" for i, x in enumerate(slope)]

    def check(self) -> list[str]:
        """Residuals of the slope just computed at state y and time t."""
        lines = self.parts.check
        found = [(f"worst[{i}]", r) for i, r in enumerate(lines.results["residuals"]) if r]
        note = [f"{place} = max({place}, {r})" for place, r in found]
        keep = [f"good = good & ({r} <= limit)" for _, r in found]
        return self.placed([*self.latest(), *lines.body, *note, *keep]) or ["pass"]

    def latest(self) -> list[str]:
        """Assignments of what the residuals read; nothing where the lines of the step stand before theirs."""
        return []

    def correct(self) -> list[str]:
        """Newton's method on phi(q) = 0 at time t, then one linear step on the velocity constraints.

        It ends as `gaussopt.core.settling` says, see `near`.
        """
        lines = self.parts.correct
        if lines is None:
            return []
        position, velocity = (
            [f"y[{begin + i}] -= {x}" for i, x in enumerate(lines.results[name]) if x] or ["pass"]
            for begin, name in ((0, "dq"), (self.n, "dv"))
        )
        newton = [
            *lines.body,
            *near([x for x in lines.results["phi"] if x], [str(s) for s in self.model.q], "sharp"),
            f"good = good & ({lines.regular})",
            "if near or not good:",
            *indented(velocity, 1),
            "    break",
            *position,
        ]
        return [
            "best = 1e300",
            f"for correction in range({MOST_CORRECTIONS}):",
            *indented(self.placed(newton), 1),
            "good = good & near",
        ]

    def keep(self) -> list[str]:
        """Remember the state before the step."""
        return [f"for i in range({self.size}):", "    work[i] = y[i]"]

    def restore(self) -> list[str]:
        """Go back to it."""
        return [f"for i in range({self.size}):", "    y[i] = work[i]"]

    def march(self, advance: Sequence[str]) -> str:
        """`march`: steps of constant length, of which `advance` holds the lines of one.

        Step number i goes from begin + i dt to begin + (i + 1) dt, but not beyond the end. Where a pivot vanishes or
        the residuals exceed the limit the loop ends with the state before that step. Returns the number of steps done.
        States whose number is a multiple of `every` go to `trace`, one behind the other. `worst` holds the largest
        squared residuals of constraints and forces, `sharp` is the tolerance of a projection.
        """
        text = [
            f"def march({MARCH}) -> int:",
            '    """Steps first, ..., first + count - 1; see gaussopt.codegen.loop."""',
            *indented(self.before(), 1),
            "    place = 0",
            "    for step in range(first, first + count):",
            "        good = True",
            "        start = begin + step*dt",
            "        stop = begin + (step + 1)*dt",
            "        if stop > end - 1e-9*dt:",
            "            stop = end",
            "        h = stop - start",
            *indented(self.keep(), 2),
            *indented(advance, 2),
            "        t = stop",
            *indented(self.correct(), 2),
            "        if not good:",
            *indented(self.restore(), 3),
            "            return step - first",
            "        if (step + 1) % every == 0:",
            f"            for i in range({self.size}):",
            "                trace[place + i] = y[i]",
            f"            place += {self.size}",
            "    return count",
        ]
        return "\n".join(text)


def indented(lines: Sequence[str], indent: int) -> list[str]:
    """Lines moved to the right by some steps of four blanks."""
    return ["    " * indent + line for line in lines]


def largest(terms: Sequence[str]) -> str:
    """The largest of some terms as source, zero if there are none."""
    text = terms[0] if terms else "0.0"
    for term in terms[1:]:
        text = f"max({text}, {term})"
    return text


def near(residuals: Sequence[str], entries: Sequence[str], tolerance: str) -> list[str]:
    """Whether an iteration is `gaussopt.core.settling.settled`, as `near`; without branches, for lanes."""
    return [
        f"size = {largest([f'abs({x})' for x in residuals])}",
        f"goal = {tolerance}*(1.0 + {largest([f'abs({x})' for x in entries])})",
        "near = (size <= goal) | ((size < 1e3*goal) & (size > 0.5*best))",
        "best = min(best, size)",
    ]


def recording(model: SymbolicModel, lines: Lines) -> list[str]:
    """`answer`, the acceleration at a state, and `rows`, which calls the functions of the model's own module too."""
    return [_answer(model, lines), *_rows(len(model.q), len(model.equations.J), model)]


def _answer(model: SymbolicModel, lines: Lines) -> str:
    used = names_in([*lines.once, *lines.body])
    reads = [
        f"{s} = {name}[{i}]"
        for name, symbols in (("q", model.q), ("v", model.v), ("p", model.p))
        for i, s in enumerate(symbols)
        if str(s) in used
    ]
    stores = [f"a[{i}] = {value(x)}" for i, x in enumerate(lines.results["a"])]
    stores += [f"lam[{r}] = {value(x)}" for r, x in enumerate(lines.results["lam"])]
    text = [
        "def answer(t, q, v, p, a, lam):",
        '    """Acceleration and multipliers; whether no pivot vanished."""',
        *indented([*reads, *lines.once, *lines.body, *stores, f"return {lines.regular}"], 1),
    ]
    return "\n".join(text)


def _rows(n: int, m: int, model: SymbolicModel) -> list[str]:
    m_h = len(model.holonomic)
    flat, width = n * n + 2 * n + m * n + m, ROW + n + 2 * m
    rows = f"""
def rows(count: int, t: list, y: list, p: list, table: list):
    \"\"\"What is recorded of each state; see gaussopt.codegen.modules.\"\"\"
    s, c, a, lam = zeros({flat}), zeros({9 + 2 * m}), zeros({n}), zeros({m})
    e, phi, rate = zeros(3), zeros({m_h}), zeros({m})
    for r in range(count):
        q, v = y[{2 * n}*r:{2 * n}*r + {n}], y[{2 * n}*r + {n}:{2 * n}*r + {2 * n}]
        at = {width}*r
        step(t[r], q, v, p, s)
        good = answer(t[r], q, v, p, a, lam)
        table[at] = 1.0 if certificate(s, a, lam, c) and good else 0.0
        energy(t[r], q, v, p, e)
        position(t[r], q, p, phi)
        velocity(t[r], q, v, p, rate)
        for i in range(9):
            table[at + 1 + i] = c[i]
        for i in range(3):
            table[at + 10 + i] = e[i]
        drift = speed = 0.0
        for i in range({m_h}):
            drift = max(drift, abs(phi[i]))
        for i in range({m}):
            speed = max(speed, abs(rate[i]))
        table[at + 13] = drift
        table[at + 14] = speed
        for i in range({n}):
            table[at + {ROW} + i] = a[i]
        for i in range({m}):
            table[at + {ROW + n} + i] = lam[i]
            table[at + {ROW + n + m} + i] = c[{9 + m} + i]
"""
    together = f"""
def all_rows(first: int, last: int, count: int, t: list, y: list, p: list, table: list):
    \"\"\"The same for several motions.\"\"\"
    for i in range(first, last):
        rows(count, t, y[{2 * n}*count*i:], p[{len(model.p)}*i:], table[{width}*count*i:])
"""
    return [rows.strip(), together.strip()]
