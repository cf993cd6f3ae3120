"""The verified status of an answer to a program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from gaussopt.certificates import certify
from gaussopt.certificates.base import Certificate, explain
from gaussopt.certificates.cone_program import judge_cone_program
from gaussopt.certificates.cone_verdict import judge_cone, verify_cone
from gaussopt.certificates.contact import certify_contact
from gaussopt.certificates.linear import certify_linear
from gaussopt.certificates.qp import QPCertificate, certify_qp, classify_qp
from gaussopt.certificates.qp_scaling import Scaled
from gaussopt.certificates.qp_verdict import largest_bound, rounding
from gaussopt.contact.activity import closed_contacts
from gaussopt.core.arrays import Vector
from gaussopt.core.cone_complementarity import ConeComplementarity, GlobalContacts
from gaussopt.core.cone_program import ConeProgram
from gaussopt.core.errors import BadInput
from gaussopt.core.problem_files import Problem
from gaussopt.core.programs import LCP, QP, LeastSquares, LinearSystem, Program
from gaussopt.core.solution import RawSolution, Solution, Timing
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.lcp.verification import judge_lcp, verify_lcp
from gaussopt.solving.judgement import claim_sentence, passed_sentence, why_ill_posed

BY_ROUNDING = "The rows contradict each other by bounds that are rounding of the largest one."


def verified(program: Program, raw: RawSolution, timing: Timing, tolerance: float = DEFAULT_TOLERANCE) -> Solution:
    """The verified solution of a program from the answer of a solver."""
    begin = perf_counter()
    solutions: tuple[Vector, ...] = ()
    residuals: Mapping[str, Any]
    if isinstance(program, LCP):
        status, message, lcp_certificate = judge_lcp(program, raw, tolerance)
        residuals, y = lcp_certificate.to_mapping(), raw.y
        solutions = () if lcp_certificate.solutions is None else lcp_certificate.solutions.solutions
    elif isinstance(program, ConeComplementarity):
        status, message, cone = judge_cone(program, raw, tolerance)
        residuals, solutions, y = cone.to_mapping(), cone.solutions, None
    elif isinstance(program, ConeProgram):
        status, message, residuals = judge_cone_program(program, raw, tolerance)
        y = None
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
    status, message = raw.claim, claim_sentence(raw)
    if raw.claim is Status.SOLVED and verdict is Status.INFEASIBLE and _by_rounding(qp, c, tolerance):
        status, message = Status.NOT_PROVED, f"{BY_ROUNDING} {Status.NOT_PROVED.sentence}"
    elif verdict is not Status.SOLVED:
        status, message = verdict, verdict.sentence
    elif c.passed(tolerance):
        status, message = Status.SOLVED, passed_sentence(c, tolerance)
    elif math.isfinite(c.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        status = _unconfirmed(c, tolerance)
        message = f"{c.failure(tolerance)} {status.sentence}"
    elif raw.claim is Status.SOLVED:
        status, message = (
            Status.SOLVER_ERROR,
            "The solver says solved, but its answer holds no numbers, NaN or infinity.",
        )
    elif raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED):
        status = Status.SOLVER_ERROR
        message = f"The solver says {raw.claim}, but the program has a minimiser as far as linear programs can tell."
    return status, message, {**c.to_mapping(), "verdict": str(verdict)}, y


def _by_rounding(qp: QP, c: QPCertificate, tolerance: float) -> bool:
    """Whether rows contradict each other by bounds alone that stand for zero, as published data have them.

    They are rounding of the largest bound, in the units of the certificate, and do not refute an answer whose residuals
    are small.
    """
    if qp.sparse or _unconfirmed(c, tolerance) is not Status.NOT_PROVED:
        return False
    qp = Scaled.of(qp).qp
    tiny = rounding(qp.n) * largest_bound(qp.l, qp.u)
    l, u = (np.where(np.abs(bound) <= tiny, 0.0, bound) for bound in (qp.l, qp.u))
    same = np.array_equal(l, qp.l) and np.array_equal(u, qp.u)
    return not same and classify_qp(replace(qp, l=l, u=u)) is Status.SOLVED


def _unconfirmed(c: QPCertificate, tolerance: float) -> Status:
    """What is said of an answer that the certificate does not confirm."""
    return Status.NOT_PROVED if c.small and tolerance >= DEFAULT_TOLERANCE else Status.INACCURATE


def _verify_linear(
    program: LinearSystem | LeastSquares, raw: RawSolution, tolerance: float
) -> tuple[Status, str, dict[str, Any]]:
    if raw.x is None:
        if raw.claim is Status.SOLVED:
            return Status.SOLVER_ERROR, "The solver returned no answer although it says solved.", {}
        return raw.claim, raw.note or raw.claim.sentence, {}
    found = certify_linear(program, raw.x)
    if found.passed(tolerance):
        return Status.SOLVED, passed_sentence(found, tolerance), found.to_mapping()
    failure = Status.INFEASIBLE if found.contradictory else Status.INACCURATE
    return failure, failure.sentence, found.to_mapping()


def verify_answer(data: Problem, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    """Certify an answer that anybody computed: status, message, certificate and, of a step, forces_unique, for JSON.

    `answer` holds by name x and y of a quadratic program; z of a complementarity problem; a, lam and, with contacts,
    lam_N and lam_T of a step; r and, of a global one, v of a contact problem. What is None is estimated, except x, z, a
    and r. Raises BadInput if an open contact has a
    force.
    """
    if isinstance(data, LCP):
        return verify_lcp(data, answer["z"], tolerance)
    if isinstance(data, ConeComplementarity | GlobalContacts):
        return verify_cone(data, answer, tolerance)
    if isinstance(data, QP):
        return _verify_point(data, answer["x"], answer["y"], tolerance)
    return _verify_acceleration(data, answer, tolerance)


def _verify_point(qp: QP, x: Vector, y: Vector | None, tolerance: float) -> dict[str, Any]:
    certificate = certify_qp(qp, x, y, tolerance)
    passed = certificate.passed(tolerance)
    status = Status.SOLVED if passed else classify_qp(qp)
    message = status.sentence
    if status is Status.INFEASIBLE and _by_rounding(qp, certificate, tolerance):
        status, message = Status.NOT_PROVED, f"{BY_ROUNDING} {Status.NOT_PROVED.sentence}"
    elif status is Status.SOLVED and not passed:
        status, message = _unconfirmed(certificate, tolerance), certificate.failure(tolerance)
    return {"status": str(status), "message": message, "certificate": certificate.to_mapping()}


def _verify_acceleration(step: StepData, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    a, lam = answer["a"], answer["lam"]
    lam_N, lam_T = answer.get("lam_N"), answer.get("lam_T")
    if step.k:
        closed = closed_contacts(step)
        _check_open(step, closed, lam_N, lam_T)
        step = step.select(closed)
        lam_N, lam_T = (None if x is None else x[closed] for x in (lam_N, lam_T))
    certificate: Certificate = certify_contact(step, a, lam, lam_N, lam_T) if step.k else certify(step, a, lam)
    status, message = Status.SOLVED, Status.SOLVED.sentence
    if certificate.verdict is not Status.SOLVED:
        status, message = certificate.verdict, why_ill_posed(step, certificate)
    elif not certificate.passed(tolerance):
        status, message = Status.INACCURATE, explain(certificate, tolerance)
    return {
        "status": str(status), "message": message, "forces_unique": certificate.forces_unique,
        "certificate": certificate.to_mapping(),
    }  # fmt: skip


def _check_open(step: StepData, closed: Any, lam_N: Vector | None, lam_T: Any) -> None:
    """See that open contacts have no forces."""
    for i in set(range(step.k)) - set(closed.tolist()):
        if (lam_N is not None and lam_N[i] != 0) or (lam_T is not None and lam_T[i].any()):
            assert step.g_N is not None
            raise BadInput(
                f"The answer has a force at contact {i + 1}, which is open (gap {step.g_N[i]:.6g} m); an open "
                "contact has none."
            )
