"""RATTLE as a generated loop: two halves that share their lines, each with its iteration."""

from __future__ import annotations

from collections.abc import Sequence

from gaussopt.compiled import constrained
from gaussopt.compiled.job import Job, within_limit
from gaussopt.compiled.loops import Parts, Written, largest, names_in, value
from gaussopt.compiled.source import Lines
from gaussopt.steppers._constrained import SHARP
from gaussopt.steppers.rattle import MOST_ITERATIONS


def write(job: Job) -> Written:
    """The loop of the stepper rattle."""
    loop = RattleLoop(job)
    return loop.written(loop.march(loop.step()))


class RattleLoop(constrained.ConstrainedLoop):
    """The lines of a step.

    Work space behind the state before the step: the velocities between the halves, the acceleration and multipliers of
    the latest solve; then as in `Loop`; then what the positions miss, and with several lanes what an iteration needs of
    the lines before it.
    """

    def __init__(self, job: Job) -> None:
        model, fast = job.model, job.fast
        self._before, self._within = map(within_limit, constrained.half_step(model, job.orders.step, fast))
        self._ends, self._at_once = constrained.end_residuals(model, fast), constrained.settles_at_once(model)
        check = constrained.half_residuals(model, fast)
        super().__init__(job.shape, Parts(self._before, check, job.correction(), (self._within, self._ends)), 1)
        self._missed = super().work
        self._shared = _shared(self._before, self._within) if self.shape.lanes > 1 else []  # else they stay alive

    @property
    def work(self) -> int:
        """Entries of the work space."""
        return super().work + (len(self.shape.model.holonomic) + len(self._shared)) * self.shape.lanes

    def step(self) -> list[str]:
        """One step: the state of each half is in y while it is solved."""
        size, half = self.shape.size, self.shape.size // 2
        a = f"work[{size + half} + i]"
        entries = range(len(self.shape.model.holonomic))
        zero = [f"{self.place(self._missed, r)} = 0.0" for r in entries]
        return [
            "for part in range(2):",
            "    t = start if part == 0 else stop",
            *self._each([*zero, *self._before.body, *self._keep()], self._before.regular, 1),
            *self.shape.each([f"{self._best} = 1e300", f"{self._done} = 0.0"], 1),
            f"    for iteration in range({MOST_ITERATIONS}):",
            *self._each([*self._solve(), *self._store(self._within)], self._regular(self._within), 2),
            "        if part == 0:",
            *self._positions(3),
            "        else:",
            *self._velocities(3),
            "        left = 0",
            *self.shape.each([f"if {self._done} == 0.0 and {self._lane('failed')} == 0.0:", "    left += 1"], 2),
            "        if left == 0:",
            "            break",
            *self.shape.each(self.failing(f"{self._done} > 0.0"), 1),
            *self.check(1),
            "    if part == 0:",
            f"        for i in range({half}):",
            f"            work[{size} + i] = work[{half} + i] + 0.5*h*{a}",
            f"            y[i] = work[i] + h*work[{size} + i]",
            f"            y[{half} + i] = work[{half} + i] + h*{a}",
        ]

    def _solve(self) -> list[str]:
        """Acceleration and multipliers of a half."""
        names = constrained.missed_positions(len(self.shape.model.holonomic))
        read = [f"{x} = {self.place(self._missed, r)}" for r, x in enumerate(names)]
        return [*read, *self._halves(), *self._reread(), *self._within.body]

    def _positions(self, indent: int) -> list[str]:
        """Newton's method with the matrix at the start, on the constraints at the end."""
        shape, lines = self.shape, self._ends
        if not shape.model.holonomic:
            return shape.each([f"{self._done} = 1.0"], indent)
        names = constrained.end_positions(shape.n)
        text = [
            f"{z} = y[{shape.at(i)}] + h*(y[{shape.at(shape.n + i)}] + 0.5*h*{self.acceleration(i)})"
            for i, z in enumerate(names)
        ]
        text += [*lines.body, *self._near([x for x in lines.results["phi"] if x], names)]
        text.append(f"more = (not near) & ({self._done} == 0.0)")
        for r, x in enumerate(lines.results["phi"]):
            if x:
                text.append(f"{self.place(self._missed, r)} += 2.0*{x}/(h*h) if more else 0.0")
        return self._each([*text, f"{self._done} = 1.0 if near else {self._done}"], self._regular(lines), indent)

    def _velocities(self, indent: int) -> list[str]:
        """One solve, or a fixed point where the equations depend on the velocity."""
        shape = self.shape
        new = [f"new_{i}" for i in range(shape.n)]
        place = [f"y[{shape.at(shape.n + i)}]" for i in range(shape.n)]
        text = [
            *self._halves(),
            *(f"{x} = half_{i} + 0.5*h*{self.acceleration(i)}" for i, x in enumerate(new)),
            *self._near([f"{x} - {v}" for x, v in zip(new, place, strict=True)], new),
            *([] if not self._at_once else ["near = True"]),
            f"active = {self._done} == 0.0",
            *(f"{v} = {x} if active else {v}" for x, v in zip(new, place, strict=True)),
            f"{self._done} = 1.0 if near else {self._done}",
        ]
        return shape.each(text, indent)

    # -- pieces -----------------------------------------------------------------------------------------

    @property
    def _best(self) -> str:
        return self.place(self.progress, 0)

    @property
    def _done(self) -> str:
        return self.place(self.progress, 1)

    def _regular(self, lines: Lines) -> str:
        """Whether the lines of an iteration went well where they still matter."""
        return f"({self._done} > 0.0) | ({lines.regular})"

    def _each(self, text: Sequence[str], sound: str, indent: int) -> list[str]:
        """Lines for each lane with what they read, and whether they went well."""
        return self.placed([*text, *self.failing(sound)], indent)

    def _store(self, lines: Lines) -> list[str]:
        """Acceleration and multipliers into the work space."""
        text = [f"{self.acceleration(i)} = {value(x)}" for i, x in enumerate(lines.results["a"])]
        return text + self.store_multipliers(lines)

    def _halves(self) -> list[str]:
        names = constrained.half_velocities(self.shape.n)
        return [f"{x} = {self.place(self.shape.size, i)}" for i, x in enumerate(names)]

    def _places(self) -> list[tuple[str, str]]:
        base = self._missed + len(self.shape.model.holonomic) * self.shape.lanes
        return [(name, self.place(base, i)) for i, name in enumerate(self._shared)]

    def _keep(self) -> list[str]:
        return [f"{place} = {name}" for name, place in self._places()]

    def _reread(self) -> list[str]:
        return [f"{name} = {place}" for name, place in self._places()]

    def _near(self, residuals: Sequence[str], entries: Sequence[str]) -> list[str]:
        """Whether an iteration has settled, as `gaussopt.steppers._constrained.Settling`."""
        return [
            f"size = {largest([f'abs({x})' for x in residuals])}",
            f"goal = {SHARP!r}*(1.0 + {largest([f'abs({x})' for x in entries])})",
            f"near = (size <= goal) | ((size < 1e3*goal) & (size > 0.5*{self._best}))",
            f"{self._best} = min({self._best}, size)",
        ]


def _shared(before: Lines, within: Lines) -> list[str]:
    """Names that the first lines define and the second use."""
    entries = [x for results in within.results.values() for x in results if x]
    used = names_in([*within.body, *entries, within.regular])
    return list(dict.fromkeys(name for line in before.body if (name := line.split(" = ")[0]) in used))
