"""The interface of pages: what is known of a kind of problem, and how an answer to it is judged."""

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
    proof : the certificate; None where there is nothing to certify
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
        """What was verified, for JSON."""
        found: Mapping[str, Any] = {} if self.proof is None else self.proof.to_mapping()
        return found


class Page(Generic[D]):
    """All that is known of a kind of problem; a page for each kind, named in `gaussopt.kinds`.

    Class attributes
    ----------------
    kind : the class of its problems
    title : what a problem is called in a table
    name : "kind" of its files, "" where no file holds it
    article : name with its article, for sentences
    entries : entries of its files that are numbers
    answer : entries of a file with an answer
    solver : a solver that takes its programs and is exact, where it is the same for all
    formulations : formulations that make programs of it, "step" or "contact"; "" of a program, which solvers take
    not_exported : why sequences of it are not exported, behind "The formulation ... makes"; None where they are
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
        """The checked problem from the contents of a file; raises BadInput."""
        found: D = self.kind.from_mapping(data)  # type: ignore[attr-defined]
        return found

    def check(self, problem: D) -> D:
        """A problem made by hand, checked like one from a file where there are files; raises BadInput."""
        return problem

    def default_solver(self, program: D) -> str:
        """The name of a solver that takes the program and is exact."""
        return self.solver

    def usual_solver(self, program: D) -> str:
        """The solver of `gaussopt solve` where none is given."""
        return self.default_solver(program)

    def size(self, problem: D) -> list[int]:
        """Number of unknowns, and of rows where the kind has rows apart."""
        return [problem.n]  # type: ignore[attr-defined]

    def in_units(self, problem: D, c: float, s: float) -> D:
        """The problem with masses in a unit 1/c and accelerations in a unit 1/s; its answer is s times the old one."""
        raise NotImplementedError

    # -- an answer judged ---------------------------------------------------------------------------

    def certify(self, program: D, raw: RawSolution, tolerance: float) -> ProgramCertificate | None:
        """The certificate of a solver's answer; None where there is nothing to certify."""
        raise NotImplementedError

    def truth(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict | None:
        """Return the verdict on the program itself, for any answer; None where an answer can be right."""
        return None

    def solved(self, program: D, proof: Any) -> str:
        """The sentence of an answer that passes."""
        return Status.SOLVED.sentence

    def doubt(self, program: D, proof: Any, raw: RawSolution, tolerance: float) -> Verdict:
        """Return the verdict on an answer that does not pass."""
        raise NotImplementedError

    def duals(self, proof: Any, raw: RawSolution, tolerance: float) -> Vector | None:
        """The duals that are handed out with a point."""
        return raw.y

    def solutions(self, proof: Any) -> tuple[Vector, ...]:
        """All solutions, where they are known and there are several."""
        return ()

    def judge(self, program: D, raw: RawSolution, tolerance: float) -> Judged:
        """The verified status of a solver's answer: the program first, then the certificate, the solver's word last."""
        proof = self.certify(program, raw, tolerance)
        verdict = self.truth(program, proof, raw, tolerance)
        if verdict is None and proof is not None and proof.passed(tolerance):
            recorded = math.isinf(tolerance) and not proof.passed()
            verdict = Status.SOLVED, RECORDED if recorded else self.solved(program, proof)
        status, message = verdict or self.doubt(program, proof, raw, tolerance)
        return Judged(status, message, proof, self.duals(proof, raw, tolerance), self.solutions(proof))

    def residuals(self, program: D, x: Vector, y: Vector | None) -> Residuals:
        """Residuals of a finite point x with duals y, estimated if absent."""
        raise NotImplementedError

    def motion(self, problem: D, r: Vector) -> tuple[dict[str, Vector], dict[str, float]]:
        """What impulses do to the bodies, where the kind has bodies: velocities by name, and their residuals."""
        return {}, {}

    def least_cost(self, program: D) -> float | None:
        """The least cost of a search for the answer; None where it takes a solver to know."""
        return None

    # -- an answer that anybody computed ------------------------------------------------------------

    def answer_sizes(self, problem: D) -> dict[str, int]:
        """Lengths of the vectors of an answer, by their names; the first is needed."""
        raise NotImplementedError

    def arrays(self, given: Mapping[str, Any], problem: D) -> dict[str, Any]:
        """The arrays of an answer, None where they are not given; raises BadInput."""
        sizes = self.answer_sizes(problem)
        return {k: None if given.get(k) is None else as_array(k, given[k], (size,)) for k, size in sizes.items()}

    def verify(self, problem: D, answer: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
        """Status, message and certificate of an answer, for JSON; raises BadInput."""
        raise NotImplementedError

    def read_answer(self, given: Mapping[str, Any], problem: D, place: Any) -> dict[str, Any]:
        """The arrays of an answer from the entries of a file; raises BadInput, naming the file."""
        wanted = next(iter(self.answer_sizes(problem)))
        if given.get(wanted) is None:
            raise BadInput(f"{place} has no {wanted!r}; an answer to this file needs one.")
        try:
            return self.arrays(given, problem)
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None


def claim_sentence(raw: RawSolution) -> str:
    """The sentence of a solver's own claim, with its note."""
    return f"{raw.claim.sentence}{note_of(raw)}"


def note_of(raw: RawSolution) -> str:
    """A solver's own words in brackets, behind a sentence."""
    return f" ({raw.note})" if raw.note else ""
