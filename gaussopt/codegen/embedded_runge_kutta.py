"""Embedded Runge-Kutta methods with error control as generated loops: SciPy's methods, controller included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gaussopt.codegen.job import LoopJob
from gaussopt.codegen.loop import LoopWriter, Written, indented

MARCH = (
    "bounds: list, bound_count: int, count: int, own: int, rtol: float, atol: float, y: list, clock: list, p: list, "
    "limit: float, sharp: float, work: list, worst: list, trace: list"
)
"""Arguments of a loop with error control."""

CLOCK = "clock[0], clock[1], clock[2], clock[3], clock[4], clock[5]"

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""SciPy's controller: factors between one step and the next."""


def write(job: LoopJob) -> Written:
    """`march`: accepted steps, at most `count` of them, that land on each of the `bounds`.

    `clock` holds time, step size, whether the slope of the state is known, accelerations computed, bounds reached, and
    whether a pivot vanished or the residuals exceeded the limit; y is then the state before that step. Where `own` is
    true every accepted step ends with a projection and its time and state go to `trace`; otherwise only those that
    reach a bound. Returns the number of accepted steps, or -1 where the step size vanished.
    """
    return EmbeddedLoopWriter(job).source()


class EmbeddedLoopWriter(LoopWriter):
    """The lines of trial and accepted steps.

    Work space behind the state before the step: the slopes of the stages, and that at the end of the step.
    """

    def __init__(self, job: LoopJob) -> None:
        method = job.method.scipy_class()
        self._stages = stages = int(method.n_stages)
        super().__init__(job.model, job.parts(), stages + 1)
        self._exponent = -1.0 / (int(method.error_estimator_order) + 1)
        self._projected = job.projected
        A = [[*row, *[0.0] * (stages - len(row))] for row in (*method.A.tolist(), method.B.tolist())]
        self._tables = {"A": [x for row in A for x in row], "C": [*method.C.tolist(), 1.0]}
        for name in ("E5", "E3") if hasattr(method, "E5") else ("E",):
            self._tables[name] = getattr(method, name).tolist()

    def source(self) -> Written:
        """The function."""
        text = [
            f"def march({MARCH}) -> int:",
            '    """Accepted steps; see gaussopt.codegen.embedded_runge_kutta."""',
            *indented(self.before(), 1),
            "    t0, h_abs, known, computed, landed = clock[0], clock[1], int(clock[2]), clock[3], int(clock[4])",
            "    place, done = 0, 0",
            "    while done < count and landed < bound_count:",
            "        bound = bounds[landed]",
            *indented(self.keep(), 2),
            "        least = 2.3e-15*abs(t0) + 1e-300",
            "        h_abs = max(h_abs, least)",
            "        accepted = rejected = False",
            "        while not accepted:",
            "            if h_abs < least:",
            *indented(self.restore(), 4),
            f"                {CLOCK} = t0, h_abs, 0.0, computed, landed, 0.0",
            "                return -1 - done",
            *indented(self._trial(), 3),
            *indented(self._accepted(), 2),
            f"    {CLOCK} = t0, h_abs, float(known), computed, landed, 0.0",
            "    return done",
        ]
        return self.written("\n".join(text), "sqrt", **self._tables)

    def _trial(self) -> list[str]:
        """One step, its error, and the length of the next."""
        stages, size = self._stages, self.size
        return [
            "h = h_abs",
            "stop = t0 + h",
            "if stop > bound:",
            "    stop = bound",
            "h = stop - t0",
            "h_abs = abs(h)",
            "good = True",
            f"for stage in range(known, {stages + 1}):",
            "    if stage > 0:",
            f"        for i in range({size}):",
            "            y[i] = work[i]",
            "        for j in range(stage):",
            f"            weight = h*A[{stages}*stage + j]",
            "            if weight != 0.0:",
            f"                for i in range({size}):",
            f"                    y[i] += weight*work[{size}*(j + 1) + i]",
            "    t = t0 + C[stage]*h",
            f"    slope = {size}*(stage + 1)",
            *indented(self.slope(), 1),
            f"    if stage == {stages}:",
            *indented(self.check(), 2),
            f"computed += {stages + 1} - known",
            "known = 1",
            "if not good:",
            *indented(self.restore(), 1),
            f"    {CLOCK} = t0, h_abs, 0.0, computed, landed, 1.0",
            "    return done",
            *_error(self._tables, stages + 1, size),
            "if not norm == norm:",
            f"    h_abs *= {LEAST!r}",
            "    rejected = True",
            "elif norm < 1.0:",
            f"    factor = {MOST!r} if norm == 0.0 else min({MOST!r}, {SAFETY!r}*norm**{self._exponent!r})",
            "    h_abs *= min(1.0, factor) if rejected else factor",
            "    accepted = True",
            "else:",
            f"    h_abs *= max({LEAST!r}, {SAFETY!r}*norm**{self._exponent!r})",
            "    rejected = True",
        ]

    def _accepted(self) -> list[str]:
        """What follows an accepted step: projection, and the record."""
        size = self.size
        corrected = [
            *indented(self.correct(), 1),
            "    known = 0",
            "    if not good:",
            *indented(self.restore(), 2),
            f"        {CLOCK} = begin, h, 0.0, computed, landed, 1.0",
            "        return done - 1",
        ]
        return [
            f"for i in range({size}):",
            f"    work[{size} + i] = work[{size * (self._stages + 1)} + i]",
            "done += 1",
            "begin, t0 = t0, stop",
            "if own or t0 >= bound:",
            *(corrected if self._projected else []),
            "    trace[place] = t0",
            f"    for i in range({size}):",
            "        trace[place + 1 + i] = y[i]",
            f"    place += {size + 1}",
            "if t0 >= bound:",
            "    landed += 1",
        ]


def _error(tables: Mapping[str, Sequence[float]], slopes: int, size: int) -> list[str]:
    """The norm of the error estimate in units of the tolerances."""
    names = {"E5": "fifth", "E3": "third"} if "E5" in tables else {"E": "error"}
    text = [f"{' = '.join(names.values())} = 0.0", f"for i in range({size}):"]
    text.append("    scale = atol + max(abs(work[i]), abs(y[i]))*rtol")
    for table, name in names.items():
        text += [
            "    total = 0.0",
            f"    for j in range({slopes}):",
            f"        total += {table}[j]*work[{size}*(j + 1) + i]",
            f"    {name} += (total/scale)**2",
        ]
    if "E" in tables:
        return [*text, f"norm = abs(h)*sqrt(error/{float(size)!r})"]
    return [
        *text,
        "norm = fifth",  # zero, or no number
        "if fifth > 0.0 or third > 0.0:",
        f"    norm = abs(h)*fifth/sqrt((fifth + 0.01*third)*{float(size)!r})",
    ]
