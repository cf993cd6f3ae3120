"""The interface of formulations: whether a step fits, the program made of it, and the answer read back."""

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
    """Acceleration and forces that a formulation reads off the solution of its program.

    a (n,), lam (m,), lam_N (k,), lam_T (k, d); None where the program gives none.
    """

    a: Vector
    lam: Vector | None = None
    lam_N: Vector | None = None
    lam_T: Matrix | None = None


class Formulation(ABC):
    """One way to turn step data into a program.

    Class attributes
    ----------------
    name, title
    source : where the equation comes from
    exact : whether its solution is the Gauss minimiser; a formula reproduced although it is wrong says False
    state : what its natural state is beside q, "velocity" or "quasi-velocity"
    level : what it solves for, "acceleration", or "velocity" for jumps
    sparse : whether it makes a sparse program of a sparse step; one that does not refuses the step
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    exact: ClassVar[bool] = True
    state: ClassVar[str] = "velocity"
    level: ClassVar[str] = "acceleration"
    sparse: ClassVar[bool] = False

    def contacts(self, step: StepData) -> NDArray[np.intp]:
        """The contacts that take part; of a step that knows its gaps, those that touch and stay in touch."""
        return closed_contacts(step)

    def prepare(self, step: StepData) -> StepData:
        """The step whose laws the answer satisfies, the step itself unless the formulation is at velocity level."""
        return step

    def refuses(self, step: StepData) -> str | None:
        """The reason why the step does not fit, or None."""
        return f"it takes steps without contacts, and this one has {step.k}" if step.k else None

    def misfit(self, step: StepData) -> str | None:
        """Why the step does not fit, its matrices included, or None."""
        if step.sparse and not self.sparse:
            return f"it needs dense matrices, and this step of {step.n} coordinates is sparse; use gauss or lagrange"
        return self.refuses(step)

    def check(self, step: StepData) -> None:
        """Raise NotAccepted, with the reason, if the step does not fit."""
        reason = self.misfit(step)
        if reason:
            raise NotAccepted(f"The formulation {self.name!r} does not fit: {reason}.")

    @abstractmethod
    def apply(self, step: StepData) -> tuple[Program, Any]:
        """The program, and what `recover` needs beside its solution."""

    @abstractmethod
    def recover(self, data: Any, x: Vector, y: Vector | None) -> Candidate | tuple[Vector, Vector | None]:
        """The candidate; the pair (a, lam) will do where there are no contacts."""

    def again(self, data: Any, x: Vector, y: Vector | None) -> Program | None:
        """The next program of an iteration whose steps are programs, None when it has ended."""
        return None

    def refined(self, step: StepData, program: Program, x: Vector, found: Candidate) -> Candidate | None:
        """`found` after iterative refinement; asked for where it does not pass although the solver calls x solved.

        None where the formulation reads its answer back without loss, or x does not solve the program to rounding:
        then the error is the solver's.
        """
        return None

    def details(self, data: Any, x: Vector | None) -> dict[str, Any]:
        """Details beside the answer, for JSON."""
        return {}
