"""The interface `Page`: the properties of a kind of problem, and how an answer to a problem is judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from gaussopt.core.acceptance import ProgramCertificate
from gaussopt.core.arrays import Vector, as_array
from gaussopt.core.errors import BadInput
from gaussopt.core.solution import RawSolution
from gaussopt.core.status import Status
from gaussopt.core.tolerances import RECORDED

D = TypeVar("D")
Verdict = tuple[Status, str]
"""A status, and a sentence that explains it."""


class Residuals(NamedTuple):
    """Residuals relative to 1 + the size of their terms; infinite without a point.

    primal : violation of the constraints; for an LCP, the negative parts of z and w
    dual : residual of stationarity; 0 for an LCP
    gap : complementarity; for an LCP, min(z, w)
    """

    primal: float = np.inf
    dual: float = np.inf
    gap: float = np.inf


class Judged(NamedTuple):
    """The verified status of an answer.

    Attributes
    ----------
    status, message
    proof : the certificate; None if there is nothing to certify
    y : (m,), duals of the point, or None
    solutions : all solutions, (n,) each, if they are known and there are several
    """

    status: Status
    message: str
    proof: Any
    y: Vector | None = None
    solutions: tuple[Vector, ...] = ()

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The verified numbers of the certificate, for JSON."""
        found: Mapping[str, Any] = {} if self.proof is None else self.proof.to_mapping()
        return found


class Page(Generic[D]):
    """The properties of a kind of problem; each kind has a subclass, listed in `gaussopt.kinds`.

    Class attributes
    ----------------
    kind : the class of its problems
    title : the name of the kind in tables
    name : value of "kind" in its files, "" if it has no files
    article : the name with its article, for sentences
    entries : names of the numerical entries of its files
    answer : names of the entries of a file with an answer
    solver : an exact solver of its programs, if the same solver suits all of them
    formulations : which formulations make programs of its problems, "step" or "contact"; "" if these are programs
    not_exported : why its problems cannot be exported, as an ending of "The formulation ... makes"; None if they can be
    """

    kind: ClassVar[type]
    title: ClassVar[str]
    name: ClassVar[str] = ""
    article: ClassVar[str] = ""
    entries: ClassVar[tuple[str, ...]] = ()
    answer: ClassVar[tuple[str, ...]] = ()
    solver: ClassVar[str] = ""
    formulations: ClassVar[str] = ""
    not_exported: ClassVar[str | None] = None

    def parse(self, data: Mapping[str, Any]) -> D:
        """Return the problem in the contents of a file, after checks; raises BadInput."""
        found: D = self.kind.from_mapping(data)  # type: ignore[attr-defined]
        return found

    def check(self, problem: D) -> D:
        """Check a problem made by hand as if it came from a file, and return it; raises BadInput."""
        return problem

    def default_solver(self, program: D) -> str:
        """Return the name of an exact solver for a program."""
        return self.solver

    def usual_solver(self, program: D) -> str:
        """Return the name of the solver that `gaussopt solve` uses if none is given."""
        return self.default_solver(program)

    def size(self, problem: D) -> list[int]:
        """Return the number of unknowns and, if the kind has rows, the number of rows."""
        return [problem.n]  # type: ignore[attr-defined]

    def in_units(self, problem: D, c: float, s: float) -> D:
        """Return the problem with masses multiplied by c and accelerations by s; its answer is s times as large."""
        raise NotImplementedError

    # -- judging an answer --------------------------------------------------------------------------

    def certify(self, program: D, raw: RawSolution, tolerance: float) -> ProgramCertificate | None:
        """Return the certificate of a solver's answer; None if there is nothing to certify."""
        raise NotImplementedError

    def truth(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict | None:
        """Return the verdict on the program if no answer can be right, as for an infeasible program; otherwise None."""
        return None

    def solved(self, program: D, proof: Any) -> str:
        """Return the message for an answer whose certificate passes."""
        return Status.SOLVED.sentence

    def doubt(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict:
        """Return status and message for an answer whose certificate does not pass."""
        raise NotImplementedError

    def limit_proofs(self, proof: Any, solving: float) -> str:
        """Skip proofs that would take much longer than the solve (`solving` s); return a sentence that names them."""
        return ""

    def duals(self, proof: Any, raw: RawSolution, tolerance: float) -> Vector | None:
        """Return the duals, (m,), that accompany the point in the verified answer, or None."""
        return raw.y

    def solutions(self, proof: Any) -> tuple[Vector, ...]:
        """Return all solutions, if they are known and there are several."""
        return ()

    def judge(self, program: D, raw: RawSolution, tolerance: float) -> Judged:
        """Return the verified status: the verdict on the program decides, else the certificate, else the claim."""
        proof = self.certify(program, raw, tolerance)
        verdict = self.truth(program, proof, raw, tolerance)
        if verdict is None and proof is not None and proof.passed(tolerance):
            recorded = math.isinf(tolerance) and not proof.passed()
            verdict = Status.SOLVED, RECORDED if recorded else self.solved(program, proof)
        status, message = verdict or self.doubt(program, proof, raw, tolerance)
        return Judged(status, message, proof, self.duals(proof, raw, tolerance), self.solutions(proof))

    def residuals(self, program: D, x: Vector, y: Vector | None) -> Residuals:
        """Return the residuals of a finite point x with duals y, which are estimated if absent."""
        raise NotImplementedError

    def motion(self, problem: D, r: Vector) -> tuple[dict[str, Vector], dict[str, float]]:
        """Return, by name, the velocities that impulses r give bodies, and residuals; both are empty without bodies."""
        return {}, {}

    def least_cost(self, program: D) -> float | None:
        """Return the minimum of the cost of a stochastic search, or None if there is no direct formula for it."""
        return None

    # -- reading and verifying an answer from any source ---------------------------------------------

    def answer_sizes(self, problem: D) -> dict[str, int]:
        """Return the lengths of the vectors of an answer, by name; the first vector is required."""
        raise NotImplementedError

    def arrays(self, given: Mapping[str, Any], problem: D) -> dict[str, Any]:
        """Return the arrays of an answer by name, with None for a missing array; raises BadInput."""
        sizes = self.answer_sizes(problem)
        return {k: None if given.get(k) is None else as_array(k, given[k], (size,)) for k, size in sizes.items()}

    def verify(self, problem: D, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Return status, message and certificate of an answer, for JSON; raises BadInput."""
        raise NotImplementedError

    def read_answer(self, given: Mapping[str, Any], problem: D, place: Any) -> dict[str, Any]:
        """Read the arrays of an answer from the entries of a file; raises BadInput, naming the file."""
        wanted = next(iter(self.answer_sizes(problem)))
        if given.get(wanted) is None:
            raise BadInput(f"{place} has no {wanted!r}; an answer to this file needs one.")
        try:
            return self.arrays(given, problem)
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None


def claim_sentence(raw: RawSolution) -> str:
    """Return the sentence of the status that a solver claims, with the solver's note."""
    return f"{raw.claim.sentence}{note_of(raw)}"


def note_of(raw: RawSolution) -> str:
    """Return a solver's note in brackets, to be appended to a sentence; "" without a note."""
    return f" ({raw.note})" if raw.note else ""
