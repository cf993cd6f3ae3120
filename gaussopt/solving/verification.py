"""Verification of answers, each by the rules for its kind of problem."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from gaussopt.core.programs import Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.kinds import page_of


def verified(program: Program, raw: RawSolution, timing: Timing, tolerance: float = DEFAULT_TOLERANCE) -> Solution:
    """Verify a solver's answer to a program and return it with its status and certificate."""
    begin = perf_counter()
    page = page_of(program)
    found = page.judge(program, raw, tolerance)
    certificate = found.certificate
    message = found.message + page.limit_proofs(found.proof, timing.solve)
    timing = timing._replace(verify=perf_counter() - begin)
    return Solution(
        raw.x, found.y, found.status, raw.claim, message, raw.iterations, timing, certificate, found.solutions,
        raw.history,
    )  # fmt: skip


def verify_answer(data: Any, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    """Certify an answer from any source; return status, message, certificate and, for a step, forces_unique, for JSON.

    `answer` holds x and y for a quadratic program; z for a complementarity problem; a, lam and, with contacts, lam_N
    and lam_T for a step; r and, in global form, v for a contact problem. Entries that are None are estimated, except
    x, z, a and r, which are required. Raises BadInput if an open contact has a force.
    """
    return page_of(data).verify(data, answer, tolerance)
