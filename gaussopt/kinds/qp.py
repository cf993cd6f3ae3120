"""Quadratic programs: how their files are read, which solver is the default, and how an answer is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.certificates.qp import QPCertificate, certify_qp, classify_qp
from gaussopt.certificates.qp_scaling import Scaled
from gaussopt.certificates.qp_verdict import largest_bound, rounding
from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.programs import QP
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.tolerances import DEFAULT_TOLERANCE
from gaussopt.kinds.base import Page, Residuals, Verdict, claim_sentence
from gaussopt.linalg.dense import largest

BY_ROUNDING = "The rows contradict each other by bounds that are rounding of the largest one."


class QPPage(Page[QP]):
    """The `Page` of `QP`: how such programs are read, solved and certified."""

    kind = QP
    title = "quadratic program"
    name = "qp"
    article = "a qp"
    entries = ("P", "q", "A", "l", "u")
    answer = ("x", "y")

    def parse(self, data: Mapping[str, Any]) -> QP:
        if data.get("A") and data.get("l") is None and data.get("u") is None:
            raise BadInput("A has rows, but neither l nor u is given, so that nothing bounds them; give one of them.")
        return QP.from_mapping(data)

    def check(self, problem: QP) -> QP:
        return QP.from_mapping(problem.to_mapping())

    def default_solver(self, program: QP) -> str:
        if program.sparse:
            return "sparse-kkt" if program.equalities_only else "clarabel"
        return "kkt" if program.equalities_only else "daqp"

    def usual_solver(self, program: QP) -> str:
        usual = self.default_solver(program)
        return "newton" if usual == "daqp" else usual

    def size(self, problem: QP) -> list[int]:
        return [problem.n, problem.m]

    def in_units(self, problem: QP, c: float, s: float) -> QP:
        lower = s * problem.l
        # If l and u are the same array, the program is recognised as having equalities only: keep it one array.
        upper = lower if problem.l is problem.u else s * problem.u
        return replace(problem, P=c * problem.P, q=c * s * problem.q, l=lower, u=upper)

    def certify(self, program: QP, raw: RawSolution, tolerance: float) -> QPCertificate:
        c = certify_qp(program, raw.x, raw.y, tolerance)
        if raw.x is not None and raw.y is not None and c.verdict is Status.SOLVED and not c.passed(tolerance):
            # The point may be right although the solver's duals are wrong: estimate the duals from the point.
            own = certify_qp(program, raw.x, None, tolerance)
            c = own if own.passed(tolerance) else c
        decided = c.passed() or c.verdict is not Status.SOLVED
        return c if decided else replace(c, verdict=classify_qp(program))

    def truth(self, program: QP, proof: QPCertificate, raw: RawSolution, tolerance: float) -> Verdict | None:
        if proof.verdict is Status.SOLVED:
            return None
        return _no_minimiser(program, proof, proof.verdict, raw.claim, tolerance)

    def doubt(self, program: QP, proof: QPCertificate, raw: RawSolution, tolerance: float) -> Verdict:
        if math.isfinite(proof.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
            status = _unconfirmed(proof, tolerance)
            return status, f"{proof.failure(tolerance)} {status.sentence}"
        if raw.claim is Status.SOLVED:
            return (
                Status.SOLVER_ERROR, "The solver says solved, but its answer holds no numbers, NaN or infinity.",
            )  # fmt: skip
        if raw.claim in (Status.INFEASIBLE, Status.UNBOUNDED):
            known = "but the program has a minimiser as far as linear programs can tell."
            return Status.SOLVER_ERROR, f"The solver says {raw.claim}, {known}"
        return raw.claim, claim_sentence(raw)

    def duals(self, proof: QPCertificate, raw: RawSolution, tolerance: float) -> Vector | None:
        return proof.y if raw.x is not None and (raw.y is None or proof.passed(tolerance)) else raw.y

    def residuals(self, program: QP, x: Vector, y: Vector | None) -> Residuals:
        qp, c = program, certify_qp(program, x, y)
        ends = (largest(qp.A @ x), *(largest(bound[np.isfinite(bound)]) for bound in (qp.l, qp.u)))
        size_d = max(largest(qp.P @ x), largest(qp.q), largest(qp.A.T @ c.y))
        size_c = abs(qp.objective(x)) + float(np.abs(qp.q) @ np.abs(x))
        return Residuals(
            c.primal_residual / (1.0 + max(ends)), c.dual_residual / (1.0 + size_d), c.complementarity / (1.0 + size_c)
        )  # fmt: skip

    def answer_sizes(self, problem: QP) -> dict[str, int]:
        return {"x": problem.n, "y": problem.m}

    def verify(self, problem: QP, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        c = certify_qp(problem, answer["x"], answer["y"], tolerance)
        status, message = Status.SOLVED, Status.SOLVED.sentence
        if not c.passed(tolerance):
            verdict = classify_qp(problem)
            status, message = _unconfirmed(c, tolerance), c.failure(tolerance)
            if verdict is not Status.SOLVED:
                status, message = _no_minimiser(problem, c, verdict, Status.SOLVED, tolerance)
        return {"status": str(status), "message": message, "certificate": c.to_mapping()}


def _no_minimiser(qp: QP, c: QPCertificate, verdict: Status, claim: Status, tolerance: float) -> Verdict:
    """Return the verdict on a program without a minimiser.

    In published data rows may contradict each other only because bounds that should be zero are tiny numbers. Bounds at
    rounding level of the largest bound, in the units of the certificate, do not refute an answer with small residuals.
    """
    refuted = claim is not Status.SOLVED or verdict is not Status.INFEASIBLE or qp.sparse
    if refuted or _unconfirmed(c, tolerance) is not Status.NOT_PROVED:
        return verdict, verdict.sentence
    qp = Scaled.of(qp).qp
    tiny = rounding(qp.n) * largest_bound(qp.l, qp.u)
    l, u = (np.where(np.abs(bound) <= tiny, 0.0, bound) for bound in (qp.l, qp.u))
    same = np.array_equal(l, qp.l) and np.array_equal(u, qp.u)
    if same or classify_qp(replace(qp, l=l, u=u)) is not Status.SOLVED:
        return verdict, verdict.sentence
    return Status.NOT_PROVED, f"{BY_ROUNDING} {Status.NOT_PROVED.sentence}"


def _unconfirmed(c: QPCertificate, tolerance: float) -> Status:
    """Return the status of an answer that the certificate does not confirm."""
    return Status.NOT_PROVED if c.small and tolerance >= DEFAULT_TOLERANCE else Status.INACCURATE
