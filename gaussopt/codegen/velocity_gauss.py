"""Generated functions of the velocity-level Gauss step."""

from __future__ import annotations

from gaussopt.codegen import constrained_step
from gaussopt.codegen.functions import StraightFunctions, Written, looks, stores, value
from gaussopt.codegen.job import LoopJob, within_limit


def write(job: LoopJob) -> Written:
    """Return the functions of the stepper velocity-gauss."""
    step = within_limit(constrained_step.velocity_step(job.model, job.orders.step), job.most)
    check, correct = constrained_step.velocity_residuals(job.model), job.correction()
    functions = StraightFunctions(job.model, [x for x in (step, check, correct) if x])
    known = [f"{name}_{i} = {value(x)}" for name in ("a", "lam") for i, x in enumerate(step.results[name])]
    lines = [
        *step.body, *stores("a", step.results["a"]), f"good = {step.regular}", *known, *looks(check), "return good",
    ]  # fmt: skip
    impulse = functions.function("impulse(t, stop, h, y, once, a, limit, worst)", lines)
    return functions.written([impulse], functions.n, correct)
