"""The state that a motion starts from is evaluated once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.modelling.lagrangian import LagrangianSystem


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize("name", ["crank-slider", "two-bar"])
def test_the_start_is_evaluated_once(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = go.problem(name)
    evaluate = LagrangianSystem.evaluate
    at_start = []

    def counted(self: LagrangianSystem, t: float, q: Any, v: Any) -> go.StepData:
        if t == 0.0 and np.array_equal(q, problem.q0) and np.array_equal(v, problem.v0):
            at_start.append(t)
        return evaluate(self, t, q, v)

    monkeypatch.setattr(LagrangianSystem, "evaluate", counted)
    motion = go.simulate(problem, t_end=0.002, dt=1e-3, engine=engine, step_folder=None)
    assert motion.status is go.Status.SOLVED
    assert len(at_start) == 1
