"""The verified status of an answer to a program."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

from gaussopt.certificates.bilateral import DEFAULT_TOLERANCE
from gaussopt.certificates.linear import certify_linear
from gaussopt.certificates.qp import certify_qp, classify_qp
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import Vector
from gaussopt.lcp.verification import judge_lcp
from gaussopt.solving.judgement import RECORDED


def verified(program: Program, raw: RawSolution, timing: Timing, tolerance: float = DEFAULT_TOLERANCE) -> Solution:
    """What the core finds of a solver's word on a program."""
    begin = perf_counter()
    solutions: tuple[Vector, ...] = ()
    if isinstance(program, LCP):
        status, message, lcp_certificate = judge_lcp(program, raw, tolerance)
        residuals, y = lcp_certificate.to_mapping(), raw.y
        solutions = () if lcp_certificate.solutions is None else lcp_certificate.solutions.solutions
    elif isinstance(program, QP):
        status, message, residuals, y = _verify_qp(program, raw, tolerance)
    else:
        status, message, residuals = _verify_linear(program, raw, tolerance)
        y = raw.y
    timing = timing._replace(verify=perf_counter() - begin)
    return Solution(raw.x, y, status, raw.claim, message, raw.iterations, timing, residuals, solutions, raw.history)


def _verify_qp(qp: QP, raw: RawSolution, tolerance: float) -> tuple[Status, str, dict[str, Any], Vector | None]:
    c = certify_qp(qp, raw.x, raw.y, tolerance)
    if raw.x is not None and raw.y is not None and c.verdict is Status.SOLVED and not c.passed(tolerance):
        # The point may be right and the solver's duals not: those that belong to the point are found without it.
        own = certify_qp(qp, raw.x, None, tolerance)
        c = own if own.passed(tolerance) else c
    y = c.y if raw.x is not None and (raw.y is None or c.passed(tolerance)) else raw.y
    verdict = c.verdict if c.passed() or c.verdict is not Status.SOLVED else classify_qp(qp)
    if verdict is Status.SOLVED and c.passed(tolerance):
        if math.isinf(tolerance) and not c.passed():
            return Status.SOLVED, RECORDED, c.to_mapping(), y
        return Status.SOLVED, Status.SOLVED.sentence, c.to_mapping(), y
    if verdict is not Status.SOLVED:
        return verdict, verdict.sentence, {**c.to_mapping(), "verdict": str(verdict)}, y
    if math.isfinite(c.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        return Status.INACCURATE, f"{c.failure(tolerance)} {Status.INACCURATE.sentence}", c.to_mapping(), y
    if raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED, Status.SOLVED):
        text = f"The solver says {raw.claim}, but the program has a minimiser as far as linear programs can tell."
        return Status.SOLVER_ERROR, text, c.to_mapping(), y
    return (
        raw.claim,
        f"{raw.claim.sentence} ({raw.note})" if raw.note else raw.claim.sentence,
        c.to_mapping(),
        y,
    )


def _verify_linear(
    program: LinearSystem | LeastSquares, raw: RawSolution, tolerance: float
) -> tuple[Status, str, dict[str, Any]]:
    if raw.x is None:
        if raw.claim is Status.SOLVED:
            return Status.SOLVER_ERROR, "The solver returned no answer although it says solved.", {}
        return raw.claim, raw.note or raw.claim.sentence, {}
    found = certify_linear(program, raw.x)
    if found.passed(tolerance):
        told = RECORDED if math.isinf(tolerance) and not found.passed() else Status.SOLVED.sentence
        return Status.SOLVED, told, found.to_mapping()
    failure = Status.INFEASIBLE if found.contradictory else Status.INACCURATE
    return failure, failure.sentence, found.to_mapping()
