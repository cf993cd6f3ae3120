"""The velocity-level Gauss step as a generated loop."""

from __future__ import annotations

from gaussopt.codegen import constrained_step
from gaussopt.codegen.job import LoopJob, within_limit
from gaussopt.codegen.loop import Parts, Written


def write(job: LoopJob) -> Written:
    """The loop of the stepper velocity-gauss."""
    model = job.model
    step = within_limit(constrained_step.velocity_step(model, job.orders.step))
    parts = Parts(step, constrained_step.velocity_residuals(model), job.correction())
    loop = constrained_step.ConstrainedLoopWriter(model, parts)
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
