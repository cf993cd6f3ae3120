"""The velocity-level Gauss step as a generated loop."""

from __future__ import annotations

from gaussopt.compiled import constrained
from gaussopt.compiled.job import Job, within_limit
from gaussopt.compiled.loops import Parts, Written


def write(job: Job) -> Written:
    """The loop of the stepper velocity-gauss."""
    model, shape = job.model, job.shape
    step = within_limit(constrained.velocity_step(model, job.orders.step, job.fast))
    loop = constrained.ConstrainedLoop(
        shape, Parts(step, constrained.velocity_residuals(model, job.fast), job.correction()), 1
    )
    size, half = shape.size, shape.size // 2
    text = [
        "t = start",
        f"slope = {size}",
        *loop.slope(0),
        *loop.check(0),
        f"for i in range({half}):",
        f"    y[{half} + i] = work[{half} + i] + h*work[{size + half} + i]",
        f"    y[i] = work[i] + h*y[{half} + i]",
    ]
    return loop.written(loop.march(text))
