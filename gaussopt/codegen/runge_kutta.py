"""Explicit Runge-Kutta methods of constant step as generated loops."""

from __future__ import annotations

from collections.abc import Sequence

from gaussopt.codegen.job import LoopJob
from gaussopt.codegen.loop import LoopWriter, Written, indented
from gaussopt.core.errors import NotCompiled


def write(job: LoopJob) -> Written:
    """The loop of a stepper with a tableau; raises NotCompiled if it has none."""
    tableau = job.method.tableau
    if tableau is None:
        raise NotCompiled(f"the stepper {job.method.name!r} has no tableau, which its generated loop is written from")
    stages = len(tableau.b)
    loop = LoopWriter(job.model, job.parts(), stages)
    size = loop.size
    text = [
        f"for stage in range({stages}):",
        f"    t = start + {_choose('stage', tableau.c)}*h",
        f"    slope = {size}*(stage + 1)",
        *indented(loop.slope(), 1),
        "    if stage == 0:",
        *indented(loop.check(), 2),
    ]
    rows = [*(row[: i + 1] for i, row in enumerate(tableau.A[1:])), tableau.b]
    for i, row in enumerate(rows):
        head = f"if stage == {i}:" if i == 0 else f"elif stage == {i}:" if i < len(rows) - 1 else "else:"
        terms = " + ".join(f"{a!r}*work[{size * (j + 1)} + i]" for j, a in enumerate(row) if a)
        text += [f"    {head}", f"        for i in range({size}):", f"            y[i] = work[i] + h*({terms})"]
    return loop.written(loop.march(text))


def _choose(index: str, values: Sequence[float]) -> str:
    """A chain of conditional expressions."""
    text = repr(float(values[-1]))
    for i in reversed(range(len(values) - 1)):
        text = f"({float(values[i])!r} if {index} == {i} else {text})"
    return text
