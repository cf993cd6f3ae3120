"""The verified status of an answer to a cone program of contacts, by its natural map."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.tolerances import finite_or_none
from gaussopt.linalg.cones import feasible, steps_of


def judge_cone_program(program: ConeProgram, raw: RawSolution, tolerance: float) -> tuple[Status, str, dict[str, Any]]:
    """Status, sentence and residual; the program is convex, so that a small natural map is a minimiser nearby."""
    x = raw.x
    error = np.inf if x is None else natural_map(program, x)
    numbers = {"relative_residual": finite_or_none(error)}
    if error <= tolerance:
        return Status.SOLVED, Status.SOLVED.sentence, numbers
    status = Status.INACCURATE if raw.claim is Status.SOLVED else raw.claim
    return status, f"{status.sentence} (natural map {error:.3g} of |q|)", numbers


def natural_map(program: ConeProgram, r: Vector) -> float:
    """|r - P(r - rho (P r + q))| / rho relative to |q|, rho from the trace of each block of P."""
    rho = np.repeat(steps_of(program.P), 3)
    e = (r - feasible(program, r - rho * (program.P @ r + program.q))) / rho
    return float(np.linalg.norm(e)) / (float(np.linalg.norm(program.q)) or 1.0)
