"""Hand-written C++ of the same step, compiled here: the limit that compiled code is compared with.

The loop over the steps runs inside one call.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mechanisms import Mechanism

from rivals.compiling import shared_library
from rivals.interface import Prepare, Rival, Run, per_mark

SOURCE = Path(__file__).with_name("crank_slider.cpp")
COMPILER = "g++"
FLAGS = ("-std=c++17",)


@cache
def library() -> ctypes.CDLL:
    """The compiled source."""
    return ctypes.CDLL(str(shared_library(COMPILER, FLAGS, SOURCE)))


def function(name: str) -> Any:
    """One of `rk4`, `rk4_projected`, `velocity_level`: (parameters, state, dt, steps, steps per mark, marks) -> 0."""
    found = getattr(library(), name)
    numbers = np.ctypeslib.ndpointer(np.float64, ndim=1, flags="C_CONTIGUOUS")
    found.argtypes = [numbers, numbers, ctypes.c_double, ctypes.c_long, ctypes.c_long, numbers]
    found.restype = ctypes.c_int
    return found


def _preparing(name: str) -> Prepare:
    def prepare(mechanism: Mechanism, dt: float, steps: int, marks: int) -> Run:
        problem = mechanism.problem
        assert problem is not None
        parameters = np.array(list(problem.parameter_values.values()))
        begin = np.concatenate([problem.q0, problem.v0])
        run, each = function(name), per_mark(steps, marks)
        angles, state = np.empty(marks), begin.copy()

        def once() -> np.ndarray:
            state[:] = begin
            if run(parameters, state, dt, steps, each, angles):
                raise RuntimeError(f"{name}: a state could not be projected.")
            return angles.copy()

        return once

    return prepare


def _rival(name: str, function_name: str) -> Rival:
    return Rival(name, "", "C++", compiler=COMPILER, mechanisms=("crank-slider",), prepare=_preparing(function_name))


PLAIN = _rival("hand-written C++, RK4", "rk4")
PROJECTED = _rival("hand-written C++, RK4, projected", "rk4_projected")
VELOCITY = _rival("hand-written C++, velocity level, order 1", "velocity_level")
RIVALS = (PLAIN, PROJECTED, VELOCITY)
