"""Solve and certify a sequence of steps by one formulation and one solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.certificates.base import Certificate
from gaussopt.core.errors import IllPosed
from gaussopt.core.program import Program
from gaussopt.core.solution import RawSolution, Timing
from gaussopt.core.solver import Solver
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE, check_tolerance
from gaussopt.formulations.base import Candidate, Formulation
from gaussopt.kinds.step import certify_step, judge
from gaussopt.solving.answer import Answer
from gaussopt.solving.foreign_formulation import find
from gaussopt.solving.solver_sequence import SolverSequence

CONTRADICTORY_EQUATIONS = (
    "The equations contradict each other: a force acts on a direction that has neither mass nor constraint; add mass "
    "or a constraint there."
)


class StepSolver:
    """A formulation and a solver for a sequence of steps.

    Parameters
    ----------
    formulation, solver : names
    options : solver options
    tolerance : relative tolerance of the certificate; if infinite, bounds are recorded and every acceleration accepted
    warm_start, reuse : see `SolverSequence`
    thorough : whether contact modes may be enumerated with linear programs to decide uniqueness
    """

    def __init__(
        self,
        formulation: str | Formulation = "gauss",
        solver: str | Solver[Any] = "kkt",
        options: Mapping[str, Any] | None = None,
        tolerance: float = DEFAULT_TOLERANCE,
        warm_start: bool = True,
        thorough: bool = True,
        reuse: bool = True,
    ) -> None:
        check_tolerance(tolerance)
        self.thorough = thorough
        self.formulation = find(formulation)
        self.sequence = SolverSequence(solver, options, warm_start, reuse)
        self.tolerance = tolerance
        self._advice = _remedy(self.formulation, self.sequence.solver)

    def solve(self, step: StepData) -> Answer:
        """Formulate, solve, recover and certify one step.

        Raises NotAccepted if the formulation does not fit the step or the solver does not accept the program, BadInput
        if M is asymmetric or indefinite.
        """
        return self.ask(step)()

    def ask(self, step: StepData) -> Callable[[], Answer]:
        """Solve a step; return a function that certifies the answer, so that timing can exclude the certificate."""
        begin = perf_counter()
        step = self.formulation.prepare(step)
        self.formulation.check(step)
        try:
            program, data = self.formulation.apply(step)
        except IllPosed as verdict:
            return partial(self._without_program, step, verdict)
        built = perf_counter()
        raw, timing = self.sequence.solve(program)
        iterations, solved = raw.iterations, perf_counter()
        while raw.x is not None:
            following = self.formulation.again(data, raw.x, raw.y)
            if following is None:
                break
            program = following
            raw, more = self.sequence.solve(program)
            iterations += raw.iterations
            timing = Timing(*(a + b for a, b in zip(timing, more, strict=True)))
            solved = perf_counter()
        found = None if raw.x is None else Candidate(*self.formulation.recover(data, raw.x, raw.y))
        recovered = perf_counter()
        timing = timing._replace(build=built - begin, recover=recovered - solved)
        return partial(self._certified, step, program, data, replace(raw, iterations=iterations), found, timing)

    def _certified(
        self, step: StepData, program: Program, data: Any, raw: RawSolution, found: Candidate | None, timing: Timing
    ) -> Answer:
        begin = perf_counter()
        a, lam, forces, friction = (None,) * 4 if found is None else found
        certificate = certify_step(step, a, lam, forces, friction, self.thorough)
        status, message = judge(step, raw, certificate, self.tolerance, self._advice)
        if status is Status.INACCURATE and found is not None and (better := self._refined(step, program, raw, found)):
            (a, lam, _, _), certificate = better
            status, message = judge(step, raw, certificate, self.tolerance, self._advice)
        if status is Status.UNBOUNDED and not program.minimises:
            # Equations have no objective that could be unbounded: the solver found a contradiction.
            status, message = Status.INFEASIBLE, CONTRADICTORY_EQUATIONS
        if status is not Status.SOLVED and not math.isfinite(certificate.error_bound):
            a = None
        if a is None:
            lam = forces = friction = None
        elif lam is None:
            lam = certificate.lam
        lam_N, lam_T = step.zeta_N[:0], step.v_T[:0]
        if step.k:
            lam_N = np.full(step.k, np.nan) if forces is None else forces
            lam_T = np.full(step.v_T.shape, np.nan) if friction is None else friction
        timing = timing._replace(verify=perf_counter() - begin)
        details = self.formulation.details(data, raw.x) if step.k else {}
        return Answer(
            a, lam, lam_N, lam_T, status, raw.claim, message, certificate, raw.iterations, timing, details, raw.history
        )

    def _refined(
        self, step: StepData, program: Program, raw: RawSolution, found: Candidate
    ) -> tuple[Candidate, Certificate] | None:
        """Refine a candidate, if recovering it from an exact answer may have lost digits; return it if it passes."""
        if step.k or raw.x is None or raw.claim is not Status.SOLVED:
            return None
        better = self.formulation.refined(step, program, raw.x, found)
        certificate = None if better is None else certify_step(step, better.a, better.lam)
        return (better, certificate) if better and certificate and certificate.passed(self.tolerance) else None

    def _without_program(self, step: StepData, verdict: IllPosed) -> Answer:
        """Return an answer without acceleration, for a program without minimiser; the step may have a solution."""
        certificate = certify_step(step, None, thorough=self.thorough)
        nothing = np.full(step.k, np.nan), np.full(step.v_T.shape, np.nan)
        return Answer(None, None, *nothing, verdict.status, verdict.status, str(verdict), certificate, 0, Timing())


def _remedy(formulation: Formulation, solver: Solver[Any]) -> str:
    """Return advice on an inaccurate answer, which depends on whether the formulation and the solver are exact."""
    if not formulation.exact:
        return (
            f"The formulation {formulation.name} is not the mechanics: whatever solves it, its answer can be another "
            "one; choose an exact formulation (gauss, or stick-slip with contacts), or set a larger tolerance to study "
            "this one."
        )
    if solver.exact:
        return (
            f"The solver {solver.name} counts as exact; try another formulation or another solver, or set a larger "
            "tolerance to study the answer."
        )
    return Status.INACCURATE.sentence
