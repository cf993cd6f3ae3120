"""Functions for the loops of `gaussopt.compiled.march.lanes`: code for one lane, or interleaved code for two lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gaussopt.codegen.functions import StraightFunctions, Written, indented, names_in, value
from gaussopt.codegen.job import LoopJob
from gaussopt.codegen.step import Lines
from gaussopt.core.errors import NotCompiled
from gaussopt.core.stepper import Tableau


@dataclass(frozen=True)
class LaneArray:
    """A section of a block's array, from index `start` on: `size` entries for every lane."""

    start: int
    size: int
    lanes: int

    def at(self, i: int = 0) -> str:
        """Return the source of entry i of lane l."""
        return f"memory[{self.start + i * self.lanes} + l]"


class LaneFunctions(StraightFunctions):
    """Writes the functions of a method in which each stage uses only the rates of the previous stage."""

    def __init__(self, job: LoopJob, tableau: Tableau, lanes: int) -> None:
        self.tableau, self.lanes = tableau, lanes
        self.step, self.check, self.correct = job.acceleration()
        super().__init__(job.model, [x for x in (self.step, self.check, self.correct) if x])
        self.length, n = 0, self.n
        self.state, self.before, self.total, self.constants, self.failed, self.worst, self.best, self.done = (
            self._part(size) for size in (2 * n, 2 * n, 2 * n, self.once, 1, 2, 1, 1)
        )
        self.places |= self.read_from(self.state.at, self.constants.at)

    def _part(self, size: int) -> LaneArray:
        found = LaneArray(self.length, size, self.lanes)
        self.length += size * self.lanes
        return found

    def _function(self, head: str, lines: Sequence[str]) -> str:
        """Return the source of a function for lanes l and l + W / 2, or for lane l alone if W = 1.

        Values are read just before the line that needs them, so that few of them occupy registers at a time.
        """
        unread = dict(self.places)
        text = []
        for line in lines:
            text += [f"{s} = {unread.pop(s)}" for s in sorted(names_in([line.partition(" = ")[2]]) & unread.keys())]
            text.append(line)
        if self.lanes == 1:
            return "\n".join([f"def {head}:", *indented(text)])
        own = {line.split(" = ")[0] for line in text if not line.startswith("memory")}
        found = []
        for line in text:
            twin = re.sub(r"[A-Za-z_]\w*", lambda name: f"{name[0]}_" if name[0] in own else name[0], line)
            found += [line, twin.replace(" + l]", f" + l + {self.lanes // 2}]")]
        return "\n".join([f"def {head}:", *indented(found)])

    def _failing(self, good: str) -> list[str]:
        """Return lines that store, for a motion that fails, the number of its first failed step."""
        return [f"fault = {self.failed.at()}", f"{self.failed.at()} = fault if ({good}) or fault > 0.0 else number"]

    def constants_of(self) -> str:
        """Return the source of the function `constants`, which computes values that depend on parameters alone."""
        reads = [f"{s} = {self.constants.at(i)}" for i, s in enumerate(self.model.p)]
        kept = list(enumerate(self.kept))[len(reads) :]
        lines = [*reads, *self.computed_once(), *(f"{self.constants.at(i)} = {x}" for i, x in kept)]
        return "\n".join(["def constants(memory, l):", *indented(lines or ["pass"])])

    def stage(self, first: bool) -> str:
        """Write a stage with slope k: total += share k, state = before + reach k; only the first checks residuals."""
        body, good = [*self.step.body], [self.step.regular]
        if first:
            body += self.check.body
            for i, r in enumerate(self.check.results["residuals"]):
                if r:
                    body.append(f"{self.worst.at(i)} = max({self.worst.at(i)}, {r})")
                    good.append(f"({r} <= limit)")
        for i, k in enumerate([*map(str, self.model.v), *map(value, self.step.results["a"])]):
            start, total = (self.state.at(i), "start") if first else (self.before.at(i), self.total.at(i))
            body += [
                f"start = {start}",
                *([f"{self.before.at(i)} = start"] if first else []),
                f"{self.total.at(i)} = {total} + share*{k}",
                f"{self.state.at(i)} = start + reach*{k}",
            ]
        body += self._failing(" & ".join(good))
        name, more = ("first", ", limit") if first else ("stage", "")
        return self._function(f"{name}(memory, l, t, reach, share, number{more})", body)

    def corrected(self, lines: Lines | None) -> str:
        """Write the code of one Newton iteration for phi(q) = 0; the last iteration also corrects the velocities."""
        head = "corrected(memory, l, t, sharp, number)"
        if lines is None:
            return f"def {head}:\n    pass"
        n, best, done = self.n, self.best.at(), self.done.at()
        text = [
            *lines.body,
            f"best = {best}",
            f"ended = {done}",
            f"size = {_largest([f'abs({x})' for x in lines.results['phi'] if x])}",
            f"goal = sharp*(1.0 + {_largest([f'abs({s})' for s in self.model.q])})",
            "near = settled(size, goal, best)",
            f"{best} = min(best, size)",
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
        return self._function(head, text)

    def functions(self) -> Written:
        """Return all functions, and the index at which each section of a block's array starts."""
        A, b, c = self.tableau.A, self.tableau.b, self.tableau.c
        found = [self.constants_of(), self.stage(True), self.stage(False), self.corrected(self.correct)]
        reach = [A[j + 1][j] if j + 1 < len(b) else 0.0 for j in range(len(b))]
        parts = ("state", "total", "constants", "failed", "best", "done", "worst")
        places = {name.upper(): getattr(self, name).start for name in parts}
        constants = {
            "LANES": self.lanes, "CALLS": max(1, self.lanes // 2), "SIZE": 2 * self.n, "STAGES": len(b),
            "C": tuple(map(float, c)), "SHARE": tuple(map(float, b)),
            "REACH": tuple(map(float, reach)), "LENGTH": self.length, "PROJECTED": int(self.correct is not None),
        }  # fmt: skip
        return Written(found, self.called, constants | places)


def _largest(terms: Sequence[str]) -> str:
    """Return the source of the maximum of the terms; zero if there are none."""
    text = terms[0] if terms else "0.0"
    for term in terms[1:]:
        text = f"max({text}, {term})"
    return text


def write(job: LoopJob, lanes: int) -> Written:
    """Return the functions for blocks of `lanes` lanes.

    Raises NotCompiled unless the method is a Runge-Kutta method whose stages use only the rates of the previous stage.
    """
    tableau = job.method.tableau
    if tableau is None or any(a for i, row in enumerate(tableau.A) for j, a in enumerate(row) if j != i - 1):
        raise NotCompiled(f"the stepper {job.method.name!r} has no form for motions side by side")
    return LaneFunctions(job, tableau, lanes).functions()
