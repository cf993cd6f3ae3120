"""The verified status of an answer to a linear complementarity problem: what is true of the problem comes first."""

from __future__ import annotations

import math
from typing import Any

from gaussopt.core.arrays import Vector
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.step_data import as_array
from gaussopt.core.tolerances import RECORDED
from gaussopt.lcp.certificate import LCPCertificate, certify_lcp


def check_lcp(lcp: LCP) -> LCP:
    """A problem made by hand, checked like one from a file; it may be empty. Raises BadInput."""
    q = as_array("q", lcp.q, (None,))
    if not len(q):
        return LCP(as_array("M", lcp.M, (0, 0)), q)
    return LCP.from_mapping({"M": lcp.M, "q": q})


def judge_lcp(lcp: LCP, raw: RawSolution, tolerance: float) -> tuple[Status, str, LCPCertificate]:
    """The verified status of a solver's answer, with its sentence.

    A problem with several w is never `solved`, whichever the solver found, and one with none is `no_solution`
    whatever the solver says.
    """
    x = raw.x if raw.x is not None and raw.x.shape == (lcp.n,) else None
    certificate = certify_lcp(lcp, x)
    return *judge_certificate(lcp, certificate, raw, tolerance), certificate


def judge_certificate(lcp: LCP, certificate: LCPCertificate, raw: RawSolution, tolerance: float) -> tuple[Status, str]:
    """Status and sentence from a certificate and the solver's word."""
    verdict = certificate.verdict
    if verdict not in (Status.SOLVED, None):
        assert verdict is not None
        return verdict, explain_verdict(lcp, certificate)
    if certificate.passed(tolerance):
        if math.isinf(tolerance) and not certificate.passed():
            return Status.SOLVED, RECORDED
        return Status.SOLVED, _solved_sentence(lcp, certificate)
    note = f" ({raw.note})" if raw.note else ""
    if math.isfinite(certificate.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
        return Status.INACCURATE, f"{explain_failure(certificate, tolerance)} {Status.INACCURATE.sentence}"
    if raw.claim in (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.CRASHED, Status.SOLVER_ERROR):
        return raw.claim, f"{raw.claim.sentence}{note}"
    known = "was not decided whether the problem has a solution" if verdict is None else "has a solution"
    subject = "it " if verdict is None else "the problem "
    return Status.SOLVER_ERROR, f"The solver says {raw.claim}{note}, but {subject}{known}."


def explain_verdict(lcp: LCP, certificate: LCPCertificate) -> str:
    """Why a problem has no solution, or how many."""
    found, verdict = certificate.solutions, certificate.verdict
    if found is None:
        return "No z >= 0 has w = M z + q >= 0."
    if verdict is Status.NO_SOLUTION:
        return f"No solution: none of the {2**lcp.n} complementary bases is feasible."
    if verdict is Status.MULTIPLE_SOLUTIONS:
        return f"There are {found.count} solutions with different w; all are listed."
    return "A continuum of solutions with different w; its vertices are listed."


def explain_failure(certificate: LCPCertificate, tolerance: float) -> str:
    """Which number exceeds the tolerance."""
    return (
        f"The certificate fails: relative residual {certificate.relative_residual:.3g} (by rows "
        f"{certificate.own_residual:.3g}), relative error at most {certificate.relative_error:.3g}; the tolerance is "
        f"{tolerance:.3g}."
    )


def _solved_sentence(lcp: LCP, certificate: LCPCertificate) -> str:
    if certificate.verdict is None:
        return (
            "This z solves the problem; whether another one does was not decided, because M is not known to be a "
            f"P-matrix and {lcp.n} pairs are too many to enumerate."
        )
    if certificate.unique is False:
        return f"{Status.SOLVED.sentence} w is determined, z is not: its range is given."
    if certificate.unique is None:
        return f"{Status.SOLVED.sentence} w is determined; whether z is was not decided."
    return Status.SOLVED.sentence


def verify_lcp(lcp: LCP, z: Vector, tolerance: float) -> dict[str, Any]:
    """Status, message and certificate of anybody's answer, for JSON."""
    certificate = certify_lcp(lcp, z)
    status, message = judge_certificate(lcp, certificate, RawSolution(z, None, Status.SOLVED), tolerance)
    if certificate.verdict in (Status.MULTIPLE_SOLUTIONS, Status.ACCELERATION_NOT_UNIQUE):
        right = certificate.relative_residual <= tolerance and certificate.relative_error <= tolerance
        message = f"{message} The given z is {'one of them' if right else 'none of them'}."
    return {
        "status": str(status), "message": message, "forces_unique": certificate.unique,
        "certificate": certificate.to_mapping(),
    }  # fmt: skip
