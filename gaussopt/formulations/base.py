"""The interface of formulations: which steps they take, which program a step becomes, how its answer is recovered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.activity import closed_contacts
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.programs import Program
from gaussopt.core.step_data import StepData


class Candidate(NamedTuple):
    """Acceleration and forces that a formulation computes from the solution of its program.

    a (n,), lam (m,), lam_N (k,), lam_T (k, d); None for quantities that the program does not determine.
    """

    a: Vector
    lam: Vector | None = None
    lam_N: Vector | None = None
    lam_T: Matrix | None = None


class Formulation(ABC):
    """A way to turn step data into a program.

    Class attributes
    ----------------
    name, title
    source : publication of the equation
    exact : whether the solution is the Gauss minimiser; False for a published formula that is wrong
    state : state that a motion integrates by default in addition to q, "velocity" or "quasi-velocity"
    level : level of its unknowns, "acceleration", or "velocity" for jumps
    sparse : whether it makes a sparse program of a sparse step; otherwise it refuses a sparse step
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    exact: ClassVar[bool] = True
    state: ClassVar[str] = "velocity"
    level: ClassVar[str] = "acceleration"
    sparse: ClassVar[bool] = False

    def contacts(self, step: StepData) -> NDArray[np.intp]:
        """Return the contacts that take part: all, or, if gaps are known, contacts that touch and do not open."""
        return closed_contacts(step)

    def prepare(self, step: StepData) -> StepData:
        """Return the step whose laws the answer satisfies: this step, except for formulations at velocity level."""
        return step

    def refuses(self, step: StepData) -> str | None:
        """Return the reason, other than sparsity, why the formulation cannot take the step; None if it can."""
        return f"it takes steps without contacts, and this one has {step.k}" if step.k else None

    def misfit(self, step: StepData) -> str | None:
        """Return the reason why the formulation cannot take the step, such as sparse matrices; None if it can."""
        if step.sparse and not self.sparse:
            return f"it needs dense matrices, and this step of {step.n} coordinates is sparse; use gauss or lagrange"
        return self.refuses(step)

    def check(self, step: StepData) -> None:
        """Raise NotAccepted, with the reason, if the formulation cannot take the step."""
        reason = self.misfit(step)
        if reason:
            raise NotAccepted(f"The formulation {self.name!r} does not fit: {reason}.")

    @abstractmethod
    def apply(self, step: StepData) -> tuple[Program, Any]:
        """Return the program, and the data that `recover` needs in addition to its solution."""

    @abstractmethod
    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate | tuple[Vector, Vector | None]:
        """Return the `Candidate` of a program's solution; without contacts, the pair (a, lam) is enough."""

    def again(self, data: Any, x: Vector, y: Vector | None) -> Program | None:
        """Return the next program if the formulation solves a sequence of programs; None after the last program."""
        return None

    def refined(self, step: StepData, program: Program, x: Vector, found: Candidate) -> Candidate | None:
        """Refine `found`, which its certificate rejected although the solver claims that x solves the program.

        Return None if the formulation recovers its answer without loss of digits, or if the error comes from the
        solver, because x does not solve the program up to rounding error.
        """
        return None

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        """Return further entries for JSON, in addition to the answer."""
        return {}
