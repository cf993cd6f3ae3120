"""What evidence on errata is made of: first steps, their accelerations, and by how much something misses the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem


def first_step(name: str, **settings: Any) -> StepData:
    """The step of a problem at its start."""
    entry = problem(name, **settings)
    return entry.system.evaluate(0.0, entry.q0, entry.v0)


def acceleration(step: StepData, formulation: str = "lagrange", tolerance: float = 1e-7) -> Vector:
    """The acceleration of a step, (n,)."""
    from gaussopt.solving.solve import solve_step

    a = solve_step(step, formulation, "kkt", tolerance=tolerance).a
    assert a is not None
    return a


def miss(x: Any, true: Any) -> float:
    """The difference of two arrays, relative to the true one."""
    return float(np.linalg.norm(x - true) / np.linalg.norm(true))


def mass_miss(step: StepData, a: Vector, true: Vector) -> float:
    """Distance of two accelerations in the mass norm, divided by the sizes of the true and the free one."""
    free = np.linalg.solve(step.M, step.force)
    off, *sizes = (float(np.sqrt(x @ step.M @ x)) for x in (a - true, true, free))
    return off / sum(sizes)
