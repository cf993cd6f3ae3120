"""The velocity-level Gauss step as a generated loop."""

from __future__ import annotations

from gaussopt.compiled import constrained
from gaussopt.compiled.job import Job, within_limit
from gaussopt.compiled.loops import Parts, Written


def write(job: Job) -> Written:
    """The loop of the stepper velocity-gauss."""
    model = job.model
    step = within_limit(constrained.velocity_step(model, job.orders.step, job.fast))
    parts = Parts(step, constrained.velocity_residuals(model, job.fast), job.correction())
    loop = constrained.ConstrainedLoop(model, parts)
    size, half = loop.size, loop.n
    text = [
        "t = start",
        f"slope = {size}",
        *loop.slope(),
        *loop.check(),
        f"for i in range({half}):",
        f"    y[{half} + i] = work[{half} + i] + h*work[{size + half} + i]",
        f"    y[i] = work[i] + h*y[{half} + i]",
    ]
    return loop.written(loop.march(text))
