"""The interface of pages: properties of a kind of problem, and how an answer to it is judged."""

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
"""A status with its sentence."""


class Residuals(NamedTuple):
    """Residuals relative to 1 + the size of their terms; infinite where there is no point.

    primal : violation of the constraints; of an LCP the negative parts of z and w
    dual : stationarity; 0 for an LCP
    gap : complementarity; of an LCP min(z, w)
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
    y : duals that belong to the point, (m,)
    solutions : all solutions, (n,) each, where they are known and there are several
    """

    status: Status
    message: str
    proof: Any
    y: Vector | None = None
    solutions: tuple[Vector, ...] = ()

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The verified numbers, for JSON."""
        found: Mapping[str, Any] = {} if self.proof is None else self.proof.to_mapping()
        return found


class Page(Generic[D]):
    """The properties of a kind of problem; a page for each kind, listed in `gaussopt.kinds`.

    Class attributes
    ----------------
    kind : the class of its problems
    title : what a problem is called in a table
    name : "kind" of its files, "" if it has no files
    article : name with its article, for sentences
    entries : entries of its files that are numbers
    answer : entries of a file with an answer
    solver : a solver that takes its programs and is exact, if it is the same for all
    formulations : formulations that make programs of it, "step" or "contact"; "" of a program, which solvers take
    not_exported : why sequences of it are not exported, after "The formulation ... makes"; None if they are
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
        """Return the checked problem from the contents of a file; raises BadInput."""
        found: D = self.kind.from_mapping(data)  # type: ignore[attr-defined]
        return found

    def check(self, problem: D) -> D:
        """Return a problem made by hand, checked like one from a file if there are files; raises BadInput."""
        return problem

    def default_solver(self, program: D) -> str:
        """Return the name of a solver that takes the program and is exact."""
        return self.solver

    def usual_solver(self, program: D) -> str:
        """Return the solver of `gaussopt solve` if none is given."""
        return self.default_solver(program)

    def size(self, problem: D) -> list[int]:
        """Return the number of unknowns, and that of rows if the kind has separate rows."""
        return [problem.n]  # type: ignore[attr-defined]

    def in_units(self, problem: D, c: float, s: float) -> D:
        """Return the problem with masses in units of 1/c, accelerations of 1/s; its answer is s times the old one."""
        raise NotImplementedError

    # -- an answer judged ---------------------------------------------------------------------------

    def certify(self, program: D, raw: RawSolution, tolerance: float) -> ProgramCertificate | None:
        """Return the certificate of a solver's answer; None if there is nothing to certify."""
        raise NotImplementedError

    def truth(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict | None:
        """Return the verdict on the program itself, for any answer; None if an answer can be right."""
        return None

    def solved(self, program: D, proof: Any) -> str:
        """Return the sentence for an answer that passes."""
        return Status.SOLVED.sentence

    def doubt(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict:
        """Return the verdict on an answer that does not pass."""
        raise NotImplementedError

    def limit_proofs(self, proof: Any, solving: float) -> str:
        """Limit what a certificate proves later by the seconds of the solve; return a sentence on what is left out."""
        return ""

    def duals(self, proof: Any, raw: RawSolution, tolerance: float) -> Vector | None:
        """Return the duals that accompany a point."""
        return raw.y

    def solutions(self, proof: Any) -> tuple[Vector, ...]:
        """Return all solutions, if they are known and there are several."""
        return ()

    def judge(self, program: D, raw: RawSolution, tolerance: float) -> Judged:
        """Return the verified status of an answer: the program decides first, then the certificate, then the claim."""
        proof = self.certify(program, raw, tolerance)
        verdict = self.truth(program, proof, raw, tolerance)
        if verdict is None and proof is not None and proof.passed(tolerance):
            recorded = math.isinf(tolerance) and not proof.passed()
            verdict = Status.SOLVED, RECORDED if recorded else self.solved(program, proof)
        status, message = verdict or self.doubt(program, proof, raw, tolerance)
        return Judged(status, message, proof, self.duals(proof, raw, tolerance), self.solutions(proof))

    def residuals(self, program: D, x: Vector, y: Vector | None) -> Residuals:
        """Return residuals of a finite point x with duals y, estimated if absent."""
        raise NotImplementedError

    def motion(self, problem: D, r: Vector) -> tuple[dict[str, Vector], dict[str, float]]:
        """Return the velocities of bodies that impulses cause, by name, and their residuals; empty without bodies."""
        return {}, {}

    def least_cost(self, program: D) -> float | None:
        """Return the least cost of a search for the answer; None if only a solver can tell."""
        return None

    # -- an answer from any source -------------------------------------------------------------------

    def answer_sizes(self, problem: D) -> dict[str, int]:
        """Return lengths of the vectors of an answer, by their names; the first vector is required."""
        raise NotImplementedError

    def arrays(self, given: Mapping[str, Any], problem: D) -> dict[str, Any]:
        """Return the arrays of an answer, None if they are not given; raises BadInput."""
        sizes = self.answer_sizes(problem)
        return {k: None if given.get(k) is None else as_array(k, given[k], (size,)) for k, size in sizes.items()}

    def verify(self, problem: D, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Return status, message and certificate of an answer, for JSON; raises BadInput."""
        raise NotImplementedError

    def read_answer(self, given: Mapping[str, Any], problem: D, place: Any) -> dict[str, Any]:
        """Return the arrays of an answer from the entries of a file; raises BadInput, naming the file."""
        wanted = next(iter(self.answer_sizes(problem)))
        if given.get(wanted) is None:
            raise BadInput(f"{place} has no {wanted!r}; an answer to this file needs one.")
        try:
            return self.arrays(given, problem)
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None


def claim_sentence(raw: RawSolution) -> str:
    """Return the sentence of a solver's own claim, with its note."""
    return f"{raw.claim.sentence}{note_of(raw)}"


def note_of(raw: RawSolution) -> str:
    """Return a solver's note in brackets, to follow a sentence."""
    return f" ({raw.note})" if raw.note else ""
