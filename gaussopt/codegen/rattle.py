"""RATTLE as a generated loop: two halves that share their lines, each with its iteration."""

from __future__ import annotations

from gaussopt.codegen import constrained_step
from gaussopt.codegen.job import LoopJob, within_limit
from gaussopt.codegen.loop import Parts, Written, indented, near, value
from gaussopt.core.stepper import MOST_ITERATIONS, SHARP


def write(job: LoopJob) -> Written:
    """The loop of the stepper rattle."""
    loop = RattleLoopWriter(job)
    return loop.written(loop.march(loop.step()))


class RattleLoopWriter(constrained_step.ConstrainedLoopWriter):
    """The lines of a step.

    Work space behind the state before the step: the velocities between the halves, the acceleration and multipliers of
    the latest solve; then what the positions miss.
    """

    def __init__(self, job: LoopJob) -> None:
        model = job.model
        self._before, self._within = map(within_limit, constrained_step.half_step(model, job.orders.step))
        self._ends, self._at_once = constrained_step.end_residuals(model), constrained_step.settles_at_once(model)
        check = constrained_step.half_residuals(model)
        super().__init__(model, Parts(self._before, check, job.correction(), (self._within, self._ends)))
        self._missed = [f"work[{self.work + r}]" for r in range(len(model.holonomic))]
        self.work += len(self._missed)

    def step(self) -> list[str]:
        """One step: the state of each half is in y while it is solved."""
        size, half = self.size, self.n
        a = f"work[{size + half} + i]"
        return [
            "for part in range(2):",
            "    t = start if part == 0 else stop",
            *(f"    {x} = 0.0" for x in self._missed),
            *indented(self.placed(self._before.body), 1),
            f"    good = good & ({self._before.regular})",
            "    best = 1e300",
            f"    for iteration in range({MOST_ITERATIONS}):",
            *indented(self.placed(self._solve()), 2),
            "        if part == 0:",
            *indented(self.placed(self._positions()), 3),
            "        else:",
            *indented(self._velocities(), 3),
            "        if near or not good:",
            "            break",
            "    good = good & near",
            *indented(self.check(), 1),
            "    if part == 0:",
            f"        for i in range({half}):",
            f"            work[{size} + i] = work[{half} + i] + 0.5*h*{a}",
            f"            y[i] = work[i] + h*work[{size} + i]",
            f"            y[{half} + i] = work[{half} + i] + h*{a}",
        ]

    def _solve(self) -> list[str]:
        """Acceleration and multipliers of a half."""
        lines = self._within
        read = zip(constrained_step.missed_positions(len(self._missed)), self._missed, strict=True)
        return [
            *(f"{name} = {place}" for name, place in read),
            *self._halves(),
            *lines.body,
            *(f"{self.acceleration(i)} = {value(x)}" for i, x in enumerate(lines.results["a"])),
            *self.store_multipliers(lines),
            f"good = good & ({lines.regular})",
        ]

    def _positions(self) -> list[str]:
        """Newton's method with the matrix at the start, on the constraints at the end."""
        lines = self._ends
        if not self._missed:
            return ["near = True"]
        names = constrained_step.end_positions(self.n)
        ends = [f"{z} = y[{i}] + h*(y[{self.n + i}] + 0.5*h*{self.acceleration(i)})" for i, z in enumerate(names)]
        found = list(zip(self._missed, lines.results["phi"], strict=True))
        return [
            *ends,
            *lines.body,
            *near([x for _, x in found if x], names, repr(SHARP)),
            f"good = good & ({lines.regular})",
            "if not near:",
            *([f"    {missed} += 2.0*{x}/(h*h)" for missed, x in found if x] or ["    pass"]),
        ]

    def _velocities(self) -> list[str]:
        """One solve, or a fixed point where the equations depend on the velocity."""
        new = [f"new_{i}" for i in range(self.n)]
        place = [f"y[{self.n + i}]" for i in range(self.n)]
        changes = [f"{x} - {v}" for x, v in zip(new, place, strict=True)]
        return [
            *self._halves(),
            *(f"{x} = half_{i} + 0.5*h*{self.acceleration(i)}" for i, x in enumerate(new)),
            *(["near = True"] if self._at_once else near(changes, new, repr(SHARP))),
            *(f"{v} = {x}" for x, v in zip(new, place, strict=True)),
        ]

    def _halves(self) -> list[str]:
        return [f"{x} = work[{self.size + i}]" for i, x in enumerate(constrained_step.half_velocities(self.n))]
