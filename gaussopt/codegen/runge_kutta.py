"""Generated functions of explicit Runge-Kutta methods, with constant steps or with error control."""

from __future__ import annotations

from gaussopt.codegen.functions import StraightFunctions, Written, table
from gaussopt.codegen.job import LoopJob
from gaussopt.core.errors import NotCompiled


def constant_step(job: LoopJob) -> Written:
    """Return the functions of a stepper with a tableau; raises NotCompiled if it has none."""
    tableau = job.method.tableau
    if tableau is None:
        raise NotCompiled(f"the stepper {job.method.name!r} has no tableau, which its generated loop is written from")
    stages = len(tableau.b)
    A = table([*tableau.A, tableau.b], stages)
    return _of_stages(job, stages, A=A, C=table([tableau.c], stages))


def one_slope(job: LoopJob) -> Written:
    """Return the functions of a stepper that uses only the slope at the start of a step."""
    return _of_stages(job, 1)


def error_control(job: LoopJob) -> Written:
    """Return the functions of an embedded method of SciPy; the slope at the end of the step counts as another stage."""
    method = job.method.scipy_class()
    stages = int(method.n_stages)
    pair = hasattr(method, "E5")
    errors = [method.E5, method.E3] if pair else [method.E, [0.0] * (stages + 1)]
    return _of_stages(
        job, stages + 1, A=table([*method.A.tolist(), method.B.tolist()], stages), C=(*method.C.tolist(), 1.0),
        E=table([errors[0]], stages + 1), E3=table([errors[1]], stages + 1), PAIR=int(pair),
        EXPONENT=-1.0 / (int(method.error_estimator_order) + 1),
    )  # fmt: skip


def _of_stages(job: LoopJob, stages: int, **tables: object) -> Written:
    step, check, correct = job.acceleration()
    functions = StraightFunctions(job.model, [x for x in (step, check, correct) if x])
    space = 2 * functions.n * stages
    return functions.written([functions.slope(step, check)], space, correct, STAGES=stages, **tables)
