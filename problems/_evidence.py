"""Functions for the evidence on errata: first steps, their accelerations, and relative errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem


def first_step(name: str, **settings: Any) -> StepData:
    """Return the step of a problem at its start state."""
    entry = problem(name, **settings)
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def acceleration(step: StepData, formulation: str = "lagrange", tolerance: float = 1e-7) -> Vector:
    """Return the acceleration of a step, (n,)."""
    from gaussopt.solving.solve import solve_step

    a = solve_step(step, formulation, "kkt", tolerance=tolerance).a
    assert a is not None
    return a


def miss(x: Any, true: Any) -> float:
    """Return the norm of x - true, relative to the norm of `true`."""
    return float(np.linalg.norm(x - true) / np.linalg.norm(true))


def mass_miss(step: StepData, a: Vector, true: Vector) -> float:
    """Return |a - true| / (|true| + |free|) in the mass norm; `free` is the acceleration without constraints."""
    free = np.linalg.solve(step.M, step.force)
    off, *sizes = (float(np.sqrt(x @ step.M @ x)) for x in (a - true, true, free))
    return off / sum(sizes)
