"""Around the lines of a step: what the loops of all integration methods share, and the recording of states.

A loop reads and writes flat sequences only: CPython runs it on lists, numba on arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gaussopt.compiled.source import Lines
from gaussopt.equations import Model
from gaussopt.straight_line import Entry

MARCH = "begin, dt, end, first, count, every, y, p, limit, sharp, work, constants, failed, worst, trace"
"""Arguments of a loop of constant steps."""

ROW = 14
"""Numbers of a recorded row beside acceleration and multipliers."""

MOST_CORRECTIONS = 20
"""Newton iterations of a projection."""


@dataclass(frozen=True)
class Written:
    """Source of a loop.

    Attributes
    ----------
    functions : their texts; the last one is what is called
    work, constants : entries of the work spaces that it needs
    imports : functions that it calls
    tables : constants of the module, by name
    """

    functions: tuple[str, ...]
    work: int
    constants: int
    imports: frozenset[str]
    tables: Mapping[str, Sequence[float]] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Shape:
    """How entries lie in flat sequences.

    Attributes
    ----------
    model : Model
    lanes : W
    """

    model: Model
    lanes: int = 1

    @property
    def n(self) -> int:
        """Coordinates."""
        return len(self.model.q)

    @property
    def m(self) -> int:
        """Constraints."""
        return len(self.model.equations.J)

    @property
    def size(self) -> int:
        """Entries of the state (q, v) of all lanes."""
        return 2 * self.n * self.lanes

    def at(self, i: int, base: str = "") -> str:
        """The place of entry i in a flat sequence, behind `base` entries."""
        place = str(i) if self.lanes == 1 else f"{i * self.lanes} + l"
        return f"{base} + {place}" if base else place

    def each(self, lines: Sequence[str], indent: int) -> list[str]:
        """Lines for each lane, indented."""
        head = [] if self.lanes == 1 else [f"for l in range({self.lanes}):"]
        inner = "    " * (indent + len(head))
        return ["    " * indent + h for h in head] + [inner + line for line in lines]

    def reads(self, lines: Sequence[str]) -> list[str]:
        """Assignments of the coordinates and velocities that the lines use."""
        used = names_in(lines)
        symbols = [*self.model.q, *self.model.v]
        return [f"{s} = y[{self.at(i)}]" for i, s in enumerate(symbols) if str(s) in used]


def names_in(lines: Sequence[str]) -> set[str]:
    """Names that lines read or write."""
    return set(re.findall(r"[A-Za-z_]\w*", "\n".join(lines)))


@dataclass(frozen=True)
class Constants:
    """What depends on parameters alone, computed before the loop over time.

    With one lane the names stay alive; with several their values are kept in `constants` and read back.
    """

    shape: Shape
    names: tuple[str, ...]
    before: tuple[str, ...]

    @classmethod
    def of(cls, shape: Shape, parts: Parts) -> Constants:
        """For all lines of a loop, whose names may not clash."""
        before = [f"{s} = p[{shape.at(i)}]" for i, s in enumerate(shape.model.p)]
        names = [str(s) for s in shape.model.p]
        for lines in parts:
            before += lines.once
            names += [line.split(" = ")[0] for line in lines.once]
        if shape.lanes > 1:
            before += [f"constants[{shape.at(i)}] = {s}" for i, s in enumerate(names)]
        return cls(shape, tuple(names), tuple(before))

    def reread(self, lines: Sequence[str]) -> list[str]:
        """Assignments of those that the lines use."""
        if self.shape.lanes == 1:
            return []
        used = names_in(lines)
        return [f"{s} = constants[{self.shape.at(i)}]" for i, s in enumerate(self.names) if s in used]


def value(entry: Entry) -> str:
    """An entry as source."""
    return entry or "0.0"


class Loop:
    """Pieces that the loops of all methods share; a method puts them in order.

    Work space: the state before the step, the slopes of the stages, and for each lane of a projection the best residual
    so far and whether it is done.
    """

    def __init__(self, shape: Shape, parts: Parts, stages: int) -> None:
        self.shape, self.parts, self.stages = shape, parts, stages
        self.constants = Constants.of(shape, parts)
        self.progress = shape.size * (stages + 1)

    @property
    def work(self) -> int:
        """Entries of the work space."""
        return self.progress + 2 * self.shape.lanes

    def written(
        self, *functions: str, imports: Iterable[str] = (), tables: Mapping[str, Sequence[float]] | None = None
    ) -> Written:
        """The functions with what they need."""
        constants = len(self.constants.names) * self.shape.lanes
        return Written(functions, self.work, constants, self.parts.imports | frozenset(imports), tables or {})

    def _lane(self, name: str, i: int = 0) -> str:
        return f"{name}[{self.shape.at(i)}]"

    def placed(self, lines: Sequence[str], indent: int) -> list[str]:
        """Lines with what they read, for each lane."""
        return self.shape.each([*self.constants.reread(lines), *self.shape.reads(lines), *lines], indent)

    def failing(self, sound: str) -> list[str]:
        """Note the step at which a motion failed first."""
        failed = self._lane("failed")
        return [f"good = {sound}", f"{failed} = {failed} if good or {failed} > 0.0 else step + 1.0"]

    def slope(self, indent: int) -> list[str]:
        """(v, a) at state y and time t into the work space behind `slope`."""
        lines = self.parts.step
        return self.placed([*lines.body, *self.stores(lines), *self.failing(lines.regular)], indent)

    def stores(self, lines: Lines) -> list[str]:
        """What a solve leaves in the work space: (v, a) behind `slope`."""
        shape, n = self.shape, self.shape.n
        store = [f"work[{shape.at(i, 'slope')}] = {v}" for i, v in enumerate(shape.model.v)]
        return store + [f"work[{shape.at(n + i, 'slope')}] = {value(a)}" for i, a in enumerate(lines.results["a"])]

    def check(self, indent: int) -> list[str]:
        """Residuals of the slope just computed at state y and time t."""
        lines = self.parts.check
        found = [(self._lane("worst", i), r) for i, r in enumerate(lines.results["residuals"]) if r]
        note = [f"{place} = max({place}, {r})" for place, r in found]
        sound = " & ".join(f"({r} <= limit)" for _, r in found) or "True"
        return self.placed([*self.latest(), *lines.body, *note, *self.failing(sound)], indent)

    def latest(self) -> list[str]:
        """Assignments of what the residuals read; nothing where the lines of the step stand before theirs."""
        return []

    def correct(self, indent: int) -> list[str]:
        """Newton's method on phi(q) = 0 at time t, then one linear step on the velocity constraints.

        A residual at rounding level stops halving, see `gaussopt.stabilisation.Projection`.
        """
        lines, shape, W = self.parts.correct, self.shape, self.shape.lanes
        if lines is None:
            return []
        best, done = f"work[{shape.at(0, str(self.progress))}]", f"work[{shape.at(0, str(self.progress + W))}]"
        sizes = [f"abs({x})" for x in lines.results["phi"] if x]
        reach = [f"abs({s})" for s in shape.model.q]
        newton = [
            f"size = {largest(sizes)}",
            f"goal = sharp*(1.0 + {largest(reach)})",
            f"near = (size <= goal) | ((size < 1e3*goal) & (size > 0.5*{best}))",
            f"{best} = min({best}, size)",
            *self.failing(f"({done} > 0.0) | ({lines.regular})"),
        ]
        newton += [f"last = near & ({done} == 0.0)", f"more = (not near) & ({done} == 0.0)"]
        for i, (dq, dv) in enumerate(zip(lines.results["dq"], lines.results["dv"], strict=True)):
            if dq:
                newton.append(f"y[{shape.at(i)}] -= {dq} if more else 0.0")
            if dv:
                newton.append(f"y[{shape.at(shape.n + i)}] -= {dv} if last else 0.0")
        newton.append(f"{done} = 1.0 if near else {done}")
        inner = self.placed([*lines.body, *newton], 1)
        text = [
            *shape.each([f"{best} = 1e300", f"{done} = 0.0"], 0),
            f"for correction in range({MOST_CORRECTIONS}):",
            *inner,
            "    left = 0",
            *shape.each([f"if {done} == 0.0 and {self._lane('failed')} == 0.0:", "    left += 1"], 1),
            "    if left == 0:",
            "        break",
            *shape.each(self.failing(f"{done} > 0.0"), 0),
        ]
        return ["    " * indent + line for line in text]

    def keep(self, indent: int) -> list[str]:
        """Remember the state before the step."""
        return indented([f"for i in range({self.shape.size}):", "    work[i] = y[i]"], indent)

    def leave(self, indent: int) -> list[str]:
        """With one lane: go back to the state before a failed step and leave."""
        return [] if self.shape.lanes > 1 else self.leave_with(["return step - first"], indent)

    def leave_with(self, lines: Sequence[str], indent: int) -> list[str]:
        """Go back to the state before a failed step and do these lines."""
        back = [f"for i in range({self.shape.size}):", "    y[i] = work[i]"]
        return indented(["if failed[0] > 0.0:", *indented([*back, *lines], 1)], indent)

    def march(self, advance: Sequence[str]) -> str:
        """`march`: steps of constant length, of which `advance` holds the lines of one.

        Step number i goes from begin + i dt to begin + (i + 1) dt, but not beyond the end. A motion whose pivot
        vanishes or whose residuals exceed the limit has the number of that step + 1 in `failed`; with one lane the loop
        ends there with the state before that step. Returns the number of steps done. States whose number is a multiple
        of `every` go to `trace`, one behind the other. `worst` holds the largest squared residuals of constraints and
        forces, `sharp` is the tolerance of a projection.
        """
        text = [
            f"def march({MARCH}):",
            '    """Steps first, ..., first + count - 1; see gaussopt.compiled.loops."""',
            *self.shape.each(self.constants.before, 1),
            "    place = 0",
            "    for step in range(first, first + count):",
            "        start = begin + step*dt",
            "        stop = begin + (step + 1)*dt",
            "        if stop > end - 1e-9*dt:",
            "            stop = end",
            "        h = stop - start",
            *self.keep(2),
            *indented(advance, 2),
            "        t = stop",
            *self.correct(2),
            *self.leave(2),
            "        if (step + 1) % every == 0:",
            f"            for i in range({self.shape.size}):",
            "                trace[place + i] = y[i]",
            f"            place += {self.shape.size}",
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


def recording(shape: Shape, lines: Lines, fast: bool) -> list[str]:
    """`answer`, the acceleration at a state, and `rows`, see `gaussopt.compiled.modules.rows`.

    They call the functions of the model's own module, which stand before them.
    """
    n, m, model = shape.n, shape.m, shape.model
    m_h = len(model.holonomic)
    used = names_in([*lines.once, *lines.body])
    reads = [
        f"{s} = {name}[{i}]"
        for name, symbols in (("q", model.q), ("v", model.v), ("p", model.p))
        for i, s in enumerate(symbols)
        if str(s) in used
    ]
    stores = [f"a[{i}] = {value(x)}" for i, x in enumerate(lines.results["a"])]
    stores += [f"lam[{r}] = {value(x)}" for r, x in enumerate(lines.results["lam"])]
    answer = [
        "def answer(t, q, v, p, a, lam):",
        '    """Acceleration and multipliers; whether no pivot vanished."""',
        *indented([*reads, *lines.once, *lines.body, *stores, f"return {lines.regular}"], 1),
    ]

    def zeros(size: int) -> str:
        return f"zeros({size})" if fast else f"[0.0]*{size}"

    flat, width = n * n + 2 * n + m * n + m, ROW + n + m
    rows = f"""
def rows(count, t, y, p, table):
    \"\"\"What is recorded of each state; see gaussopt.compiled.modules.\"\"\"
    s, c, a, lam = {zeros(flat)}, {zeros(8 + m)}, {zeros(n)}, {zeros(m)}
    e, phi, rate = {zeros(3)}, {zeros(m_h)}, {zeros(m)}
    for r in range(count):
        q, v = y[{2 * n}*r:{2 * n}*r + {n}], y[{2 * n}*r + {n}:{2 * n}*r + {2 * n}]
        at = {width}*r
        step(t[r], q, v, p, s)
        good = answer(t[r], q, v, p, a, lam)
        table[at] = 1.0 if certificate(s, a, lam, c) and good else 0.0
        energy(t[r], q, v, p, e)
        position(t[r], q, p, phi)
        velocity(t[r], q, v, p, rate)
        for i in range(8):
            table[at + 1 + i] = c[i]
        for i in range(3):
            table[at + 9 + i] = e[i]
        drift = speed = 0.0
        for i in range({m_h}):
            drift = max(drift, abs(phi[i]))
        for i in range({m}):
            speed = max(speed, abs(rate[i]))
        table[at + 12] = drift
        table[at + 13] = speed
        for i in range({n}):
            table[at + {ROW} + i] = a[i]
        for i in range({m}):
            table[at + {ROW + n} + i] = lam[i]
"""
    return ["\n".join(answer), rows.strip()]
