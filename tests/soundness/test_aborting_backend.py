"""A backend that ends its process costs an answer, with a sentence, and never the process that asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution
from gaussopt.core.solver import Options, Solver
from gaussopt.core.status import Status
from gaussopt.processes import child_process
from gaussopt.processes.guarded_backend import Remote, answering
from gaussopt.solving.solver_sequence import SolverSequence

FAULTS = Path(__file__).parent / "faults"


class Aborting(Solver[Options]):
    """Ends its process where q is negative, and knows how many programs it was given since it was set up."""

    name = "aborting"
    title = source = "none"
    accepts = (go.QP,)
    updates = aborts = True
    count = 0

    def setup(self, program: Program) -> None:
        self.program, self.count = program, 0

    def update(self, program: Program) -> None:
        self.program, self.count = program, self.count + 1

    def solve(self, start: Any) -> RawSolution:
        assert isinstance(self.program, go.QP)
        if self.program.q[0] == -2.0:
            raise go.BadInput("The option is wrong.")
        if self.program.q[0] == -3.0:
            raise ZeroDivisionError("backend")
        if self.program.q[0] < 0:
            os.abort()
        return RawSolution(-self.program.q, np.zeros(0), Status.SOLVED, iterations=self.count, note=str(os.getpid()))


def program(q: float) -> go.QP:
    return go.QP.from_mapping({"P": [[1.0]], "q": [q]})


def test_the_solver_is_asked_in_another_process_that_is_kept() -> None:
    engine = SolverSequence(Aborting(None, Options()))
    answers = [engine.solve(program(float(q)))[0] for q in (1, 2, 3)]
    assert [a.x[0] for a in answers if a.x is not None] == [-1, -2, -3]
    assert [a.iterations for a in answers] == [0, 1, 2]  # set up once, then updated
    assert len({a.note for a in answers}) == 1
    assert answers[0].note != str(os.getpid())


def test_its_end_is_an_answer_and_the_next_program_is_solved() -> None:
    engine = SolverSequence(Aborting(None, Options()))
    engine.solve(program(1.0))
    died = engine.solve(program(-1.0))[0]
    assert died.claim is Status.CRASHED
    assert "SIGABRT" in died.note
    again = engine.solve(program(2.0))[0]
    assert again.claim is Status.SOLVED
    assert again.iterations == 0  # set up anew


def test_what_the_solver_raises_there_reaches_the_caller() -> None:
    engine = SolverSequence(Aborting(None, Options()))
    with pytest.raises(go.BadInput, match="option is wrong"):
        engine.solve(program(-2.0))
    failed = engine.solve(program(-3.0))[0]
    assert failed.claim is Status.CRASHED
    assert failed.note == "ZeroDivisionError: backend"


def test_in_a_guarded_process_it_runs_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Aborting(None, Options())
    assert isinstance(answering(solver), Remote)
    monkeypatch.setattr(child_process, "_guarded", True)
    assert answering(solver) is solver


def test_highs_is_known_to_abort_whoever_calls_it() -> None:
    pytest.importorskip("highspy")
    assert go.make_solver("highs").may_abort()
    assert go.make_solver("cvxpy:HIGHS").may_abort()
    assert not go.make_solver("cvxpy").may_abort()
    assert not go.make_solver("osqp").may_abort()


@pytest.mark.parametrize("formulation", ["dual", "gauss"])
def test_the_step_that_ended_the_process_ends_with_a_status(formulation: str) -> None:
    pytest.importorskip("highspy")
    command = [sys.executable, "-m", "gaussopt", "solve", str(FAULTS / "highs_abort_step.json"), "--json"]
    done = subprocess.run(
        [*command, "--formulation", formulation, "--solver", "highs"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert answer["message"].strip()
    assert (answer["status"] == "solved") is (done.returncode == 0)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("solver", ["highs", "cvxpy:HIGHS"])
def test_a_backend_that_would_cycle_without_end_stops_at_a_limit(solver: str) -> None:
    """HiGHS's active-set method never ends on this program, with its own settings: also where CVXPY calls it."""
    pytest.importorskip("highspy")
    if solver != "highs":
        pytest.importorskip("cvxpy")
    qp = go.QP.from_mapping(json.loads((FAULTS / "highs_cycles.json").read_text()))
    assert go.solve(qp, solver).status in (go.Status.ITERATION_LIMIT, go.Status.SOLVER_ERROR)
