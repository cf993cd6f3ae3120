"""Linear complementarity problems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector, as_array
from gaussopt.core.programs import LCP
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.kinds.base import Page, Residuals, Verdict, claim_sentence, note_of
from gaussopt.lcp.certificate import LCPCertificate, certify_lcp
from gaussopt.linalg.dense import EPS, largest


class LCPPage(Page[LCP]):
    """The `Page` of `LCP`: how such problems are read, solved and certified.

    If the solutions of a problem differ in w, its status is never `solved`; if there is no solution, its status is
    `no_solution`, whatever the solver returns.
    """

    kind = LCP
    title = "linear complementarity problem"
    solver = "lemke"
    name = "lcp"
    article = "an lcp"
    entries = ("M", "q")
    answer = ("z",)

    def check(self, problem: LCP) -> LCP:
        """Check a problem made by hand, which may be empty, and return it."""
        q = as_array("q", problem.q, (None,))
        if not len(q):
            return LCP(as_array("M", problem.M, (0, 0)), q)
        return LCP.from_mapping({"M": problem.M, "q": q})

    def in_units(self, problem: LCP, c: float, s: float) -> LCP:
        return replace(problem, M=c * problem.M, q=c * s * problem.q)

    def certify(self, program: LCP, raw: RawSolution, tolerance: float) -> LCPCertificate:
        return certify_lcp(program, raw.x if raw.x is not None and raw.x.shape == (program.n,) else None)

    def truth(self, program: LCP, proof: LCPCertificate, raw: RawSolution, tolerance: float) -> Verdict | None:
        found, verdict = proof.solutions, proof.verdict
        if verdict is None or verdict is Status.SOLVED:
            return None
        if found is None:
            return verdict, "No z >= 0 has w = M z + q >= 0."
        if verdict is Status.NO_SOLUTION:
            return verdict, f"No solution: none of the {2**program.n} complementary bases is feasible."
        if verdict is Status.MULTIPLE_SOLUTIONS:
            return verdict, f"There are {found.count} solutions with different w; all are listed."
        return verdict, "A continuum of solutions with different w; its vertices are listed."

    def solved(self, program: LCP, proof: LCPCertificate) -> str:
        if proof.verdict is None:
            return (
                "This z solves the problem; whether another one does was not decided, because M is not known to be a "
                f"P-matrix and {program.n} pairs are too many to enumerate."
            )
        if proof.unique is False:
            return f"{Status.SOLVED.sentence} w is determined, z is not: its range is given."
        if proof.unique is None:
            return f"{Status.SOLVED.sentence} w is determined; whether z is was not decided."
        return Status.SOLVED.sentence

    def doubt(self, program: LCP, proof: LCPCertificate, raw: RawSolution, tolerance: float) -> Verdict:
        if math.isfinite(proof.relative_residual) and raw.claim in (Status.SOLVED, Status.INACCURATE):
            return Status.INACCURATE, f"{proof.failure(tolerance)} {Status.INACCURATE.sentence}"
        if raw.claim in (Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.CRASHED, Status.SOLVER_ERROR):
            return raw.claim, claim_sentence(raw)
        known = "it was not decided whether the problem has a solution"
        known = known if proof.verdict is None else "the problem has a solution"
        return Status.SOLVER_ERROR, f"The solver says {raw.claim}{note_of(raw)}, but {known}."

    def solutions(self, proof: LCPCertificate) -> tuple[Vector, ...]:
        return () if proof.solutions is None else proof.solutions.solutions

    def residuals(self, program: LCP, x: Vector, y: Vector | None) -> Residuals:
        w = program.w(x)
        size_w = 1.0 + largest(np.abs(program.M) @ np.abs(x) + np.abs(program.q))
        size_z = 1.0 + largest(x)
        below = max(largest(np.minimum(x, 0.0)) / size_z, largest(np.minimum(w, 0.0)) / size_w)
        return Residuals(below if below > EPS else 0.0, 0.0, largest(np.minimum(x / size_z, w / size_w)))

    def least_cost(self, program: LCP) -> float:
        return 0.0

    def answer_sizes(self, problem: LCP) -> dict[str, int]:
        return {"z": problem.n}

    def verify(self, problem: LCP, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        found = self.judge(problem, RawSolution(answer["z"], None, Status.SOLVED), tolerance)
        proof, message = found.proof, found.message
        if proof.verdict in (Status.MULTIPLE_SOLUTIONS, Status.ACCELERATION_NOT_UNIQUE):
            right = proof.relative_residual <= tolerance and proof.relative_error <= tolerance
            message = f"{message} The given z is {'one of them' if right else 'none of them'}."
        return {
            "status": str(found.status), "message": message, "forces_unique": proof.unique,
            "certificate": found.certificate,
        }  # fmt: skip
