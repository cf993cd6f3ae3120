"""Many motions side by side: Runge-Kutta steps as SIMD code over the lanes of a block, blocks shared between cores.

Everything a block needs lies in one flat array, entry i of lane l at i W + l, so that a compiler sees at once that no
two entries overlap. Lanes never branch: one that fails is marked and goes on with numbers that nobody reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gaussopt.codegen.job import LoopJob
from gaussopt.codegen.loop import MOST_CORRECTIONS, Written, names_in, near, value
from gaussopt.codegen.step import Lines
from gaussopt.core.errors import NotCompiled
from gaussopt.core.stepper import Tableau

LANES = 16
"""Motions of a block: two of the widest vectors."""

MARCH = (
    "first_block: int, last_block: int, memory: list, fresh: int, begin: float, dt: float, end: float, "
    "first_step: int, count: int, every: int, limit: float, sharp: float, states: list, members: int, instants: int"
)

_NUMBER = re.compile(r"-?\d+\.?\d*(e[+-]?\d+)?")


@dataclass(frozen=True)
class LaneArray:
    """A part of a block's array: `size` entries of every lane, from `start` on."""

    start: int
    size: int

    def at(self, i: int = 0) -> str:
        """Entry i of lane l as source."""
        return f"memory[{self.start + i * LANES} + l]"

    @property
    def span(self) -> int:
        """Numbers it takes."""
        return self.size * LANES


class Blocks:
    """Writes the functions of a method whose stages each start from the one before."""

    def __init__(self, job: LoopJob, tableau: Tableau) -> None:
        self.job, self.tableau, self.parts, self.n = job, tableau, job.parts(), len(job.model.q)
        lines = [x for x in (self.parts.step, self.parts.check, self.parts.correct) if x]
        self.once = [line for x in lines for line in x.once]
        values = dict(line.split(" = ", 1) for line in self.once)
        # Literals stay in the lines, where the compiler folds them; everything else is kept in the array.
        self.literals = {name: v for name, v in values.items() if _NUMBER.fullmatch(v)}
        self.kept = [name for name in values if name not in self.literals]
        model, n = job.model, self.n
        self.length = 0
        self.state, self.before, self.total = (self._lane_array(2 * n) for _ in range(3))
        self.parameters, self.constants = self._lane_array(len(model.p)), self._lane_array(len(self.kept))
        self.failed, self.worst = self._lane_array(1), self._lane_array(2)
        self.best, self.done = self._lane_array(1), self._lane_array(1)
        # What a name is read from.
        self.places = {str(s): self.state.at(i) for i, s in enumerate([*model.q, *model.v])}
        self.places |= {str(s): self.parameters.at(i) for i, s in enumerate(model.p)}
        self.places |= self.literals | {name: self.constants.at(i) for i, name in enumerate(self.kept)}

    def _lane_array(self, size: int) -> LaneArray:
        found = LaneArray(self.length, size)
        self.length += found.span
        return found

    def _lanes(self, lines: Sequence[str], count: int = LANES) -> list[str]:
        """A loop over the lanes."""
        return [f"    for l in range({count}):", *(f"        {line}" for line in lines)]

    def _twice(self, lines: Sequence[str]) -> list[str]:
        """A loop over lanes l and l + W/2 in turns: the elimination of one hides the latency of the other's.

        What is read stands before the line that needs it, so that few values are alive at a time.
        """
        unread = dict(self.places)
        text = []
        for line in lines:
            text += [f"{s} = {unread.pop(s)}" for s in sorted(names_in([line.partition(" = ")[2]]) & unread.keys())]
            text.append(line)
        own = {line.split(" = ")[0] for line in text if not line.startswith("memory")}
        found = []
        for line in text:
            twin = re.sub(r"[A-Za-z_]\w*", lambda name: f"{name[0]}_" if name[0] in own else name[0], line)
            found += [line, twin.replace(" + l]", f" + l + {LANES // 2}]")]
        return self._lanes(found, LANES // 2)

    def _failing(self, good: str) -> list[str]:
        """Note the step at which a motion failed first."""
        return [f"fault = {self.failed.at()}", f"{self.failed.at()} = fault if ({good}) or fault > 0.0 else number"]

    def prepare(self) -> list[str]:
        """Constants of the motions from their parameters."""
        reads = [f"{s} = {self.parameters.at(i)}" for i, s in enumerate(self.job.model.p)]
        stores = [f"{self.constants.at(i)} = {name}" for i, name in enumerate(self.kept)]
        return ["def prepare(memory):", *self._lanes([*reads, *self.once, *stores])]

    def stage(self, first: bool) -> list[str]:
        """A slope k at the state; total += share k, state = before + reach k; the first stage is also checked."""
        step, check = self.parts.step, self.parts.check
        body, good = [*step.body], [step.regular]
        if first:
            body += check.body
            for i, r in enumerate(check.results["residuals"]):
                if r:
                    body.append(f"{self.worst.at(i)} = max({self.worst.at(i)}, {r})")
                    good.append(f"({r} <= limit)")
        slopes = [*map(str, self.job.model.v), *map(value, step.results["a"])]
        for i, k in enumerate(slopes):
            start, total = (self.state.at(i), "start") if first else (self.before.at(i), self.total.at(i))
            body += [
                f"start = {start}",
                *([f"{self.before.at(i)} = start"] if first else []),
                f"{self.total.at(i)} = {total} + share*{k}",
                f"{self.state.at(i)} = start + reach*{k}",
            ]
        body += self._failing(" & ".join(good))
        head = "def first(memory, t, reach, share, number, limit):" if first else (
            "def stage(memory, t, reach, share, number):"
        )  # fmt: skip
        return [head, *self._twice(body)]

    def correct(self, lines: Lines) -> list[str]:
        """Newton's method on phi(q) = 0, then one linear step on the velocity constraints; see `LoopWriter.correct`."""
        model, n, best, done = self.job.model, self.n, self.best.at(), self.done.at()
        text = [
            *lines.body,
            f"best = {best}",
            f"ended = {done}",
            *near([x for x in lines.results["phi"] if x], [str(s) for s in model.q], "sharp"),
            f"{best} = best",
            *self._failing(f"(ended > 0.0) | ({lines.regular})"),
            "last = near & (ended == 0.0)",
            "more = (not near) & (ended == 0.0)",
        ]
        for i, (dq, dv) in enumerate(zip(lines.results["dq"], lines.results["dv"], strict=True)):
            if dq:
                text.append(f"{self.state.at(i)} -= {dq} if more else 0.0")
            if dv:
                text.append(f"{self.state.at(n + i)} -= {dv} if last else 0.0")
        text.append(f"{done} = 1.0 if near else ended")
        return [
            "def correct(memory, t, sharp, number):",
            *self._lanes([f"{best} = 1e300", f"{done} = 0.0"]),
            f"    for correction in range({MOST_CORRECTIONS}):",
            *(f"    {line}" for line in self._twice(text)),
            "        left = 0",
            *(
                f"    {line}"
                for line in self._lanes([f"if {done} == 0.0 and {self.failed.at()} == 0.0:", "    left += 1"])
            ),
            "        if left == 0:",
            "            break",
            *self._lanes(self._failing(f"{done} > 0.0")),
        ]

    def block(self) -> list[str]:
        """Steps of one block; states whose number is a multiple of `every` are recorded.

        `states` begins at the first motion of the block, and `left` counts the motions from there on.
        """
        A, b, c, n = self.tableau.A, self.tableau.b, self.tableau.c, self.n
        text = [
            "def block(memory, begin, dt, end, first_step, count, every, limit, sharp, states, instants, left):",
            "    for step in range(first_step, first_step + count):",
            "        start = begin + step*dt",
            "        stop = begin + (step + 1)*dt",
            "        if stop > end - 1e-9*dt:",
            "            stop = end",
            "        h = stop - start",
        ]
        for j, share in enumerate(b):
            reach = A[j + 1][j] if j + 1 < len(b) else 0.0
            call = f"start + {c[j]!r}*h, {reach!r}*h, {share!r}*h, step + 1.0"
            text.append(f"        stage(memory, {call})" if j else f"        first(memory, {call}, limit)")
        state, total = self.state.start, self.total.start
        text += [
            f"        for i in range({self.state.span}):",
            f"            memory[{state} + i] = memory[{total} + i]",
            *(["        correct(memory, stop, sharp, step + 1.0)"] if self.parts.correct else []),
            "        if (step + 1) % every == 0:",
            f"            for l in range(min({LANES}, left)):",
            f"                row = {2 * n}*(l*instants + (step + 1)//every)",
            f"                for i in range({2 * n}):",
            f"                    states[row + i] = memory[{state} + i*{LANES} + l]",
        ]
        return text

    def march(self) -> list[str]:
        """Steps of some blocks; fresh ones get their constants, and their states on the constraints by a projection.

        `states` holds `instants` states of each of `members` motions, one behind the other.
        """
        return [
            f"def march({MARCH}):",
            "    for b in range(first_block, last_block):",
            f"        own = memory[{self.length}*b:]",
            "        if fresh:",
            "            prepare(own)",
            *(["            correct(own, begin, sharp, 1.0)"] if self.parts.correct else []),
            "        block(own, begin, dt, end, first_step, count, every, limit, sharp,",
            f"              states[{2 * self.n * LANES}*b*instants:], instants, members - {LANES}*b)",
        ]

    def written(self) -> Written:
        """All functions; `PLACES` holds the length of a block's array, and where its parts begin that are read."""
        functions = [self.prepare(), self.stage(True), self.stage(False)]
        if self.parts.correct:
            functions.append(self.correct(self.parts.correct))
        functions += [self.block(), self.march()]
        places = {name: getattr(self, name).start for name in ("state", "parameters", "failed", "worst")}
        texts = ["\n".join(lines) for lines in functions]
        return Written(texts, self.parts.imports, {"PLACES": places | {"length": self.length}})


def write(job: LoopJob) -> Written:
    """The functions for blocks of motions.

    Raises NotCompiled if the method is no Runge-Kutta method whose stages each start from the one before.
    """
    tableau = job.method.tableau
    if tableau is None or any(a for i, row in enumerate(tableau.A) for j, a in enumerate(row) if j != i - 1):
        raise NotCompiled(f"the stepper {job.method.name!r} has no form for motions side by side")
    return Blocks(job, tableau).written()
